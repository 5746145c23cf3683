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
import type { ObservedNumber } from "./linkNumber.ts"

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
  readonly request: ReturnType<typeof processes.anOperator>["request"]
}

interface Connections {
  /** A number's open connections, their total, and the most at once. */
  readonly open: number
  readonly logins: number
  readonly max: number
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
  displayed(): ReadonlyArray<string>
  /** How many messages arrived there, including repeats that are shown once. */
  arrivals(): number
  complaints(): ReadonlyArray<string>
}

export class RemoteServer extends Context.Service<RemoteServer, RemoteServerShape>()(
  "test/RemoteServer",
) {}

const getNumbers = ({ request }: Service) =>
  Effect.map(
    request<{ readonly data: ReadonlyArray<ObservedNumber> }>("GET", "/workspaces/1/numbers"),
    ({ body }) => body.data,
  )

export const layerWhatsApp = Layer.effect(
  RemoteServer,
  Effect.gen(function* () {
    const remote = yield* WhatsAppServer
    yield* remote.person(recipient)
    return RemoteServer.of({
      settings: (directory) =>
        Effect.gen(function* () {
          const certificate = join(directory, "media.pem")
          yield* Effect.promise(() => writeFile(certificate, remote.mediaCertificate))
          return { WHATSAPP_URL: remote.url, NODE_EXTRA_CA_CERTS: certificate }
        }),
      connect: (service, phone) =>
        linkNumber(remote, phone, {
          request: (method, path, body) =>
            processes.call(method, `${service.url}${path}`, { token: service.token, body }),
          numbers: getNumbers(service),
        }),
      connections: (phone) => {
        const session = remote.sessions(phone)[0]
        const { logins = 0, max = 0, open = 0 } = session ?? {}
        // A second connection ends the first one.
        return { open, logins, max, mixed: 0 }
      },
      displayed: () => remote.decrypted(recipient).map(({ text }) => text ?? ""),
      arrivals: () => remote.decrypted(recipient).reduce((sum, { arrivals }) => sum + arrivals, 0),
      complaints: remote.complaints,
    })
  }),
).pipe(Layer.provideMerge(WhatsAppServer.layer({ asksForFewPreKeys: true })))

export const layerTelegram = Layer.effect(
  RemoteServer,
  Effect.gen(function* () {
    const remote = yield* TelegramServer
    yield* remote.person(recipient)
    return RemoteServer.of({
      settings: (directory) =>
        Effect.gen(function* () {
          const key = join(directory, "telegram.pem")
          yield* Effect.promise(() => writeFile(key, remote.publicKey))
          return {
            TELEGRAM_API_ID: String(remote.apiId),
            TELEGRAM_API_HASH: remote.apiHash,
            TELEGRAM_DC: remote.address,
            TELEGRAM_PUBLIC_KEY: key,
            // No WhatsApp number is there. A moved clock must not reach a platform.
            WHATSAPP_URL: "ws://127.0.0.1:9/",
          }
        }),
      connect: Effect.fnUntraced(function* (service, phone) {
        yield* remote.person(phone)
        const { body: created } = yield* service.request<{ readonly id: number }>(
          "POST",
          "/workspaces/1/numbers",
          { platform: "telegram", phone: `+${phone}`, status: "disconnected" },
        )
        const login = `/workspaces/1/numbers/${created.id}/telegram-login`
        yield* service.request("POST", login, { method: "code", phone: `+${phone}` })
        yield* service.request("POST", `${login}/code`, { code: "12345" })
        yield* untilConnected(getNumbers(service), created.id)
        return created.id
      }),
      connections: (phone) => {
        const { started, mixed, max, open } = remote.sessions(phone)
        return { open, logins: started, max, mixed }
      },
      displayed: () => remote.shown(recipient).map(({ text }) => text),
      arrivals: () => remote.shown(recipient).length,
      complaints: remote.complaints,
    })
  }),
).pipe(Layer.provideMerge(TelegramServer.layer()))
