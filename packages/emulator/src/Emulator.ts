/**
 * The emulator controls (contract: Emulator controls): the other side of the simulated wire, and the
 * adjustable clock, for any test in any language.
 */
import {
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
  pageFields,
  parsePhone,
  parsed,
  phoneDescribed,
  phoneDigits,
  queryDecoder,
  queryId,
  refuse,
  textBetween,
  Store,
} from "@messaging-service/core"
import type {
  CursorPage,
  Failure,
  LinkingAttempt,
  ListPage,
  Message,
  MessageId,
  NumberId,
  NumberRestrictions,
  PhoneBehaviour,
  ReceivedMessage,
  ReceivedMessageId,
  SendingNumber,
  SentCopy,
  SentFilter,
  SettledReadMark,
  WorkspaceId,
} from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { Idle } from "./IdleMonitor.ts"
import {
  defaultBehaviour,
  layerLinking,
  layerTransport,
  SimulatedApps,
} from "./SimulatedTransport.ts"
import { timeTravel } from "./AdjustableClock.ts"
import { makePeople, PhoneInput } from "./People.ts"
import type { Writing } from "./People.ts"
import { makeReceiverControls } from "./Receivers.ts"
import type { ReceiverControls } from "./Receivers.ts"

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
     * A person writes to that number, or its owner on the phone. Fails with `conversations_not_enabled`.
     */
    write(id: NumberId | undefined, body: unknown): Effect.Effect<Writing, Failure>
    /** The author edits it. Fails with `received_message_not_found`. */
    edit(id: ReceivedMessageId | undefined, body: unknown): Effect.Effect<ReceivedMessage, Failure>
    /** The author takes it back. Fails with `received_message_not_found`. */
    revoke(id: ReceivedMessageId | undefined): Effect.Effect<ReceivedMessage, Failure>
    /** A person reacts to a message that was sent. Fails with `conversations_not_enabled`. */
    react(id: MessageId | undefined, body: unknown): Effect.Effect<Message, Failure>
    /** The connection of that number is lost, or back: then comes what happened meanwhile, in order. */
    setAway(id: NumberId | undefined, body: unknown): Effect.Effect<boolean, Failure>
    /** The platform skips messages of that number. Fails with `conversations_not_enabled`. */
    skip(id: NumberId | undefined): Effect.Effect<void, Failure>
    /**
     * WhatsApp closes new chats to that number, or caps them. Fails with `conversations_not_enabled` and
     * `invalid_datetime`.
     */
    restrict(id: NumberId | undefined, body: unknown): Effect.Effect<NumberRestrictions, Failure>
    /** How far the phone knows each chat as read, the latest mark first. */
    readMarks(id: NumberId | undefined): Effect.Effect<ReadonlyArray<SettledReadMark>, Failure>
    logout(id: NumberId | undefined): Effect.Effect<SendingNumber, Failure>
    /** The phones that exist; null for the rule. */
    readonly registered: Effect.Effect<ReadonlyArray<string> | null, Failure>
    /** Sets which phones exist; null restores the rule. */
    setRegistered(body: unknown): Effect.Effect<ReadonlyArray<string> | null, Failure>
    /** That tick arrives from the phone. */
    tick(id: MessageId | undefined, body: unknown): Effect.Effect<Message, Failure>
    /** The receivers of webhooks and callbacks. */
    readonly receivers: ReceiverControls
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
      const people = yield* makePeople
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
        write: (id, body) =>
          Effect.flatMap(requireNumber(id), (number) => people.write(number, body)),
        ...people.changes,
        setAway: (id, body) =>
          Effect.flatMap(requireNumber(id), (number) => people.setAway(number, body)),
        skip: (id) => Effect.flatMap(requireNumber(id), people.skip),
        restrict: (id, body) =>
          Effect.flatMap(requireNumber(id), (number) => people.restrict(number, body)),
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
        receivers: yield* makeReceiverControls,
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
