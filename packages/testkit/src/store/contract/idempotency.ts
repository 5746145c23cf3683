/** Claims of `Idempotency-Key`s: taken before the work, finished with its effect, freed on refusal. */
import { assert } from "@effect/vitest"
import { answerRetentionMillis, claimRetentionMillis, Store } from "@messaging-service/core"
import { Effect } from "effect"
import { ids, present } from "../Expect.ts"
import { brokenBy, claimKey, listMessages } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import { aClaim, aHash, aKey, accepted, anAcceptance, aStage, day, noon } from "../Records.ts"

const claimed = { _tag: "Claimed" } as const
const inProgress = { _tag: "InProgress" } as const

const aStageWithKey = Effect.gen(function* () {
  const stage = yield* aStage()
  const { key } = yield* aKey(stage.workspace.id)
  return { ...stage, key }
})

export const idempotency: Topic = (it) => {
  it.effect("a finished record expires exactly 24 hours after the first request", () =>
    Effect.gen(function* () {
      const { workspace, number, key } = yield* aStageWithKey
      const claim = aClaim(key.id)
      yield* claimKey(workspace.id, claim)
      yield* accepted(number, { idempotency: claim })
      const repeat = { ...claim, token: "repeat", fingerprint: aHash() }
      const before = yield* claimKey(workspace.id, repeat, noon + answerRetentionMillis - 1)
      assert.strictEqual(before._tag, "Finished")
      const after = noon + answerRetentionMillis
      assert.deepStrictEqual(yield* claimKey(workspace.id, repeat, after), claimed)
      const [second] = yield* accepted(number, { now: after, idempotency: repeat })
      assert.deepStrictEqual(yield* claimKey(workspace.id, claim, after), {
        _tag: "Finished",
        record: {
          fingerprint: repeat.fingerprint,
          madeIds: [present(second).id],
          createdAt: after,
        },
      })
    }),
  )

  it.effect("expired claims are forgotten, and nothing else", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number, key } = yield* aStageWithKey
      const old = noon - 30 * day
      const finishedAt = (now: number) =>
        Effect.gen(function* () {
          const claim = aClaim(key.id)
          yield* claimKey(workspace.id, claim, now)
          yield* accepted(number, { now, idempotency: claim })
          return { ...claim, token: "repeat" }
        })
      const over = yield* finishedAt(old)
      const young = yield* finishedAt(old + 1)
      const dead = aClaim(key.id)
      yield* claimKey(workspace.id, dead, old + answerRetentionMillis - claimRetentionMillis)
      const alive = aClaim(key.id)
      yield* claimKey(workspace.id, alive, old + answerRetentionMillis - claimRetentionMillis + 1)
      yield* store.forgetVoidClaims(old + answerRetentionMillis)
      // Read at a time when all of them were valid.
      const checkedAt = old + answerRetentionMillis - claimRetentionMillis + 2
      assert.deepStrictEqual(yield* claimKey(workspace.id, over, checkedAt), claimed)
      assert.strictEqual((yield* claimKey(workspace.id, young, checkedAt))._tag, "Finished")
      const asRival = (claim: typeof dead) => ({ ...claim, token: "rival" })
      assert.deepStrictEqual(yield* claimKey(workspace.id, asRival(dead), checkedAt), claimed)
      assert.deepStrictEqual(yield* claimKey(workspace.id, asRival(alive), checkedAt), inProgress)
    }),
  )

  it.effect(
    "a claim whose process died is free after 30 s, and its late acceptance is refused",
    () =>
      Effect.gen(function* () {
        const { workspace, number, key } = yield* aStageWithKey
        const dead = aClaim(key.id)
        const retry = { ...dead, token: "retry" }
        const free = noon + claimRetentionMillis
        yield* claimKey(workspace.id, dead)
        assert.deepStrictEqual(yield* claimKey(workspace.id, retry, free - 1), inProgress)
        assert.deepStrictEqual(yield* claimKey(workspace.id, retry, free), claimed)
        assert.deepStrictEqual(yield* claimKey(workspace.id, dead, free), inProgress)
        const late = anAcceptance(number, { now: free, idempotency: dead })
        assert.strictEqual(yield* brokenBy(late), "idempotency")
        const [message] = yield* accepted(number, { now: free, idempotency: retry })
        assert.strictEqual(yield* brokenBy(late), "idempotency")
        assert.deepStrictEqual(ids(yield* listMessages(workspace.id)), [present(message).id])
      }),
  )
}
