/**
 * The linking loop: runs the connections of numbers that are being linked and stores what they show,
 * ends attempts whose ten minutes are over, and lets test numbers link themselves. An attempt is
 * held by a lease that is renewed while its connection is run; when the process dies the lease runs
 * out and another worker goes on with fresh codes.
 */
import { Clock, Effect, Option, Schedule, Stream } from "effect"
import { Ids } from "../Ids.ts"
import type { NumberId } from "../Ids.ts"
import { sharedLimits } from "../limit/Bulkhead.ts"
import { logFailure } from "../monitoring/logThrottled.ts"
import {
  linkingLeaseMillis,
  LinkingStore,
  madeUpPhone,
  makeLinkProgress,
  nothingShown,
  sealedView,
} from "../number/Linking.ts"
import type { HeldAttempt, LinkingView } from "../number/Linking.ts"
import { NumberStore, shouldReplace } from "../number/NumberStore.ts"
import type { ConnectionReport } from "../number/NumberStore.ts"
import { Secrets } from "../secret/Secrets.ts"
import { sleep } from "../time/Time.ts"
import { NumberOwnership } from "../transport/NumberOwnership.ts"
import { ownsNone } from "../transport/Shards.ts"
import { NumberLinking, TelegramTransport, WhatsAppTransport } from "../transport/Transport.ts"
import type { LinkingEvent } from "../transport/Transport.ts"
import { makeLeasedLoop } from "./LeaseLoop.ts"

/** Attempts that one round takes of each kind at most. */
const batch = 100

/** Between the beginnings of two connections at least: a far side may end each at once. */
const restMillis = 1000

/** What a connection says is stored as soon as the store answers. */
const retryStoring = Schedule.spaced("250 millis")

/** An attempt whose connection this worker runs, with the lease of its latest claim. */
interface Holding extends Omit<HeldAttempt, "lease"> {
  lease: number
}

/** Makes the loop. */
export const makeLinker = Effect.gen(function* makeLinker() {
  const store = yield* LinkingStore
  const progress = yield* makeLinkProgress
  const linking = yield* NumberLinking
  const secrets = yield* Secrets
  const ids = yield* Ids
  const ownership = yield* NumberOwnership

  /**
   * Stores what a connection says; false when the attempt is over or no longer this worker's. What is
   * stored again is the same text, sealed before.
   */
  const take = (held: Holding, event: LinkingEvent) => {
    const { attempt } = held
    const sealed = (view: Partial<LinkingView>) =>
      sealedView(secrets, attempt.id, { ...nothingShown, ...view })
    switch (event._tag) {
      case "QrShown":
        return progress.shown(held, sealed({ qrText: event.text }))
      case "PairingCodeShown":
        return progress.shown(held, sealed({ pairingCode: event.pairingCode }))
      case "Taken":
        return progress.taken(attempt)
      case "Linked":
        return Effect.as(progress.linked(attempt, event.phone), false)
      case "Failed":
        return Effect.as(progress.ended(attempt, event.reason), false)
    }
  }

  /** Runs one connection to its end; false when the attempt is over or another's. */
  const runConnection = (held: Holding) =>
    Effect.gen(function* () {
      const { method, numberId, phone } = held.attempt
      let goesOn = true
      const began = yield* Clock.currentTimeMillis
      yield* linking.link({ numberId, method, phone }).pipe(
        Stream.takeWhileEffect((event) =>
          take(held, event).pipe(
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
      // A clock that was set back says nothing of how long it took.
      if (goesOn && rested < restMillis) yield* sleep(restMillis - Math.max(0, rested))
      return goesOn
    })

  /** Runs connections, one after the other, until the attempt is over or another's. */
  const runAttempt = (held: Holding) =>
    Effect.gen(function* () {
      const left = held.attempt.endsAt - (yield* Clock.currentTimeMillis)
      yield* runConnection(held).pipe(
        Effect.repeat({ while: (goesOn) => goesOn }),
        Effect.timeoutOption(left),
        Effect.catchDefect((defect) => Effect.logError("a connection for linking broke", defect)),
      )
    }).pipe(Effect.annotateLogs({ number: held.attempt.numberId }))

  const giveBack = (held: ReadonlyArray<Holding>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      store.renew(
        held.map(({ attempt, lease }) => ({ id: attempt.id, lease })),
        now,
      ),
    )

  /** Attempts under way, whose numbers may soon be connected here. */
  let running = 0
  const room = Effect.map(ownership.room, (numbers) => Math.max(0, numbers - running))
  /** The numbers whose attempts it may claim: none once it has no room. */
  const mine = Effect.flatMap(room, (numbers) =>
    numbers === 0 ? Effect.succeed(ownsNone) : ownership.owned,
  )

  /** What is linked is connected from then on, which is for the holder of the number to do. */
  const runWhileOwned = (held: Holding) =>
    Effect.gen(function* () {
      running++
      const ran = yield* ownership.whileOwned(held.attempt.numberId, runAttempt(held))
      // The number's next holder goes on at once.
      if (Option.isNone(ran)) yield* Effect.ignore(giveBack([held]))
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          running--
        }),
      ),
    )

  /**
   * Whether this worker runs the connection already: the lease ran out before it was renewed, and
   * no other worker took it. The connection goes on under the new one.
   */
  const isResumed = ({ attempt, lease }: HeldAttempt, held: Iterable<Holding>): boolean => {
    for (const known of held) {
      if (known.attempt.id === attempt.id) {
        known.lease = lease
        return true
      }
    }
    return false
  }

  /** Ends attempts whose time is over, and links test numbers. */
  const endOthers = Effect.gen(function* endOthers() {
    const now = yield* Clock.currentTimeMillis
    const lapsed = yield* store.lapsed(now, batch)
    yield* Effect.forEach(lapsed, (attempt) => progress.ended(attempt, "link_expired"), {
      discard: true,
    })
    const tests = yield* store.dueTest(now, batch)
    yield* Effect.forEach(
      tests,
      (attempt) => progress.linked(attempt, attempt.phone ?? madeUpPhone(ids)),
      { discard: true },
    )
    return lapsed.length + tests.length > 0
  })

  return yield* makeLeasedLoop<Holding, void>({
    work: "linking",
    capacity: sharedLimits.linkAttempts,
    batch,
    leaseMillis: linkingLeaseMillis,
    workspaceOf: ({ workspaceId }) => workspaceId,
    alsoEachRound: endOthers,
    owned: mine,
    claim: (query, held) =>
      Effect.gen(function* () {
        const owned = yield* mine
        const limit = Math.min(query.limit, yield* room)
        if (limit === 0) return []
        const claimed = yield* store.claim({ ...query, limit, owned })
        return claimed.filter((each) => !isResumed(each, held))
      }),
    perform: runWhileOwned,
    // What a connection shows is stored at once.
    settle: () => Effect.void,
    renew: (held, leaseUntil) =>
      Effect.gen(function* () {
        const asked = held.map((each) => ({ each, id: each.attempt.id, lease: each.lease }))
        const still = yield* store.renew(asked, leaseUntil)
        // What was claimed anew meanwhile is held by another lease.
        return asked.flatMap(({ each, id, lease }) =>
          still.has(id) || each.lease !== lease ? [] : each,
        )
      }),
    release: giveBack,
  })
})

// Writes down how the connections stand that this process keeps, where every process can read it: at
// once when one changes, and every few seconds to say that the process lives and when the far side was
// last heard. A store that does not answer is told again.

/** How often connections are looked at, in real time. */
const lookMillis = 500

/** Makes the loop; `runOnce` keeps what is new since the last time. */
export const makeConnectionReporter = Effect.gen(function* makeConnectionReporter() {
  const store = yield* NumberStore
  const transports = [yield* WhatsAppTransport, yield* TelegramTransport]
  const sources = transports.flatMap(({ connections }) => connections ?? [])
  const kept = new Map<NumberId, { readonly report: ConnectionReport; readonly at: number }>()

  const runOnce = Effect.gen(function* runOnce() {
    const reports = (yield* Effect.all(sources)).flat()
    const now = yield* Clock.currentTimeMillis
    const changed = reports.filter((one) => shouldReplace(one, kept.get(one.numberId), now))
    yield* store.reportConnections(changed, now)
    const known = new Set(reports.map(({ numberId }) => numberId))
    for (const numberId of kept.keys()) if (!known.has(numberId)) kept.delete(numberId)
    for (const report of changed) kept.set(report.numberId, { report, at: now })
  })

  const run: Effect.Effect<never> =
    // Simulated phones keep no connections, and nothing has to look at them.
    sources.length === 0
      ? Effect.never
      : runOnce.pipe(
          Effect.catchCause((cause) =>
            logFailure("how connections stand is written down later", cause),
          ),
          Effect.andThen(sleep(lookMillis)),
          Effect.forever,
        )
  return { runOnce, run }
})
