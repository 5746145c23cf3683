/** The contract of transports, over the protocol: real keys and real sockets. */
import { TelegramTransport } from "@messaging-service/core"
import type { NumberId, TransportId } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import type { CallOutcome, DisplayedMessage } from "@messaging-service/telegram-server"
import { RemoteServer, transportContract } from "@messaging-service/testkit"
import type { Taking } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { Sessions } from "../src/Account.ts"
import { toRandomId } from "../src/Transport.ts"
import { aPerson, anAccount, layerWorld, logIn, phone, awaitConnection } from "./LiveWorld.ts"

const outcomes: Readonly<Record<Exclude<Taking, "acknowledge">, CallOutcome>> = {
  refuse: { code: 400, error: "PEER_FLOOD" },
  break_before_ack: { drop: "after work" },
  stay_silent: "lose",
}

const marks = { messageEntityBold: "*", messageEntityItalic: "_", messageEntityStrike: "~" }

/** The text as written: a phone shows the text between its marks in bold. */
const written = ({ entities, text }: DisplayedMessage): string => {
  let source = text
  for (const { _: kind, length, offset } of entities.toReversed()) {
    const mark = kind in marks ? marks[kind as keyof typeof marks] : ""
    const inner = source.slice(offset, offset + length)
    source = `${source.slice(0, offset)}${mark}${inner}${mark}${source.slice(offset + length)}`
  }
  return source
}

/** The message ids that tests may use, by the remote server's name for them. */
const transportIds = new Map(
  Array.from({ length: 5000 }, (_, index) => {
    const id = (index + 1).toString(16).toUpperCase().padStart(20, "A") as TransportId
    return [toRandomId(id).toString(), id] as const
  }),
)

const layerRemoteServer = Layer.effect(
  RemoteServer,
  Effect.gen(function* () {
    const server = yield* TelegramServer
    const sessions = yield* Sessions
    const world = yield* Effect.context<Effect.Services<typeof anAccount>>()
    const recipient = yield* aPerson({ username: "recipient_one" })
    const other = yield* aPerson({ username: "recipient_two" })
    const toDigits = new Map<NumberId, string>()
    const isOut = new Set<NumberId>()
    const digits = (id: NumberId) => toDigits.get(id) ?? ""

    return RemoteServer.of({
      aNumber: Effect.gen(function* () {
        const account = yield* anAccount
        toDigits.set(account.id, account.digits)
        return account.id
      }).pipe(Effect.orDie, Effect.provideContext(world)),
      recipients: [
        {
          target: { kind: "phone", phone: phone(`+${recipient.digits}`) },
          displayedAs: recipient.digits,
        },
        { target: { kind: "username", username: "recipient_two" }, displayedAs: other.digits },
        { target: { kind: "user_id", userId: other.id }, displayedAs: other.digits },
      ],
      strangers: [
        {
          target: { kind: "phone", phone: phone("+4915119999999") },
          code: "recipient_not_found",
        },
        { target: { kind: "username", username: "not_there" }, code: "recipient_not_found" },
        { target: { kind: "user_id", userId: 7 }, code: "recipient_not_found" },
        { target: { kind: "group", group: "Team" }, code: "group_not_found" },
      ],
      namesPictures: false,
      take: (id, how) =>
        Effect.gen(function* () {
          yield* server.forgetOrders(digits(id))
          if (how === "acknowledge") return
          yield* server.nextCall({ phone: digits(id), outcome: outcomes[how] })
        }),
      logOut: (id) =>
        Effect.gen(function* () {
          if (isOut.has(id)) return
          isOut.add(id)
          yield* server.revoke(digits(id))
          yield* server.drop(digits(id))
          yield* awaitConnection(id, "disconnected")
        }).pipe(Effect.provideContext(world)),
      logIn: (id) =>
        Effect.gen(function* () {
          if (!isOut.delete(id)) return
          yield* logIn(id, digits(id))
        }).pipe(Effect.orDie, Effect.provideContext(world)),
      seen: (id) =>
        Effect.sync(() =>
          server.sentBy(digits(id)).map((visible) => ({
            transportId: transportIds.get(visible.randomId) ?? ("" as TransportId),
            to: visible.to,
            text: written(visible),
            media:
              visible.media === null
                ? null
                : {
                    fileName: visible.media.fileName,
                    mimeType: visible.media.mimeType,
                    size: visible.media.size,
                    sha256: visible.media.sha256,
                  },
          })),
        ),
      waiting: (id) =>
        Effect.gen(function* () {
          const account = yield* sessions.open(id)
          return (
            account !== null &&
            typeof account !== "string" &&
            account.questions.waiting() > 0 &&
            server.ordersLeft(digits(id)) === 0
          )
        }),
    })
  }),
)

transportContract(
  "live Telegram",
  TelegramTransport,
  layerRemoteServer.pipe(Layer.provideMerge(layerWorld)),
  { runs: 5 },
)
