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
  outcomeOnceExpired,
  sleepInRealTime,
} from "@messaging-service/core"
import type {
  NumberId,
  OutgoingMessage,
  Phone,
  PhonesOutcome,
  SendOutcome,
  Target,
} from "@messaging-service/core"
import type { proto } from "baileys"
import { Clock, Context, Data, Deferred, Effect, Layer } from "effect"
import { askPhones, canonicalAddresses } from "./recipients.ts"
import { sentType } from "./authState.ts"
import { makeMedia, messageFromText, textContent, textOfMessage } from "./content.ts"
import {
  afterNack,
  afterQuestion,
  afterRelay,
  moved,
  pauseAfter,
  refused,
  soon,
  unknown,
} from "./outcomes.ts"
import { Sessions } from "./Account.ts"
import type { OpenSession } from "./Account.ts"

/** How long a send waits for a session that is being opened, in real time. */
const openMillis = 15_000

/** Phones whose addresses a session remembers. */
const mostAddresses = 10_000

/** Messages of which it is remembered that they were put off. */
const mostNacks = 10_000

const notConnected = { _tag: "NotConnected" } as const
/** A question or a hand-over that the library gave up. */
class Broken extends Data.TaggedError("Broken")<{ readonly cause: unknown }> {
  override get message() {
    return "a question to the far side failed"
  }
}

const asked = <A>(question: () => Promise<A>) =>
  Effect.tryPromise({ try: question, catch: (cause) => new Broken({ cause }) })

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

    /**
     * How often in a row the far side put a message off. A process that takes the number over begins anew:
     * it asks the busy far side once more after the shortest pause, and a message that is never taken is
     * given up as many tries later, or when it expires. That costs less than a write for each refusal.
     */
    const nacks = new Map<string, number>()
    const countNack = (messageId: string, count: number) => {
      // Those of messages that were given up meanwhile.
      if (nacks.size >= mostNacks) nacks.clear()
      nacks.set(messageId, count)
    }

    /** Over the number's session, or without one. */
    const over = <A>(
      numberId: NumberId,
      use: (session: OpenSession) => Effect.Effect<A>,
    ): Effect.Effect<A | typeof soon | typeof notConnected> =>
      Effect.raceFirst(sessions.open(numberId), Effect.as(sleepInRealTime(openMillis), soon)).pipe(
        Effect.flatMap((session): Effect.Effect<A | typeof soon | typeof notConnected> => {
          // The store did not say what the number has, and is asked again.
          if (session === "connection_lost") return Effect.succeed(soon)
          if (session === "elsewhere") return Effect.succeed(moved)
          if (session === null || typeof session === "string") return Effect.succeed(notConnected)
          return "_tag" in session ? Effect.succeed(session) : use(session)
        }),
      )

    /** Ends with the connection. */
    const until = <A, E, B>(session: OpenSession, work: Effect.Effect<A, E>, closed: B) =>
      Effect.raceFirst(work, Effect.as(Deferred.await(session.connection.over), closed))

    const addressOfPhone = Effect.fnUntraced(function* addressOfPhone(
      session: OpenSession,
      phone: Phone,
    ) {
      const known = session.addresses.get(phone)
      if (known !== undefined) return { address: known }
      const answers = yield* asked(() => askPhones(session.connection.socket, [phone]))
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

    /**
     * A repeat is the very message that was sent before: what was uploaded for it is kept. A text is made
     * alike each time.
     */
    const contentOf = Effect.fnUntraced(function* contentOf(
      session: OpenSession,
      message: OutgoingMessage,
    ) {
      const { media, numberId, text, transportId } = message
      if (media === null) return textContent(text)
      const kept = yield* vault.keys(numberId, sentType, [transportId])
      const before = messageFromText(kept.get(transportId))
      if (before !== undefined) return before
      const content = yield* makeMedia(session.connection.socket, media, text)
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
        // The far side's word may come before the store has the keys: the next message waits for those.
        const relayed = Effect.andThen(
          asked(() => connection.socket.relayMessage(address, content, { messageId })),
          Effect.never,
        )
        const error = yield* Effect.raceFirst(Deferred.await(word), relayed)
        if (error === null) return { _tag: "Accepted" } as const
        const before = nacks.get(messageId) ?? 0
        const outcome = afterNack(error, before)
        if (outcome._tag === "Postponed") countNack(messageId, before + 1)
        else nacks.delete(messageId)
        return outcome
      }).pipe(
        Effect.catchTag("Broken", ({ cause }) => Effect.succeed(afterRelay(cause))),
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
          // A process that was frozen wakes up here, and another has the number by then.
          if (!sessions.owns(message.numberId)) return moved
          const late = outcomeOnceExpired(message, yield* Clock.currentTimeMillis)
          if (late !== null) return late
          return yield* until(
            session,
            relay(session, address, content, message.transportId),
            unknown,
          )
        }).pipe(
          Effect.catchTags({
            Broken: ({ cause }) => Effect.succeed(afterQuestion(cause) ?? soon),
            // Nothing of the message has left, and what the file is may still be there.
            Unreadable: () => Effect.succeed(soon),
            NotUploaded: () =>
              Effect.succeed(refused("send_failed", "WhatsApp did not take the media file.")),
            NumberMoved: () => Effect.succeed(moved),
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
            asked(() => askPhones(session.connection.socket, phones)).pipe(
              Effect.map((answers): PhonesOutcome =>
                answers === undefined
                  ? unknown
                  : {
                      _tag: "Checked",
                      registered: new Set(canonicalAddresses(phones, answers).keys()),
                    },
              ),
              Effect.catchTag("Broken", ({ cause }) =>
                Effect.succeed(pauseAfter(cause) ?? unknown),
              ),
            ),
            unknown,
          ),
        ),
    )

    return Context.make(WhatsAppTransport, {
      dropsCopies: true,
      send,
      // Sessions are kept for as long as their events are taken: by the worker alone.
      listen: sessions.listen,
      connections: sessions.reports,
    }).pipe(Context.add(PhoneDirectory, { checkPhones }))
  }),
)
