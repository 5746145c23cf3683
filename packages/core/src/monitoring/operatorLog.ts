/**
 * What an operator reads of messages and numbers, said behind the commit: what a store did not write is
 * not said. Nothing is made for what went well, which is nearly all.
 */
import { Effect } from "effect"
import type { MessageId } from "../Ids.ts"
import type { MessageChange } from "../message/MessageChange.ts"
import type { Settlement } from "../queue/LaneQueue.ts"
import { formatInstant } from "../time/Instant.ts"
import { logThrottled } from "./rareLog.ts"

const logFailed = ({ message: { error, from, id } }: MessageChange): Effect.Effect<void> =>
  logThrottled("message failed", {
    // Not `message`: a line of JSON has its words there.
    message_id: id,
    number: from.id,
    code: error?.code ?? null,
  })

/** Names each message that failed. */
export const logFailures = (changes: ReadonlyArray<MessageChange>): Effect.Effect<void> => {
  let logs: Effect.Effect<void> = Effect.void
  for (const change of changes) {
    if (change.message.state === "failed") logs = Effect.andThen(logs, logFailed(change))
  }
  return logs
}

const messageOf = (settlement: Settlement): MessageId =>
  settlement._tag === "Ended" ? settlement.change.message.id : settlement.messageId

/** Names each number that its breaker has paused. */
export const logPauses = (
  settlements: ReadonlyArray<Settlement>,
  settled: ReadonlySet<MessageId>,
): Effect.Effect<void> => {
  let logs: Effect.Effect<void> = Effect.void
  for (const settlement of settlements) {
    const pause = settlement.breaker?.pause ?? null
    if (pause === null || !settled.has(messageOf(settlement))) continue
    const log = logThrottled("number paused", {
      number: settlement.numberId,
      reason: pause.reason,
      until: pause.until === null ? null : formatInstant(pause.until),
    })
    logs = Effect.andThen(logs, log)
  }
  return logs
}
