/**
 * The history of a race of workers, by lane, and the rule that it must have followed: an attempt
 * follows another of the same lane only when that one was settled or its lease had ended.
 */
import { assert } from "@effect/vitest"
import type { ClaimedMessage, MessageId, NumberId } from "@messaging-service/core"

export interface Attempt {
  readonly claimed: ClaimedMessage
  readonly now: number
  /**
   * The latest time of a claim that began before this one was over. A claim may reach the store
   * after one with a later time, and find a lease ended by it.
   */
  readonly latest: number
  readonly leaseUntil: number
  /** The result; a lease that was not settled, or too late, is `lost`. */
  settled: "lost" | "ended" | "postponed" | "interrupted"
}

const byLane = (attempts: ReadonlyArray<Attempt>) => {
  const lanes = new Map<NumberId, Array<Attempt>>()
  for (const attempt of attempts) {
    const lane = lanes.get(attempt.claimed.number.id) ?? []
    lanes.set(attempt.claimed.number.id, lane)
    lane.push(attempt)
  }
  return lanes
}

/**
 * Asserts the rule of the lanes over a race. `ordered`: all messages existed from the start, so
 * they must also have left in the order of their due times.
 */
export const assertLanes = (
  attempts: ReadonlyArray<Attempt>,
  options: { readonly ordered: boolean },
): void => {
  for (const lane of byLane(attempts).values()) {
    lane.sort((a, b) => a.claimed.lease - b.claimed.lease)
    const interruptions = new Map<MessageId, number>()
    for (const [index, attempt] of lane.entries()) {
      const { message, lease } = attempt.claimed
      const known = interruptions.get(message.id) ?? 0
      assert.strictEqual(attempt.claimed.interruptions, known, `interruptions of ${message.id}`)
      if (attempt.settled === "lost" || attempt.settled === "interrupted") {
        interruptions.set(message.id, known + 1)
      }
      const before = lane[index - 1]
      if (before === undefined) continue
      assert.isAbove(lease, before.claimed.lease, "a lease number was given out twice")
      if (before.settled === "lost") {
        assert.isAtMost(
          before.leaseUntil,
          attempt.latest,
          `claimed under a live lease: ${message.id}`,
        )
        assert.strictEqual(message.id, before.claimed.message.id, "an unsettled message was left")
      } else if (before.settled === "ended") {
        assert.notStrictEqual(message.id, before.claimed.message.id, "claimed after its end")
        if (options.ordered) {
          const last = before.claimed.message
          assert.isTrue(
            last.dueAt < message.dueAt || (last.dueAt === message.dueAt && last.id < message.id),
            `${message.id} left after ${last.id}`,
          )
        }
      } else if (options.ordered) {
        assert.strictEqual(message.id, before.claimed.message.id, "the head of the lane changed")
      }
    }
  }
}
