/** The lanes, and what is left to do. */
import { PgConnection } from "@effect/sql-pg"
import { kindsOfWork, makeLocalWakeUp, WakeUp } from "@messaging-service/core"
import type {
  ClaimedMessage,
  ClaimQuery,
  DueWork,
  EarliestDue,
  LaneQueue,
  Message,
  MessageId,
  NextOfTurn,
  NumberEventIds,
  NumberId,
  Owned,
  Pacing,
  Pause,
  SettledLanes,
  Settlement,
  SharedWork,
  Shares,
  Work,
  Workload,
} from "@messaging-service/core"
import { Effect, Latch, Layer, Queue, Scope } from "effect"
import { JoinedTransaction } from "../database/CallersTransaction.ts"
import type { Joined } from "../database/CallersTransaction.ts"
import { lockTimeoutMillis, batchOrSplit } from "../database/Batcher.ts"
import { connectionConfig } from "../database/Connection.ts"
import type { Connection, DatabaseOptions } from "../database/Connection.ts"
import { inRealTime } from "../database/Database.ts"
import type { DatabaseService } from "../database/Database.ts"
import { millis, statement, toColumns } from "../database/Sql.ts"
import type { Element, Params, Row } from "../database/Sql.ts"
import { hostLine, getMaximum } from "../database/HostPool.ts"
import { defaultSchema, workChannel } from "../database/Schema.ts"
import { toMessage } from "../message/toMessage.ts"
import { toChangeElement, toMessageId } from "../message/messages.ts"
import { toNumber } from "../number/numberRow.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"

// What the lanes of numbers keep in columns: pacing, and the shards and shares that a claim keeps to.

export const toPacing = (values: ReadonlyArray<number | null> | null): Pacing | null => {
  if (values === null) return null
  const [minIntervalMillis, jitterMillis, minute, hour, recipients] = values.map(
    (value) => value ?? null,
  )
  return {
    minIntervalMillis: minIntervalMillis ?? null,
    jitterMillis: jitterMillis ?? null,
    perMinute: minute ?? null,
    perHour: hour ?? null,
    newRecipientsPerDay: recipients ?? null,
  }
}

export const fromPacing = (pacing: Pacing): ReadonlyArray<number | null> => [
  pacing.minIntervalMillis,
  pacing.jitterMillis,
  pacing.perMinute,
  pacing.perHour,
  pacing.newRecipientsPerDay,
]

export const pacingOrNull = (pacing: Pacing | null): ReadonlyArray<number | null> | null =>
  pacing === null ? null : fromPacing(pacing)

/** Which numbers a claim is for, as functions and statements take it. */
export const toOwnedParams = (owned: Owned) =>
  owned === "all" ? { of: null, shards: null } : { of: owned.of, shards: owned.shards }

/** How many of each workspace are held and may be, as functions and statements take it. */
export const toShareParams = ({ held, perWorkspace }: Shares) => ({
  perWorkspace,
  workspaces: [...held.keys()],
  held: [...held.values()],
})

// Claiming lanes: free ones that are due, the longest waiting first, a turn each, and of no
// workspace more than its share of the worker.
// Locks: the first statement takes the rows of the lanes and passes over those that others hold, so
// dispatchers never wait for one another. Only a later statement reads messages: it sees all that
// was committed before the lane was locked, and nothing can change while it is.

const claimLanes = statement("claim_lanes", { wide: true })

const toClaimParams = (query: ClaimQuery): Params<"claim_lanes"> => ({
  now: query.now,
  leaseUntil: query.leaseUntil,
  limit: query.limit,
  cap: query.dailyLimit.messages,
  windowMillis: query.dailyLimit.windowMillis,
  ...toOwnedParams(query.owned),
  ...toShareParams(query),
  turn: query.turn,
  dueSince: query.dueSince,
})

/** Each turn with its messages. */
const toTurns = (rows: ReadonlyArray<Row<"claim_lanes">>): ReadonlyArray<ClaimedMessage> => {
  const turns: Array<ClaimedMessage> = []
  let rest: Array<Message> = []
  for (const row of rows) {
    if (row.place > 1) rest.push(toMessage(row))
    else turns.push(toClaimed(row, (rest = [])))
  }
  return turns
}

const toClaimed = (row: Row<"claim_lanes">, rest: ReadonlyArray<Message>): ClaimedMessage => ({
  message: toMessage(row),
  rest,
  dueSince: row.was_due.getTime(),
  number: toNumber({
    id: row.number_id,
    workspace_id: row.workspace_id,
    // What leaves is live, and so is the number that it leaves from.
    mode: "live",
    platform: row.platform,
    phone: row.n_phone,
    label: row.n_label,
    status: row.n_status,
    login_method: row.n_login_method,
    created_at: row.n_created_at,
  }),
  removed: row.removed,
  lease: Number(row.lease),
  interruptions: row.interruptions,
  pacing: toPacing(row.pacing),
  diskFailuresInARow: row.no_room,
  failures: { refusals: row.refusals, pauses: row.pauses },
})

const renewLeases = statement("lane.renew")

// The pauses and the pacing of a lane: what operators set, and what a new session of its number ends.

interface Control {
  readonly numberId: NumberId
  readonly now: number
  readonly resume?: boolean
  /** The number has a new session. */
  readonly linked?: boolean
  readonly pause?: Pause
  readonly pacing?: Pacing
  readonly events?: NumberEventIds | undefined
}

const reportEndedPauses = statement("report_ended_pauses")
const openNewChats = statement("open_new_chats")
const mayAwaitNewChats = statement("lane.mayAwaitNewChats")

export const control = statement("control_lane")

export const toControl = (one: Control): Params<"control_lane"> => ({
  number: one.numberId,
  now: one.now,
  resume: one.resume ?? false,
  linked: one.linked ?? false,
  pauseReason: one.pause?.reason ?? null,
  // Null in a pause that only an operator ends.
  pauseUntil: one.pause?.until ?? null,
  pacing: pacingOrNull(one.pacing ?? null),
  eventId: one.events?.pause ?? null,
})

// Settling attempts, many in one call of `settle_attempts`.

const settleAttempts = statement("settle_attempts")

const toSettlementElement = (one: Settlement): Element<"settle_attempts"> => ({
  numberId: one.numberId,
  lease: one.lease,
  messageId: one._tag === "Ended" ? one.change.message.id : one.messageId,
  again: one._tag === "Again",
  notBefore: one.notBefore,
  refusals: one.breaker?.failures.refusals ?? null,
  pauses: one.breaker?.failures.pauses ?? null,
  pauseReason: one.breaker?.pause?.reason ?? null,
  // Null in a pause that only an operator ends.
  pauseUntil: one.breaker?.pause?.until ?? null,
  noRoom: one.diskRest?.inARow ?? null,
  noRoomUntil: one.diskRest?.until ?? null,
  interrupted: one._tag === "Again" && one.unfinished === "interrupted" ? 1 : 0,
  unfinished: one._tag === "Again" ? one.unfinished : null,
  endsTurn: one.endsTurn ? true : null,
  pauseEventId: one.breaker?.pause == null ? null : (one.breaker.events?.pause ?? null),
  ...toChangeElement(one._tag === "Ended" ? one.change : null),
})

export const laneQueue = (
  database: DatabaseService,
  { notify: report }: DeliveriesQueued,
): LaneQueue => ({
  claim(query) {
    return Effect.map(claimLanes.rows(database, toClaimParams(query)), toTurns)
  },
  // A lane that is held up is left for the next time; it cannot be claimed meanwhile.
  renew(leases, leaseUntil) {
    const renewSome = (some: typeof leases) =>
      renewLeases.rows(database, {
        numbers: some.map((one) => one.numberId),
        leases: some.map((one) => one.lease),
        leaseUntil,
        lockTimeout: `${lockTimeoutMillis}ms`,
      })
    return leases.length === 0
      ? Effect.succeed(new Set<NumberId>())
      : Effect.map(batchOrSplit(leases, renewSome), toRenewed)
  },
  settle(settlements, now) {
    const settleSome = (some: ReadonlyArray<Settlement>) => {
      const rows = settleAttempts.rows(database, {
        ...toColumns(some.map(toSettlementElement)),
        now,
        lockTimeout: `${lockTimeoutMillis}ms`,
      })
      return Effect.tap(rows, ([first]) => (first?.queued === true ? report : Effect.void))
    }
    return settlements.length === 0
      ? Effect.succeed(toSettled({ done: [], blockedByLock: [] }))
      : Effect.map(batchOrSplit(settlements, settleSome), toSettled)
  },
  pause(numberId, pause, now, events) {
    const params = toControl({ numberId, pause, now, events })
    return Effect.tap(control.isTrue(database, params), report)
  },
  resume(numberId, now, events) {
    const params = toControl({ numberId, now, resume: true, events })
    return Effect.tap(control.isTrue(database, params), report)
  },
  reportEndedPauses(now, eventIds) {
    const reported = reportEndedPauses.value(database, { now, eventIds })
    return Effect.tap(Effect.map(reported, Number), (count) => (count > 0 ? report : Effect.void))
  },
  openNewChats(now, limit) {
    return Effect.map(openNewChats.value(database, { now, limit }), Number)
  },
  mayAwaitNewChats(number, message, now) {
    return mayAwaitNewChats.isTrue(database, { number, message, now })
  },
})

type Renewed = ReadonlyArray<ReadonlyArray<Row<"lane.renew">>>

const toRenewed = ({ done }: { readonly done: Renewed }): ReadonlySet<NumberId> =>
  new Set(done.flat().map((row) => Number(row.number_id) as NumberId))

interface SettledSome {
  readonly done: ReadonlyArray<ReadonlyArray<Row<"settle_attempts">>>
  readonly blockedByLock: ReadonlyArray<Settlement>
}

const toSettled = ({ blockedByLock, done }: SettledSome): SettledLanes => {
  const settled = new Set<MessageId>()
  const next = new Map<MessageId, NextOfTurn>()
  let comesAgain = false
  for (const row of done.flat()) {
    const id = toMessageId(row.message_id)
    settled.add(id)
    comesAgain ||= row.comes_again
    if (row.next_id === null || row.lease_until === null) continue
    next.set(id, { messageId: toMessageId(row.next_id), leaseUntil: row.lease_until.getTime() })
  }
  return { settled, next, comesAgain, blockedByLock }
}

/** In the order of a workload's counts. */
const shared = [
  "lanes",
  "number_checks",
  "linking",
  "deliveries",
  "files",
] as const satisfies ReadonlyArray<SharedWork>

/** So many places are never taken. */
const endless = 2_147_483_647

/** The look-up of each kind of work. */
const nextDue = {
  lanes: statement("nextDue.lanes"),
  expiry: statement("nextDue.expiry"),
  test_messages: statement("nextDue.test_messages"),
  orphaned: statement("nextDue.orphaned"),
  linking: statement("nextDue.linking"),
  reminders: statement("nextDue.reminders"),
  campaigns: statement("nextDue.campaigns"),
  pauses: statement("nextDue.pauses"),
  copies: statement("nextDue.copies"),
  read_marks: statement("nextDue.read_marks"),
  deliveries: statement("nextDue.deliveries"),
  number_checks: statement("nextDue.number_checks"),
  files: statement("nextDue.files"),
} satisfies Readonly<Record<Work, unknown>>

const earliest = statement("nextDue.earliest")
const workload = statement("nextDue.workload")

const toEarliest = (row: Row<"nextDue.earliest">) => row.earliest as EarliestDue
const toWorkload = (row: Row<"nextDue.workload">) => row.workload as Workload

export const dueWork = (database: DatabaseService): DueWork => ({
  nextDue(work, saturated = [], owned = "all") {
    const params = {
      saturated: saturated === "all" ? null : saturated,
      ...toOwnedParams(owned),
    }
    return Effect.map(nextDue[work].value(database, params), millis)
  },
  earliestDue() {
    return earliest.one(database, {}, toEarliest)
  },
  workload(now, capacity) {
    const params = {
      now,
      most: shared.map((work) => capacity?.[work].share.most ?? endless),
      whole: shared.map((work) => capacity?.[work].whole ?? endless),
    }
    return workload.one(database, params, toWorkload)
  },
})

// Waking the loops of all processes that share a database. A process that makes work wakes its own loops
// at once, and the others by a word on a channel; in case a word gets lost, idle loops look by
// themselves four times a second, with one statement for all of them.
// The word is sent outside of every transaction (a transaction that notifies holds a global lock
// until it is flushed) and at most ten times a second, however much work there is. It is sent and
// heard on one connection, so that a process knows its own words. Only a caller's transaction notifies
// from inside, since only its session knows when it commits.

const pollMillis = 250

/** Between two words of this process. */
const pauseMillis = 100

/** Before it connects again. */
const reconnectMillis = 500

/** A notification that takes longer means that the connection died. */
const notifyTimeoutMillis = 5_000

const notify = statement("nextDue.notify")

/** One connection that speaks and hears, our own or one of the host's pool. */
interface Line {
  readonly connection: Connection
  /** Hears a channel from then on, its own words left out. */
  listen(channel: string): Effect.Effect<Effect.Effect<string, unknown>, unknown, Scope.Scope>
}

const ownLine = (options: DatabaseOptions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
    const connection = yield* Effect.flatMap(
      PgConnection.make(connectionConfig(options)),
      ({ pin }) => pin,
    ).pipe(Scope.provide(scope))
    const line: Line = {
      connection,
      listen: (channel) =>
        Effect.gen(function* () {
          const words = yield* connection.listen(channel)
          // Closed before it would stop listening: a server that is frozen never answers that.
          yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
          return Queue.take(words).pipe(
            Effect.repeat({ until: ({ processId }) => processId !== connection.processId }),
            Effect.map(({ payload }) => payload),
          )
        }),
    }
    return line
  })

const isWork = (payload: string): payload is Work =>
  (kindsOfWork as ReadonlyArray<string>).includes(payload)

const makeWakeUp = Effect.fnUntraced(function* wakeUp(options: DatabaseOptions) {
  const local = makeLocalWakeUp(pollMillis)
  const toSay = new Set<Work>()
  const something = yield* Latch.make(false)

  const wakeAll = Effect.forEach(kindsOfWork, local.wake, { discard: true })

  const say = (connection: Connection, channel: string) =>
    Effect.gen(function* () {
      yield* something.await
      yield* something.close
      const works = [...toSay]
      toSay.clear()
      yield* Effect.timeout(
        connection.query(notify.text, notify.bind({ channel, works })),
        notifyTimeoutMillis,
      )
      yield* Effect.sleep(pauseMillis)
    }).pipe(Effect.forever)

  const hear = (next: Effect.Effect<string, unknown>) =>
    Effect.flatMap(next, (word) => (isWork(word) ? local.wake(word) : Effect.void)).pipe(
      Effect.forever,
    )

  const { pool, schema = defaultSchema } = options
  const channel = workChannel(schema)
  const connected = Effect.gen(function* () {
    const { connection, listen } = yield* pool === undefined ? ownLine(options) : hostLine(pool)
    const next = yield* listen(channel)
    // What other processes said before this connection listened was not heard.
    yield* wakeAll
    return yield* Effect.raceFirst(say(connection, channel), hear(next))
  }).pipe(Effect.scoped)

  // The only connection of a pool is for statements: without a line, loops look by themselves.
  if (pool === undefined || getMaximum(pool) > 1) {
    yield* connected.pipe(
      Effect.ignore,
      Effect.andThen(Effect.sleep(reconnectMillis)),
      Effect.forever,
      inRealTime,
      Effect.forkScoped,
    )
  }

  const reportOthers = (work: Work) => {
    toSay.add(work)
    return something.open
  }

  return WakeUp.of({
    poll: local.poll,
    latch: local.latch,
    wake(work) {
      const wakeNowOrOnCommit = (joined: Joined | null) =>
        joined === null
          ? Effect.andThen(
              local.wake(work),
              Effect.suspend(() => reportOthers(work)),
            )
          : Effect.ignore(joined.notify(work))
      return Effect.flatMap(JoinedTransaction, wakeNowOrOnCommit)
    },
  })
})

/** The wake-up of a process that shares its database with others. */
export const layerWakeUp = (options: DatabaseOptions) => Layer.effect(WakeUp, makeWakeUp(options))
