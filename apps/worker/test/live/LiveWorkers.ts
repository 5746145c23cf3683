/**
 * The service with live numbers on PostgreSQL: one HTTP process and several workers. A test can
 * stop, kill or freeze each worker, or cut it off from its database. A remote server in this
 * process counts the connections of each number.
 */
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { connect, createServer } from "node:net"
import type { Socket } from "node:net"
import { join } from "node:path"
import { programs } from "../programs.ts"
import { RemoteServer, recipient } from "./remoteServers.ts"
import type { LiveNumber, Service } from "./remoteServers.ts"

const operatorToken = "operator-token-of-the-live-workers"

/** A proxy to PostgreSQL that can drop every byte, in both directions. */
export interface Wire {
  readonly port: number
  isCut: boolean
}

const makeWire = (path: string) =>
  Effect.acquireRelease(
    Effect.callback<Wire & { readonly close: () => void }>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer((near) => {
        const remote = connect(path)
        for (const [from, to] of [
          [near, remote],
          [remote, near],
        ] as const) {
          sockets.add(from)
          from.on("data", (bytes) => {
            if (!wire.isCut) to.write(bytes)
          })
          from.on("error", () => undefined)
          from.on("close", () => {
            sockets.delete(from)
            // The end of a connection does not pass either.
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
  const remote = yield* RemoteServer
  const database = yield* (yield* EmbeddedPostgres).createDatabase()
  const directory = yield* processes.temporaryDirectory
  const settings = {
    DATABASE_URL: Redacted.value(database.url),
    DATA_DIR: join(directory, "data"),
    OPERATOR_TOKEN: operatorToken,
    TRANSPORT: "live",
    ...(yield* remote.settings(directory)),
  }
  const server = yield* processes.startServer(programs.server, {
    ...settings,
    PORT: "0",
    WORKER: "separate",
  })
  const { aKey, aWorkspace, request } = processes.anOperator(server.url, operatorToken)
  const { key: token } = yield* aKey(yield* aWorkspace())
  const service: Service = { url: server.url, token, request }
  const caller = processes.aCaller(server.url, token)

  const startWorker = Effect.fnUntraced(function* (more: Readonly<Record<string, string>> = {}) {
    const worker = yield* processes.start(programs.worker, {
      ...settings,
      ...more,
    })
    yield* worker.awaitOutput(/^worker ready/m)
    return worker
  })

  return {
    remote,
    /** Connects a number with its own phone. */
    aNumber: Effect.fnUntraced(function* (index: number) {
      const phone = `49151000${String(index).padStart(5, "0")}`
      const number: LiveNumber = { id: yield* remote.connect(service, phone), phone }
      return number
    }),
    startWorker,
    /** A worker with a proxy to PostgreSQL that can be cut. */
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
    connections: ({ phone }: LiveNumber) => remote.connections(phone),
  }
})
