/**
 * Sends over a number's session and checks which phones are registered. A message is sent once WhatsApp
 * acknowledges its stanza. Without an answer it is sent again under the same id; recipients see one copy.
 */
import {
  FileUnavailable,
  PhoneDirectory,
  SessionVault,
  WhatsAppTransport,
  outcomeOnceExpired,
  sleepInRealTime,
} from "@messaging-service/core"
import type {
  FileRequest,
  NumberId,
  OutgoingMessage,
  Phone,
  PhonesOutcome,
  ReadMark,
  ReadMarkOutcome,
  SendOutcome,
  Target,
} from "@messaging-service/core"
import type { proto } from "baileys"
import { Clock, Context, Data, Deferred, Effect, Layer, Stream } from "effect"
import { askPhones, canonicalAddresses } from "./recipients.ts"
import { sentType } from "./authState.ts"
import { fetchFile, toUnavailable } from "./files.ts"
import { makeMedia, messageFromText, textContent, textOfMessage, withQuote } from "./content.ts"
import {
  afterNack,
  afterQuestion,
  afterRelay,
  moved,
  pauseAfter,
  refused,
  refusesNewChat,
  soon,
  unknown,
} from "./outcomes.ts"
import { markOver } from "./readMarks.ts"
import { Sessions } from "./Account.ts"
import type { OpenSession } from "./Account.ts"

/** How long a send waits for a session that is being opened, in real time. */
const openMillis = 15_000

/** Cached addresses of one session. */
const maxAddresses = 10_000

/** Counted messages that WhatsApp postponed. */
const maxNacks = 10_000

const notConnected = { _tag: "NotConnected" } as const

/** A query or relay of the library failed. */
class Broken extends Data.TaggedError("Broken")<{ readonly cause: unknown }> {
  override get message() {
    return "a query to WhatsApp failed"
  }
}

const request = <A>(question: () => Promise<A>) =>
  Effect.tryPromise({ try: question, catch: (cause) => new Broken({ cause }) })

const groupProblem = (matches: number): SendOutcome =>
  refused(
    "group_not_found",
    matches === 0
      ? "The number belongs to no group of that name."
      : `The group name is ambiguous: the number belongs to ${matches} groups of that name.`,
  )

type Resolved = { readonly address: string } | { readonly outcome: SendOutcome }

/** Stops the work when the connection is over. */
const until = <A, E, B>(session: OpenSession, work: Effect.Effect<A, E>, closed: B) =>
  Effect.raceFirst(work, Effect.as(Deferred.await(session.connection.over), closed))

const addressOfPhone = Effect.fnUntraced(function* addressOfPhone(
  session: OpenSession,
  phone: Phone,
) {
  const known = session.addresses.get(phone)
  if (known !== undefined) return { address: known }
  const answers = yield* request(() => askPhones(session.connection.socket, [phone]))
  if (answers === undefined) return { outcome: soon }
  const address = canonicalAddresses([phone], answers).get(phone)
  if (address === undefined) {
    return { outcome: refused("recipient_not_found", `${phone} is not registered.`) }
  }
  if (session.addresses.size >= maxAddresses) session.addresses.clear()
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
        const found = yield* request(() => session.groups.named(to.group, now))
        if (found === null) return { outcome: soon }
        const [address, ...others] = found
        return address === undefined || others.length > 0
          ? { outcome: groupProblem(found.length) }
          : { address }
      })
    case "lid":
      return Effect.succeed({ address: `${to.lid}@lid` })
    case "group_id":
      return Effect.succeed({ address: to.groupId })
    case "username":
    case "user_id":
      return Effect.succeed({
        outcome: refused("recipient_not_found", "WhatsApp knows no such recipients."),
      })
  }
}

/** A repeat sends the same upload as the first try. A text is identical by itself. */
const getContent = Effect.fnUntraced(function* getContent(
  vault: typeof SessionVault.Service,
  session: OpenSession,
  message: OutgoingMessage,
) {
  const { media, numberId, text, transportId } = message
  if (media === null) return textContent(text)
  const stored = yield* vault.keys(numberId, sentType, [transportId])
  const before = messageFromText(stored.get(transportId))
  if (before !== undefined) return before
  const content = yield* makeMedia(session.connection.socket, media, text)
  yield* vault.write(numberId, null, [
    { type: sentType, id: transportId, value: textOfMessage(content) },
  ])
  return content
})

/**
 * How often in a row WhatsApp postponed each message. Not stored: after a takeover the count starts again
 * with the shortest pause, which costs less than a write for each refusal.
 */
interface Nacks {
  readonly getCount: (messageId: string) => number
  readonly set: (messageId: string, count: number) => void
  readonly clear: (messageId: string) => void
}

const makeNacks = (): Nacks => {
  const counts = new Map<string, number>()
  return {
    getCount: (messageId) => counts.get(messageId) ?? 0,
    set: (messageId, count) => {
      // Drops counts of messages that were given up meanwhile.
      if (counts.size >= maxNacks) counts.clear()
      counts.set(messageId, count)
    },
    clear: (messageId) => void counts.delete(messageId),
  }
}

const relay = (
  nacks: Nacks,
  { connection, restrictions }: OpenSession,
  address: string,
  content: proto.IMessage,
  messageId: string,
): Effect.Effect<SendOutcome> =>
  Effect.gen(function* () {
    const acknowledgement = yield* Deferred.make<string | null>()
    connection.acknowledged.set(messageId, (error) => {
      Deferred.doneUnsafe(acknowledgement, Effect.succeed(error))
    })
    // The acknowledgement may come before the store has the keys; the next message waits for those.
    const relayed = Effect.andThen(
      request(() => connection.socket.relayMessage(address, content, { messageId })),
      Effect.never,
    )
    const error = yield* Effect.raceFirst(Deferred.await(acknowledgement), relayed)
    if (error === null) return { _tag: "Accepted" } as const
    if (refusesNewChat(error)) yield* restrictions.refused
    const before = nacks.getCount(messageId)
    const outcome = afterNack(error, before)
    if (outcome._tag === "Postponed") nacks.set(messageId, before + 1)
    else nacks.clear(messageId)
    return outcome
  }).pipe(
    Effect.catchTag("Broken", ({ cause }) => Effect.succeed(afterRelay(cause))),
    Effect.ensuring(Effect.sync(() => connection.acknowledged.delete(messageId))),
  )

type Services = {
  readonly sessions: typeof Sessions.Service
  readonly vault: typeof SessionVault.Service
}

/** Runs `use` over the number's session, or says why there is none. */
const overSession = <A>(
  sessions: Services["sessions"],
  numberId: NumberId,
  use: (session: OpenSession) => Effect.Effect<A>,
): Effect.Effect<A | typeof soon | typeof notConnected> =>
  Effect.raceFirst(sessions.open(numberId), Effect.as(sleepInRealTime(openMillis), soon)).pipe(
    Effect.flatMap((session): Effect.Effect<A | typeof soon | typeof notConnected> => {
      // The store did not answer: try again.
      if (session === "connection_lost") return Effect.succeed(soon)
      if (session === "elsewhere") return Effect.succeed(moved)
      if (session === null || typeof session === "string") return Effect.succeed(notConnected)
      return "_tag" in session ? Effect.succeed(session) : use(session)
    }),
  )

const sendOver = (
  { sessions, vault }: Services,
  nacks: Nacks,
  session: OpenSession,
  message: OutgoingMessage,
): Effect.Effect<SendOutcome> =>
  Effect.gen(function* sendMessage() {
    const prepared = yield* until(
      session,
      Effect.gen(function* () {
        const resolved = yield* resolve(session, message.to)
        if ("outcome" in resolved) return resolved
        const { quote = null } = message
        const own = session.connection.socket.user ?? {}
        const content = withQuote(yield* getContent(vault, session, message), quote, own)
        return { address: resolved.address, content }
      }),
      { outcome: soon },
    )
    if ("outcome" in prepared) return prepared.outcome
    const { address, content } = prepared
    // A frozen process may resume here after another worker took the number over.
    if (!sessions.owns(message.numberId)) return moved
    const late = outcomeOnceExpired(message, yield* Clock.currentTimeMillis)
    if (late !== null) return late
    return yield* until(
      session,
      relay(nacks, session, address, content, message.transportId),
      unknown,
    )
  }).pipe(
    Effect.catchTags({
      Broken: ({ cause }) => Effect.succeed(afterQuestion(cause) ?? soon),
      // Nothing has left, and the file may be readable later.
      Unreadable: () => Effect.succeed(soon),
      NotUploaded: () =>
        Effect.succeed(refused("send_failed", "WhatsApp did not take the media file.")),
      NumberMoved: () => Effect.succeed(moved),
      StoreUnavailable: () => Effect.succeed(soon),
      CannotOpen: () => Effect.succeed(soon),
    }),
  )

const checkOver = (
  session: OpenSession,
  phones: ReadonlyArray<Phone>,
): Effect.Effect<PhonesOutcome> =>
  until(
    session,
    request(() => askPhones(session.connection.socket, phones)).pipe(
      Effect.map((answers): PhonesOutcome =>
        answers === undefined
          ? unknown
          : {
              _tag: "Checked",
              registered: new Set(canonicalAddresses(phones, answers).keys()),
            },
      ),
      Effect.catchTag("Broken", ({ cause }) => Effect.succeed(pauseAfter(cause) ?? unknown)),
    ),
    unknown,
  )

const later = new FileUnavailable({ reason: "later" })

/** The bytes of a file, as long as the connection is open. */
const fileOver = (sessions: Services["sessions"], file: FileRequest) =>
  overSession(sessions, file.numberId, ({ connection }) =>
    Effect.succeed({
      bytes: Stream.fromAsyncIterable(fetchFile(connection.files, file), toUnavailable).pipe(
        Stream.interruptWhen(Effect.andThen(Deferred.await(connection.over), Effect.fail(later))),
      ),
    }),
  ).pipe(
    Effect.map((found) => ("bytes" in found ? found.bytes : Stream.fail(later))),
    Stream.unwrap,
  )

export const layerTransport: Layer.Layer<
  WhatsAppTransport | PhoneDirectory,
  never,
  Sessions | SessionVault
> = Layer.effectContext(
  Effect.gen(function* makeTransport() {
    const sessions = yield* Sessions
    const vault = yield* SessionVault
    const nacks = makeNacks()

    const send = Effect.fn("WhatsAppTransport.send")((message: OutgoingMessage) =>
      overSession(sessions, message.numberId, (session) =>
        sendOver({ sessions, vault }, nacks, session, message),
      ),
    )
    const checkPhones = Effect.fn("PhoneDirectory.checkPhones")(
      (numberId: NumberId, phones: ReadonlyArray<Phone>): Effect.Effect<PhonesOutcome> =>
        overSession(sessions, numberId, (session) => checkOver(session, phones)),
    )

    const markRead = Effect.fn("WhatsAppTransport.markRead")(
      (mark: ReadMark): Effect.Effect<ReadMarkOutcome> =>
        overSession(sessions, mark.numberId, ({ connection }) => markOver(connection, mark)),
    )

    return Context.make(WhatsAppTransport, {
      dropsCopies: true,
      send,
      markRead,
      fetchFile: (file) => fileOver(sessions, file),
      // Only the worker listens, and sessions stay open while it does.
      listen: sessions.listen,
      connections: sessions.reports,
    }).pipe(Context.add(PhoneDirectory, { checkPhones }))
  }),
)
