/**
 * Sending over a number's session, and asking which phones exist. A message is sent once the far side
 * has acknowledged its stanza: the library's call returns before. What the far side refuses is told
 * with its code; when nothing is heard it is sent again under the same id, of which recipients see one
 * copy.
 */
import {
  PhoneDirectory,
  SessionVault,
  WhatsAppTransport,
  sleepInRealTime,
} from "@messaging-service/core/ports"
import type {
  MessageErrorCode,
  NumberId,
  OutgoingMessage,
  Phone,
  PhonesOutcome,
  SendOutcome,
  Target,
} from "@messaging-service/core/ports"
import type { proto } from "baileys"
import { Clock, Context, Data, Deferred, Effect, Layer, Queue } from "effect"
import { addressOf, canonicalAddresses } from "./addresses.ts"
import { sentType } from "./authState.ts"
import { codeOf } from "./Connection.ts"
import { makeContent, messageFromText, textOfMessage } from "./content.ts"
import { Sessions } from "./Sessions.ts"
import type { OpenSession } from "./OpenSession.ts"

/** How long a send waits for a session that is being opened, in real time. */
const openMillis = 15_000

/** Phones whose addresses a session remembers. */
const mostAddresses = 10_000

/** When to look again after nothing was handed over. */
const soon: SendOutcome & PhonesOutcome = { _tag: "Postponed", afterMillis: 5000 }

/** The far side said that it was asked too much. */
const later: SendOutcome & PhonesOutcome = { _tag: "Postponed", afterMillis: 60_000 }

const notConnected = { _tag: "NotConnected" } as const
const unknown = { _tag: "Unknown" } as const

const refused = (code: MessageErrorCode, message: string, againstNumber = false): SendOutcome => ({
  _tag: "Refused",
  error: { code, message },
  againstNumber,
})

/** What is known of the codes with which messages are refused. */
const refusals: Readonly<Record<string, string>> = {
  "463": "the account may not write to people who have not written to it",
  "475": "the account is restricted for a time",
  "479": "the far side could not read it",
}

/** Those of them that tell of the account that sends. */
const restrictions: ReadonlySet<string> = new Set(["463", "475"])

const refusedWith = (code: string): SendOutcome => {
  const known = refusals[code]
  return refused(
    "send_failed",
    `WhatsApp refused the message (${code})${known === undefined ? "" : `: ${known}`}.`,
    restrictions.has(code),
  )
}

/** A question or a hand-over that the library gave up. */
class Broken extends Data.TaggedError("Broken")<{ readonly cause: unknown }> {
  override get message() {
    return "a question to the far side failed"
  }
}

const asked = <A>(question: () => Promise<A>) =>
  Effect.tryPromise({ try: question, catch: (cause) => new Broken({ cause }) })

const isTooMuch = ({ cause }: Broken): boolean =>
  codeOf(cause) === 429 || (cause instanceof Error && cause.message.includes("rate-overlimit"))

/** Nothing of a message has left when a question before it fails. */
const whenBroken = (broken: Broken) => Effect.succeed(isTooMuch(broken) ? later : soon)

/** What relaying threw: before the stanza left, unless the connection or the store broke. */
const whenNotRelayed = (broken: Broken): SendOutcome => {
  const { cause } = broken
  if (isTooMuch(broken)) return later
  if (cause instanceof Error && cause.message === "All encryptions failed") {
    return refused(
      "send_failed",
      "The message could not be encrypted for any device of the recipient.",
    )
  }
  const code = codeOf(cause)
  return code !== null && code >= 400 && code < 500 && code !== 408 && code !== 428
    ? refusedWith(String(code))
    : unknown
}

const groupProblem = (matches: number): SendOutcome =>
  refused(
    "group_not_found",
    matches === 0
      ? "The number belongs to no group of that name."
      : `The group name is ambiguous: the number belongs to ${matches} groups of that name.`,
  )

/** Where a message goes, or why it goes nowhere. */
type Resolved = { readonly address: string } | { readonly outcome: SendOutcome }

export const layerTransport: Layer.Layer<
  WhatsAppTransport | PhoneDirectory,
  never,
  Sessions | SessionVault
> = Layer.effectContext(
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const vault = yield* SessionVault

    /** Over the number's session, or without one. */
    const over = <A>(
      numberId: NumberId,
      use: (session: OpenSession) => Effect.Effect<A>,
    ): Effect.Effect<A | typeof soon | typeof notConnected> =>
      Effect.raceFirst(sessions.open(numberId), Effect.as(sleepInRealTime(openMillis), soon)).pipe(
        Effect.flatMap((session): Effect.Effect<A | typeof soon | typeof notConnected> => {
          // The store did not say what the number has, and is asked again.
          if (session === "connection_lost") return Effect.succeed(soon)
          if (session === null || typeof session === "string") return Effect.succeed(notConnected)
          return "_tag" in session ? Effect.succeed(session) : use(session)
        }),
      )

    /** Ends with the connection. */
    const until = <A, E, B>(session: OpenSession, work: Effect.Effect<A, E>, closed: B) =>
      Effect.raceFirst(work, Effect.as(Deferred.await(session.connection.over), closed))

    const addressOfPhone = Effect.fnUntraced(function* (session: OpenSession, phone: Phone) {
      const known = session.addresses.get(phone)
      if (known !== undefined) return { address: known }
      const answers = yield* asked(() => session.connection.socket.onWhatsApp(addressOf(phone)))
      if (answers === undefined) return { outcome: soon }
      const address = canonicalAddresses([phone], answers).get(phone)
      if (address === undefined) {
        return { outcome: refused("recipient_not_found", `${phone} is not registered.`) }
      }
      if (session.addresses.size >= mostAddresses) session.addresses.clear()
      session.addresses.set(phone, address)
      return { address }
    })

    const resolve = (session: OpenSession, to: Target): Effect.Effect<Resolved, Broken> => {
      switch (to.kind) {
        case "phone":
          return addressOfPhone(session, to.phone)
        case "group":
          return Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const found = yield* asked(() => session.groups.named(to.group, now))
            if (found === null) return { outcome: soon }
            const [address, ...others] = found
            return address === undefined || others.length > 0
              ? { outcome: groupProblem(found.length) }
              : { address }
          })
        case "username":
        case "user_id":
          return Effect.succeed({
            outcome: refused("recipient_not_found", "WhatsApp knows no such recipients."),
          })
      }
    }

    /** A repeat is the very message that was sent before, with what was uploaded for it. */
    const contentOf = Effect.fnUntraced(function* (session: OpenSession, message: OutgoingMessage) {
      const { numberId, transportId } = message
      const kept = yield* vault.keys(numberId, sentType, [transportId])
      const before = messageFromText(kept.get(transportId))
      if (before !== undefined) return before
      const content = yield* makeContent(session.connection.socket, message)
      yield* vault.write(numberId, null, [
        { type: sentType, id: transportId, value: textOfMessage(content) },
      ])
      return content
    })

    const relay = (
      { connection }: OpenSession,
      address: string,
      content: proto.IMessage,
      messageId: string,
    ): Effect.Effect<SendOutcome> =>
      Effect.gen(function* () {
        const word = yield* Deferred.make<string | null>()
        connection.acknowledged.set(messageId, (error) => {
          Deferred.doneUnsafe(word, Effect.succeed(error))
        })
        yield* asked(() => connection.socket.relayMessage(address, content, { messageId }))
        const error = yield* Deferred.await(word)
        return error === null ? ({ _tag: "Accepted" } as const) : refusedWith(error)
      }).pipe(
        Effect.catchTag("Broken", (broken) => Effect.succeed(whenNotRelayed(broken))),
        Effect.ensuring(Effect.sync(() => connection.acknowledged.delete(messageId))),
      )

    const send = Effect.fn("WhatsAppTransport.send")((message: OutgoingMessage) =>
      over(message.numberId, (session) =>
        Effect.gen(function* () {
          const prepared = yield* until(
            session,
            Effect.gen(function* () {
              const resolved = yield* resolve(session, message.to)
              if ("outcome" in resolved) return resolved
              return { address: resolved.address, content: yield* contentOf(session, message) }
            }),
            { outcome: soon },
          )
          if ("outcome" in prepared) return prepared.outcome
          const { address, content } = prepared
          return yield* until(
            session,
            relay(session, address, content, message.transportId),
            unknown,
          )
        }).pipe(
          Effect.catchTags({
            Broken: whenBroken,
            Unreadable: () =>
              Effect.succeed(refused("media_unavailable", "The media file could not be read.")),
            NotUploaded: () =>
              Effect.succeed(refused("send_failed", "WhatsApp did not take the media file.")),
            StoreUnavailable: () => Effect.succeed(soon),
            CannotOpen: () => Effect.succeed(soon),
          }),
        ),
      ),
    )

    const checkPhones = Effect.fn("PhoneDirectory.checkPhones")(
      (numberId: NumberId, phones: ReadonlyArray<Phone>): Effect.Effect<PhonesOutcome> =>
        over(numberId, (session) =>
          until(
            session,
            asked(() => session.connection.socket.onWhatsApp(...phones.map(addressOf))).pipe(
              Effect.map((answers): PhonesOutcome =>
                answers === undefined
                  ? unknown
                  : {
                      _tag: "Checked",
                      registered: new Set(canonicalAddresses(phones, answers).keys()),
                    },
              ),
              Effect.catchTag("Broken", (broken) =>
                Effect.succeed(isTooMuch(broken) ? later : unknown),
              ),
            ),
            unknown,
          ),
        ),
    )

    return Context.make(WhatsAppTransport, {
      dropsCopies: true,
      send,
      // Sessions are kept for as long as their events are taken: by the worker, and by no one else.
      listen: (take) =>
        Effect.raceFirst(
          sessions.run,
          Effect.forever(Effect.flatMap(Queue.take(sessions.events), take)),
        ),
    }).pipe(Context.add(PhoneDirectory, { checkPhones }))
  }),
)
