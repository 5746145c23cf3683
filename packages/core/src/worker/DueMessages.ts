/**
 * Messages that end by time alone, in batches: those whose `expires_at` came before they were sent,
 * and those of test keys, which reach no transport (contract: Test mode).
 */
import { Clock, Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids, eventId } from "../Ids.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { MediaStore } from "../media/Media.ts"
import { MediaLinks } from "../media/MediaLinks.ts"
import { markMissingFiles } from "../media/missingFiles.ts"
import type { Message, MessageError } from "../message/Message.ts"
import { endMessage } from "../message/MessageChange.ts"
import type { Ending } from "../message/MessageChange.ts"
import { MessageStore } from "../message/MessageStore.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import type { Work } from "../queue/WorkStatus.ts"
import { targetOf } from "../recipient/Recipient.ts"
import { runLoop } from "./Loop.ts"

/** Expired messages that one commit ends at most. */
const batch = 500

const { testMessages } = sharedResources

/** `runOnce` ends one batch, and returns how many. */
const makeEndingLoop = (
  work: Work,
  due: (
    store: typeof MessageStore.Service,
    now: number,
  ) => Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>,
  endingOf: (message: Message) => Ending,
) =>
  Effect.gen(function* () {
    const store = yield* MessageStore
    const ids = yield* Ids
    const { link } = yield* MediaLinks
    const markMissing = markMissingFiles(yield* MediaStore)
    const wakeUp = yield* WakeUp
    const context = yield* Effect.context<WakeUp | WorkStatus>()
    const runOnce = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const messages = yield* markMissing(yield* due(store, now))
      const changes = messages.flatMap(
        (message) => endMessage(message, endingOf(message), eventId(ids, now), now, link) ?? [],
      )
      if (changes.length === 0) return 0
      const ended = yield* store.end(changes)
      // A number's limits may have held back what expired, and not what is behind it.
      if (work === "expiry") yield* wakeUp.wake("lanes")
      return ended.size
    })
    const run = runLoop({ work, runOnce: Effect.map(runOnce, (ended) => ended > 0) })
    return { runOnce, run: Effect.provideContext(run, context) }
  })

/** Makes the expiry sweep. */
export const makeExpirer = makeEndingLoop(
  "expiry",
  (store, now) => store.expired(now, batch),
  () => ({ trigger: "expire" }),
)

/** The phones to which test messages fail, and how. */
const failingTestPhones: Readonly<Record<string, MessageError>> = {
  "+15005550001": {
    code: "recipient_not_found",
    message: "In test mode this phone is not registered.",
  },
  "+15005550009": { code: "send_failed", message: "In test mode sending to this phone fails." },
}

/** How a due test message ends (contract: Test mode). */
const testEnding = (message: Pick<Message, "to">): Ending => {
  const target = targetOf(message.to)
  const error = target.kind === "phone" ? failingTestPhones[target.phone] : undefined
  return error === undefined ? { trigger: "send_succeeded" } : { trigger: "send_failed", error }
}

/**
 * Makes the loop in which test messages become `sent` at once or when due, but for the phones that
 * always fail.
 */
export const makeTestModeSender = makeEndingLoop(
  "test_messages",
  (store, now) => store.dueTest(now, testMessages.whole, testMessages.share.most),
  testEnding,
)
