/** Claims of `Idempotency-Key`s: taken before the work, finished with its effect, freed on refusal. */
import { assert } from "@effect/vitest"
import { answerKeptMillis, claimKeptMillis, Store } from "@messaging-service/core"
import { Effect } from "effect"
import { ids, present } from "../Expect.ts"
import { brokenBy, claimKey, facts, messagesOf } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import {
  aClaim,
  aHash,
  aKey,
  accepted,
  anAcceptance,
  aStage,
  day,
  hour,
  noon,
  oneSecond,
} from "../Records.ts"

const claimed = { _tag: "Claimed" } as const
const inProgress = { _tag: "InProgress" } as const

const aStageWithKey = Effect.gen(function* () {
  const stage = yield* aStage()
  const { key } = yield* aKey(stage.workspace.id)
  return { ...stage, key }
})

export const idempotency: Topic = (it) => {
  it.effect("the first request claims its key, a second one finds it in progress", () =>
    Effect.gen(function* () {
      const { workspace, key } = yield* aStageWithKey
      const first = aClaim(key.id)
      const second = { ...first, token: "second" }
      const other = { ...first, token: "other", fingerprint: aHash() }
      assert.deepStrictEqual(yield* claimKey(workspace.id, first), claimed)
      assert.deepStrictEqual(yield* claimKey(workspace.id, second), inProgress)
      assert.deepStrictEqual(yield* claimKey(workspace.id, other), inProgress)
    }),
  )

  it.effect("the claim comes with the facts", () =>
    Effect.gen(function* () {
      const { workspace, number, key } = yield* aStageWithKey
      const found = yield* facts(workspace.id, { from: number.id, idempotency: aClaim(key.id) })
      assert.deepStrictEqual(found.claim, claimed)
      assert.deepStrictEqual(found.plan, workspace.plan)
      assert.deepStrictEqual(present(found.named).number, number)
    }),
  )

  it.effect("a claim without a send is the same claim", () =>
    Effect.gen(function* () {
      const { workspace, number, key } = yield* aStageWithKey
      const store = (yield* Store).messages
      const claim = aClaim(key.id)
      const rival = { ...claim, token: "rival" }
      assert.deepStrictEqual(yield* store.claimKey(claim, noon), claimed)
      assert.deepStrictEqual(yield* store.claimKey(rival, noon), inProgress)
      assert.deepStrictEqual(yield* claimKey(workspace.id, rival), inProgress)
      yield* store.releaseClaim(rival)
      assert.deepStrictEqual(yield* store.claimKey(rival, noon), inProgress)
      yield* store.releaseClaim(claim)
      assert.deepStrictEqual(yield* store.claimKey(rival, noon), claimed)
      const made = yield* accepted(number, { idempotency: rival })
      const again = yield* store.claimKey(claim, noon)
      assert.strictEqual(again._tag, "Finished")
      if (again._tag === "Finished") assert.deepStrictEqual(again.record.madeIds, ids(made))
    }),
  )

  it.effect("a request that loads again still holds its claim", () =>
    Effect.gen(function* () {
      const { workspace, number, key } = yield* aStageWithKey
      const claim = aClaim(key.id)
      yield* claimKey(workspace.id, claim)
      assert.deepStrictEqual(yield* claimKey(workspace.id, claim), claimed)
      assert.isNull(yield* brokenBy(anAcceptance(number, { idempotency: claim })))
    }),
  )

  it.effect("a request that loads again renews its claim", () =>
    Effect.gen(function* () {
      const { workspace, key } = yield* aStageWithKey
      const claim = aClaim(key.id)
      const rival = { ...claim, token: "rival" }
      yield* claimKey(workspace.id, claim)
      const later = noon + claimKeptMillis / 2
      assert.deepStrictEqual(yield* claimKey(workspace.id, claim, later), claimed)
      const rivals = (now: number) => claimKey(workspace.id, rival, now)
      assert.deepStrictEqual(yield* rivals(noon + claimKeptMillis), inProgress)
      assert.deepStrictEqual(yield* rivals(later + claimKeptMillis), claimed)
    }),
  )

  it.effect("keys differ by API key and by value, case-sensitively", () =>
    Effect.gen(function* () {
      const { workspace, key } = yield* aStageWithKey
      const { key: other } = yield* aKey(workspace.id)
      const claim = aClaim(key.id, { key: "Key ~ 'one'" })
      assert.deepStrictEqual(yield* claimKey(workspace.id, claim), claimed)
      for (const apart of [
        { ...claim, keyId: other.id },
        // A caller without a key.
        { ...claim, keyId: -key.id },
        { ...claim, key: "key ~ 'one'" },
        { ...claim, key: "Key ~ 'one' " },
        { ...claim, key: `K${"y".repeat(254)}` },
      ]) {
        const rival = { ...apart, token: "rival" }
        assert.deepStrictEqual(yield* claimKey(workspace.id, rival), claimed)
      }
    }),
  )

  it.effect("an acceptance finishes its claim with its messages", () =>
    Effect.gen(function* () {
      const { workspace, number, key } = yield* aStageWithKey
      const claim = aClaim(key.id)
      yield* claimKey(workspace.id, claim)
      const made = yield* accepted(number, { count: 3, idempotency: claim })
      const finished = {
        _tag: "Finished" as const,
        record: { fingerprint: claim.fingerprint, madeIds: ids(made), createdAt: noon },
      }
      const repeat = { ...claim, token: "repeat", fingerprint: aHash() }
      assert.deepStrictEqual(yield* claimKey(workspace.id, repeat, noon + oneSecond), finished)
      assert.deepStrictEqual(yield* claimKey(workspace.id, claim, noon + hour), finished)
    }),
  )

  it.effect("a finished record expires exactly 24 hours after the first request", () =>
    Effect.gen(function* () {
      const { workspace, number, key } = yield* aStageWithKey
      const claim = aClaim(key.id)
      yield* claimKey(workspace.id, claim)
      yield* accepted(number, { idempotency: claim })
      const repeat = { ...claim, token: "repeat", fingerprint: aHash() }
      const before = yield* claimKey(workspace.id, repeat, noon + answerKeptMillis - 1)
      assert.strictEqual(before._tag, "Finished")
      const after = noon + answerKeptMillis
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
      yield* claimKey(workspace.id, dead, old + answerKeptMillis - claimKeptMillis)
      const alive = aClaim(key.id)
      yield* claimKey(workspace.id, alive, old + answerKeptMillis - claimKeptMillis + 1)
      yield* store.forgetVoidClaims(old + answerKeptMillis)
      // Read at a time when all of them were valid.
      const lookedAt = old + answerKeptMillis - claimKeptMillis + 2
      assert.deepStrictEqual(yield* claimKey(workspace.id, over, lookedAt), claimed)
      assert.strictEqual((yield* claimKey(workspace.id, young, lookedAt))._tag, "Finished")
      const rivalOf = (claim: typeof dead) => ({ ...claim, token: "rival" })
      assert.deepStrictEqual(yield* claimKey(workspace.id, rivalOf(dead), lookedAt), claimed)
      assert.deepStrictEqual(yield* claimKey(workspace.id, rivalOf(alive), lookedAt), inProgress)
    }),
  )

  it.effect("a released claim leaves the key free, for another request too", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number, key } = yield* aStageWithKey
      const refused = aClaim(key.id)
      yield* claimKey(workspace.id, refused)
      yield* store.releaseClaim(refused)
      const corrected = { ...refused, token: "corrected", fingerprint: aHash() }
      assert.deepStrictEqual(yield* claimKey(workspace.id, corrected), claimed)
      assert.isNull(yield* brokenBy(anAcceptance(number, { idempotency: corrected })))
    }),
  )

  it.effect("a request releases only its own unfinished claim", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number, key } = yield* aStageWithKey
      const claim = aClaim(key.id)
      const rival = { ...claim, token: "rival" }
      yield* claimKey(workspace.id, claim)
      yield* store.releaseClaim(rival)
      yield* store.releaseClaim({ ...claim, key: "never claimed" })
      assert.deepStrictEqual(yield* claimKey(workspace.id, rival), inProgress)
      yield* accepted(number, { idempotency: claim })
      yield* store.releaseClaim(claim)
      assert.strictEqual((yield* claimKey(workspace.id, rival))._tag, "Finished")
    }),
  )

  it.effect("nothing is accepted without the claim: never made, released, or finished", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number, key } = yield* aStageWithKey
      const claim = aClaim(key.id)
      const acceptance = anAcceptance(number, { idempotency: claim })
      assert.strictEqual(yield* brokenBy(acceptance), "idempotency")
      yield* claimKey(workspace.id, claim)
      yield* store.releaseClaim(claim)
      assert.strictEqual(yield* brokenBy(acceptance), "idempotency")
      assert.deepStrictEqual(yield* messagesOf(workspace.id), [])
      yield* claimKey(workspace.id, claim)
      assert.isNull(yield* brokenBy(acceptance))
      const twice = anAcceptance(number, { idempotency: claim })
      assert.strictEqual(yield* brokenBy(twice), "idempotency")
      assert.lengthOf(yield* messagesOf(workspace.id), 1)
    }),
  )

  it.effect(
    "a claim whose process died is free after 30 s, and its late acceptance is refused",
    () =>
      Effect.gen(function* () {
        const { workspace, number, key } = yield* aStageWithKey
        const dead = aClaim(key.id)
        const retry = { ...dead, token: "retry" }
        const free = noon + claimKeptMillis
        yield* claimKey(workspace.id, dead)
        assert.deepStrictEqual(yield* claimKey(workspace.id, retry, free - 1), inProgress)
        assert.deepStrictEqual(yield* claimKey(workspace.id, retry, free), claimed)
        assert.deepStrictEqual(yield* claimKey(workspace.id, dead, free), inProgress)
        const late = anAcceptance(number, { now: free, idempotency: dead })
        assert.strictEqual(yield* brokenBy(late), "idempotency")
        const [made] = yield* accepted(number, { now: free, idempotency: retry })
        assert.strictEqual(yield* brokenBy(late), "idempotency")
        assert.deepStrictEqual(ids(yield* messagesOf(workspace.id)), [present(made).id])
      }),
  )
}
