import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  attemptTimeoutMillis,
  judgeAttempt,
  lastCheck,
  maximumInterruptions,
} from "../../src/worker/Dispatcher.ts"
import type { Ending } from "../../src/model/MessageChange.ts"
import type { UnfinishedAttempt } from "../../src/model/Lane.ts"
import type { SendOutcome } from "../../src/store/Transport.ts"
import { noon, unknown, accepted, refused, notConnected, claim } from "../worker/claimedMessage.ts"

/** The trigger and, for a failure, the code. */
const end = (ending: Ending) =>
  ending.trigger === "send_failed" ? ending.error.code : ending.trigger

describe("the result of an attempt", () => {
  const judged = (
    outcome: Parameters<typeof judgeAttempt>[1],
    interruptions: number,
    dropsCopies = true,
    expiresAt: number | null = null,
  ) => {
    const verdict = judgeAttempt(
      { interruptions, message: { expiresAt } },
      outcome,
      dropsCopies,
      noon,
    )
    return verdict._tag === "End" ? end(verdict.ending) : verdict
  }
  const again = (unfinished: UnfinishedAttempt, notBefore: number | null = null) =>
    ({ _tag: "Again", notBefore, unfinished }) as const
  const unsendable = {
    _tag: "Unsendable",
    error: { code: "media_unavailable", message: "Gone." },
  } as const
  const postponed: SendOutcome = { _tag: "Postponed", afterMillis: 5000 }

  const table: ReadonlyArray<
    readonly [
      what: string,
      outcome: Parameters<typeof judgeAttempt>[1],
      byInterruptions: readonly [none: unknown, one: unknown, two: unknown],
    ]
  > = [
    [
      "the remote server's answer decides, whatever came before",
      accepted,
      ["send_succeeded", "send_succeeded", "send_succeeded"],
    ],
    [
      "a refusal is the reason, but a repeat's says nothing about earlier attempts",
      refused,
      ["recipient_not_found", "outcome_unknown", "outcome_unknown"],
    ],
    [
      "unavailable media fail the message, if nothing can have left before",
      unsendable,
      ["media_unavailable", "outcome_unknown", "outcome_unknown"],
    ],
    [
      "a message past its expiry is expired, if nothing can have left before",
      { _tag: "TooLate" },
      ["expire", "outcome_unknown", "outcome_unknown"],
    ],
    [
      "a flood wait rests the lane and is not an interruption",
      postponed,
      [
        again("postponed", noon + 5000),
        again("postponed", noon + 5000),
        again("postponed", noon + 5000),
      ],
    ],
    [
      "a message of a disconnected number keeps waiting",
      notConnected,
      [again("not_connected"), again("not_connected"), again("not_connected")],
    ],
    [
      "an unknown outcome is repeated with the same id, three times in all",
      unknown,
      [again("interrupted"), again("interrupted"), "outcome_unknown"],
    ],
  ]
  it.effect.each(table)("%s", ([, outcome, expected]) =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        [0, 1, 2].map((interruptions) => judged(outcome, interruptions)),
        [...expected],
      ),
    ),
  )

  it.effect("an unknown outcome is final where the transport cannot drop copies", () =>
    Effect.sync(() => {
      assert.strictEqual(judged(unknown, 0, false), "outcome_unknown")
      assert.strictEqual(judged(refused, 0, false), "recipient_not_found")
      assert.strictEqual(judged(accepted, 0, false), "send_succeeded")
    }),
  )

  it.effect("a possibly sent message that expired is not sent again: outcome_unknown", () =>
    Effect.sync(() => {
      const over = (outcome: Parameters<typeof judgeAttempt>[1], interruptions: number) =>
        judged(outcome, interruptions, true, noon)
      assert.strictEqual(over(unknown, 0), "outcome_unknown")
      assert.strictEqual(over(postponed, 1), "outcome_unknown")
      assert.strictEqual(over(notConnected, 1), "outcome_unknown")
      assert.strictEqual(over(accepted, 1), "send_succeeded")
      // Nothing can have left: the message waits again, and the sweep expires it.
      assert.deepStrictEqual(over(postponed, 0), again("postponed", noon + 5000))
      assert.deepStrictEqual(over(notConnected, 0), again("not_connected"))
      assert.deepStrictEqual(judged(unknown, 0, true, noon + 1), again("interrupted"))
    }),
  )

  it.effect("a transport has 60 s; the third interrupted attempt is the last", () =>
    Effect.sync(() =>
      assert.deepStrictEqual([attemptTimeoutMillis, maximumInterruptions], [60_000, 3]),
    ),
  )
})

describe("the last check before handover", () => {
  const past = noon
  const ahead = noon + 1
  type Row = readonly [
    what: string,
    claimed: { interruptions?: number; removed?: boolean; expiresAt?: number },
    dropping: string | null,
    notDropping: string | null,
  ]
  const table: ReadonlyArray<Row> = [
    ["a message that may go", {}, null, null],
    ["one that expires later", { expiresAt: ahead }, null, null],
    ["one that expired", { expiresAt: past }, "expire", "expire"],
    ["one whose number was removed", { removed: true }, "cancel", "cancel"],
    ["removed and expired", { removed: true, expiresAt: past }, "cancel", "cancel"],
    ["interrupted once", { interruptions: 1 }, null, "outcome_unknown"],
    ["interrupted twice", { interruptions: 2 }, null, "outcome_unknown"],
    ["interrupted three times", { interruptions: 3 }, "outcome_unknown", "outcome_unknown"],
    ["interrupted, expires later", { interruptions: 1, expiresAt: ahead }, null, "outcome_unknown"],
    [
      "interrupted, then expired: neither expired nor sent would be true",
      { interruptions: 1, expiresAt: past },
      "outcome_unknown",
      "outcome_unknown",
    ],
    [
      "interrupted, then removed: cancelled would not be true",
      { interruptions: 1, removed: true },
      "outcome_unknown",
      "outcome_unknown",
    ],
  ]
  it.effect.each(table)("%s", ([, { expiresAt, ...rest }, dropping, notDropping]) =>
    Effect.sync(() => {
      const claimed = claim({ ...rest, message: { expiresAt: expiresAt ?? null } })
      const checked = (dropsCopies: boolean) => {
        const ending = lastCheck(claimed, dropsCopies, noon)
        return ending === undefined ? null : end(ending)
      }
      assert.deepStrictEqual([checked(true), checked(false)], [dropping, notDropping])
    }),
  )
})
