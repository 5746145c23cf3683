/**
 * What tests do to a store in memory, and no program: they fill a number's quota, and open
 * transactions that sends join, as on PostgreSQL.
 */
import { CannotJoin, countExactly, Store } from "@messaging-service/core"
import type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceQuery,
  BrokenGuard,
  Message,
  MessageId,
  NumberId,
  QuotaLimit,
  TransactionClient,
  TransportId,
} from "@messaging-service/core"
import { SimulatedPhones } from "@messaging-service/emulator"
import { Context, Data, Effect, Layer } from "effect"
import { operations, memoryStore } from "../MemoryStore.ts"
import { simulatedPhones } from "./simulatedPhones.ts"
import { plannedAfter } from "../lanes.ts"
import { accept, brokenGuard } from "../messages.ts"
import { newMessageRow, Tables } from "../tables.ts"
import type { Lane, MessageRow } from "../tables.ts"

/** The commit of a transaction whose send no longer holds; nothing of it exists. */
export class CommitRefused extends Data.TaggedError("CommitRefused")<{
  readonly guard: BrokenGuard
}> {}

/** An acceptance that waits for the end of its transaction. */
interface Staged {
  readonly acceptance: Acceptance
  readonly ids: ReadonlyArray<MessageId>
}

type Transaction = Array<Staged>

/** The transaction that the running send has joined. */
const Joined = Context.Reference<Transaction | null>("store-memory/Joined", {
  defaultValue: () => null,
})

/** Ids are given out at the send, as by a sequence: a rollback leaves a gap. */
const stage = (tables: Tables, transaction: Transaction, acceptance: Acceptance) => {
  const guard = brokenGuard(tables, acceptance)
  if (guard !== null) return { _tag: "Broken", guard } as const
  const ids = acceptance.messages.map(() => {
    const id = tables.messages.nextId
    tables.messages.moveOn(1, 0)
    return id
  })
  transaction.push({ acceptance, ids })
  return { _tag: "Accepted", ids } as const
}

/** A repeat within the transaction finds what the transaction has done. */
const earlierIn = (
  transaction: Transaction,
  { idempotency }: AcceptanceQuery,
): AcceptanceFacts["claim"] => {
  const found = transaction.find(
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

const stagedMessages = (transaction: Transaction): ReadonlyArray<Message> =>
  transaction.flatMap(({ acceptance, ids }) =>
    acceptance.messages.map((message, index) => ({
      ...message,
      id: ids[index] ?? (0 as MessageId),
      state: "waiting" as const,
      sentAt: null,
      error: null,
    })),
  )

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
      byIds: (ids) =>
        Effect.flatMap(Joined, (joined) => {
          const staged = stagedMessages(joined ?? []).filter(({ id }) => ids.includes(id))
          return staged.length > 0 ? Effect.succeed(staged) : messages.byIds(ids)
        }),
    },
    system: {
      ...system,
      joinTransaction: (client, effect) => {
        const transaction = open.get(client)
        return transaction === undefined
          ? Effect.fail(
              new CannotJoin({
                message:
                  "A test joins a transaction that a client of `openTest` has begun: run begin on `t.client()` first.",
              }),
            )
          : Effect.provideService(effect, Joined, transaction)
      },
    },
  }
}

const commit = (tables: Tables, transaction: Transaction): Effect.Effect<void, CommitRefused> =>
  Effect.suspend(() => {
    for (const { acceptance, ids } of transaction) {
      const outcome = accept(tables, acceptance, ids)
      if (outcome._tag === "Broken") return new CommitRefused({ guard: outcome.guard })
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
  },
  lane,
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
  }
>()("store-memory/TestControls") {}

/** As `layer` of the emulator's entry point, with controls. */
export const layerForTests: Layer.Layer<Store | SimulatedPhones | TestControls> = Layer.syncContext(
  () => {
    const tables = new Tables()
    const open = new WeakMap<object, Transaction>()
    const phones: typeof SimulatedPhones.Service = operations(simulatedPhones(tables))
    let filled = 0
    const end = (client: TransactionClient): Transaction => {
      const transaction = open.get(client) ?? []
      open.delete(client)
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
      begin: (client) => Effect.sync(() => void open.set(client, open.get(client) ?? [])),
      commit: (client) => Effect.suspend(() => commit(tables, end(client))),
      rollback: (client) =>
        Effect.suspend(() => {
          const store = memoryStore(tables).messages
          return Effect.forEach(
            end(client),
            ({ acceptance: { idempotency } }) =>
              idempotency === null ? Effect.void : Effect.orDie(store.releaseClaim(idempotency)),
            { discard: true },
          )
        }),
    })
    return Context.make(Store, joinable(tables, memoryStore(tables), open)).pipe(
      Context.add(SimulatedPhones, phones),
      Context.add(TestControls, controls),
    )
  },
)
