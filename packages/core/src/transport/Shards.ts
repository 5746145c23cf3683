/**
 * Numbers are spread over workers in shards: a number's shard follows from its id, so that neither a
 * row for each number is needed nor a list of them in any statement. Which worker has which shard is
 * decided by `shareOut`, a pure rule that every worker applies to what the store says of all of them.
 */
import { Context } from "effect"
import type { Brand, Effect } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { NumberId } from "../Ids.ts"

/** As many shards as there are: enough that ten workers differ by a few numbers in a hundred. */
export const shardCount = 256

/** From 0 to one less than the number of shards. */
export type Shard = number & Brand.Brand<"Shard">

/** Given to a worker when it joins, and to no other before or after it. */
export type WorkerId = number & Brand.Brand<"WorkerId">

/** Which numbers a worker has: those whose id leaves one of these remainders when divided by `of`. */
export type Owned = "all" | { readonly of: number; readonly shards: ReadonlyArray<number> }

export const ownsNone: Owned = { of: shardCount, shards: [] }

/** The shard of a number, of so many that there are. */
export const shardOf = (numberId: NumberId, of: number = shardCount): Shard =>
  (numberId % of) as Shard

export const isOwned = (numberId: NumberId, owned: Owned): boolean =>
  owned === "all" || owned.shards.includes(shardOf(numberId, owned.of))

/** A worker that has joined and neither left nor been found dead. */
export interface LiveWorker {
  readonly id: WorkerId
  /** How many numbers it takes at most. */
  readonly most: number
  /** Grows with each sign of life. */
  readonly beat: number
}

export interface ShardState {
  /** Null for a free one. */
  readonly workerId: WorkerId | null
  /** Grows each time that a worker takes the shard. */
  readonly term: number
  /** Live numbers of the shard that have a session. */
  readonly linked: number
  /** Those without one that are being linked. */
  readonly linking: number
}

export interface ShardTable {
  readonly workers: ReadonlyArray<LiveWorker>
  /** One for each shard, in their order. */
  readonly shards: ReadonlyArray<ShardState>
}

/** One taking of a shard. */
export interface HeldShard {
  readonly shard: Shard
  readonly term: number
}

/**
 * By which taking of its shard a worker writes what it keeps of a number: once another worker has taken
 * the shard, the store refuses that. Null where no other worker can, and for the word of an operator.
 */
export type Fence = HeldShard | null

/** The port that keeps which worker holds which shard of numbers. It knows no time. */
export class ShardLeases
  extends /*#__PURE__*/ Context.Service<
    ShardLeases,
    {
      /** Makes a worker known, under a name for operators. */
      join(name: string, most: number): Effect.Effect<WorkerId, StoreUnavailable>
      /**
       * Gives a sign of life of that worker, and returns how everything stood; null when the worker has
       * left or was ended.
       */
      beat(id: WorkerId): Effect.Effect<ShardTable | null, StoreUnavailable>
      /** Ends workers, if they have given no sign of life since: their shards are free at once. */
      end(
        silent: ReadonlyArray<Pick<LiveWorker, "id" | "beat">>,
      ): Effect.Effect<void, StoreUnavailable>
      /** Takes those of the shards that are free; none when the worker has left or was ended. */
      take(
        id: WorkerId,
        shards: ReadonlyArray<Shard>,
      ): Effect.Effect<ReadonlyArray<HeldShard>, StoreUnavailable>
      /** Frees shards, if the worker still has them since that taking. */
      give(id: WorkerId, held: ReadonlyArray<HeldShard>): Effect.Effect<void, StoreUnavailable>
      /** The worker is gone, and its shards are free. */
      leave(id: WorkerId): Effect.Effect<void, StoreUnavailable>
      /** The name of the worker that has the shard; null for a free one. */
      holderOf(shard: Shard): Effect.Effect<string | null, StoreUnavailable>
    }
  >()("core/ShardLeases") {}

/** What a worker should do about shards now. */
export interface Sharing {
  readonly take: ReadonlyArray<Shard>
  readonly give: ReadonlyArray<Shard>
}

/** A worker with what it holds, and how many shards it should hold. */
interface Holder {
  readonly id: WorkerId
  readonly most: number
  readonly held: ReadonlyArray<Shard>
  /** Numbers of those shards. */
  load: number
  target: number
}

const byId = (a: Holder, b: Holder): number => a.id - b.id

/** The numbers of a shard. */
const loadOf = ({ linked, linking }: ShardState): number => linked + linking

/** How many shards the worker can have without more numbers than it takes, whichever they are. */
const capacityOf = ({ held, load, most }: Holder, loads: ReadonlyArray<number>): number => {
  const largest = Math.max(1, ...loads)
  if (load <= most) return held.length + Math.floor((most - load) / largest)
  let left = load
  let kept = held.length
  for (const shard of fullestFirst(held, loads)) {
    if (left <= most) break
    left -= loads[shard] ?? 0
    kept--
  }
  return kept
}

const fullestFirst = (
  shards: ReadonlyArray<Shard>,
  loads: ReadonlyArray<number>,
): ReadonlyArray<Shard> => shards.toSorted((a, b) => (loads[b] ?? 0) - (loads[a] ?? 0) || a - b)

/**
 * Equal shares, which differ by one at most; a worker that can take no more leaves its rest to the
 * others. The worker with most already gets the larger share, so that nothing moves for the sake of one.
 */
const setTargets = (holders: ReadonlyArray<Holder>, loads: ReadonlyArray<number>): void => {
  let open = holders.toSorted((a, b) => b.held.length - a.held.length || byId(a, b))
  let left = loads.length
  for (;;) {
    const share = Math.floor(left / Math.max(1, open.length))
    const larger = left - share * open.length
    for (const [place, holder] of open.entries()) holder.target = share + (place < larger ? 1 : 0)
    const limited = open.filter((holder) => capacityOf(holder, loads) < holder.target)
    if (limited.length === 0) return
    for (const holder of limited) {
      holder.target = capacityOf(holder, loads)
      left -= holder.target
    }
    open = open.filter((holder) => !limited.includes(holder))
  }
}

/** As many of the shards, spread evenly over those with many and with few numbers. */
const someOf = (shards: ReadonlyArray<Shard>, count: number): ReadonlyArray<Shard> => {
  // Rounded, so that the first of a few numbers is not always kept.
  const given = (places: number) => Math.floor((places * count) / shards.length + 0.49)
  return shards.filter((_, place) => given(place + 1) > given(place))
}

/**
 * Deals out free shards, those with most numbers first, to workers below their target; returns what
 * that worker gets.
 */
const deal = (
  free: ReadonlyArray<Shard>,
  holders: ReadonlyArray<Holder>,
  loads: ReadonlyArray<number>,
  me: WorkerId,
): ReadonlyArray<Shard> => {
  const missing = new Map(holders.map((one) => [one, one.target - one.held.length]))
  const mine: Array<Shard> = []
  for (const shard of fullestFirst(free, loads)) {
    const load = loads[shard] ?? 0
    const fits = holders.filter((one) => one.load + load <= one.most || load === 0)
    // Beyond the targets are only shards for which no target had room for certain.
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

/** How many shards each holder gives so that the others have what free ones do not give them. */
const givenBy = (holders: ReadonlyArray<Holder>, free: number, me: WorkerId): number => {
  let wanted = -free
  for (const { held, target } of holders) wanted += Math.max(0, target - held.length)
  for (const { held, id, target } of holders.toSorted(
    (a, b) => b.held.length - b.target - (a.held.length - a.target) || byId(a, b),
  )) {
    const given = Math.max(0, Math.min(held.length - target, wanted))
    if (id === me) return given
    wanted -= given
  }
  return 0
}

/**
 * What that worker should take and give: shares differ by one shard at most, no worker is given more
 * numbers than it takes, and nothing moves that need not. All workers reckon with the same table, so
 * that they want different shards.
 */
export const shareOut = ({ shards, workers }: ShardTable, me: WorkerId): Sharing => {
  const loads = shards.map(loadOf)
  const heldBy = new Map<WorkerId | null, Array<Shard>>([[null, []]])
  for (const { id } of workers) heldBy.set(id, [])
  shards.forEach(({ workerId }, shard) => heldBy.get(workerId)?.push(shard as Shard))
  const holders = workers.map(({ id, most }): Holder => {
    const held = heldBy.get(id) ?? []
    const load = held.reduce((sum, shard) => sum + (loads[shard] ?? 0), 0)
    return { id, most, held, load, target: 0 }
  })
  setTargets(holders, loads)
  const free = heldBy.get(null) ?? []
  const mine = holders.find(({ id }) => id === me)
  if (mine === undefined) return { take: [], give: [] }
  const given = givenBy(holders, free.length, me)
  const order = fullestFirst(mine.held, loads)
  return {
    give: mine.load > mine.most ? order.slice(0, given) : someOf(order, given),
    take: deal(free, holders, loads, me),
  }
}
