/**
 * The service with live numbers as an operator runs it on PostgreSQL: one HTTP process and several
 * workers, each of which can be stopped, killed, frozen, or cut off from its database, and a WhatsApp
 * server in this process that counts the connections of each number.
 */
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect, Redacted } from "effect"
import { writeFile } from "node:fs/promises"
import { connect, createServer } from "node:net"
import type { Socket } from "node:net"
import { join } from "node:path"
import { programs } from "../programs.ts"

const operatorToken = "operator-token-of-the-live-workers"

/** The recipient of all messages. */
const recipient = "4915199999999"

export interface LiveNumber {
  readonly id: number
  readonly phone: string
}

interface SeenNumber {
  readonly id: number
  readonly status: string
  readonly connect: { readonly pairing_code: string | null } | null
}

/** A way to PostgreSQL on which every byte can be dropped, in both directions. */
export interface Wire {
  readonly port: number
  isCut: boolean
}

const makeWire = (path: string) =>
  Effect.acquireRelease(
    Effect.callback<Wire & { readonly close: () => void }>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer((near) => {
        const far = connect(path)
        for (const [from, to] of [
          [near, far],
          [far, near],
        ] as const) {
          sockets.add(from)
          from.on("data", (bytes) => {
            if (!wire.isCut) to.write(bytes)
          })
          from.on("error", () => undefined)
          from.on("close", () => {
            sockets.delete(from)
            // The end of a connection does not come through either.
            if (!wire.isCut) to.destroy()
          })
        }
      })
      const close = () => {
        server.close()
        for (const socket of sockets) socket.destroy()
      }
      let wire: Wire = { port: 0, isCut: false }
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        wire = {
          port: typeof address === "object" && address !== null ? address.port : 0,
          isCut: false,
        }
        resume(
          Effect.succeed(
            Object.defineProperty({ ...wire, close }, "isCut", {
              get: () => wire.isCut,
              set: (isCut: boolean) => {
                wire.isCut = isCut
              },
            }),
          ),
        )
      })
    }),
    ({ close }) => Effect.sync(close),
  )

export const startLiveWorkers = Effect.gen(function* () {
  const far = yield* WhatsAppServer
  const database = yield* (yield* EmbeddedPostgres).createDatabase()
  const directory = yield* processes.temporaryDirectory
  const certificate = join(directory, "media.pem")
  yield* Effect.promise(() => writeFile(certificate, far.mediaCertificate))
  const settings = {
    DATABASE_URL: Redacted.value(database.url),
    DATA_DIR: join(directory, "data"),
    OPERATOR_TOKEN: operatorToken,
    TRANSPORT: "live",
    WHATSAPP_URL: far.url,
    NODE_EXTRA_CA_CERTS: certificate,
  }
  const server = yield* processes.startServer(programs.server, {
    ...settings,
    PORT: "0",
    WORKER: "separate",
  })
  const { ask } = processes.anOperator(server.url, operatorToken)
  yield* ask("POST", "/workspaces", { name: "Live" })
  const { body: issued } = yield* ask<{ readonly key: string }>("POST", "/workspaces/1/keys", {
    version: 2,
    name: "Live",
  })
  const token = issued.key
  const url = `${server.url}/api/v2/numbers`
  const caller = processes.aCaller(server.url, token)
  yield* far.person(recipient)

  /** Links a number by a pairing code, which its phone is told. */
  const aNumber = (place: number) =>
    Effect.gen(function* () {
      const phone = `49151000${String(place).padStart(5, "0")}`
      yield* far.person(phone)
      const { body: made } = yield* processes.call<{ readonly id: number }>("POST", url, {
        token,
        body: { login_method: "phone_code", phone: `+${phone}` },
      })
      const look = Effect.map(
        ask<{ readonly data: ReadonlyArray<SeenNumber> }>("GET", "/workspaces/1/numbers"),
        ({ body }) => body.data.find(({ id }) => id === made.id),
      )
      yield* far.until(() => far.codeAsked(phone))
      const code = yield* processes.waitUntil(
        `number ${made.id} has a pairing code`,
        // Requests with a key are 60 a minute at most.
        Effect.andThen(
          processes.within(300, Effect.never),
          Effect.map(
            processes.call<SeenNumber>("GET", `${url}/${made.id}`, { token }),
            ({ body }) => body.connect?.pairing_code ?? undefined,
          ),
        ),
      )
      yield* far.typePairingCode(phone, code)
      yield* processes.waitUntil(
        `number ${made.id} is connected`,
        Effect.map(look, (seen) => (seen?.status === "connected" ? true : undefined)),
      )
      const number: LiveNumber = { id: made.id, phone }
      return number
    })

  const startWorker = Effect.fnUntraced(function* (more: Readonly<Record<string, string>> = {}) {
    const worker = yield* processes.start(programs.worker, {
      ...settings,
      ...more,
    })
    yield* worker.says(/^worker ready/m)
    return worker
  })

  const sessionOf = ({ phone }: LiveNumber) => far.sessions(phone)[0]

  return {
    far,
    aNumber,
    startWorker,
    /** A worker whose way to PostgreSQL can be cut. */
    startCuttableWorker: Effect.fnUntraced(function* (more: Readonly<Record<string, string>>) {
      const wire = yield* makeWire(database.path)
      const worker = yield* startWorker({
        ...more,
        DATABASE_URL: `postgres://postgres@127.0.0.1:${wire.port}/${database.database}`,
      })
      return { worker, wire }
    }),
    /** A message from that number. */
    send: (number: LiveNumber, text: string) =>
      caller.send(text, { from: number.id, to: { phone: `+${recipient}` } }),
    /** Open connections of the number at the far side. */
    open: (number: LiveNumber) => sessionOf(number)?.open ?? 0,
    logins: (number: LiveNumber) => sessionOf(number)?.logins ?? 0,
    /** The most connections of the number that were ever open at once. */
    most: (number: LiveNumber) => sessionOf(number)?.most ?? 0,
    /** What the recipient's phone shows, in the order of arrival. */
    shown: () => far.decrypted(recipient).map(({ text }) => text),
    connection: (number: LiveNumber) =>
      Effect.map(
        ask<{ readonly worker: string | null }>(
          "GET",
          `/workspaces/1/numbers/${number.id}/connection`,
        ),
        ({ body }) => body,
      ),
  }
})
