/**
 * The port that tells how the whole service stands, for its metrics: what waits and for how long,
 * what is in flight, which numbers are connected. Every process reads the same figures.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberStatus, Platform } from "../number/SendingNumber.ts"

/**
 * How many waiting messages are counted, and how many pending deliveries: enough to see trouble, and
 * few enough that a look at a store with a backlog of millions costs no more than one without.
 */
export const mostCounted = 50_000

export interface NumberCount {
  readonly platform: Platform
  readonly status: NumberStatus
  readonly count: number
}

/** What a table of the store holds. */
export interface TableSize {
  readonly name: string
  /** An estimate, as of the latest vacuum; 0 before the first. */
  readonly rows: number
  /** On the disk, with indexes; 0 in memory. */
  readonly bytes: number
}

/** Live messages and live numbers; moments in epoch milliseconds. */
export interface Figures {
  /** Messages whose status is `queued` (`statusAt`), those being sent included. */
  readonly queued: number
  /** Messages whose status is `scheduled`. The sum of both is `countAtMost` when there are more. */
  readonly scheduled: number
  /**
   * When the first message fell or falls due that waits, has not expired, and whose number is not
   * removed: of connected numbers and of the others. Null when nothing waits there.
   */
  readonly firstDueAt: {
    readonly connected: number | null
    readonly notConnected: number | null
  }
  /** When the next lane can or could be claimed, as `WorkStatus.nextDue` says of lanes. */
  readonly laneDueAt: number | null
  /** Lanes with a message in the hands of a transport. */
  readonly lanesInFlight: number
  /** Those of them whose lease has run out: their worker died, or cannot renew. */
  readonly leasesRunOut: number
  /** Numbers that are not removed; what there is none of may be left out. */
  readonly numbers: ReadonlyArray<NumberCount>
  /** Webhook deliveries to be made, in flight or not, of both modes; `countAtMost` when there are more. */
  readonly deliveries: number
  /** Those of them that failed before. */
  readonly retries: number
  readonly tables: ReadonlyArray<TableSize>
}

export class ServiceFigures extends Context.Service<
  ServiceFigures,
  {
    /** One look at the store. Nothing is counted further than `countAtMost`, but lanes and numbers. */
    read(now: number, countAtMost: number): Effect.Effect<Figures, StoreUnavailable>
  }
>()("core/ServiceFigures") {}
