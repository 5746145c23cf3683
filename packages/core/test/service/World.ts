/**
 * A small world for tests of the whole service: every port in memory, simulated phones, the worker
 * running, all on the test clock and from one seed. The builders say what a test is about; everything
 * else has a default.
 */
import { assert } from "@effect/vitest"
import { layer as layerStore, layerMediaFiles } from "@messaging-service/store-memory/emulator"
import {
  layerLinking,
  layerTransport,
  Emulator,
  ParkedSends,
  SimulatedPhones,
  layerEmulator,
} from "@messaging-service/emulator"
import type { SentCopy } from "@messaging-service/emulator"
import { Clock, Context, Effect, Fiber, Layer, Random } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  Admission,
  Contacts,
  Egress,
  Ids,
  Keys,
  MediaLinks,
  Messages,
  NumberOwnership,
  Numbers,
  WakeUp,
  Worker,
  Workspaces,
  acceptedMessageJson,
  messageJson,
  layerServices,
  SecretsKey,
  layerWorker,
} from "../../src/index.ts"
import type {
  Caller,
  Sent,
  Message,
  MessageId,
  MessageJson,
  NumberId,
  Refusal,
  StoreUnavailable,
  WorkspaceId,
} from "../../src/index.ts"
import {
  MessageStore,
  Outbox,
  PhoneDirectory,
  TelegramTransport,
  WhatsAppTransport,
  WorkStatus,
  sharedWork,
} from "../../src/ports.ts"
import type { NumberLinking, NumberStore, Transport } from "../../src/ports.ts"

export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** When every test begins: 2026-03-02T12:00:00Z, a Monday. */
export const noon = Date.UTC(2026, 2, 2, 12)

type Transports = WhatsAppTransport | TelegramTransport | PhoneDirectory | ParkedSends

export interface WorldParts {
  readonly seed?: string
  /** Stands in for the simulated phones. */
  readonly transport?: Layer.Layer<Transports, never, NumberStore | SimulatedPhones | Ids>
  /** Stands in for the way simulated phones are linked. */
  readonly linking?: Layer.Layer<NumberLinking, never, Ids>
  /** The store as it is seen by everything above it. */
  readonly store?: typeof layerStore
  /** The way out; there is none by default. */
  readonly egress?: Layer.Layer<Egress>
  /** Whether the worker runs from the beginning; else nothing is sent, expired or swept. */
  readonly worker?: boolean
}

const makeLayer = ({
  egress = Egress.layerClosed,
  linking = layerLinking,
  store = layerStore,
  transport = layerTransport,
}: WorldParts) =>
  layerWorker.pipe(
    Layer.provideMerge(layerEmulator),
    Layer.provideMerge(layerServices),
    Layer.provideMerge(Layer.merge(transport, linking)),
    Layer.provideMerge(
      Layer.mergeAll(store, layerMediaFiles, WakeUp.layerLocal, NumberOwnership.layerAll, egress),
    ),
    Layer.provideMerge(SecretsKey.layerHex("5e".repeat(32))),
    Layer.provideMerge(Ids.layerRandom),
  )

export type World = Layer.Success<ReturnType<typeof makeLayer>>

/** Both platforms behind one transport of the test's own. */
export const transportOf = (transport: Transport): Layer.Layer<Transports> =>
  Layer.succeedContext(
    Context.make(WhatsAppTransport, transport).pipe(
      Context.add(TelegramTransport, transport),
      Context.add(PhoneDirectory, { checkPhones: () => Effect.succeed({ _tag: "Unknown" }) }),
      Context.add(ParkedSends, { parked: Effect.succeed(new Set<NumberId>()) }),
    ),
  )

/** Runs a test in a world of its own, which begins at noon. */
export const inAWorld = <A, E>(
  test: Effect.Effect<A, E, World | Scope.Scope>,
  parts: WorldParts = {},
) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(noon)
    return yield* Effect.gen(function* () {
      if (parts.worker !== false) yield* startWorker
      return yield* test
    }).pipe(Effect.provide(makeLayer(parts)))
  }).pipe(Effect.scoped, Random.withSeed(parts.seed ?? "world"))

/**
 * Starts a worker, and returns once its loops have nothing left to do. At the end of the test it is
 * stopped; what it waits for then in real time, the test's clock gives it.
 */
export const startWorker = Effect.gen(function* () {
  const worker = yield* Worker
  const fiber = yield* Effect.acquireRelease(Effect.forkDetach(worker.run), stopWorker)
  yield* settled
  return fiber
})

/** Stops a worker as a signal would: attempts under way have 8 s to end. */
export const stopWorker = (fiber: Fiber.Fiber<never>) =>
  Effect.gen(function* () {
    const stopping = yield* Effect.forkDetach(Fiber.interrupt(fiber))
    while (stopping.pollUnsafe() === undefined) yield* TestClock.adjust(second)
  })

/** More turns than anything here needs to come to rest. */
const manyTurns = 1_000_000
/** More turns than an attempt needs that waits for nothing. */
const calmTurns = 200

/** Returns once nothing is due, and nothing has happened for as long as anything that can takes. */
export const settled = Effect.gen(function* () {
  const status = yield* WorkStatus
  const outbox = yield* Outbox
  let position = 0
  const somethingHappened = Effect.gen(function* () {
    const page = yield* outbox.read(position, 1000)
    position = page.at(-1)?.id ?? position
    return page.length > 0
  })
  const somethingDue = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const { nextDue } = yield* status.workload(now, sharedWork)
    return nextDue !== null && nextDue <= now
  })
  let calm = 0
  for (let turn = 0; calm < calmTurns; turn++) {
    assert.isBelow(turn, manyTurns, "the service does not come to rest")
    calm = (yield* somethingHappened) || (yield* somethingDue) ? 0 : calm + 1
    yield* Effect.yieldNow
  }
})

/** Moves time on, in the order in which things fall due. */
export const pass = (millis: number) =>
  Effect.gen(function* () {
    yield* settled
    yield* TestClock.adjust(millis)
    yield* settled
  })

/** A moment of this world as a request writes it. */
export const iso = (moment: number): string => {
  const text = new Date(moment).toISOString()
  return text.replace("Z", "+00:00")
}

/** `millis` from now, as a request writes it. */
export const ahead = (millis: number) =>
  Effect.map(Clock.currentTimeMillis, (now) => iso(now + millis))

// Builders

export const aWorkspace = (given: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const { id } = yield* (yield* Workspaces).create("owner", { name: "Workspace", ...given })
    return id
  })

/** A workspace with a plan of that many messages. */
export const aWorkspaceWith = (messagesRemaining: number | null) =>
  aWorkspace({
    plan: {
      name: "Plan",
      messages_remaining: messagesRemaining,
      reminders: true,
      qr_code_api: true,
      max_numbers: null,
      media_storage_bytes: 0,
    },
  })

export const aNumber = (workspace: WorkspaceId, given: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const body = { platform: "whatsapp" as const, phone: "+15550000100", ...given }
    const { id } = yield* (yield* Numbers).create("owner", workspace, body)
    return id
  })

export const aContact = (workspace: WorkspaceId, given: Readonly<Record<string, unknown>>) =>
  Effect.map(
    Contacts.use((contacts) => contacts.create("owner", workspace, { name: "Jane", ...given })),
    ({ id }) => id,
  )

/** A key's caller, as admission would let it in. */
export const aKey = (workspace: WorkspaceId, given: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const body = { version: 2 as const, name: "Key", ...given }
    const { key } = yield* (yield* Keys).create("owner", workspace, body)
    const { caller } = yield* (yield* Admission).admitV2(`Bearer ${key}`, "192.0.2.1")
    return caller
  })

/** The stage of most tests: a workspace with one connected WhatsApp number, and a live key. */
export const aStage = (messagesRemaining: number | null = null) =>
  Effect.gen(function* () {
    const workspace = yield* aWorkspaceWith(messagesRemaining)
    const number = yield* aNumber(workspace)
    const key = yield* aKey(workspace)
    return { workspace, number, key }
  })

// Verbs

let phones = 0
/** A phone that no other message of this process goes to. */
export const aPhone = (): string => `+1555${String(1_000_001 + phones++ * 3).padStart(7, "0")}`

const body = (given: Readonly<Record<string, unknown>>) => ({
  to: { phone: "+15550000001" },
  text: "Hello",
  ...given,
})

const keyed = (key: string | null, fingerprint = "same") =>
  key === null ? null : { key, fingerprint }

/** Messages as answers show them now. */
export const shown = (messages: ReadonlyArray<Message>) =>
  Effect.gen(function* () {
    const { link } = yield* MediaLinks
    const now = yield* Clock.currentTimeMillis
    return messages.map((message) => messageJson(message, now, link))
  })

/** What was accepted, as its answer shows it. */
const accepted = ({ messages, replayed }: Sent) =>
  Effect.map(MediaLinks, ({ link }) => ({
    messages: messages.map((message) => acceptedMessageJson(message, link)),
    replayed,
  }))

/** Sends, and returns the answer with whether it was a replay. */
export const answer = (
  caller: Caller,
  given: Readonly<Record<string, unknown>> = {},
  idempotencyKey: string | null = null,
  fingerprint?: string,
) =>
  Effect.flatMap(
    Messages.use((messages) =>
      messages.send(caller, body(given), keyed(idempotencyKey, fingerprint)),
    ),
    accepted,
  )

/** Sends, and returns the Message. */
export const send = (
  caller: Caller,
  given: Readonly<Record<string, unknown>> = {},
  idempotencyKey: string | null = null,
) => Effect.map(answer(caller, given, idempotencyKey), ({ messages }) => the(messages))

/** Sends a batch to that many recipients. */
export const sendBatch = (
  caller: Caller,
  count: number,
  given: Readonly<Record<string, unknown>> = {},
  idempotencyKey: string | null = null,
) =>
  Messages.use((messages) =>
    messages.sendBatch(
      caller,
      {
        ...body({}),
        to: Array.from({ length: count }, () => ({ phone: "+15550000001" })),
        ...given,
      },
      keyed(idempotencyKey),
    ),
  ).pipe(
    Effect.flatMap(accepted),
    Effect.map((sent) => sent.messages),
  )

export const get = (caller: Caller, message: Pick<MessageJson, "id">) =>
  Messages.use((messages) => messages.get(caller, message.id)).pipe(
    Effect.flatMap((found) => shown([found])),
    Effect.map(the),
  )

export const cancel = (caller: Caller, message: Pick<MessageJson, "id">) =>
  Messages.use((messages) => messages.cancel(caller, message.id)).pipe(
    Effect.flatMap((found) => shown([found])),
    Effect.map(the),
  )

/** The statuses of messages, as their key reads them now. */
export const statuses = (caller: Caller, messages: ReadonlyArray<Pick<MessageJson, "id">>) =>
  Effect.forEach(messages, (message) => Effect.map(get(caller, message), ({ status }) => status))

/** The status of a message, as its key reads it now. */
export const status = (caller: Caller, message: Pick<MessageJson, "id">) =>
  Effect.map(get(caller, message), (read) => read.status)

/** Replaces the whole behaviour of a simulated phone. */
export const behave = (number: NumberId, given: Readonly<Record<string, unknown>>) =>
  Emulator.use((emulator) => emulator.setBehaviour(number, given))

export const logOut = (number: NumberId) => Emulator.use((emulator) => emulator.logout(number))

export const reconnect = (number: NumberId) =>
  Numbers.use((numbers) => numbers.connectionChanged(number, "connected", null))

/** What recipients really saw, oldest first. */
export const copies = (number: NumberId | null = null) =>
  Effect.gen(function* () {
    const simulated = yield* SimulatedPhones
    const all: Array<SentCopy> = []
    let before: number | null = null
    do {
      const page: { items: ReadonlyArray<SentCopy>; next: number | null } = yield* simulated.sent(
        number,
        { before, limit: 1000 },
      )
      all.push(...page.items)
      before = page.next
    } while (before !== null)
    return all.toReversed()
  })

/** The messages whose copies recipients saw, in the order in which they arrived. */
export const arrived = (number: NumberId | null = null) =>
  Effect.map(copies(number), (all) => all.map(({ messageId }) => messageId))

/** What the outbox tells of a message, in order. */
export const events = (message: Pick<MessageJson, "id">) =>
  Effect.map(allEvents, (all) =>
    all.flatMap(({ messageId, type }) => (messageId === message.id ? [type] : [])),
  )

/** All messages of a workspace, in the order of their ids. */
export const messagesOf = (workspaceId: WorkspaceId) =>
  Effect.gen(function* () {
    const store = yield* MessageStore
    const now = yield* Clock.currentTimeMillis
    const filter = { statuses: null, from: null, phone: null, since: null, until: null }
    const page = { before: null, limit: Number.MAX_SAFE_INTEGER }
    const lists = yield* Effect.forEach(["live", "test"] as const, (mode) =>
      store.list({ workspaceId, mode, restriction: null }, filter, page, now),
    )
    return lists.flatMap(({ items }) => items).toSorted((a, b) => a.id - b.id)
  })

/** Everything in the outbox, in order. */
export const allEvents = Effect.gen(function* () {
  const outbox = yield* Outbox
  return yield* outbox.read(0, Number.MAX_SAFE_INTEGER)
})

/** What the plan of a workspace has left. */
export const remaining = (workspace: WorkspaceId) =>
  Effect.map(
    Workspaces.use((workspaces) => workspaces.get(workspace)),
    ({ plan }) => plan?.messagesRemaining ?? null,
  )

/** A message as it is stored. */
export const stored = (
  message: Pick<MessageJson, "id">,
): Effect.Effect<Message, StoreUnavailable, MessageStore> =>
  Effect.map(
    MessageStore.use((store) => store.byIds([message.id as MessageId])),
    the,
  )

/** The refusal with which an operation must fail. */
export const refusal = <A, R>(
  operation: Effect.Effect<A, Refusal | StoreUnavailable, R>,
): Effect.Effect<Refusal, A, R> =>
  Effect.map(Effect.flip(operation), (error) =>
    error._tag === "Refusal" ? error : assert.fail("the store did not answer"),
  )

/** The code of the refusal with which an operation must fail. */
export const code = <A, R>(operation: Effect.Effect<A, Refusal | StoreUnavailable, R>) =>
  Effect.map(refusal(operation), (refused) => refused.code)

/** The only item of a list that must have exactly one. */
export const the = <A>(items: ReadonlyArray<A>): A => {
  assert.lengthOf(items, 1)
  return items[0] as A
}
