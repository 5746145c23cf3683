/**
 * The emulator controls (contract: Emulator controls): the other side of the simulated wire, and the
 * adjustable clock, for any test in any language.
 */
import {
  EventSignal,
  Ids,
  Numbers,
  described,
  inputDecoder,
  inventedPhone,
  makeCursors,
  makeLinkProgress,
  applyEarlyTicks,
  makeTick,
  tickOnceSent,
  InstantInput,
  isKept,
  makeNewReceived,
  boundMillis,
  pageFields,
  parsePhone,
  parsed,
  phoneDescribed,
  phoneDigits,
  queryDecoder,
  queryId,
  receivedKinds,
  Refusal,
  refuse,
  textBetween,
  Store,
  unknownPerson,
  WakeUp,
} from "@messaging-service/core"
import type {
  CursorPage,
  Failure,
  Incoming,
  LinkingAttempt,
  ListPage,
  Message,
  MessageId,
  Mode,
  NumberId,
  PhoneBehaviour,
  ReceivedMessage,
  SendingNumber,
  SentCopy,
  SentFilter,
  SettledReadMark,
  WorkspaceId,
} from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import * as Base64 from "effect/encoding/Base64"
import { Idle } from "./IdleMonitor.ts"
import {
  defaultBehaviour,
  layerLinking,
  layerTransport,
  simulatedFile,
  SimulatedApps,
} from "./SimulatedTransport.ts"
import { timeTravel } from "./AdjustableClock.ts"

const day = 24 * 60 * 60 * 1000

/** Members of `groups` and of `phones`. */
const maximumGroups = 1000
const maximumRegistered = 1000

export const BehaviourBody = Schema.Struct({
  send: described(
    Schema.optionalKey(Schema.Literals(["succeed", "fail", "hang", "drop"])),
    "`drop`: the next attempt reaches the remote server, then the connection breaks before the ack; after it `succeed`.",
    { default: "succeed" },
  ),
  errorMessage: described(
    Schema.optionalKey(Schema.NullOr(textBetween(1, 1000))),
    "The reason that a failed send gives.",
  ),
  latencyMillis: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: day })),
  ),
  groups: described(
    Schema.optionalKey(Schema.Array(textBetween(1, 100)).check(Schema.isMaxLength(maximumGroups))),
    "Exact names of the groups that the phone belongs to.",
    { default: ["Team"] },
  ),
}).annotate({ identifier: "SetBehaviour" })

const PhoneInput = parsed("invalid_phone", parsePhone, phoneDescribed)

export const RegisteredBody = Schema.Struct({
  phones: described(
    Schema.NullOr(Schema.Array(PhoneInput).check(Schema.isMaxLength(maximumRegistered))),
    "The phones that exist; null for the rule: all but those that end in 0000.",
  ),
}).annotate({ identifier: "SetRegistered" })

export const ScanBody = Schema.Struct({
  phone: Schema.optionalKey(
    parsed("invalid_phone", parsePhone, {
      ...phoneDescribed,
      description: "E.164 with a leading +; a made-up one when left out.",
    }),
  ),
}).annotate({ identifier: "Scan" })

export const TickBody = Schema.Struct({
  status: Schema.Literals(["delivered", "read"]),
}).annotate({ identifier: "Tick" })

/** Who writes: by exactly one of the addresses. */
const WriterInput = Schema.Struct({
  phone: Schema.optionalKey(PhoneInput),
  lid: described(Schema.optionalKey(textBetween(1, 100)), "WhatsApp's other name of an account."),
  username: Schema.optionalKey(textBetween(1, 100)),
  userId: described(Schema.optionalKey(textBetween(1, 100)), "Telegram's id of an account."),
  name: described(Schema.optionalKey(textBetween(1, 100)), "What the person calls itself."),
}).check(
  Schema.makeFilter(({ lid, phone, userId, username }) =>
    [lid, phone, userId, username].filter((address) => address !== undefined).length === 1
      ? undefined
      : "must have exactly one of phone, lid, username and user_id",
  ),
)

const OptionalText = Schema.optionalKey(Schema.NullOr(Schema.String))

const ContentInput = Schema.Union([
  Schema.Struct({
    latitude: Schema.Finite,
    longitude: Schema.Finite,
    name: OptionalText,
    address: OptionalText,
  }),
  Schema.Struct({
    contacts: Schema.Array(
      Schema.Struct({ name: Schema.String, phones: Schema.Array(Schema.String) }),
    ),
  }),
  Schema.Struct({ question: Schema.String, options: Schema.Array(Schema.String) }),
  Schema.Struct({ type: Schema.String }),
])

/** 1 MiB in base64. */
const maximumDataLength = 4 * Math.ceil(1024 ** 2 / 3)

export const WriteBody = Schema.Struct({
  from: described(
    Schema.Union([Schema.Literal("owner"), WriterInput]),
    "A person, or the number's owner on the phone.",
  ),
  toPhone: described(Schema.optionalKey(PhoneInput), "With `owner`: to whom. Left out in a group."),
  group: described(
    Schema.optionalKey(textBetween(1, 100)),
    "Exact name of the group that it is written in.",
  ),
  text: Schema.optionalKey(Schema.String),
  kind: described(
    Schema.optionalKey(Schema.Literals(receivedKinds)),
    "What it is. Default: `text`, `document` with a file.",
  ),
  content: described(
    Schema.optionalKey(Schema.NullOr(ContentInput)),
    "What the kind has beside its text.",
  ),
  media: described(
    Schema.optionalKey(
      Schema.Struct({
        fileName: Schema.optionalKey(textBetween(1, 255)),
        data: described(
          Schema.String.check(
            Schema.makeFilter(
              (data) =>
                data.length <= maximumDataLength && Result.isSuccess(Base64.decode(data))
                  ? undefined
                  : "must be at most 1 MiB in base64",
              { toJsonSchema: () => ({ maxLength: maximumDataLength }) },
            ),
          ),
          "The file, in base64: up to 1 MiB.",
        ),
      }),
    ),
    "A file that comes with it.",
  ),
  replyTo: described(
    Schema.optionalKey(
      Schema.Struct({
        remoteId: described(
          Schema.optionalKey(textBetween(1, 200)),
          "The `remote_id` of what was written, or a message's `transport_id`.",
        ),
        messageId: described(Schema.optionalKey(Schema.Int), "In its place: id of a sent message."),
        text: OptionalText,
      }).check(
        Schema.makeFilter(({ messageId, remoteId }) =>
          (messageId === undefined) === (remoteId === undefined)
            ? "must have exactly one of remote_id and message_id"
            : undefined,
        ),
      ),
    ),
    "What it quotes.",
  ),
  remoteId: described(
    Schema.optionalKey(textBetween(1, 200)),
    "The platform's id, by which a repeat is recognised; drawn when left out.",
  ),
  sentAt: described(Schema.optionalKey(InstantInput), "The sender's time; now when left out."),
}).annotate({ identifier: "Write" })

/** A century. */
const furthestSeconds = 100 * 365 * 86_400

export const AdvanceBody = Schema.Struct({
  seconds: Schema.Finite.check(
    Schema.makeFilter(
      (seconds) =>
        seconds > 0 && seconds <= furthestSeconds ? undefined : "must be a positive number",
      { toJsonSchema: () => ({ exclusiveMinimum: 0, maximum: furthestSeconds }) },
    ),
  ),
}).annotate({ identifier: "AdvanceClock" })

export const SentQuery = Schema.Struct({
  numberId: Schema.optionalKey(queryId("Only what left this number's phone.")),
  workspaceId: Schema.optionalKey(queryId("Only what left the workspace's phones.")),
  to: Schema.optionalKey(
    textBetween(1, 100).annotate({ description: "Only copies to exactly this recipient." }),
  ),
  ...pageFields,
})

export interface ListSent extends ListPage {
  readonly numberId?: number | undefined
  readonly workspaceId?: number | undefined
  readonly to?: string | undefined
}

/** A copy, with its message as it is now; null when that is gone. */
export interface ReceivedCopy extends SentCopy {
  readonly message: Message | null
}

const decodeBehaviour = inputDecoder(BehaviourBody, { lists: { groups: { most: maximumGroups } } })
const decodeRegistered = inputDecoder(RegisteredBody, {
  codes: ["invalid_phone"],
  lists: { phones: { most: maximumRegistered } },
})
const decodeScan = inputDecoder(ScanBody, { codes: ["invalid_phone"] })
const decodeTick = inputDecoder(TickBody)
const decodeWrite = inputDecoder(WriteBody, { codes: ["invalid_phone", "invalid_datetime"] })
const decodeAdvance = inputDecoder(AdvanceBody)
const decodeSent = queryDecoder(SentQuery)

/** Scans the shown code with a phone: the given one, else the known one, else a free one. */
const makeScan = Effect.gen(function* makeScan() {
  const { numbers } = yield* Store

  const progress = yield* makeLinkProgress
  const ids = yield* Ids
  const apps = yield* SimulatedApps
  const notConnecting = refuse("not_connecting")

  const scanningPhone = (number: SendingNumber, attempt: LinkingAttempt) =>
    Effect.gen(function* choosePhone() {
      const known = attempt.phone ?? number.phone
      if (known !== null) return known
      const usedPhones = (yield* numbers.list(number.workspaceId)).map(({ phone }) => phone)
      for (;;) {
        const phone = inventedPhone(ids)
        if (!usedPhones.includes(phone)) return phone
      }
    })

  return Effect.fnUntraced(function* scan(number: SendingNumber, body: unknown) {
    const input = yield* Effect.fromResult(decodeScan(body))
    const attempt = yield* numbers.getLinking(number.id)
    const named = input.phone === undefined ? null : phoneDigits(input.phone)
    if (attempt === null) return (yield* apps.scan(number, named)) ?? (yield* notConnecting)
    const phone = named ?? (yield* scanningPhone(number, attempt))
    if (!(yield* progress.scanned(attempt))) return yield* notConnecting
    const linked = yield* progress.linked(attempt, phone)
    return linked ?? (yield* notConnecting)
  })
})

/** What was written, as the platform would tell it. */
const toIncoming = (
  input: typeof WriteBody.Type,
  drawn: {
    readonly remoteId: string
    readonly mode: Mode
    readonly now: number
    readonly quote: Incoming["quote"]
  },
): Incoming | Refusal<"validation_failed"> => {
  const { content = null, from, group = null, media, sentAt, text = "", toPhone } = input
  const fromMe = from === "owner"
  if (fromMe !== (toPhone !== undefined) && (!fromMe || group === null)) {
    const message = fromMe ? "must be given with owner" : "must be left out"
    return refuse("validation_failed", { field: "toPhone", message: `to_phone: ${message}` })
  }
  const writer = fromMe ? (toPhone === undefined ? null : { phone: toPhone }) : from
  return {
    remoteId: input.remoteId ?? drawn.remoteId,
    mode: drawn.mode,
    fromMe,
    group: group === null ? null : { remoteId: group, name: group },
    person: fromMe && group !== null ? null : writer && { ...unknownPerson, ...writer },
    kind: input.kind ?? (media === undefined ? "text" : "document"),
    text,
    content:
      content !== null && "latitude" in content
        ? { ...content, name: content.name ?? null, address: content.address ?? null }
        : content,
    file:
      media === undefined
        ? null
        : {
            mimeType: null,
            size: simulatedFile(media.data).length,
            fileName: media.fileName ?? null,
            seconds: null,
            sha256: null,
          },
    fileSource: media?.data ?? null,
    quote: drawn.quote,
    sentAt: boundMillis(sentAt) ?? drawn.now,
  }
}

/** What a person quotes, as the platform would tell it. */
const toQuote = Effect.fnUntraced(function* toQuote(replyTo: (typeof WriteBody.Type)["replyTo"]) {
  if (replyTo === undefined) return null
  const { messageId, remoteId = null, text } = replyTo
  if (messageId === undefined) return { remoteId, text: text ?? "" }
  const { messages } = yield* Store
  const [quoted] = yield* messages.byIds([messageId as MessageId])
  if (quoted === undefined) {
    return yield* refuse("validation_failed", {
      field: "replyTo.messageId",
      message: "reply_to.message_id: there is no such message",
    })
  }
  return { remoteId: quoted.transportId, text: text ?? quoted.text }
})

/** People write to numbers, as their transports would hear it. */
const makeWrite = Effect.gen(function* makeWrite() {
  const store = yield* Store
  const { chats } = store
  const ids = yield* Ids
  const listeners = yield* EventSignal
  const wakeUp = yield* WakeUp
  const newReceived = yield* makeNewReceived
  return Effect.fn("Emulator.write")(function* write(number: SendingNumber, body: unknown) {
    const input = yield* Effect.fromResult(decodeWrite(body))
    const { mode, workspaceId } = number
    const now = yield* Clock.currentTimeMillis
    const quote = yield* Effect.provideService(toQuote(input.replyTo), Store, store)
    const remoteId = ids.hex(20).toUpperCase()
    const incoming = toIncoming(input, { remoteId, mode, now, quote })
    if (incoming instanceof Refusal) return yield* incoming
    const settings = yield* chats.conversations(workspaceId)
    if (settings === null) return yield* refuse("conversations_not_enabled")
    if (!isKept(incoming, settings)) {
      return yield* refuse("validation_failed", {
        field: "group",
        message: "group: the workspace's conversations leave out groups",
      })
    }
    const [outcome] = yield* chats.receive(number.id, newReceived(number.id, [incoming], now), now)
    yield* listeners.wake
    yield* wakeUp.wake("files")
    const { id = null, isNew = false } = outcome ?? {}
    const scope = { workspaceId, mode: incoming.mode, restriction: null }
    const message = id === null ? null : yield* chats.getReceived(scope, id)
    // A repeat of an erased one is no message.
    return message === null ? yield* refuse("received_message_not_found") : { message, isNew }
  })
})

/** Lists copies with their messages. */
const makeSent = Effect.gen(function* makeSent() {
  const { messages, phones } = yield* Store
  const cursors = yield* makeCursors
  return Effect.fn("Emulator.sent")(function* sent(input: ListSent) {
    const query = yield* Effect.fromResult(decodeSent(input))
    const filter: SentFilter = {
      numberId: (query.numberId as NumberId | undefined) ?? null,
      workspaceId: (query.workspaceId as WorkspaceId | undefined) ?? null,
      to: query.to ?? null,
    }
    const { numberId, to, workspaceId } = filter
    const page = yield* cursors.page(query, ["sent", numberId, workspaceId, to], (request) =>
      phones.sent(filter, request),
    )
    const found = yield* messages.byIds(page.items.flatMap(({ messageId }) => messageId ?? []))
    const byId = new Map(found.map((message) => [message.id, message]))
    const items = page.items.map((copy) => ({
      ...copy,
      message: (copy.messageId === null ? undefined : byId.get(copy.messageId)) ?? null,
    }))
    return { ...page, items }
  })
})

/** Ticks of phones. Those of messages that have not left yet are applied once they have. */
const makeTicks = Effect.gen(function* makeTicks() {
  const store = yield* Store
  const applyTick = yield* makeTick
  const idle = yield* Idle
  const scope = yield* Effect.scope
  const applyEarly = Effect.provideService(applyEarlyTicks(applyTick), Store, store)
  /** Applies what may be applied by now, with its events. */
  const caughtUp = Effect.flatMap(applyEarly, (applied) =>
    applied === 0 ? Effect.void : idle.settled,
  )
  return {
    caughtUp,
    tick: Effect.fn("Emulator.tick")(function* tick(id: MessageId | undefined, body: unknown) {
      const [found] = id === undefined ? [] : yield* store.messages.byIds([id])
      if (found === undefined) return yield* refuse("message_not_found")
      const { status } = yield* Effect.fromResult(decodeTick(body))
      const tried = applyTick(found.from.id, found.transportId, status)
      const message = yield* tried
      // Where the store fails, housekeeping applies it.
      const later = Effect.ignoreCause(tickOnceSent(message, Effect.orDie(tried)))
      yield* Effect.forkIn(later, scope)
      return message ?? found
    }),
  }
})

export class Emulator extends Context.Service<
  Emulator,
  {
    /** That phone's behaviour, as set or its default. */
    behaviour(id: NumberId | undefined): Effect.Effect<PhoneBehaviour, Failure>
    /** Replaces that phone's whole behaviour. */
    setBehaviour(id: NumberId | undefined, body: unknown): Effect.Effect<PhoneBehaviour, Failure>
    /** The phone takes the code, and the link completes before the answer. Fails with `not_connecting`. */
    scan(id: NumberId | undefined, body: unknown): Effect.Effect<SendingNumber, Failure>
    /**
     * A person writes to that number, or its owner on the phone: the stored message, and whether it is new.
     * Fails with `conversations_not_enabled`.
     */
    write(
      id: NumberId | undefined,
      body: unknown,
    ): Effect.Effect<{ readonly message: ReceivedMessage; readonly isNew: boolean }, Failure>
    /** How far the phone knows each chat as read, the latest mark first. */
    readMarks(id: NumberId | undefined): Effect.Effect<ReadonlyArray<SettledReadMark>, Failure>
    logout(id: NumberId | undefined): Effect.Effect<SendingNumber, Failure>
    /** The phones that exist; null for the rule. */
    readonly registered: Effect.Effect<ReadonlyArray<string> | null, Failure>
    /** Sets which phones exist; null restores the rule. */
    setRegistered(body: unknown): Effect.Effect<ReadonlyArray<string> | null, Failure>
    /** That tick arrives from the phone. */
    tick(id: MessageId | undefined, body: unknown): Effect.Effect<Message, Failure>
    /** Messages that left the phones, newest first. */
    sent(query: ListSent): Effect.Effect<CursorPage<ReceivedCopy>, Failure>
    /** Moves the clock on and returns its new time. Fails with `clock_not_adjustable`. */
    advance(body: unknown): Effect.Effect<number, Failure>
    /** Returns once nothing is due and nothing is in flight. */
    readonly settle: Effect.Effect<void, Failure>
  }
>()("emulator/Emulator") {
  static readonly layer = Layer.effect(
    Emulator,
    Effect.gen(function* makeEmulator() {
      const { chats, numbers: store, phones } = yield* Store
      const numbers = yield* Numbers
      const scanCode = yield* makeScan
      const write = yield* makeWrite
      const moveOn = yield* timeTravel
      const idle = yield* Idle
      const { caughtUp, tick } = yield* makeTicks

      const numberNotFound = refuse("number_not_found", { inPath: true })
      const requireNumber = (id: NumberId | undefined) =>
        Effect.gen(function* () {
          const found = id === undefined ? null : yield* store.find(id)
          return found ?? (yield* numberNotFound)
        })

      return Emulator.of({
        scan: Effect.fn("Emulator.scan")(function* scan(id, body) {
          const number = yield* requireNumber(id)
          return yield* scanCode(number, body)
        }),
        behaviour: Effect.fn("Emulator.behaviour")(function* behaviour(id) {
          const number = yield* requireNumber(id)
          return (yield* phones.behaviour(number.id)) ?? defaultBehaviour
        }),
        write: (id, body) => Effect.flatMap(requireNumber(id), (number) => write(number, body)),
        readMarks: Effect.fn("Emulator.readMarks")(function* readMarks(id) {
          const number = yield* requireNumber(id)
          return yield* chats.settledReadMarks(number.id)
        }),
        registered: phones.registered,
        setBehaviour: Effect.fn("Emulator.setBehaviour")(function* setBehaviour(id, body) {
          const number = yield* requireNumber(id)
          const input = yield* Effect.fromResult(decodeBehaviour(body))
          const behaviour: PhoneBehaviour = {
            send: input.send ?? defaultBehaviour.send,
            errorMessage: input.errorMessage ?? defaultBehaviour.errorMessage,
            latencyMillis: input.latencyMillis ?? defaultBehaviour.latencyMillis,
            groups: input.groups ?? defaultBehaviour.groups,
          }
          yield* phones.setBehaviour(number.id, behaviour)
          return behaviour
        }),
        logout: Effect.fn("Emulator.logout")(function* logout(id) {
          const { id: found } = yield* requireNumber(id)
          const number = yield* numbers.connectionChanged(found, "disconnected", null, "logged_out")
          return number ?? (yield* numberNotFound)
        }),
        setRegistered: Effect.fn("Emulator.setRegistered")(function* setRegistered(body) {
          const input = yield* Effect.fromResult(decodeRegistered(body))
          yield* phones.setRegistered(input.phones)
          return input.phones
        }),
        tick,
        sent: yield* makeSent,
        advance: Effect.fn("Emulator.advance")(function* advance(body) {
          const { seconds } = yield* Effect.fromResult(decodeAdvance(body))
          yield* moveOn(Math.round(seconds * 1000))
          yield* caughtUp
          return yield* Clock.currentTimeMillis
        }),
        settle: Effect.andThen(idle.settled, caughtUp),
      })
    }),
  )
}

/** Every port of the simulated phones: sending on both platforms, and linking. */
export const layer = Layer.merge(layerTransport, layerLinking)

/** The emulator controls, over the core's services and the simulated phones. */
export const layerEmulator = Layer.provideMerge(Emulator.layer, Idle.layer)
