/**
 * Limits on concurrent work, and fair shares of them: a bound for the whole and one for each
 * tenant. One slow or greedy tenant thus leaves capacity for the others. The table `sharedLimits`
 * holds every such limit. All counts are of one process.
 */
import { Effect, Scope, Semaphore } from "effect"
import { maximumErrors } from "./Refusal.ts"
import type { WorkspaceId } from "./Ids.ts"

/** What every claim under a lease asks for. */
export interface LeaseClaim {
  readonly now: number
  /** When the leases end, unless settled before. */
  readonly leaseUntil: number
  readonly limit: number
}

/** The share of each workspace that a claim keeps to. */
export interface Shares {
  /** How many of one workspace this worker may hold at once. */
  readonly perWorkspace: number
  /** How many it holds of each workspace; an absent one holds none. */
  readonly held: ReadonlyMap<WorkspaceId, number>
}

/**
 * Takes candidates in order (the longest waiting first), within each workspace's share and `limit`
 * in total.
 */
export const takeFairShares = <A>(
  candidates: Iterable<A>,
  toWorkspaceId: (candidate: A) => WorkspaceId,
  { held, perWorkspace }: Shares,
  limit: number,
): ReadonlyArray<A> => {
  const selected: Array<A> = []
  const counts = new Map(held)
  for (const candidate of candidates) {
    if (selected.length >= limit) break
    const workspaceId = toWorkspaceId(candidate)
    const count = counts.get(workspaceId) ?? 0
    if (count >= perWorkspace) continue
    counts.set(workspaceId, count + 1)
    selected.push(candidate)
  }
  return selected
}

/**
 * The part of `held` that a claim of at most `limit` needs: workspaces that the claim could push
 * over their share.
 */
export const countsNearShare = (
  { held, perWorkspace }: Shares,
  limit: number,
): ReadonlyMap<WorkspaceId, number> =>
  limit > perWorkspace
    ? held
    : new Map(Array.from(held).filter(([, count]) => count + limit > perWorkspace))

/**
 * Allots capacity to lanes in turn: what each wants, within its workspace's share and `limit` in
 * all.
 */
export const allotByShare = ({ held, perWorkspace }: Shares, limit: number) => {
  const counts = new Map(held)
  let left = limit
  return (workspaceId: WorkspaceId, requested: number): number => {
    const count = counts.get(workspaceId) ?? 0
    const granted = Math.max(0, Math.min(requested, left, perWorkspace - count))
    counts.set(workspaceId, count + granted)
    left -= granted
    return granted
  }
}

/**
 * Round robin over lanes: the first of every lane, then the second, until `limit`. Each round goes
 * by due time, so no lane is served twice while another waits.
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

/** Concurrent work allowed in total, and of one workspace. */
export interface Capacity {
  readonly whole: number
  readonly share: { readonly most: number }
}

/** Workspaces at their concurrency limit; `all` when no capacity is left. */
export type SaturatedTenants = ReadonlyArray<WorkspaceId> | "all"

/** Workspaces at their concurrency limit. */
export const saturatedTenants = (
  held: ReadonlyMap<WorkspaceId, number>,
  { share, whole }: Capacity,
): SaturatedTenants => {
  let sum = 0
  for (const count of held.values()) sum += count
  if (sum >= whole) return "all"
  return [...held].flatMap(([workspaceId, count]) => (count >= share.most ? workspaceId : []))
}

export const isSaturated = (saturated: SaturatedTenants, workspaceId: WorkspaceId): boolean =>
  saturated === "all" || saturated.includes(workspaceId)

// Bulkheads: each holder has at most its share, so work that hangs for one leaves room for the
// others. Above a bound, callers wait in order or are refused.

interface Bounds {
  readonly whole: number
  readonly share: { readonly most: number } | null
}

interface Share {
  readonly places: Semaphore.Semaphore
  /** Holders and waiters of the share; at 0 it is dropped. */
  users: number
}

/** A bulkhead that lets callers wait. */
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

  return {
    /** Waits for capacity and holds it until the scope closes. */
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
          // Its own share first: one holder never fills the queue for the whole.
          Effect.flatMap((own) => own.takeScoped(1)),
          Effect.andThen(all.takeScoped(1)),
        ),
      ),
  }
}

/** A bulkhead that refuses instead of waiting. Every acquirer must release. */
export interface RejectingBulkhead<Holder> {
  /** Takes one of the whole; false when none is left. */
  tryAcquire(): boolean
  release(): void
  /** Takes one of the holder's share; false when it is used up. */
  tryAcquireShare(holder: Holder): boolean
  releaseShare(holder: Holder): void
  /** How much of its share each holder uses; an absent one uses none. */
  readonly shares: ReadonlyMap<Holder, number>
}

/** Without `share`, a holder may use the whole. */
export const makeRejectingBulkhead = <Holder>({
  share,
  whole,
}: Bounds): RejectingBulkhead<Holder> => {
  const max = share?.most ?? whole
  const shares = new Map<Holder, number>()
  let used = 0
  return {
    shares,
    tryAcquire: () => {
      if (used >= whole) return false
      used++
      return true
    },
    release: () => {
      used--
    },
    tryAcquireShare: (holder) => {
      const held = shares.get(holder) ?? 0
      if (held >= max) return false
      shares.set(holder, held + 1)
      return true
    },
    releaseShare: (holder) => {
      const held = (shares.get(holder) ?? 0) - 1
      // Forget idle holders.
      if (held > 0) shares.set(holder, held)
      else shares.delete(holder)
    },
  }
}

/**
 * The same for the time of a scope. Fails with `shareUsed` when the holder has its share, and with `full`
 * when the whole is taken.
 */
export const makeScopedBulkhead = <Holder, ShareUsed, Full>(
  bounds: Bounds,
  { full, shareUsed }: { readonly shareUsed: ShareUsed; readonly full: Full },
): ((holder: Holder) => Effect.Effect<void, ShareUsed | Full, Scope.Scope>) => {
  const bulkhead = makeRejectingBulkhead<Holder>(bounds)
  return (holder) =>
    Effect.acquireRelease(
      Effect.gen(function* acquire() {
        if (!bulkhead.tryAcquireShare(holder)) return yield* Effect.fail(shareUsed)
        if (bulkhead.tryAcquire()) return
        bulkhead.releaseShare(holder)
        return yield* Effect.fail(full)
      }),
      () =>
        Effect.sync(() => {
          bulkhead.release()
          bulkhead.releaseShare(holder)
        }),
    )
}

// A cache for pure functions that answer the same few questions thousands of times a second.

const maxAnswers = 1000

/** Memoizes a pure function: after 1,000 answers it starts over. It does not keep `undefined`. */
export const memoize = <A>(answer: (question: string) => A): ((question: string) => A) => {
  const answers = new Map<string, A>()
  return (question) => {
    const known = answers.get(question)
    if (known !== undefined) return known
    const answered = answer(question)
    if (answers.size >= maxAnswers) answers.clear()
    answers.set(question, answered)
    return answered
  }
}

// Every resource that callers share: how much there is and how much one caller may hold, so that no
// caller can starve the others. The same table in docs/security.md says what happens above each
// limit.

export interface SharedLimit {
  /** How much one process (or, for its rows, one connection) has; null: unbounded. */
  readonly whole: number | null
  /** What one holder may have at once; null when the row has no smaller holder. */
  readonly share: { readonly of: "workspace" | "address" | "session"; readonly most: number } | null
}

const table = <const Rows extends Readonly<Record<string, SharedLimit>>>(rows: Rows): Rows => rows

export const sharedLimits = table({
  /** Requests under way on a connection: at the limit the server stops reading from it. */
  pipelinedRequests: { whole: 8, share: null },
  /**
   * Connections of the database pool of 10 that may read lists; the rest stay free for other work.
   */
  lists: { whole: 3, share: { of: "workspace", most: 2 } },
  /**
   * Client connections to one port; an idle one takes about 30 KB. A client needs few, since each
   * carries requests in sequence. Behind a trusted proxy every client has its address, so no share
   * applies.
   */
  connections: { whole: 2048, share: { of: "address", most: 256 } },
  /**
   * Customer requests under way: half a second of work on two processors with the embedded
   * database. What would wait longer is better sent again. A workspace gets a quarter, so that its
   * slow uploads and downloads leave room for others.
   */
  requests: { whole: 1024, share: { of: "workspace", most: 256 } },
  /** Separate from customers, so that operators can act under full load. */
  operatorRequests: { whole: 64, share: null },
  /** The part of `operatorRequests` that portals may hold, so that customers leave room for operators. */
  portalRequests: { whole: 32, share: { of: "workspace", most: 8 } },
  /** Pages and files of the dashboard, which are sent from memory. */
  dashboardFiles: { whole: 64, share: null },
  /**
   * Open streams of news. Each idles at about 30 KB with its connection, and all together cost one
   * look a second. A page keeps one.
   */
  eventStreams: { whole: 256, share: { of: "session", most: 4 } },
  /** Health and metrics; separate, so that a busy service does not look dead to its supervisor. */
  watchingRequests: { whole: 64, share: null },
  /**
   * Addresses (IPv6: /64) with wrong keys counted per minute, about 100 bytes each. More networks do
   * not help an attacker: keys are too long to guess at any rate.
   */
  wrongKeyAddresses: { whole: 10_000, share: { of: "address", most: 1 } },
  /**
   * Keys cached as unknown, about 200 bytes each. More distinct keys cost one lookup each, as
   * without the cache.
   */
  unknownKeys: { whole: 10_000, share: null },
  /**
   * Bytes read of version 1 bodies that name their caller after a file. The first 64 KiB of each
   * are free, so that no caller can block ordinary calls.
   */
  unknownCallersBytes: { whole: 64 * 1024 * 1024, share: null },
  /**
   * Files of version 1 sends: the default of `ATTACHMENT_BYTES`, since plans do not count them.
   * Only the disk reserve bounds all workspaces together.
   */
  attachmentBytes: { whole: null, share: { of: "workspace", most: 1024 ** 3 } },
  /**
   * Bytes that uploads and fetched media leave free: the default of `DISK_RESERVE` on disks of 20
   * GiB or more. On smaller ones it is 5 % of the disk.
   */
  diskReserve: { whole: 1024 ** 3, share: null },
  /** Parameters of a query string, and parts or parameters of a form. */
  formEntries: { whole: 1000, share: null },
  /**
   * Members of all lists and objects of a JSON body. The largest valid requests, with 1,000
   * recipients, have about 2,000. 1 MiB could hold 340,000 and block the processor for about 100 ms.
   */
  jsonValues: { whole: 10_000, share: null },
  /** Problems reported with a refusal, besides the first. */
  refusalErrors: { whole: maximumErrors, share: null },
  /** Bytes of a refusal's answer: names that callers invent are truncated. */
  refusalBytes: { whole: 64 * 1024, share: null },
  /**
   * Numbers that are sending: a lane counts from claim to settlement, hanging links and transports
   * included.
   */
  lanes: { whole: 512, share: { of: "workspace", most: 128 } },
  /**
   * Test messages that one commit ends. No transport slows them down, so one workspace could fill
   * every commit.
   */
  testMessages: { whole: 500, share: { of: "workspace", most: 125 } },
  /**
   * Writes of test sends: as many as one database statement takes. No quota bounds them, so a
   * workspace could queue before all others.
   */
  testSends: { whole: 64, share: { of: "workspace", most: 16 } },
  /** Writes of test batches, of up to 1,000 messages each. */
  testBatches: { whole: 4, share: { of: "workspace", most: 1 } },
  /** Transport calls that ask which phones are registered, of 50 phones each. */
  numberChecks: { whole: 64, share: { of: "workspace", most: 16 } },
  /**
   * Files of rows that come into campaigns, and files of results that leave. Each is a stream that
   * a slow client may hold for long.
   */
  campaignFiles: { whole: 8, share: { of: "workspace", most: 2 } },
  /** Connections that operators try through the proxies of numbers, each for up to ten seconds. */
  proxyChecks: { whole: 16, share: { of: "workspace", most: 4 } },
  /**
   * Linking attempts, each with a connection that shows codes for up to ten minutes. A plan may
   * allow any number.
   */
  linkAttempts: { whole: 256, share: { of: "workspace", most: 16 } },
  /**
   * Calls to receivers. A target (webhook endpoint or callback origin) gets five at once; a
   * workspace has five endpoints. The share covers both kinds.
   */
  receiverCalls: { whole: 2000, share: { of: "workspace", most: 125 } },
  /** Callbacks may go anywhere, so half of the calls stay free for webhook endpoints. */
  callbackCalls: { whole: 1000, share: { of: "workspace", most: 100 } },
  /** Name lookups, for calls and for links checked at acceptance. */
  nameLookUps: { whole: 512, share: { of: "workspace", most: 32 } },
  /** Idle connections kept for the next call to the same receiver. */
  keptConnections: { whole: 1000, share: { of: "workspace", most: 100 } },
  /** Files of received messages that are fetched (contract: Files of received messages). */
  receivedFiles: { whole: 16, share: { of: "workspace", most: 4 } },
  /** Linked files, from the first byte until sent or stored; each may hold 100 MB of disk. */
  linkedFiles: { whole: 64, share: { of: "workspace", most: 16 } },
})
