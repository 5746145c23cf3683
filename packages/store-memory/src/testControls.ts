/**
 * What tests do to a store in memory, and no program: they fill a number's quota, and open
 * transactions that sends and cancels join, as on PostgreSQL.
 */
import { CannotJoin, countExactly, Store, StoreUnavailable } from "@messaging-service/core"
import type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceQuery,
  FailedGuard,
  CallerScope,
  FoundMessage,
  Message,
  MessageChange,
  MessageId,
  NumberId,
  QuotaLimit,
  TransactionClient,
  TransportId,
} from "@messaging-service/core"
import { Context, Data, Effect, Layer } from "effect"
import { memoryStore } from "./MemoryStore.ts"
import { finish, isLeased, plannedAfter } from "./lanes.ts"
import { accept, brokenGuard, isVisible } from "./messages.ts"
import { newMessageRow, Tables } from "./tables.ts"
import type { Lane, MessageRow } from "./tables.ts"

/** The commit of a transaction with a send that no longer holds; nothing of it exists. */
export class CommitRefused extends Data.TaggedError("CommitRefused")<{
  readonly guard: FailedGuard
}> {}

/** An acceptance that waits for the end of its transaction. */
interface StagedSend {
  readonly acceptance: Acceptance
  readonly ids: ReadonlyArray<MessageId>
}

/** A cancel that does; of a message of the same transaction no lane exists to hold. */
interface StagedCancel {
  readonly change: MessageChange
  readonly lane: Lane | null
}

type Staged = StagedSend | StagedCancel

const isSend = (one: Staged): one is StagedSend => "acceptance" in one

interface Transaction {
  readonly staged: Array<Staged>
  /** The latest last; `length` is how many calls came before. */
  readonly savepoints: Array<{ readonly name: string; readonly length: number }>
  /** What it is asked from then on fails. */
  isOver: boolean
}

/**
 * A statement that a client of a test answers with itself. Behind the function that another library
 * needs, a send finds the client by it.
 */
export const whichClient = "select client from openTest"

const newTransaction = (): Transaction => ({
  staged: [],
  savepoints: [],
  isOver: false,
})

/** The transaction that the running call has joined. */
const Joined = Context.Reference<Transaction | null>("store-memory/Joined", {
  defaultValue: () => null,
})

/** Ids are given out at the send, as by a sequence: a rollback leaves a gap. */
const stage = (tables: Tables, transaction: Transaction, acceptance: Acceptance) => {
  const guard = brokenGuard(tables, acceptance)
  if (guard !== null) return { _tag: "Conflict", guard } as const
  const ids = acceptance.messages.map(() => {
    const id = tables.messages.nextId
    tables.messages.moveOn(1, 0)
    return id
  })
  transaction.staged.push({ acceptance, ids })
  return { _tag: "Accepted", ids } as const
}

/** A repeat within the transaction finds what the transaction has done. */
const earlierIn = (
  transaction: Transaction,
  { idempotency }: AcceptanceQuery,
): AcceptanceFacts["claim"] => {
  const found = transaction.staged
    .filter(isSend)
    .find(
      ({ acceptance }) =>
        idempotency !== null &&
        acceptance.idempotency?.key === idempotency.key &&
        acceptance.idempotency.keyId === idempotency.keyId,
    )
  if (found === undefined) return null
  const { acceptance, ids } = found
  const fingerprint = acceptance.idempotency?.fingerprint ?? ""
  return { _tag: "Finished", record: { fingerprint, madeIds: ids, createdAt: acceptance.now } }
}

const stagedMessages = (transaction: Transaction | null): ReadonlyArray<Message> =>
  (transaction?.staged ?? []).filter(isSend).flatMap(({ acceptance, ids }) =>
    acceptance.messages.map((message, index) => ({
      ...message,
      id: ids[index] ?? (0 as MessageId),
      state: "waiting" as const,
      sentAt: null,
      error: null,
    })),
  )

const stagedCancel = ({ staged }: Transaction, id: MessageId): StagedCancel | undefined =>
  staged.find((one): one is StagedCancel => !isSend(one) && one.change.message.id === id)

/** The message as the transaction sees it, where that has changed it. */
const foundIn = (
  transaction: Transaction | null,
  scope: CallerScope,
  id: MessageId,
): FoundMessage | null => {
  const message =
    transaction === null
      ? undefined
      : (stagedCancel(transaction, id)?.change.message ??
        stagedMessages(transaction).find((one) => one.id === id))
  return message === undefined || !isVisible(scope, message) ? null : { message, inFlight: false }
}

/** On PostgreSQL it waits for the other transaction, which here only the test can end. */
const heldUp = new StoreUnavailable({
  operation: "end",
  cause: new Error("another transaction holds the number"),
  retryAfter: 5,
})

/** Ends a message at the commit, and holds its lane until then. */
const stageEnd = (
  tables: Tables,
  transaction: Transaction,
  change: MessageChange,
): Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable> =>
  Effect.suspend(() => {
    const { id } = change.message
    const row = tables.messages.get(id)
    const isOwn = stagedMessages(transaction).some((one) => one.id === id)
    const isFree = row?.message.state === "waiting" && !isLeased(row)
    if (transaction.isOver) return heldUp
    if (stagedCancel(transaction, id) !== undefined || !(isOwn || isFree)) {
      return Effect.succeed(new Set<MessageId>())
    }
    const lane = row?.lane ?? null
    if (lane !== null) {
      if ((tables.heldByCallers.get(lane) ?? transaction) !== transaction) return heldUp
      tables.heldByCallers.set(lane, transaction)
    }
    transaction.staged.push({ change, lane })
    return Effect.succeed(new Set([id]))
  })

/** Gives lanes back that nothing of the transaction holds any longer. */
const releaseLanes = (tables: Tables, transaction: Transaction): void => {
  const lanes = new Set(transaction.staged.map((one) => (isSend(one) ? null : one.lane)))
  for (const [lane, holder] of tables.heldByCallers) {
    if (holder === transaction && !lanes.has(lane)) tables.heldByCallers.delete(lane)
  }
}

/** The client itself, or the one that its function asks; null for any other. */
const resolveClient = (input: TransactionClient): Effect.Effect<object | null> =>
  Effect.tryPromise(async () => {
    const { rows } = await input.query(whichClient, [])
    const [row] = rows as ReadonlyArray<{ readonly client?: object } | undefined>
    return row?.client ?? null
  }).pipe(Effect.orElseSucceed(() => null))

const notStarted = new CannotJoin({
  message:
    "A test joins a transaction that a client of `openTest` has begun: run begin on `t.client()` first.",
})

const joinable = (
  tables: Tables,
  store: typeof Store.Service,
  open: WeakMap<object, Transaction>,
): typeof Store.Service => {
  const { messages, system } = store
  return {
    ...store,
    messages: {
      ...messages,
      accept: (acceptance) =>
        Effect.flatMap(Joined, (joined) =>
          joined === null
            ? messages.accept(acceptance)
            : Effect.sync(() => stage(tables, joined, acceptance)),
        ),
      loadAcceptance: (query) =>
        Effect.flatMap(Joined, (joined) => {
          const claim = joined === null ? null : earlierIn(joined, query)
          if (claim === null) return messages.loadAcceptance(query)
          const facts = messages.loadAcceptance({ ...query, idempotency: null })
          return Effect.map(facts, (found) => ({ ...found, claim }))
        }),
      end: (changes, options) =>
        Effect.flatMap(Joined, (joined) => {
          const [change] = changes
          if (joined !== null && change !== undefined) return stageEnd(tables, joined, change)
          const free = changes.filter(({ message }) => {
            const lane = tables.messages.get(message.id)?.lane
            return lane === undefined || !tables.heldByCallers.has(lane)
          })
          return free.length < changes.length && options?.passesOver !== true
            ? heldUp
            : messages.end(free)
        }),
      get: (scope, id) =>
        Effect.flatMap(Joined, (joined) => {
          const found = foundIn(joined, scope, id)
          return found === null ? messages.get(scope, id) : Effect.succeed(found)
        }),
      byIds: (ids) =>
        Effect.flatMap(Joined, (joined) => {
          const staged = stagedMessages(joined).filter(({ id }) => ids.includes(id))
          return staged.length > 0 ? Effect.succeed(staged) : messages.byIds(ids)
        }),
    },
    system: {
      ...system,
      joinTransaction: (input, effect) =>
        Effect.gen(function* () {
          const client = open.has(input) ? input : yield* resolveClient(input)
          const transaction = client === null ? undefined : open.get(client)
          if (transaction === undefined) return yield* notStarted
          const { length } = transaction.staged
          return yield* Effect.provideService(effect, Joined, transaction).pipe(
            Effect.onError(() => undo(tables, transaction, length)),
          )
        }),
    },
  }
}

/** Undoes what came after so many calls. */
const undo = (tables: Tables, transaction: Transaction, count: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const store = memoryStore(tables).messages
    const undone = transaction.staged.splice(count)
    releaseLanes(tables, transaction)
    return Effect.forEach(
      undone.filter(isSend),
      ({ acceptance: { idempotency } }) =>
        idempotency === null ? Effect.void : Effect.orDie(store.releaseClaim(idempotency)),
      { discard: true },
    )
  })

const commit = (tables: Tables, transaction: Transaction): Effect.Effect<void, CommitRefused> =>
  Effect.suspend(() => {
    const staged = transaction.staged.splice(0)
    releaseLanes(tables, transaction)
    for (const one of staged) {
      if (isSend(one)) {
        const outcome = accept(tables, one.acceptance, one.ids)
        if (outcome._tag === "Conflict") return new CommitRefused({ guard: outcome.guard })
        continue
      }
      const row = tables.messages.get(one.change.message.id)
      if (row?.message.state === "waiting") finish(tables, row, one.change)
    }
    return Effect.void
  })

/** A message that only the quota knows. */
const counted = (lane: Lane, dueAt: number, id: number): MessageRow => ({
  message: {
    id: id as MessageId,
    workspaceId: lane.number.workspaceId,
    mode: "live",
    state: "sent",
    from: { id: lane.number.id, phone: lane.number.phone, platform: lane.number.platform },
    phoneAtAcceptance: lane.number.phone,
    to: { kind: "group", group: "" },
    text: "",
    media: null,
    foundMediaType: null,
    sendAt: null,
    expiresAt: null,
    createdAt: dueAt,
    dueAt,
    sentAt: dueAt,
    error: null,
    transportId: `${id}` as TransportId,
    callbackUrl: null,
    reference: null,
    campaign: null,
    replyTo: null,
  },
  lane,
  campaign: null,
  tookAllowance: false,
  ...newMessageRow(),
})

export class TestControls extends Context.Service<
  TestControls,
  {
    /** Counts so many messages, planned now, that `leave` still fit into the number's quota. */
    fillQuota(id: NumberId, leave: number, limit: QuotaLimit, now: number): Effect.Effect<void>
    /** Whether the client has a transaction open. */
    isOpen(client: TransactionClient): boolean
    readonly begin: (client: TransactionClient) => Effect.Effect<void>
    readonly commit: (client: TransactionClient) => Effect.Effect<void, CommitRefused>
    readonly rollback: (client: TransactionClient) => Effect.Effect<void>
    readonly savepoint: (client: TransactionClient, name: string) => Effect.Effect<void>
    /** Undoes what came after the savepoint, which stays. */
    readonly rollbackTo: (client: TransactionClient, name: string) => Effect.Effect<void>
  }
>()("store-memory/TestControls") {}

/** As `layer`, with controls. */
export const layerForTests: Layer.Layer<Store | TestControls> = Layer.syncContext(() => {
  const tables = new Tables()
  const open = new WeakMap<object, Transaction>()
  let filled = 0
  const end = (client: TransactionClient): Transaction => {
    const transaction = open.get(client) ?? newTransaction()
    open.delete(client)
    transaction.isOver = true
    return transaction
  }
  const controls = TestControls.of({
    fillQuota: (id, leave, limit, now) =>
      Effect.sync(() => {
        const lane = tables.lanes.get(id)
        if (lane === undefined) return
        const times = plannedAfter(lane, now - limit.windowMillis)
        const { planned } = countExactly(times, { plannedAt: now, count: 1, limit })
        lane.quotaWindowMillis = Math.max(lane.quotaWindowMillis, limit.windowMillis)
        for (let room = limit.messages - planned - leave; room > 0; room--) {
          lane.counting.add(counted(lane, now, -++filled))
        }
      }),
    isOpen: (client) => open.has(client),
    begin: (client) =>
      Effect.sync(() => void open.set(client, open.get(client) ?? newTransaction())),
    commit: (client) => Effect.suspend(() => commit(tables, end(client))),
    rollback: (client) => Effect.suspend(() => undo(tables, end(client), 0)),
    savepoint: (client, name) =>
      Effect.sync(() => {
        const { savepoints, staged } = open.get(client) ?? newTransaction()
        savepoints.push({ name, length: staged.length })
      }),
    rollbackTo: (client, name) =>
      Effect.suspend(() => {
        const transaction = open.get(client) ?? newTransaction()
        const { savepoints, staged } = transaction
        const at = savepoints.findLastIndex((savepoint) => savepoint.name === name)
        const count = savepoints[at]?.length ?? staged.length
        if (at >= 0) savepoints.splice(at + 1)
        return undo(tables, transaction, count)
      }),
  })
  return Context.make(Store, joinable(tables, memoryStore(tables), open)).pipe(
    Context.add(TestControls, controls),
  )
})
