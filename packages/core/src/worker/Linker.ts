/**
 * The linking loop: runs the connections of numbers being linked, stores what they show, ends
 * attempts after ten minutes and links test numbers. It renews each attempt's lease while the
 * connection runs. After a crash the lease ends, and another worker continues with fresh codes. The
 * connection reporter at the end records the connections' states.
 */
import { Clock, Effect, Option, Schedule, Stream } from "effect"
import { Ids } from "../model/Ids.ts"
import type { NumberId } from "../model/Ids.ts"
import { sharedLimits } from "../model/Bulkhead.ts"
import { logFailure } from "../service/logThrottled.ts"
import {
  linkingLeaseMillis,
  inventedPhone,
  emptyLinkingView,
  sealedView,
} from "../model/Linking.ts"
import type { LinkingStore, LeasedAttempt, LinkingView } from "../model/Linking.ts"
import { makeLinkProgress } from "../service/Connections.ts"
import { shouldReplace } from "../store/NumberStore.ts"
import type { ConnectionReport } from "../store/NumberStore.ts"
import { Secrets } from "../model/Secrets.ts"
import { sleep } from "../model/Time.ts"
import { NumberOwnership } from "../service/NumberOwnership.ts"
import { ownsNone } from "../model/Shards.ts"
import { NumberLinking, TelegramTransport, WhatsAppTransport } from "../store/Transport.ts"
import type { LinkingEvent } from "../store/Transport.ts"
import { makeLeasedLoop } from "./LeaseLoop.ts"
import type { LeaseQuery } from "./LeaseLoop.ts"
import { Store } from "../store/Store.ts"

/** Attempts of each kind per round. */
const batch = 100

/** Minimum time between starts of connections: a remote may end each at once. */
const restMillis = 1000

/** Retries until the store answers. */
const retryStoring = Schedule.spaced("250 millis")

/** What linking needs. */
interface Linker {
  readonly store: LinkingStore
  readonly progress: Effect.Success<typeof makeLinkProgress>
  readonly linking: NumberLinking["Service"]
  readonly secrets: Secrets["Service"]
  readonly ids: Ids["Service"]
  readonly ownership: NumberOwnership["Service"]
  /** Running attempts: their numbers may soon connect here. */
  running: number
}

/** An attempt with a running connection, and its latest lease. */
interface LeasedLinking extends Omit<LeasedAttempt, "lease"> {
  lease: number
}

/**
 * Stores a connection's event; false when the attempt ended or another worker has it. A retry
 * stores the same sealed text.
 */
const take = ({ progress, secrets }: Linker, leased: LeasedLinking, event: LinkingEvent) => {
  const { attempt } = leased
  const sealed = (view: Partial<LinkingView>) =>
    sealedView(secrets, attempt.id, { ...emptyLinkingView, ...view })
  switch (event._tag) {
    case "QrShown":
      return progress.shown(leased, sealed({ qrText: event.text, qrExpiresAt: event.expiresAt }))
    case "PairingCodeShown":
      return progress.shown(leased, sealed({ pairingCode: event.pairingCode }))
    case "Taken":
      return progress.scanned(attempt)
    case "Linked":
      return Effect.as(progress.linked(attempt, event.phone), false)
    case "Failed":
      return Effect.as(progress.ended(attempt, event.reason), false)
  }
}

/** Runs one connection to its end; false when the attempt ended or another worker has it. */
const runConnection = Effect.fnUntraced(function* runConnection(
  linker: Linker,
  leased: LeasedLinking,
) {
  const { method, numberId, phone } = leased.attempt
  let goesOn = true
  const began = yield* Clock.currentTimeMillis
  yield* linker.linking.link({ numberId, method, phone }).pipe(
    Stream.takeWhileEffect((event) =>
      take(linker, leased, event).pipe(
        Effect.tapError((error) => logFailure("what linking shows is stored again", error)),
        Effect.retry(retryStoring),
        Effect.orDie,
        Effect.tap((stored) =>
          Effect.sync(() => {
            goesOn = stored
          }),
        ),
      ),
    ),
    Stream.runDrain,
  )
  const rested = (yield* Clock.currentTimeMillis) - began
  // A clock that was set back does not show how long it took.
  if (goesOn && rested < restMillis) yield* sleep(restMillis - Math.max(0, rested))
  return goesOn
})

/** Runs connections in turn until the attempt ends or another worker has it. */
const runAttempt = (linker: Linker, leased: LeasedLinking) =>
  Effect.gen(function* attempt() {
    const left = leased.attempt.endsAt - (yield* Clock.currentTimeMillis)
    yield* runConnection(linker, leased).pipe(
      Effect.repeat({ while: (goesOn) => goesOn }),
      Effect.timeoutOption(left),
      Effect.catchDefect((defect) => Effect.logError("a connection for linking broke", defect)),
    )
  }).pipe(Effect.annotateLogs({ number: leased.attempt.numberId }))

const release = ({ store }: Linker, leased: ReadonlyArray<LeasedLinking>) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    store.renewLinkings(
      leased.map(({ attempt, lease }) => ({ id: attempt.id, lease })),
      now,
    ),
  )

const freeCapacity = (linker: Linker) =>
  Effect.map(linker.ownership.room, (numbers) => Math.max(0, numbers - linker.running))

/** It may claim the attempts of these numbers; none without room. */
const claimable = (linker: Linker) =>
  Effect.flatMap(freeCapacity(linker), (numbers) =>
    numbers === 0 ? Effect.succeed(ownsNone) : linker.ownership.owned,
  )

/** The owner of the number connects it once linked. */
const runWhileOwned = (linker: Linker, leased: LeasedLinking) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      linker.running++
    }),
    () =>
      Effect.gen(function* runOwned() {
        const { numberId } = leased.attempt
        const ran = yield* linker.ownership.whileOwned(numberId, runAttempt(linker, leased))
        // The number's next owner continues at once.
        if (Option.isNone(ran)) yield* Effect.ignore(release(linker, [leased]))
      }),
    () =>
      Effect.sync(() => {
        linker.running--
      }),
  )

/**
 * Whether this worker already runs the connection: its lease ended before the renewal, and no
 * other worker took it. The connection continues under the new lease.
 */
const isResumed = ({ attempt, lease }: LeasedAttempt, leased: Iterable<LeasedLinking>): boolean => {
  for (const known of leased) {
    if (known.attempt.id === attempt.id) {
      known.lease = lease
      return true
    }
  }
  return false
}

/** Ends overdue attempts, and links test numbers. */
const endOthers = Effect.fnUntraced(function* endOthers({ ids, progress, store }: Linker) {
  const now = yield* Clock.currentTimeMillis
  const lapsed = yield* store.lapsedLinkings(now, batch)
  yield* Effect.forEach(lapsed, (attempt) => progress.ended(attempt, "link_expired"), {
    discard: true,
  })
  const tests = yield* store.dueTestLinkings(now, batch)
  yield* Effect.forEach(
    tests,
    (attempt) => progress.linked(attempt, attempt.phone ?? inventedPhone(ids)),
    { discard: true },
  )
  return lapsed.length + tests.length > 0
})

const claim = Effect.fnUntraced(function* claim(
  linker: Linker,
  query: LeaseQuery,
  leased: Iterable<LeasedLinking>,
) {
  const owned = yield* claimable(linker)
  const limit = Math.min(query.limit, yield* freeCapacity(linker))
  if (limit === 0) return []
  const claimed = yield* linker.store.claimLinkings({ ...query, limit, owned })
  return claimed.filter((each) => !isResumed(each, leased))
})

/** Renews the leases of running attempts. Returns the lost ones. */
const renew = Effect.fnUntraced(function* renew(
  { store }: Linker,
  leased: ReadonlyArray<LeasedLinking>,
  leaseUntil: number,
) {
  const leases = leased.map((each) => ({ each, id: each.attempt.id, lease: each.lease }))
  const still = yield* store.renewLinkings(leases, leaseUntil)
  // A newer claim holds it under another lease.
  return leases.flatMap(({ each, id, lease }) =>
    still.has(id) || each.lease !== lease ? [] : each,
  )
})

export const makeLinker = Effect.gen(function* makeLinker() {
  const linker: Linker = {
    store: (yield* Store).numbers,
    progress: yield* makeLinkProgress,
    linking: yield* NumberLinking,
    secrets: yield* Secrets,
    ids: yield* Ids,
    ownership: yield* NumberOwnership,
    running: 0,
  }
  return yield* makeLeasedLoop<LeasedLinking, void>({
    work: "linking",
    capacity: sharedLimits.linkAttempts,
    batch,
    leaseMillis: linkingLeaseMillis,
    toWorkspaceId: ({ workspaceId }) => workspaceId,
    alsoEachRound: endOthers(linker),
    owned: claimable(linker),
    claim: (query, leased) => claim(linker, query, leased),
    perform: (leased) => runWhileOwned(linker, leased),
    // `take` stores events at once.
    settle: () => Effect.void,
    renew: (leased, leaseUntil) => renew(linker, leased, leaseUntil),
    release: (leased) => release(linker, leased),
  })
})

// Reports the states of this process's connections to the store, for every process to read. It
// writes changes at once, and every few seconds proof of life and when the remote was last heard.
// Failed writes are retried.

/** How often to look at connections, in real time. */
const lookMillis = 500

/** The loop; `runOnce` stores what changed since the last time. */
export const makeConnectionReporter = Effect.gen(function* makeConnectionReporter() {
  const store = (yield* Store).numbers
  const transports = [yield* WhatsAppTransport, yield* TelegramTransport]
  const sources = transports.flatMap(({ connections }) => connections ?? [])
  const reported = new Map<NumberId, { readonly report: ConnectionReport; readonly at: number }>()

  const runOnce = Effect.gen(function* runOnce() {
    const reports = (yield* Effect.all(sources)).flat()
    const now = yield* Clock.currentTimeMillis
    const changed = reports.filter((one) => shouldReplace(one, reported.get(one.numberId), now))
    yield* store.reportConnections(changed, now)
    const known = new Set(reports.map(({ numberId }) => numberId))
    for (const numberId of reported.keys()) if (!known.has(numberId)) reported.delete(numberId)
    for (const report of changed) reported.set(report.numberId, { report, at: now })
  })

  const run: Effect.Effect<never> =
    // Simulated phones have no connections to watch.
    sources.length === 0
      ? Effect.never
      : runOnce.pipe(
          Effect.catchCause((cause) => logFailure("connections are reported later", cause)),
          Effect.andThen(sleep(lookMillis)),
          Effect.forever,
        )
  return { runOnce, run }
})
