/** The contract of transports, over the protocol: real Signal sessions and real sockets. */
import { WhatsAppTransport } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { RemoteServer, transportContract } from "@messaging-service/testkit"
import type { Taking } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { MessageOutcome } from "@messaging-service/whatsapp-server"
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { Sessions } from "../src/Account.ts"
import { aLinkedNumber, aPerson, layerWorld, linkTo, phone, until } from "./LiveWorld.ts"

const outcomes: Readonly<Record<Exclude<Taking, "acknowledge">, MessageOutcome>> = {
  refuse: { nack: 463 },
  break_before_ack: { drop: "before ack" },
  stay_silent: "lose",
}

const layerRemoteServer = Layer.effect(
  RemoteServer,
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    const sessions = yield* Sessions
    const world = yield* Effect.context<Effect.Services<typeof aLinkedNumber>>()
    const recipient = yield* aPerson
    const toDigits = new Map<NumberId, string>()
    const groups = new Map<string, string>()
    const isOut = new Set<NumberId>()
    const claiming = new Map<NumberId, Taking>()

    const joinTeam = (digits: string) =>
      Effect.map(
        server.group({ subject: "Team", participants: [digits, recipient] }),
        (id) => void groups.set(id, "Team"),
      )
    const digits = (id: NumberId) => toDigits.get(id) ?? ""
    /** An order is for one message, and only a connected number's can meet it. */
    const order = (id: NumberId) => {
      const now = claiming.get(id) ?? "acknowledge"
      return now === "acknowledge" || isOut.has(id) || server.ordersLeft(digits(id)) > 0
        ? Effect.void
        : server.nextMessage({ from: digits(id), outcome: outcomes[now] })
    }

    return RemoteServer.of({
      aNumber: Effect.gen(function* () {
        const number = yield* aLinkedNumber
        toDigits.set(number.id, number.digits)
        yield* joinTeam(number.digits)
        return number.id
      }).pipe(Effect.orDie, Effect.provideContext(world)),
      recipients: [
        { target: { kind: "phone", phone: phone(`+${recipient}`) }, displayedAs: `+${recipient}` },
        { target: { kind: "group", group: "Team" }, displayedAs: "Team" },
      ],
      strangers: [
        {
          target: { kind: "phone", phone: phone("+4915119999999") },
          code: "recipient_not_found",
        },
        { target: { kind: "group", group: "team" }, code: "group_not_found" },
      ],
      namesPictures: false,
      take: (id, how) =>
        Effect.suspend(() => {
          claiming.set(id, how)
          return order(id)
        }),
      logOut: (id) =>
        Effect.gen(function* () {
          if (isOut.has(id)) return
          isOut.add(id)
          yield* server.unlink(digits(id))
          yield* until(() => sessions.status(id)?.state === "disconnected")
        }),
      logIn: (id) =>
        Effect.gen(function* () {
          if (!isOut.delete(id)) return
          yield* linkTo(id, digits(id))
        }).pipe(Effect.orDie, Effect.provideContext(world)),
      seen: (id) =>
        Effect.sync(() =>
          server
            .decrypted(recipient)
            .filter(({ from }) => from === digits(id))
            .map(({ chat, id: transportId, media, text }) => ({
              transportId: transportId as never,
              to: chat === undefined ? `+${recipient}` : (groups.get(chat) ?? chat),
              text: text ?? "",
              media:
                media === undefined
                  ? null
                  : {
                      fileName: media.fileName ?? null,
                      mimeType: media.mimetype ?? "",
                      size: media.bytes?.length ?? 0,
                      sha256: createHash("sha256")
                        .update(media.bytes ?? "")
                        .digest("hex"),
                    },
            })),
        ),
      waiting: (id) =>
        Effect.gen(function* () {
          const session = yield* sessions.open(id)
          return (
            session !== null &&
            typeof session !== "string" &&
            session.connection.acknowledged.size > 0 &&
            server.ordersLeft(digits(id)) === 0
          )
        }),
    })
  }),
)

transportContract(
  "live WhatsApp",
  WhatsAppTransport,
  layerRemoteServer.pipe(Layer.provideMerge(layerWorld)),
  { runs: 5 },
)
