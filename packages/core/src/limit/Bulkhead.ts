/**
 * What a worker holds of each workspace, so that its claims can keep to the share of one. It is the
 * worker's own count: places are those of a process, and other processes have others.
 */
import { Effect, Scope, Semaphore } from "effect"
import { maximumErrors } from "../error/Refusal.ts"
import type { WorkspaceId } from "../Ids.ts"

/** What every claim under a lease asks for. */
export interface LeaseClaim {
  readonly now: number
  /** When the leases run out, unless they are settled before. */
  readonly leaseUntil: number
  /** How much to claim at most. */
  readonly limit: number
}

/** The part of a claim that keeps to the share of each workspace. */
export interface Shares {
  /** How many of one workspace this worker may hold at once. */
  readonly perWorkspace: number
  /** How many it holds already of each workspace; one that is not in it holds none. */
  readonly held: ReadonlyMap<WorkspaceId, number>
}

/**
 * What a claim takes of candidates that come the longest waiting first: of each workspace as many as
 * it still may have, and no more than `limit` in all.
 */
export const takeFairShares = <A>(
  candidates: Iterable<A>,
  workspaceOf: (candidate: A) => WorkspaceId,
  { held, perWorkspace }: Shares,
  limit: number,
): ReadonlyArray<A> => {
  const taken: Array<A> = []
  const counts = new Map(held)
  for (const candidate of candidates) {
    if (taken.length >= limit) break
    const workspaceId = workspaceOf(candidate)
    const count = counts.get(workspaceId) ?? 0
    if (count >= perWorkspace) continue
    counts.set(workspaceId, count + 1)
    taken.push(candidate)
  }
  return taken
}

/**
 * The part of `held` that a claim of at most `limit` has to know: workspaces so near their share that it
 * could go beyond that. Of all others it may take whatever it finds.
 */
export const countsNearShare = (
  { held, perWorkspace }: Shares,
  limit: number,
): ReadonlyMap<WorkspaceId, number> =>
  limit > perWorkspace
    ? held
    : new Map(Array.from(held).filter(([, count]) => count + limit > perWorkspace))

/**
 * Gives places out to lanes, one after the other: to each what it wants, as far as its workspace may
 * still have it and `limit` in all is not reached.
 */
export const allotByShare = ({ held, perWorkspace }: Shares, limit: number) => {
  const counts = new Map(held)
  let left = limit
  return (workspaceId: WorkspaceId, wanted: number): number => {
    const count = counts.get(workspaceId) ?? 0
    const places = Math.max(0, Math.min(wanted, left, perWorkspace - count))
    counts.set(workspaceId, count + places)
    left -= places
    return places
  }
}

/**
 * What a claim takes of lanes, each with what may be taken of it in its order: the first of every lane,
 * then the second of every one that has more, and so on, until `limit` is reached; the longest due
 * first in each round. So no lane is served twice while another waits.
 */
export const roundRobin = <A>(
  lanes: ReadonlyArray<ReadonlyArray<A>>,
  byDue: (a: A, b: A) => number,
  limit: number,
): ReadonlyArray<A> =>
  lanes
    .flatMap((lane) => lane.map((one, round) => ({ one, round })))
    .toSorted((a, b) => a.round - b.round || byDue(a.one, b.one))
    .slice(0, limit)
    .map(({ one }) => one)

export const countByWorkspace = (
  workspaces: Iterable<WorkspaceId>,
): ReadonlyMap<WorkspaceId, number> => {
  const held = new Map<WorkspaceId, number>()
  for (const workspaceId of workspaces) held.set(workspaceId, (held.get(workspaceId) ?? 0) + 1)
  return held
}

/** How many places there are in all, and how many of them one workspace may have. */
export interface Capacity {
  readonly whole: number
  readonly share: { readonly most: number }
}

/** The workspaces of which no more may be taken: all of them once no place is left. */
export type SaturatedTenants = ReadonlyArray<WorkspaceId> | "all"

/** Those of which no more may be taken, of what is held of each. */
export const saturatedTenants = (
  held: ReadonlyMap<WorkspaceId, number>,
  { share, whole }: Capacity,
): SaturatedTenants => {
  let sum = 0
  for (const count of held.values()) sum += count
  if (sum >= whole) return "all"
  return [...held].flatMap(([workspaceId, count]) => (count >= share.most ? workspaceId : []))
}

export const isSaturated = (crowded: SaturatedTenants, workspaceId: WorkspaceId): boolean =>
  crowded === "all" || crowded.includes(workspaceId)

// Places of a shared resource in one process. No holder has more of them at once than its share, so
// that what hangs for one holder leaves room for the others. Above either bound the next one waits for
// its turn, in the order of asking, or is refused.

interface Bounds {
  readonly whole: number
  readonly share: { readonly most: number } | null
}

interface Share {
  readonly places: Semaphore.Semaphore
  /** How many have a place of the share or wait for one; at 0 the share is dropped. */
  users: number
}

/** For work that waits. */
export const makeBulkhead = <Holder>({ share, whole }: Bounds) => {
  const all = Semaphore.makeUnsafe(whole)
  const shares = new Map<Holder, Share>()

  const join = (holder: Holder): Share => {
    const joined = shares.get(holder) ?? {
      places: Semaphore.makeUnsafe(share?.most ?? whole),
      users: 0,
    }
    shares.set(holder, joined)
    joined.users++
    return joined
  }

  const leave = (holder: Holder, left: Share): void => {
    left.users--
    if (left.users === 0) shares.delete(holder)
  }

  /** Not by `Effect.acquireRelease`, which joins all services anew for each release. */
  const takeOne = (scope: Scope.Scope, places: Semaphore.Semaphore) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.andThen(restore(places.take(1)), Scope.addFinalizer(scope, places.release(1))),
    )

  return {
    /** Waits for a place and has it until the scope closes. */
    acquire: (holder: Holder): Effect.Effect<void, never, Scope.Scope> =>
      Effect.flatMap(Effect.scope, (scope) =>
        Effect.suspend(() => {
          const joined = join(holder)
          return Effect.as(
            Scope.addFinalizer(
              scope,
              Effect.sync(() => leave(holder, joined)),
            ),
            joined.places,
          )
        }).pipe(
          Effect.uninterruptible,
          // First its own share: one holder never fills the line of those that wait for the whole.
          Effect.flatMap((own) => takeOne(scope, own)),
          Effect.andThen(takeOne(scope, all)),
        ),
      ),
  }
}

/** For work that is refused where there is none. The taker of a place gives it back in any case. */
export interface RejectingBulkhead<Holder> {
  /** Takes a place of the whole; false when there is none. */
  tryAcquire(): boolean
  release(): void
  /** Takes a place of the holder's share; false when it has used that up. */
  tryAcquireShare(holder: Holder): boolean
  releaseShare(holder: Holder): void
  /** How many places of its share each holder has; one that is not in it has none. */
  readonly shares: ReadonlyMap<Holder, number>
}

/** All places free. Without a share, a holder may have what the whole has. */
export const makeRejectingBulkhead = <Holder>({
  share,
  whole,
}: Bounds): RejectingBulkhead<Holder> => {
  const most = share?.most ?? whole
  const shares = new Map<Holder, number>()
  let taken = 0
  return {
    shares,
    tryAcquire: () => {
      if (taken >= whole) return false
      taken++
      return true
    },
    release: () => {
      taken--
    },
    tryAcquireShare: (holder) => {
      const held = shares.get(holder) ?? 0
      if (held >= most) return false
      shares.set(holder, held + 1)
      return true
    },
    releaseShare: (holder) => {
      const held = (shares.get(holder) ?? 0) - 1
      // Holders come and go; only those that hold something are remembered.
      if (held > 0) shares.set(holder, held)
      else shares.delete(holder)
    },
  }
}

// A cache for pure functions that are asked the same few things thousands of times a second.

/** Enough for what is asked again and again, and little memory. */
const maxAnswers = 1000

/**
 * A pure function that keeps its answers: when there are 1,000, all are forgotten. An answer of
 * `undefined` is not kept.
 */
export const memoize = <A>(answer: (question: string) => A): ((question: string) => A) => {
  const answers = new Map<string, A>()
  return (question) => {
    const kept = answers.get(question)
    if (kept !== undefined) return kept
    const made = answer(question)
    if (answers.size >= maxAnswers) answers.clear()
    answers.set(question, made)
    return made
  }
}

// Everything that callers share, in one table: how much there is of it, and how much of it one caller
// may hold, so that no caller can take the service from the others. The code takes its bounds from
// here; the same table in docs/security.md says for each row what happens above them.

export interface SharedLimit {
  /** How much of it one process (or one connection, for its rows) has; null: no bound of its own. */
  readonly whole: number | null
  /** What one holder may have of it at once; null where a row has no smaller holder. */
  readonly share: { readonly of: "workspace" | "address"; readonly most: number } | null
}

const table = <const Rows extends Readonly<Record<string, SharedLimit>>>(rows: Rows): Rows => rows

export const sharedLimits = table({
  /** Requests that a connection may have under way: above it the connection is not read from. */
  pipelinedRequests: { whole: 8, share: null },
  /** Connections of the database's pool of 10 that may be reading lists: the others are for the rest. */
  lists: { whole: 3, share: { of: "workspace", most: 2 } },
  /**
   * Connections of clients to one port. An idle one takes some 30 KB. A client needs few, since each
   * carries one request after another; behind a proxy that is trusted, all clients come from its
   * address, and have no share.
   */
  connections: { whole: 2048, share: { of: "address", most: 256 } },
  /**
   * Requests of customers under way: half a second of work on two processors with the embedded
   * database; what would wait longer is better sent again. A workspace has a quarter, so that its slow
   * requests (uploads, downloads of media links) leave room for those of others.
   */
  requests: { whole: 1024, share: { of: "workspace", most: 256 } },
  /** Apart from those of customers, so that an operator can act while they fill theirs. */
  operatorRequests: { whole: 64, share: null },
  /** Those for health and metrics, apart too: a busy service must not look dead to its supervisor. */
  watchingRequests: { whole: 64, share: null },
  /**
   * Addresses (IPv6: /64) whose wrong keys are counted in a minute, of some 100 bytes each. An attacker
   * with so many networks gets no further than with one: keys are too long to be guessed at any rate.
   */
  wrongKeyAddresses: { whole: 10_000, share: { of: "address", most: 1 } },
  /**
   * Keys that are remembered as unknown, of some 200 bytes each. Sending more different keys costs a
   * look-up each, as it would anyway.
   */
  unknownKeys: { whole: 10_000, share: null },
  /**
   * Bytes read of version 1 bodies that name their caller behind a file. The first 64 KiB of each are
   * not counted, so that those who fill this keep no ordinary call from being read.
   */
  unknownCallersBytes: { whole: 64 * 1024 * 1024, share: null },
  /**
   * Files that came with version 1 sends: the default of `ATTACHMENT_BYTES`, since a workspace's plan
   * does not count them. Of all workspaces together the disk's reserve alone is the bound.
   */
  attachmentBytes: { whole: null, share: { of: "workspace", most: 1024 ** 3 } },
  /**
   * Bytes that uploads and fetched media leave free: the default of `DISK_RESERVE`, on disks of 20 GiB
   * or more; on smaller ones 5 % of the disk.
   */
  diskReserve: { whole: 1024 ** 3, share: null },
  /** Parameters of a query string, and parts or parameters of a form. */
  formEntries: { whole: 1000, share: null },
  /**
   * Members of all lists and objects of a JSON body together. The largest requests that are valid, with
   * 1,000 recipients, phones or ids, have some 2,000. 1 MiB could hold 340,000, which would keep the
   * processor from all other callers for some 100 ms.
   */
  jsonValues: { whole: 10_000, share: null },
  /** Problems of a refused request that are told beside the first. */
  refusalErrors: { whole: maximumErrors, share: null },
  /** Bytes of the answer to it: names that callers make up are cut where an answer repeats them. */
  refusalBytes: { whole: 64 * 1024, share: null },
  /**
   * Numbers being sent from: a lane is held from its claim until its attempt is settled, hanging links
   * and transports included.
   */
  lanes: { whole: 512, share: { of: "workspace", most: 128 } },
  /**
   * Test messages that one commit of a worker ends. No transport slows them down, so a workspace that
   * floods would fill every commit.
   */
  testMessages: { whole: 500, share: { of: "workspace", most: 125 } },
  /**
   * Sends of test keys that are being written: as many as one statement of the database takes. The quota
   * does not count them, so nothing else bounds how many of one workspace lie before those of others.
   */
  testSends: { whole: 64, share: { of: "workspace", most: 16 } },
  /** The same of batches, which write up to 1,000 messages each. */
  testBatches: { whole: 4, share: { of: "workspace", most: 1 } },
  /** Calls of a transport that ask which phones are registered, of 50 phones each. */
  numberChecks: { whole: 64, share: { of: "workspace", most: 16 } },
  /**
   * Attempts at linking numbers. Each runs a connection that shows codes, for ten minutes at most; a
   * plan may allow a workspace any number of them.
   */
  linkAttempts: { whole: 256, share: { of: "workspace", most: 16 } },
  /**
   * Calls of receivers. Each target (a webhook endpoint, of which a workspace has five, or an origin of
   * callbacks) is called five times at once; the share is of both kinds together.
   */
  receiverCalls: { whole: 2000, share: { of: "workspace", most: 125 } },
  /** A workspace's callbacks may lead anywhere: they leave half of the calls to webhook endpoints. */
  callbackCalls: { whole: 1000, share: { of: "workspace", most: 100 } },
  /** Names that are being resolved, for calls and for the checks of links at acceptance. */
  nameLookUps: { whole: 512, share: { of: "workspace", most: 32 } },
  /** Connections that wait for the next call of the same receiver. */
  keptConnections: { whole: 1000, share: { of: "workspace", most: 100 } },
  /**
   * Files that links lead to, from the first byte until they are sent or kept: each of them may hold
   * 100 MB of the disk.
   */
  linkedFiles: { whole: 64, share: { of: "workspace", most: 16 } },
})
