/**
 * Test mode: messages of a test key reach no transport and become `sent` at once or when due, also
 * from a logged-out number, except to the two phones that always fail (contract: Test mode).
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids, eventId } from "../id/Ids.ts"
import { MediaLinks } from "../media/MediaLinks.ts"
import { endMessage } from "../message/MessageChange.ts"
import type { Ending } from "../message/MessageChange.ts"
import type { Message, MessageError } from "../message/Message.ts"
import { MessageStore } from "../message/MessageStore.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import { targetOf } from "../recipient/Recipient.ts"
import { runLoop } from "./Loop.ts"

/** Messages that one commit ends at most. */
const batch = 500

/** The phones to which test messages fail, and how. */
export const failingTestPhones: Readonly<Record<string, MessageError>> = {
  "+15005550001": {
    code: "recipient_not_found",
    message: "In test mode this phone is not registered.",
  },
  "+15005550009": { code: "send_failed", message: "In test mode sending to this phone fails." },
}

/** How a due test message ends. Pure. */
export const testEnding = (message: Pick<Message, "to">): Ending => {
  const target = targetOf(message.to)
  const error = target.kind === "phone" ? failingTestPhones[target.phone] : undefined
  return error === undefined ? { trigger: "send_succeeded" } : { trigger: "send_failed", error }
}

export class TestModeSender extends Context.Service<
  TestModeSender,
  {
    /** Ends one batch of due test messages; returns how many. */
    readonly runOnce: Effect.Effect<number, StoreUnavailable>
    readonly run: Effect.Effect<never>
  }
>()("core/TestModeSender") {
  static readonly layer = Layer.effect(
    TestModeSender,
    Effect.gen(function* () {
      const store = yield* MessageStore
      const ids = yield* Ids
      const { link } = yield* MediaLinks
      const context = yield* Effect.context<WakeUp | WorkStatus>()
      const runOnce = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const messages = yield* store.dueTest(now, batch)
        const changes = messages.flatMap(
          (message) => endMessage(message, testEnding(message), eventId(ids), now, link) ?? [],
        )
        return changes.length === 0 ? 0 : (yield* store.end(changes)).size
      })
      return TestModeSender.of({
        runOnce,
        run: runLoop({
          work: "test_messages",
          runOnce: Effect.map(runOnce, (sent) => sent > 0),
        }).pipe(Effect.provideContext(context)),
      })
    }),
  )
}
