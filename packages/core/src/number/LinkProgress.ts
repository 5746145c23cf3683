/**
 * What becomes of an attempt at linking, as it is reported by the transport through the worker, the
 * emulator's scan, or a test number by itself. A number that reports its connection somewhere does
 * so in the same commit.
 */
import { Clock, Effect } from "effect"
import { makeConnectionCallbacks } from "../callback/ConnectionCallbacks.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { LinkingStore } from "./Linking.ts"
import type { HeldAttempt, LinkingAttempt, LinkingView } from "./Linking.ts"
import { connectionReasons } from "./SendingNumber.ts"

const annotated = <A, E, R>(effect: Effect.Effect<A, E, R>, { numberId }: LinkingAttempt) =>
  Effect.annotateLogs(effect, { number: numberId })

/** Makes what takes such reports. */
export const makeLinkProgress = Effect.gen(function* () {
  const store = yield* LinkingStore
  const callbacks = yield* makeConnectionCallbacks
  const wakeUp = yield* WakeUp

  return {
    /** There is something new to be seen, sealed by now. False when the attempt is over or held by another. */
    shown: Effect.fn("LinkProgress.shown")(function* (held: HeldAttempt, view: LinkingView) {
      const { attempt, lease } = held
      const callback =
        view.qrText === null ? null : yield* callbacks.of(attempt.numberId, "qr-generated")
      return yield* store.show(attempt.id, lease, view, callback)
    }),
    /** The phone has taken the code. False when the attempt is over. */
    taken: Effect.fn("LinkProgress.taken")(function* ({ id }: LinkingAttempt) {
      return yield* store.taken(id, yield* Clock.currentTimeMillis)
    }),
    /**
     * The link is made: the number is connected and what waits for it may leave, unless another
     * number of the workspace has that phone already; then it is disconnected again. `phone` is
     * digits with country code. Null when the attempt is over.
     */
    linked: Effect.fn("LinkProgress.linked")(function* (attempt: LinkingAttempt, phone: string) {
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
    /** The attempt ends without a link. False when it is over already. */
    ended: Effect.fn("LinkProgress.ended")(function* (attempt: LinkingAttempt, reason: string) {
      const callback = yield* callbacks.of(attempt.numberId, "disconnected")
      const at = yield* Clock.currentTimeMillis
      // A transport may give other reasons, for people: they are logged, and not kept with the number.
      const shown = connectionReasons.find((one) => one === reason) ?? "not_linked"
      const ended = yield* store.giveUp(attempt.id, { at, reason: shown }, callback)
      if (ended) yield* Effect.logInfo(`linking ended: ${reason}`)
      return ended
    }, annotated),
  }
})
