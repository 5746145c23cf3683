/**
 * What becomes of an attempt at linking, whoever reports it: the transport through the worker, the
 * emulator's scan, or a test number by itself.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { LinkingId } from "../id/Ids.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { LinkingStore } from "./LinkingStore.ts"
import type { SendingNumber } from "./SendingNumber.ts"

export class LinkProgress extends Context.Service<
  LinkProgress,
  {
    /** The phone has taken the code. False when the attempt is over. */
    taken(id: LinkingId): Effect.Effect<boolean, StoreUnavailable>
    /**
     * The link is made: the number is connected and what waits for it may leave, unless another
     * number of the workspace has that phone already; then it is disconnected again. `phone` is
     * digits with country code. Null when the attempt is over.
     */
    linked(id: LinkingId, phone: string): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /** The attempt ends without a link. False when it is over already. */
    ended(id: LinkingId, reason: string): Effect.Effect<boolean, StoreUnavailable>
  }
>()("core/LinkProgress") {
  static readonly layer = Layer.effect(
    LinkProgress,
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const wakeUp = yield* WakeUp

      return LinkProgress.of({
        taken: Effect.fn("LinkProgress.taken")(function* (id) {
          return yield* store.taken(id, yield* Clock.currentTimeMillis)
        }),
        linked: Effect.fn("LinkProgress.linked")(function* (id, phone) {
          const number = yield* store.linked(id, phone, yield* Clock.currentTimeMillis)
          if (number === null) return null
          if (number.status === "connected") {
            yield* Effect.logInfo("number linked")
            yield* wakeUp.wake("lanes")
          } else {
            yield* Effect.logWarning("number not linked: another one has its phone")
          }
          return number
        }, annotated),
        ended: Effect.fn("LinkProgress.ended")(function* (id, reason) {
          const ended = yield* store.giveUp(id)
          if (ended) yield* Effect.logInfo(`linking ended: ${reason}`)
          return ended
        }, annotated),
      })
    }),
  )
}

const annotated = <A, E, R>(effect: Effect.Effect<A, E, R>, id: LinkingId) =>
  Effect.annotateLogs(effect, { attempt: id })
