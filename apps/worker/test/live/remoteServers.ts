/**
 * Remote servers for tests of shared numbers: a server in this process, with a way to connect
 * numbers through the service's interface, and counts of each number's connections.
 */
import { TelegramServer } from "@messaging-service/telegram-server"
import { processes } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Context, Effect, Layer } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { linkNumber, untilConnected } from "./linkNumber.ts"
import type { SeenNumber } from "./linkNumber.ts"

/** The recipient of all messages. */
export const recipient = "4915199999999"

export interface LiveNumber {
  readonly id: number
  readonly phone: string
}

/** The service, as an operator and as a caller of the workspace 1. */
export interface Service {
  readonly url: string
  readonly token: string
  readonly ask: ReturnType<typeof processes.anOperator>["ask"]
}

interface Connections {
  /** A number's open connections, their total, and the most at once. */
  readonly open: number
  readonly logins: number
  readonly most: number
  /** How often two of them were used at a time. */
  readonly mixed: number
}

export interface RemoteServerShape {
  /** Variables with which programs reach it, with files in that directory. */
  settings(directory: string): Effect.Effect<Readonly<Record<string, string>>>
  /** Connects a number with that phone; returns its id. */
  connect(service: Service, phone: string): Effect.Effect<number, processes.ProcessError>
  connections(phone: string): Connections
  /** What the recipient's phone shows, in the order of arrival. */
  shown(): ReadonlyArray<string>
  /** How many messages arrived there, including repeats that are shown once. */
  arrivals(): number
  complaints(): ReadonlyArray<string>
}

export class RemoteServer extends Context.Service<RemoteServer, RemoteServerShape>()(
  "test/RemoteServer",
) {}

const numbersOf = ({ ask }: Service) =>
  Effect.map(
    ask<{ readonly data: ReadonlyArray<SeenNumber> }>("GET", "/workspaces/1/numbers"),
    ({ body }) => body.data,
  )

export const layerWhatsApp = Layer.effect(
  RemoteServer,
  Effect.gen(function* () {
    const far = yield* WhatsAppServer
    yield* far.person(recipient)
    return RemoteServer.of({
      settings: (directory) =>
        Effect.gen(function* () {
          const certificate = join(directory, "media.pem")
          yield* Effect.promise(() => writeFile(certificate, far.mediaCertificate))
          return { WHATSAPP_URL: far.url, NODE_EXTRA_CA_CERTS: certificate }
        }),
      connect: (service, phone) =>
        linkNumber(far, phone, {
          ask: (method, path, body) =>
            processes.call(method, `${service.url}${path}`, { token: service.token, body }),
          numbers: numbersOf(service),
        }),
      connections: (phone) => {
        const session = far.sessions(phone)[0]
        const { logins = 0, most = 0, open = 0 } = session ?? {}
        // A second connection ends the first one.
        return { open, logins, most, mixed: 0 }
      },
      shown: () => far.decrypted(recipient).map(({ text }) => text ?? ""),
      arrivals: () => far.decrypted(recipient).reduce((sum, { arrivals }) => sum + arrivals, 0),
      complaints: far.complaints,
    })
  }),
).pipe(Layer.provide(WhatsAppServer.layer({ asksForFewPreKeys: true })))

export const layerTelegram = Layer.effect(
  RemoteServer,
  Effect.gen(function* () {
    const far = yield* TelegramServer
    yield* far.person(recipient)
    return RemoteServer.of({
      settings: (directory) =>
        Effect.gen(function* () {
          const key = join(directory, "telegram.pem")
          yield* Effect.promise(() => writeFile(key, far.publicKey))
          return {
            TELEGRAM_API_ID: String(far.apiId),
            TELEGRAM_API_HASH: far.apiHash,
            TELEGRAM_DC: far.address,
            TELEGRAM_PUBLIC_KEY: key,
            // No WhatsApp number is there. A moved clock must not reach a platform.
            WHATSAPP_URL: "ws://127.0.0.1:9/",
          }
        }),
      connect: Effect.fnUntraced(function* (service, phone) {
        yield* far.person(phone)
        const { body: made } = yield* service.ask<{ readonly id: number }>(
          "POST",
          "/workspaces/1/numbers",
          { platform: "telegram", phone: `+${phone}`, status: "disconnected" },
        )
        const login = `/workspaces/1/numbers/${made.id}/telegram-login`
        yield* service.ask("POST", login, { method: "code", phone: `+${phone}` })
        yield* service.ask("POST", `${login}/code`, { code: "12345" })
        yield* untilConnected(numbersOf(service), made.id)
        return made.id
      }),
      connections: (phone) => {
        const { begun, mixed, most, open } = far.sessions(phone)
        return { open, logins: begun, most, mixed }
      },
      shown: () => far.shown(recipient).map(({ text }) => text),
      arrivals: () => far.shown(recipient).length,
      complaints: far.complaints,
    })
  }),
).pipe(Layer.provideMerge(TelegramServer.layer()))
