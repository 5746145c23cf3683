/**
 * What becomes of an attempt at linking, as it is reported by the transport through the worker, the
 * emulator's scan, or a test number by itself. A number that reports its connection somewhere does
 * so in the same commit.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { makeConnectionCallbacks } from "../callback/ConnectionCallbacks.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { connectionReasons } from "./Connection.ts"
import { LinkingStore } from "./Linking.ts"
import type { HeldAttempt, LinkingAttempt, LinkingView } from "./Linking.ts"
import type { SendingNumber } from "./SendingNumber.ts"

export class LinkProgress extends Context.Service<
  LinkProgress,
  {
    /** There is something new to be seen. False when the attempt is over or held by another. */
    shown(held: HeldAttempt, view: LinkingView): Effect.Effect<boolean, StoreUnavailable>
    /** The phone has taken the code. False when the attempt is over. */
    taken(attempt: LinkingAttempt): Effect.Effect<boolean, StoreUnavailable>
    /**
     * The link is made: the number is connected and what waits for it may leave, unless another
     * number of the workspace has that phone already; then it is disconnected again. `phone` is
     * digits with country code. Null when the attempt is over.
     */
    linked(
      attempt: LinkingAttempt,
      phone: string,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /** The attempt ends without a link. False when it is over already. */
    ended(attempt: LinkingAttempt, reason: string): Effect.Effect<boolean, StoreUnavailable>
  }
>()("core/LinkProgress") {
  static readonly layer = Layer.effect(
    LinkProgress,
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const callbacks = yield* makeConnectionCallbacks
      const wakeUp = yield* WakeUp

      return LinkProgress.of({
        shown: Effect.fn("LinkProgress.shown")(function* ({ attempt, lease }, view) {
          const callback =
            view.qrText === null ? null : yield* callbacks.of(attempt.numberId, "qr-generated")
          return yield* store.show(attempt.id, lease, view, callback)
        }),
        taken: Effect.fn("LinkProgress.taken")(function* ({ id }) {
          return yield* store.taken(id, yield* Clock.currentTimeMillis)
        }),
        linked: Effect.fn("LinkProgress.linked")(function* (attempt, phone) {
          const now = yield* Clock.currentTimeMillis
          const reports = yield* callbacks.ofEnd(attempt.numberId, phone)
          const number = yield* store.linked(attempt.id, phone, now, reports)
          if (number === null) return null
          if (number.status === "connected") {
            yield* Effect.logInfo("number linked")
            yield* wakeUp.wake("lanes")
          } else {
            yield* Effect.logWarning("number not linked: another one has its phone")
          }
          return number
        }, annotated),
        ended: Effect.fn("LinkProgress.ended")(function* (attempt, reason) {
          const callback = yield* callbacks.of(attempt.numberId, "disconnected")
          const at = yield* Clock.currentTimeMillis
          // What else a transport tells has a number only in its words for people.
          const shown = connectionReasons.find((one) => one === reason) ?? "not_linked"
          const ended = yield* store.giveUp(attempt.id, { at, reason: shown }, callback)
          if (ended) yield* Effect.logInfo(`linking ended: ${reason}`)
          return ended
        }, annotated),
      })
    }),
  )
}

const annotated = <A, E, R>(effect: Effect.Effect<A, E, R>, { numberId }: LinkingAttempt) =>
  Effect.annotateLogs(effect, { number: numberId })
