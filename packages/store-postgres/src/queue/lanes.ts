/** The lanes, and what is left to do. */
import { PgConnection } from "@effect/sql-pg"
import { kindsOfWork, makeLocalWakeUp, WakeUp } from "@messaging-service/core"
import type {
  ClaimedMessage,
  ClaimQuery,
  DueWork,
  EarliestDue,
  LaneQueue,
  MessageId,
  NumberId,
  Pacing,
  Pause,
  Settlement,
  SharedWork,
  Shares,
  Work,
  Workload,
} from "@messaging-service/core"
import { Effect, Latch, Layer, Queue, Record, Scope } from "effect"
import { JoinedTransaction } from "../database/CallersTransaction.ts"
import { lockMillis, togetherOrAlone } from "../database/Coalesced.ts"
import { connectionConfig } from "../database/Connection.ts"
import type { Connection, DatabaseOptions } from "../database/Connection.ts"
import { inRealTime, rowsOver } from "../database/Database.ts"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  boolean,
  columnsOf,
  instant,
  integer,
  integers,
  millis,
  text,
  texts,
  within,
  without,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
import { hostLine, maximumOf } from "../database/HostPool.ts"
import { defaultSchema, workChannel } from "../database/Schema.ts"
import {
  call,
  each,
  given,
  joined,
  part,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import { changeColumns, endedIds, messageNames, toMessage } from "../message/messages.ts"
import type { EndedRow, MessageRow } from "../message/messages.ts"
import { numberTable, toNumber } from "../number/numberRow.ts"
import { sqlFiles } from "../sql.generated.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { fromPacing, ownedColumns, ownedFields, toPacing } from "./lane.ts"

// The fair share of workspaces in what a claim takes: the core's `takeShares` in SQL.

/** How many of each workspace are held and may be, as functions are told. */
export const sharesFields = {
  perWorkspace: { p_per_workspace: integer((shares) => shares.perWorkspace) },
  held: {
    p_workspaces: bigints(({ held }) => [...held.keys()]),
    p_held: integers(({ held }) => [...held.values()]),
  },
} satisfies FieldsOf<Shares>

export const sharesColumns = columnsOf(sharesFields)

/** How many of that workspace are held; `mark` stands before the names of parameters. */
const heldOf = (workspace: string, mark = ""): string =>
  `:code.held_of(${workspace}, ${mark}p_workspaces, ${mark}p_held)`

/**
 * The core's `takeShares`, of all candidates in their order: whether one is among those that its
 * workspace may still have.
 */
export const fitsShare = (workspace: string, order: string, mark = ""): string =>
  `${heldOf(workspace, mark)}
            + row_number() over (partition by ${workspace} order by ${order})
            <= ${mark}p_per_workspace`

// Claiming lanes: free ones that are due, the longest waiting first, one message each, and of no
// workspace more than its share of the worker.
// Locks: the first statement takes the rows of the lanes and passes over those that others hold, so
// dispatchers never wait for one another. Only a later statement reads messages: it sees all that
// was committed before the lane was locked, and nothing can change while it is.

const parameters = single(
  columnsOf({
    now: { p_now: instant((query) => query.now) },
    leaseUntil: { p_lease_until: instant((query) => query.leaseUntil) },
    limit: { p_limit: integer((query) => query.limit) },
    sendCap: {
      p_cap: integer(({ sendCap }) => sendCap.messages),
      p_window_millis: bigint(({ sendCap }) => sendCap.windowMillis),
    },
    ...ownedFields,
    ...sharesFields,
  } satisfies FieldsOf<ClaimQuery>),
)

/** A number's columns beside those of its message, which names it, its workspace and its platform. */
const numberBeside = without(numberTable, "id", "workspace_id", "mode", "platform")

type ClaimedRow = MessageRow &
  RowOf<typeof numberBeside, "n_"> & {
    readonly lease: bigint
    readonly interruptions: number
    readonly removed: boolean
    readonly pacing: ReadonlyArray<number | null> | null
    readonly refusals: number
    readonly pauses: number
    readonly no_room: number
  }

const toClaimed = (row: ClaimedRow): ClaimedMessage => ({
  message: toMessage(row),
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
  noRoomInARow: row.no_room,
  strikes: { refusals: row.refusals, pauses: row.pauses },
})

const Claimed = rowsOver([
  "lease",
  "interruptions",
  "removed",
  "pacing",
  "refusals",
  "pauses",
  "no_room",
  ...Object.keys(numberBeside).map((name) => `n_${name}`),
  ...messageNames,
])

const claimStatement = call("claim", sqlFunction("claim_lanes", parameters), Claimed)

const claim = (database: DatabaseService) => (query: ClaimQuery) =>
  claimStatement.all(database, query, toClaimed)

const renewLeases = statement(
  "renew",
  given({ numbers: bigints, leases: bigints, leaseUntil: instant, patience: text }),
)(sqlFiles["statements/queue/renew-leases.sql"])

type Lease = Parameters<(typeof LaneQueue.Service)["renew"]>[0][number]

const prolonged = (database: DatabaseService, leases: ReadonlyArray<Lease>, leaseUntil: number) =>
  renewLeases.rows<{ readonly number_id: bigint }>(database, {
    numbers: leases.map((one) => one.numberId),
    leases: leases.map((one) => one.lease),
    leaseUntil,
    patience: `${lockMillis}ms`,
  })

/** A lane that is held up is left for the next time; it cannot be claimed meanwhile. */
const renew =
  (database: DatabaseService): (typeof LaneQueue.Service)["renew"] =>
  (leases, leaseUntil) =>
    leases.length === 0
      ? Effect.succeed(new Set<NumberId>())
      : Effect.map(
          togetherOrAlone(leases, (some) => prolonged(database, some, leaseUntil)),
          ({ done }) => new Set(done.flat().map((row) => Number(row.number_id) as NumberId)),
        )

// The pauses and the pacing of a lane: what operators set, and what a new session of its number ends.

interface Control {
  readonly numberId: NumberId
  readonly now: number
  readonly resume?: boolean
  /** The number has a new session. */
  readonly linked?: boolean
  readonly pause?: Pause
  readonly pacing?: Pacing
}

const controlParameters = single({
  p_number: bigint((control: Control) => control.numberId),
  p_now: instant((control: Control) => control.now),
  p_resume: boolean((control: Control) => control.resume ?? false),
  p_linked: boolean((control: Control) => control.linked ?? false),
  p_pause_reason: text((control: Control) => control.pause?.reason ?? null),
  // Null in a pause that only an operator ends.
  p_pause_until: instant((control: Control) => control.pause?.until ?? null),
  p_pacing: integers((control: Control) =>
    control.pacing === undefined ? null : fromPacing(control.pacing),
  ),
})

export const control = call("lane.control", sqlFunction("control_lane", controlParameters))

const pauseLane =
  (database: DatabaseService): (typeof LaneQueue.Service)["pause"] =>
  (numberId, pause, now) =>
    control.holds(database, { numberId, pause, now })

const resumeLane =
  (database: DatabaseService): (typeof LaneQueue.Service)["resume"] =>
  (numberId, now) =>
    control.holds(database, { numberId, now, resume: true })

// Settling attempts, many in one call of `settle_attempts`.

/** How the message ends; null when it goes on waiting. */
const changeOf = (one: Settlement) => (one._tag === "Ended" ? one.change : null)

const columns = {
  number_id: bigint((one: Settlement) => one.numberId),
  lease: bigint((one: Settlement) => one.lease),
  message_id: bigint((one: Settlement) =>
    one._tag === "Ended" ? one.change.message.id : one.messageId,
  ),
  again: boolean((one: Settlement) => one._tag === "Again"),
  not_before: instant((one: Settlement) => one.notBefore),
  refusals: integer((one: Settlement) => one.breaker?.strikes.refusals ?? null),
  pauses: integer((one: Settlement) => one.breaker?.strikes.pauses ?? null),
  pause_reason: text((one: Settlement) => one.breaker?.pause?.reason ?? null),
  // Null in a pause that only an operator ends.
  pause_until: instant((one: Settlement) => one.breaker?.pause?.until ?? null),
  no_room: integer((one: Settlement) => one.noRoom?.inARow ?? null),
  no_room_until: instant((one: Settlement) => one.noRoom?.until ?? null),
  interrupted: integer((one: Settlement) => (one._tag === "Again" && one.interrupted ? 1 : 0)),
  ...within(changeOf, changeColumns),
}

const settleStatement = call(
  "settle",
  sqlFunction(
    "settle_attempts",
    joined(taking({ now: instant, patience: text }), part("settlements", each(columns, "p_"))),
  ),
)

const settle =
  (database: DatabaseService, { tell }: DeliveriesQueued): (typeof LaneQueue.Service)["settle"] =>
  (settlements, now) => {
    if (settlements.length === 0) {
      return Effect.succeed({ settled: new Set<MessageId>(), blockedByLock: [] })
    }
    const together = (some: ReadonlyArray<Settlement>) =>
      endedIds(
        settleStatement.rows<EndedRow>(database, {
          settlements: some,
          now,
          patience: `${lockMillis}ms`,
        }),
        tell,
      )
    return Effect.map(togetherOrAlone(settlements, together), ({ done, blockedByLock }) => ({
      settled: new Set(done.flatMap((ids) => [...ids])),
      blockedByLock,
    }))
  }

export const laneQueue = (
  database: DatabaseService,
  queued: DeliveriesQueued,
): typeof LaneQueue.Service => ({
  claim: claim(database),
  renew: renew(database),
  settle: settle(database, queued),
  pause: pauseLane(database),
  resume: resumeLane(database),
})

/** In the order in which a workload is told how many places there are of each. */
const shared = [
  "lanes",
  "number_checks",
  "linking",
  "deliveries",
] as const satisfies ReadonlyArray<SharedWork>

/** So many places are never taken. */
const endless = 2_147_483_647

const ownedNumbers = "$p_of::bigint, $p_shards::bigint[]"

/** The look-up of each kind of work. */
const lookUps: Readonly<Record<Work, string>> = {
  lanes: `next_lanes($saturated, ${ownedNumbers})`,
  expiry: "next_expiry()",
  test_messages: "next_test_messages()",
  orphaned: "next_orphaned()",
  linking: `next_linking($saturated, ${ownedNumbers})`,
  reminders: "next_reminders()",
  deliveries: "next_deliveries($saturated)",
  number_checks: `next_number_checks($saturated, ${ownedNumbers})`,
}

const nextDue = Record.map(lookUps, (lookUp, work) =>
  statement(
    `nextDue.${work}`,
    joined(given({ saturated: bigints }), single(ownedColumns)),
  )(`select n.due from :code.${lookUp} n`),
)

const earliest = statement("earliest", given({}))(sqlFiles["statements/queue/earliest.sql"])

const workload = statement(
  "workload",
  given({ now: instant, most: integers, whole: integers }),
)(sqlFiles["statements/queue/workload.sql"])

export const workStatus = (database: DatabaseService): typeof DueWork.Service => ({
  nextDue: (work, saturated = [], owned = "all") =>
    Effect.map(
      nextDue[work].value<Date>(database, {
        saturated: saturated === "all" ? null : saturated,
        owned,
      }),
      millis,
    ),
  earliest: () => earliest.one<EarliestDue>(database, {}),
  workload: (now, places) =>
    workload.one<Workload>(database, {
      now,
      most: shared.map((work) => places?.[work].share.most ?? endless),
      whole: shared.map((work) => places?.[work].whole ?? endless),
    }),
})

// Waking the loops of all processes that share a database. A process that makes work wakes its own loops
// at once, and the others by a word on a channel; in case a word gets lost, idle loops look by
// themselves four times a second, with one statement for all of them.
// The word is sent outside of every transaction (a transaction that notifies holds a global lock
// until it is flushed) and at most ten times a second, however much work there is. It is sent and
// heard on one connection, so that a process knows its own words. Only work that is made in a caller's
// transaction is told of inside it, since only its own session knows when it is committed.

const pollMillis = 250

/** Between two words of this process. */
const pauseMillis = 100

/** Before it connects again. */
const reconnectMillis = 500

/** A notification that takes longer means that the connection died. */
const patienceMillis = 5_000

const notify = statement(
  "notify",
  given({ channel: text, works: texts }),
)("select pg_notify($channel, said.work) from unnest($works::text[]) said (work)")

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

const make = Effect.fnUntraced(function* (options: DatabaseOptions) {
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
        patienceMillis,
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
  if (pool === undefined || maximumOf(pool) > 1) {
    yield* connected.pipe(
      Effect.ignore,
      Effect.andThen(Effect.sleep(reconnectMillis)),
      Effect.forever,
      inRealTime,
      Effect.forkScoped,
    )
  }

  const wakeNow = (work: Work) =>
    Effect.andThen(
      local.wake(work),
      Effect.suspend(() => {
        toSay.add(work)
        return something.open
      }),
    )

  return WakeUp.of({
    poll: local.poll,
    latch: local.latch,
    wake: (work) =>
      Effect.flatMap(JoinedTransaction, (transaction) =>
        transaction === null ? wakeNow(work) : Effect.ignore(transaction.notify(work)),
      ),
  })
})

/** The wake-up of a process that shares its database with others. */
export const layerWakeUp = (options: DatabaseOptions) => Layer.effect(WakeUp, make(options))
