/**
 * The linking loop: runs the connections of numbers that are being linked and stores what they show,
 * ends attempts whose ten minutes are over, and lets test numbers link themselves. An attempt is
 * held by a lease that is renewed while its connection is run; when the process dies the lease runs
 * out and another worker goes on with fresh codes.
 */
import { Clock, Context, Effect, FiberMap, Latch, Layer, Schedule, Stream } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids } from "../id/Ids.ts"
import type { LinkingId, WorkspaceId } from "../id/Ids.ts"
import { crowdedOf, heldBy } from "../limit/Held.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { LinkProgress } from "../number/LinkProgress.ts"
import { madeUpPhone, nothingShown } from "../number/Linking.ts"
import type { LinkingAttempt } from "../number/Linking.ts"
import { LinkingStore } from "../number/LinkingStore.ts"
import type { HeldAttempt } from "../number/LinkingStore.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import { sleep } from "../time/RealTime.ts"
import { NumberLinking } from "../transport/NumberLinking.ts"
import type { LinkingEvent } from "../transport/NumberLinking.ts"
import { runLoop } from "./Loop.ts"

/** How long an attempt stays held after its holder died, in service time. */
export const linkingLeaseMillis = 30_000

/** A holder renews at a third of the lease, so that two renewals may fail. */
const renewMillis = linkingLeaseMillis / 3

/** Attempts that one round takes of each kind at most. */
const batch = 100

/** Attempts that one worker runs at once. */
const { share, whole: maximumAttempts } = sharedResources.linkAttempts

/** Between two connections of one attempt of which the first showed nothing, in real time. */
const restMillis = 1000

/** What a connection says is stored as soon as the store answers. */
const retryStoring = Schedule.spaced("250 millis")

/** An attempt whose connection this worker runs. */
interface Holding {
  readonly attempt: LinkingAttempt
  readonly workspaceId: WorkspaceId
  /** Of this worker's latest claim. */
  lease: number
}

export class Linker extends Context.Service<
  Linker,
  {
    /** The loop. When interrupted it gives its connections up, for other workers to go on with. */
    readonly run: Effect.Effect<never>
  }
>()("core/Linker") {
  static readonly layer = Layer.effect(
    Linker,
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const progress = yield* LinkProgress
      const linking = yield* NumberLinking
      const ids = yield* Ids
      const wakeUp = yield* WakeUp
      const context = yield* Effect.context<WakeUp | WorkStatus>()

      /** Stores what a connection says; false when the attempt is over or no longer this worker's. */
      const take = (held: Holding, event: LinkingEvent) => {
        const { attempt } = held
        switch (event._tag) {
          case "QrShown":
            return progress.shown(held, { ...nothingShown, qrText: event.text })
          case "PairingCodeShown":
            return progress.shown(held, { ...nothingShown, pairingCode: event.pairingCode })
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
          let goesOn: boolean | undefined
          yield* linking.link({ numberId, method, phone }).pipe(
            Stream.takeWhileEffect((event) =>
              take(held, event).pipe(
                Effect.tapError((error) =>
                  Effect.logWarning("what linking shows is stored again", error),
                ),
                Effect.retry(retryStoring),
                Effect.tap((stored) =>
                  Effect.sync(() => {
                    goesOn = stored
                  }),
                ),
              ),
            ),
            Stream.runDrain,
          )
          if (goesOn === undefined) yield* sleep(restMillis)
          return goesOn !== false
        })

      /** Runs connections, one after the other, until the attempt is over or another's. */
      const runAttempt = (held: Holding) =>
        runConnection(held).pipe(
          Effect.repeat({ while: (goesOn) => goesOn }),
          Effect.asVoid,
          Effect.catchDefect((defect) => Effect.logError("a connection for linking broke", defect)),
          Effect.annotateLogs({ attempt: held.attempt.id }),
        )

      const linkTest = (attempt: LinkingAttempt) =>
        progress.linked(attempt, attempt.phone ?? madeUpPhone(ids))

      const run = Effect.scoped(
        Effect.gen(function* () {
          const holdings = new Map<LinkingId, Holding>()
          const holding = yield* Latch.make(false)
          const connections = yield* FiberMap.make<LinkingId>()

          const letGo = (id: LinkingId) =>
            Effect.andThen(
              Effect.sync(() => holdings.delete(id)),
              FiberMap.remove(connections, id),
            )

          const heldOf = () => heldBy(Array.from(holdings.values(), (held) => held.workspaceId))

          const hold = ({ attempt, lease, workspaceId }: HeldAttempt) =>
            Effect.suspend(() => {
              const { id } = attempt
              const known = holdings.get(id)
              if (known !== undefined) {
                // The lease ran out before it was renewed and nobody else took it: nothing is lost.
                known.lease = lease
                return Effect.void
              }
              const held: Holding = { attempt, lease, workspaceId }
              holdings.set(id, held)
              // Attempts that wait for its place are due from now on.
              const release = Effect.andThen(
                Effect.sync(() => {
                  if (holdings.get(id) === held) holdings.delete(id)
                }),
                wakeUp.wake("linking"),
              )
              return FiberMap.run(connections, id, Effect.ensuring(runAttempt(held), release))
            })

          const lapse = (attempt: LinkingAttempt) =>
            Effect.andThen(letGo(attempt.id), progress.ended(attempt, "its time is over"))

          const claim = Effect.gen(function* () {
            const room = Math.min(batch, maximumAttempts - holdings.size)
            if (room <= 0) return 0
            const now = yield* Clock.currentTimeMillis
            const claimed = yield* store.claim({
              now,
              leaseUntil: now + linkingLeaseMillis,
              limit: room,
              perWorkspace: share.most,
              held: heldOf(),
            })
            yield* Effect.forEach(claimed, hold, { discard: true })
            if (claimed.length > 0) yield* Latch.open(holding)
            return claimed.length
          }).pipe(
            // A claim that is cut off after the store made it would be run by nobody.
            Effect.uninterruptible,
          )

          const round = Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const lapsed = yield* store.lapsed(now, batch)
            yield* Effect.forEach(lapsed, lapse, { discard: true })
            const tests = yield* store.dueTest(now, batch)
            yield* Effect.forEach(tests, linkTest, { discard: true })
            return lapsed.length + tests.length + (yield* claim) > 0
          })

          const heldNow = () =>
            Array.from(holdings.values(), ({ attempt, lease }) => ({ id: attempt.id, lease }))

          // Sleeps only while attempts are held, so that an idle worker has no business with the clock.
          const renewLoop = Effect.gen(function* () {
            yield* Latch.await(holding)
            yield* Effect.sleep(renewMillis)
            if (holdings.size === 0) {
              yield* Latch.close(holding)
              return
            }
            const now = yield* Clock.currentTimeMillis
            const asked = heldNow()
            const still = yield* store.renew(asked, now + linkingLeaseMillis)
            // What was claimed anew meanwhile is held by another lease.
            const lost = asked.filter(
              ({ id, lease }) => !still.has(id) && holdings.get(id)?.lease === lease,
            )
            yield* Effect.forEach(lost, ({ id }) => letGo(id), { discard: true })
          }).pipe(
            Effect.catch((error: StoreUnavailable) =>
              Effect.logWarning("attempts at linking could not be held on to", error),
            ),
            Effect.forever,
          )

          // What is given up here others may take at once.
          yield* Effect.addFinalizer(() =>
            holdings.size === 0
              ? Effect.void
              : Clock.currentTimeMillis.pipe(
                  Effect.flatMap((now) => store.renew(heldNow(), now)),
                  Effect.andThen(wakeUp.wake("linking")),
                  Effect.ignore,
                ),
          )
          yield* Effect.forkScoped(renewLoop)
          return yield* runLoop({
            work: "linking",
            runOnce: round,
            crowded: () => crowdedOf(heldOf(), sharedResources.linkAttempts),
          })
        }),
      ).pipe(Effect.provideContext(context))

      return Linker.of({ run })
    }),
  )
}
