/** Concurrent acceptance: never over a limit, never refused while there is room. */
import { assert } from "@effect/vitest"
import {
  answerRetentionMillis,
  claimRetentionMillis,
  countExactly,
  keyLimit,
  Store,
} from "@messaging-service/core"
import type { Acceptance, AcceptanceOutcome, IdempotencyClaim } from "@messaging-service/core"
import { Effect, Random } from "effect"
import { at, ids, present } from "../Expect.ts"
import { atOnce, raceRounds } from "../Races.ts"
import { brokenBy, claimKey, readExactQuota, listMessages, remaining } from "../Reading.ts"
import { cancelled, end } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accept,
  accepted,
  aClaim,
  aKey,
  anAcceptance,
  aNewKey,
  aNumber,
  aPlan,
  aStage,
  aWorkspace,
  below,
  day,
  hour,
  minute,
  noon,
  admitsAll,
} from "../Records.ts"

const toSize = (acceptance: Acceptance) => acceptance.messages.length

/**
 * Runs concurrent acceptances and checks their total against a limit: never more, and no refusal
 * that the total would have allowed. Returns the total.
 */
const race = (acceptances: ReadonlyArray<Acceptance>, limit: number, guard: string) =>
  Effect.gen(function* () {
    const outcomes = yield* Effect.forEach(
      acceptances,
      (acceptance) => Effect.map(accept(acceptance), (outcome) => [acceptance, outcome] as const),
      atOnce,
    )
    const wasAccepted = (each: readonly [Acceptance, AcceptanceOutcome]) =>
      each[1]._tag === "Accepted"
    const total = outcomes.filter(wasAccepted).reduce((sum, [each]) => sum + toSize(each), 0)
    assert.isAtMost(total, limit)
    for (const [refused, outcome] of outcomes) {
      if (outcome._tag === "Accepted") continue
      assert.strictEqual(outcome.guard, guard)
      assert.isAbove(total + toSize(refused), limit, "refused although there was room")
    }
    return total
  })

export const acceptanceRaces: Topic = (it, options) => {
  const rounds = raceRounds(options, 5)

  it.effect.each(rounds)(
    "fills a number's quota to the last message and no further (round %i)",
    () =>
      Effect.gen(function* () {
        const limit = { messages: 40, windowMillis: day }
        const { number } = yield* aStage()
        const acceptances = Array.from({ length: 60 }, () => anAcceptance(number, { limit }))
        assert.strictEqual(yield* race(acceptances, 40, "quota"), 40)
        assert.strictEqual((yield* readExactQuota(number, { plannedAt: noon, limit })).planned, 40)
      }),
  )

  it.effect.each(rounds)("batches of all sizes share a number's quota (round %i)", (round) =>
    Effect.gen(function* () {
      const limit = { messages: 100, windowMillis: day }
      const { number } = yield* aStage()
      const acceptances = yield* Effect.forEach(Array.from({ length: 40 }), () =>
        Effect.map(below(9), (size) => anAcceptance(number, { count: size + 1, limit })),
      )
      const total = yield* race(acceptances, 100, "quota")
      assert.strictEqual((yield* readExactQuota(number, { plannedAt: noon, limit })).planned, total)
    }).pipe(Random.withSeed(`batches ${round}`)),
  )

  it.effect.each(rounds)("numbers share their workspace's allowance (round %i)", (round) =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(70) })
      const numbers = [number, yield* aNumber(workspace.id), yield* aNumber(workspace.id)]
      const acceptances = yield* Effect.forEach(Array.from({ length: 45 }), (_, index) =>
        Effect.map(below(4), (size) => anAcceptance(at(numbers, index % 3), { count: size + 1 })),
      )
      const total = yield* race(acceptances, 70, "allowance")
      assert.strictEqual(yield* remaining(workspace), 70 - total)
    }).pipe(Random.withSeed(`allowance ${round}`)),
  )

  it.effect.each(rounds)(
    "messages planned for several days fill each day separately (round %i)",
    () =>
      Effect.gen(function* () {
        const limit = { messages: 10, windowMillis: day }
        const { number } = yield* aStage()
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 60 }, (_, index) => noon + (index % 4) * 2 * day),
          (sendAt) =>
            Effect.map(
              brokenBy(anAcceptance(number, { sendAt, limit })),
              (guard) => guard === null,
            ),
          atOnce,
        )
        assert.lengthOf(outcomes.filter(Boolean), 40)
        for (let index = 0; index < 4; index++) {
          const plannedAt = noon + index * 2 * day
          assert.strictEqual((yield* readExactQuota(number, { plannedAt, limit })).planned, 10)
        }
      }),
  )

  it.effect.each(rounds)(
    "messages planned all over two days overfill no 24 hours (round %i)",
    (round) =>
      Effect.gen(function* () {
        const limit = { messages: 10, windowMillis: day }
        const { number } = yield* aStage()
        const acceptances = yield* Effect.forEach(Array.from({ length: 60 }), () =>
          Effect.map(Effect.all([below(48), below(3)]), ([ahead, more]) =>
            anAcceptance(number, { sendAt: noon + (1 + ahead) * hour, count: 1 + more, limit }),
          ),
        )
        const guards = yield* Effect.forEach(acceptances, brokenBy, atOnce)
        const times = acceptances
          .filter((_, index) => guards[index] === null)
          .flatMap(({ messages }) => messages.map(({ dueAt }) => dueAt))
          .toSorted((a, b) => a - b)
        for (const plannedAt of times) {
          assert.isAtMost(countExactly(times, { plannedAt, count: 1, limit }).planned, 10)
        }
        for (const [index, { quota }] of acceptances.entries()) {
          if (guards[index] === null || quota === null) continue
          assert.isAbove(countExactly(times, quota).planned + quota.count, 10, "refused with room")
        }
      }).pipe(Random.withSeed(`planned ${round}`)),
  )

  it.effect.each(rounds)("concurrent refunds may be taken again (round %i)", (round) =>
    Effect.gen(function* () {
      const limit = { messages: 20, windowMillis: day }
      const { workspace, number } = yield* aStage({ plan: aPlan(25) })
      const kept = yield* Effect.forEach(
        Array.from({ length: 12 }, (_, index) => index),
        (index) =>
          Effect.gen(function* () {
            let held = 0
            for (let iteration = 0; iteration < 8; iteration++) {
              const outcome = yield* accept(anAcceptance(number, { limit }))
              if (outcome._tag === "Conflict") continue
              const [message] = yield* Store.use(({ messages: store }) => store.byIds(outcome.ids))
              yield* Effect.yieldNow
              if ((yield* below(3)) === 0) held++
              else yield* end(cancelled(present(message)))
            }
            return held
          }).pipe(Random.withSeed(`given back ${round} ${index}`)),
        atOnce,
      )
      const total = kept.reduce((sum, held) => sum + held, 0)
      const plannedAt = noon + minute
      assert.isAtMost(total, 20)
      assert.strictEqual((yield* readExactQuota(number, { plannedAt, limit })).planned, total)
      assert.strictEqual(yield* remaining(workspace), 25 - total)
      if (total < 20) assert.isNull(yield* brokenBy(anAcceptance(number, { limit })))
    }),
  )

  it.effect("changes of a plan and acceptances lose nothing of one another", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const { workspace, number } = yield* aStage({ plan: aPlan(100) })
      const topUp = store.update(
        workspace.id,
        (current) => ({
          change: { plan: aPlan((current.plan?.messagesRemaining ?? 0) + 10) },
          admits: admitsAll,
        }),
        noon,
      )
      const rename = store.update(
        workspace.id,
        () => ({
          change: { name: "New" },
          admits: admitsAll,
        }),
        noon,
      )
      yield* Effect.forEach(
        Array.from({ length: 60 }, (_, index) => index),
        (index) =>
          Effect.gen(function* () {
            if (index % 6 === 0) yield* topUp
            else if (index % 6 === 1) yield* rename
            else yield* accepted(number, { count: 2 })
          }),
        atOnce,
      )
      assert.strictEqual(yield* remaining(workspace), 100 + 10 * 10 - 40 * 2)
    }),
  )

  const attempt = (acceptance: (claim: IdempotencyClaim) => Acceptance, now: number) =>
    Effect.fnUntraced(function* (claim: IdempotencyClaim) {
      const { workspaceId } = acceptance(claim)
      const outcome = yield* claimKey(workspaceId, claim, now)
      if (outcome._tag !== "Claimed") return outcome._tag
      yield* Effect.yieldNow
      return (yield* accept(acceptance(claim)))._tag
    })

  it.effect.each(rounds)("one of concurrent repeats of a request is accepted (round %i)", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(10) })
      const { key } = yield* aKey(workspace.id)
      const claim = aClaim(key.id)
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, index) => ({ ...claim, token: `repeat ${index}` })),
        attempt((idempotency) => anAcceptance(number, { count: 2, idempotency }), noon),
        atOnce,
      )
      assert.lengthOf(
        outcomes.filter((outcome) => outcome === "Accepted"),
        1,
      )
      for (const outcome of outcomes) {
        assert.include(["Accepted", "InProgress", "Finished"], outcome)
      }
      const messageIds = ids(yield* listMessages(workspace.id)).toReversed()
      assert.lengthOf(messageIds, 2)
      assert.strictEqual(yield* remaining(workspace), 8)
      assert.deepStrictEqual(yield* claimKey(workspace.id, { ...claim, token: "later" }), {
        _tag: "Finished",
        record: { fingerprint: claim.fingerprint, madeIds: messageIds, createdAt: noon },
      })
    }),
  )

  it.effect.each(rounds)("one of many that find a key free again takes it (round %i)", (round) =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const { key } = yield* aKey(workspace.id)
      const claim = aClaim(key.id)
      yield* claimKey(workspace.id, claim)
      const dead = round % 2 === 0
      if (!dead) yield* accepted(number, { idempotency: claim })
      const now = noon + (dead ? claimRetentionMillis : answerRetentionMillis)
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, index) => ({ ...claim, token: `retry ${index}` })),
        (retry) => claimKey(workspace.id, retry, now),
        atOnce,
      )
      assert.deepStrictEqual(outcomes.map((outcome) => outcome._tag).toSorted(), [
        "Claimed",
        ...Array.from({ length: 7 }, () => "InProgress"),
      ])
    }),
  )

  it.effect.each(rounds)("a late acceptance and a retry are one acceptance (round %i)", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const { key } = yield* aKey(workspace.id)
      const late = aClaim(key.id)
      yield* claimKey(workspace.id, late)
      const now = noon + claimRetentionMillis
      const make = (idempotency: IdempotencyClaim) => anAcceptance(number, { now, idempotency })
      const retries = Array.from({ length: 4 }, (_, index) => ({ ...late, token: `${index}` }))
      const outcomes = yield* Effect.all(
        [
          Effect.map(accept(make(late)), (outcome): string => outcome._tag),
          ...retries.map((retry) => attempt(make, now)(retry)),
        ],
        atOnce,
      )
      assert.isAtMost(outcomes.filter((outcome) => outcome === "Accepted").length, 1)
      const again = yield* attempt(make, now)({ ...late, token: "again" })
      assert.isTrue(again === "Accepted" || again === "Finished")
      assert.lengthOf(yield* listMessages(workspace.id, "live", now), 1)
    }),
  )

  it.effect.each(rounds)("nothing slips into a number while it is removed (round %i)", (round) =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const { numbers, workspaces } = yield* Store

      const remove =
        round % 2 === 0
          ? numbers.remove(workspace.id, number.id, noon)
          : workspaces.delete(workspace.id, noon)
      const created: Array<number> = []
      yield* Effect.forEach(
        Array.from({ length: 25 }, (_, index) => index),
        (index) =>
          Effect.gen(function* () {
            if (index === 12) return yield* remove
            const outcome = yield* accept(
              anAcceptance(number, {
                mode: index % 3 === 0 ? "test" : "live",
                sendAt: index % 2 === 0 ? noon + hour : null,
              }),
            )
            if (outcome._tag === "Accepted") created.push(...outcome.ids)
            else assert.strictEqual(outcome.guard, "number")
            return false
          }),
        atOnce,
      )
      const orphaned = yield* Store.use(({ messages: store }) => store.orphaned(100_000))
      assert.deepStrictEqual(
        ids(orphaned.filter((message) => message.workspaceId === workspace.id))
          .map(Number)
          .toSorted((a, b) => a - b),
        created.toSorted((a, b) => a - b),
      )
      assert.strictEqual(yield* brokenBy(anAcceptance(number)), "number")
    }),
  )

  it.effect("concurrent requests with one key are each counted", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const issued = yield* aKey((yield* aWorkspace()).id)
      const counts = yield* Effect.forEach(
        Array.from({ length: 50 }),
        () =>
          Effect.map(
            store.admit({
              hash: issued.hash,
              version: 2,
              now: noon,
              minuteStart: noon - (noon % minute),
              dayStart: noon - (noon % day),
              clientAddress: null,
            }),
            (found) => present(present(found).count).minute,
          ),
        atOnce,
      )
      assert.deepStrictEqual(
        counts.toSorted((a, b) => a - b),
        Array.from({ length: 50 }, (_, index) => index + 1),
      )
    }),
  )

  it.effect("concurrently created keys stay within the limit", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const apiKeys = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => store.insertKey(aNewKey(workspace.id), keyLimit),
        atOnce,
      )
      assert.lengthOf(
        apiKeys.filter((key) => key !== null),
        keyLimit,
      )
      assert.lengthOf(yield* store.listKeys(workspace.id), keyLimit)
    }),
  )
}
