/**
 * Spreads numbers over workers in shards. A number's id determines its shard, so no per-number rows
 * or lists are needed. Every worker applies the pure rule `shareOut` to the same stored table.
 */
import type { Brand, Effect } from "effect"
import type { StoreUnavailable } from "./Refusal.ts"
import type { NumberId, NumberEventIds } from "./Ids.ts"
import type { NewReceived, ReceivedOutcome } from "./Incoming.ts"
import type { ConnectionReason, NumberStatus, PauseReason, Platform } from "./SendingNumber.ts"

/** Enough that ten workers differ by a few numbers in a hundred. */
export const shardCount = 256

/** From 0 to the number of shards minus one. */
export type Shard = number & Brand.Brand<"Shard">

/** Assigned when a worker joins; never reused. */
export type WorkerId = number & Brand.Brand<"WorkerId">

/** The numbers of a worker: ids with a listed remainder modulo `of`. */
export type Owned = "all" | { readonly of: number; readonly shards: ReadonlyArray<number> }

export const ownsNone: Owned = { of: shardCount, shards: [] }

/** A number's shard, of `of` shards. */
export const toShard = (numberId: NumberId, of: number = shardCount): Shard =>
  (numberId % of) as Shard

export const isOwned = (numberId: NumberId, owned: Owned): boolean =>
  owned === "all" || owned.shards.includes(toShard(numberId, owned.of))

/** A worker that joined and neither left nor was found dead. */
export interface LiveWorker {
  readonly id: WorkerId
  /** How many numbers it takes at most. */
  readonly most: number
  /** Grows with each heartbeat. */
  readonly beat: number
}

export interface ShardState {
  /** Null for a free one. */
  readonly workerId: WorkerId | null
  /** Grows whenever a worker takes the shard. */
  readonly term: number
  /** Live numbers of the shard with a session. */
  readonly linked: number
  /** Numbers without a session that are being linked. */
  readonly linking: number
}

export interface ShardTable {
  readonly workers: ReadonlyArray<LiveWorker>
  /** One for each shard, in order. */
  readonly shards: ReadonlyArray<ShardState>
}

/** One taking of a shard. */
export interface ShardLease {
  readonly shard: Shard
  readonly term: number
}

/**
 * The taking under which a worker writes a number's data; the store refuses it once another worker
 * took the shard. Null for operators, and where no other worker exists.
 */
export type Fence = ShardLease | null

/** The port that stores which worker holds which shard. It knows no time. */
export interface ShardLeases {
  /** Registers a worker, under a name for operators. */
  addWorker(name: string, max: number): Effect.Effect<WorkerId, StoreUnavailable>
  /**
   * Records the worker's heartbeat and returns the table before it; null when the worker left
   * or was ended.
   */
  beat(id: WorkerId): Effect.Effect<ShardTable | null, StoreUnavailable>
  /** Ends workers without a heartbeat since; frees their shards at once. */
  endWorkers(
    silent: ReadonlyArray<Pick<LiveWorker, "id" | "beat">>,
  ): Effect.Effect<void, StoreUnavailable>
  /** Takes the free ones of the shards; none when the worker left or was ended. */
  takeShards(
    id: WorkerId,
    shards: ReadonlyArray<Shard>,
  ): Effect.Effect<ReadonlyArray<ShardLease>, StoreUnavailable>
  /** Frees shards that the worker still holds under that term. */
  releaseShards(
    id: WorkerId,
    leases: ReadonlyArray<ShardLease>,
  ): Effect.Effect<void, StoreUnavailable>
  /** Removes the worker and frees its shards. */
  removeWorker(id: WorkerId): Effect.Effect<void, StoreUnavailable>
  /** The name of the shard's worker; null for a free one. */
  findOwner(shard: Shard): Effect.Effect<string | null, StoreUnavailable>
  /** The names of all shards' workers, without free shards. */
  readonly holders: Effect.Effect<ReadonlyMap<Shard, string>, StoreUnavailable>
}

/** What a worker should take and give now. */
export interface Sharing {
  readonly take: ReadonlyArray<Shard>
  readonly release: ReadonlyArray<Shard>
}

/** A worker, its shards and how many it should hold. */
interface Owner {
  readonly id: WorkerId
  readonly most: number
  readonly held: ReadonlyArray<Shard>
  load: number
  target: number
}

const byId = (a: Owner, b: Owner): number => a.id - b.id

const getLoad = ({ linked, linking }: ShardState): number => linked + linking

/** How many shards, whichever, the worker can hold within its limit of numbers. */
const getCapacity = ({ held, load, most }: Owner, loads: ReadonlyArray<number>): number => {
  const largest = Math.max(1, ...loads)
  if (load <= most) return held.length + Math.floor((most - load) / largest)
  let left = load
  let count = held.length
  for (const shard of fullestFirst(held, loads)) {
    if (left <= most) break
    left -= loads[shard] ?? 0
    count--
  }
  return count
}

const fullestFirst = (
  shards: ReadonlyArray<Shard>,
  loads: ReadonlyArray<number>,
): ReadonlyArray<Shard> => shards.toSorted((a, b) => (loads[b] ?? 0) - (loads[a] ?? 0) || a - b)

/**
 * Equal shares, differing by at most one; a full worker leaves its rest to the others. Workers with
 * more shards get the larger shares, so that no shard moves for a difference of one.
 */
const setTargets = (holders: ReadonlyArray<Owner>, loads: ReadonlyArray<number>): void => {
  let open = holders.toSorted((a, b) => b.held.length - a.held.length || byId(a, b))
  let left = loads.length
  for (;;) {
    const share = Math.floor(left / Math.max(1, open.length))
    const larger = left - share * open.length
    for (const [index, owner] of open.entries()) owner.target = share + (index < larger ? 1 : 0)
    const limited = open.filter((owner) => getCapacity(owner, loads) < owner.target)
    if (limited.length === 0) return
    for (const owner of limited) {
      owner.target = getCapacity(owner, loads)
      left -= owner.target
    }
    open = open.filter((owner) => !limited.includes(owner))
  }
}

/** Picks `count` shards, spread evenly over large and small ones. */
const selectSome = (shards: ReadonlyArray<Shard>, count: number): ReadonlyArray<Shard> => {
  // Rounded, so that the first of a few numbers is not always kept.
  const countUpTo = (length: number) => Math.floor((length * count) / shards.length + 0.49)
  return shards.filter((_, index) => countUpTo(index + 1) > countUpTo(index))
}

/** Deals free shards, the largest first, to workers below target; returns that worker's part. */
const deal = (
  free: ReadonlyArray<Shard>,
  holders: ReadonlyArray<Owner>,
  loads: ReadonlyArray<number>,
  me: WorkerId,
): ReadonlyArray<Shard> => {
  const missing = new Map(holders.map((one) => [one, one.target - one.held.length]))
  const mine: Array<Shard> = []
  for (const shard of fullestFirst(free, loads)) {
    const load = loads[shard] ?? 0
    const fits = holders.filter((one) => one.load + load <= one.most || load === 0)
    // Beyond the targets only shards remain that no target surely had room for.
    const due = fits.filter((one) => (missing.get(one) ?? 0) > 0)
    const [taker] = (due.length > 0 ? due : fits).toSorted(
      (a, b) => (missing.get(b) ?? 0) - (missing.get(a) ?? 0) || byId(a, b),
    )
    if (taker === undefined) continue
    missing.set(taker, (missing.get(taker) ?? 0) - 1)
    taker.load += load
    if (taker.id === me) mine.push(shard)
  }
  return mine
}

/** How many shards each holder gives away to make up what free shards do not cover. */
const givenBy = (holders: ReadonlyArray<Owner>, free: number, me: WorkerId): number => {
  let missing = -free
  for (const { held, target } of holders) missing += Math.max(0, target - held.length)
  for (const { held, id, target } of holders.toSorted(
    (a, b) => b.held.length - b.target - (a.held.length - a.target) || byId(a, b),
  )) {
    const count = Math.max(0, Math.min(held.length - target, missing))
    if (id === me) return count
    missing -= count
  }
  return 0
}

/**
 * What that worker should take and give. Shares differ by at most one shard, no worker exceeds its
 * limit of numbers, and moves are minimal. All workers compute from the same table, so they want
 * different shards.
 */
export const shareOut = ({ shards, workers }: ShardTable, me: WorkerId): Sharing => {
  const loads = shards.map(getLoad)
  const heldBy = new Map<WorkerId | null, Array<Shard>>([[null, []]])
  for (const { id } of workers) heldBy.set(id, [])
  shards.forEach(({ workerId }, shard) => heldBy.get(workerId)?.push(shard as Shard))
  const holders = workers.map(({ id, most }): Owner => {
    const held = heldBy.get(id) ?? []
    const load = held.reduce((sum, shard) => sum + (loads[shard] ?? 0), 0)
    return { id, most, held, load, target: 0 }
  })
  setTargets(holders, loads)
  const free = heldBy.get(null) ?? []
  const mine = holders.find(({ id }) => id === me)
  if (mine === undefined) return { take: [], release: [] }
  const count = givenBy(holders, free.length, me)
  const order = fullestFirst(mine.held, loads)
  // `deal` adds to the loads of those that take, so it comes after everything that reads them.
  return {
    release: mine.load > mine.most ? order.slice(0, count) : selectSome(order, count),
    take: deal(free, holders, loads, me),
  }
}

/** One key; null deletes it. */
export interface KeyChange {
  readonly type: string
  readonly id: string
  readonly value: string | null
}

/** A number with credentials. */
export interface StoredSession {
  readonly numberId: NumberId
  readonly platform: Platform
  readonly status: NumberStatus
  /** Number or workspace removed. */
  readonly removed: boolean
  /** Since when its device must be logged out; null when it stays. */
  readonly leavingSince: number | null
  /** Why it was last paused, unless resumed since. */
  readonly pauseReason: PauseReason | null
  /** Why it is disconnected, if known; null while connected. */
  readonly reason: ConnectionReason | null
  /** The sealed URL of its proxy: another text means another proxy. */
  readonly proxy: string | null
  /** Whether its workspace has conversations. */
  readonly hasConversations: boolean
}

/** The account of a login that replaces the number's session. */
export interface LoggedIn {
  /** Digits with country code; null when the account does not reveal it. */
  readonly phone: string | null
  /** See `NumberStore.setStatus`. */
  readonly events?: NumberEventIds
}

/** Whether credentials were exchanged, or why not. */
export type Exchanged = boolean | "phone_of_another_number"

export interface SessionStore {
  /** Numbers with credentials, removed ones included, by ascending id. */
  readonly list: Effect.Effect<ReadonlyArray<StoredSession>, StoreUnavailable>
  /** Null when the number has none. */
  credentials(numberId: NumberId): Effect.Effect<string | null, StoreUnavailable>
  /** Values of the existing keys, by id. */
  keys(
    numberId: NumberId,
    type: string,
    ids: ReadonlyArray<string>,
  ): Effect.Effect<ReadonlyMap<string, string>, StoreUnavailable>
  /**
   * Writes everything in one commit; null credentials stay unchanged. No key occurs twice.
   * Unknown and removed numbers are ignored.
   */
  write(
    numberId: NumberId,
    credentials: string | null,
    keys: ReadonlyArray<KeyChange>,
    now: number,
    fence: Fence,
  ): Effect.Effect<boolean, StoreUnavailable>
  /** As `write`, storing in that commit what was received, as `ChatStore.receive` does; null for false. */
  receive(
    numberId: NumberId,
    credentials: string | null,
    keys: ReadonlyArray<KeyChange>,
    now: number,
    fence: Fence,
    received: ReadonlyArray<NewReceived>,
  ): Effect.Effect<ReadonlyArray<ReceivedOutcome> | null, StoreUnavailable>
  /** As `write`, replacing the number's whole session. */
  replace(
    numberId: NumberId,
    credentials: string,
    keys: ReadonlyArray<KeyChange>,
    now: number,
    fence: Fence,
  ): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Replaces the whole session, or deletes it when `credentials` is null, if its credentials
   * still equal `before` (null: none). Answers whether it did. A later write makes it refuse, so
   * it needs no fence.
   *
   * `account` is set for the credentials of a login. The same commit sets the number's phone and
   * ends pauses that the number caused (`pausesOnceLinked`). It also marks a disconnected number
   * for reconnection (`reasonOnceResumed`). If another number of the workspace has the phone
   * (`hasPhone`), nothing changes.
   */
  exchange(
    numberId: NumberId,
    before: string | null,
    credentials: string | null,
    keys: ReadonlyArray<KeyChange>,
    now: number,
    account?: LoggedIn | null,
  ): Effect.Effect<Exchanged, StoreUnavailable>
  /** Deletes keys of that type, oldest write first, down to `most`. */
  trim(
    numberId: NumberId,
    type: string,
    max: number,
    fence: Fence,
  ): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Marks the number's device for log-out; the first time counts. Its credentials stay unless
   * replaced.
   */
  markLeaving(
    numberId: NumberId,
    now: number,
    fence: Fence,
  ): Effect.Effect<boolean, StoreUnavailable>
  /** Deletes the number's session. */
  wipe(numberId: NumberId, fence: Fence): Effect.Effect<boolean, StoreUnavailable>
}
