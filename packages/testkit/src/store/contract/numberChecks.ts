/** `NumberCheckStore`: lists of phones, created and read, and racing workers. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { aNumber, aStage, below, noon, oneSecond } from "../Records.ts"
import { somePhones, aCheck, lookUp, readStatuses, claim, answered, again } from "../Checking.ts"

export const numberCheckRaces: Topic = (it, { parallel }) => {
  it.effect("many workers, while some die, check each phone until one answer arrives", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numberChecks
      for (let round = 0; round < (parallel ? 4 : 1); round++) {
        const { number, workspace } = yield* aStage()
        const numbers = [number, yield* aNumber(workspace.id)]
        const list = somePhones(30)
        const checks = yield* Effect.forEach(range(4), (index) =>
          Effect.gen(function* () {
            const doubled = yield* Effect.forEach(range(40), () =>
              Effect.map(below(list.length), (which) => at(list, which)),
            )
            return yield* aCheck(at(numbers, index % 2), { phones: doubled })
          }),
        )
        const settledAnswers: Array<string> = []
        let now = noon
        const worker = Effect.gen(function* () {
          for (;;) {
            const started = (now += oneSecond)
            const claimed = yield* claim(numbers, {
              now: started,
              leaseUntil: started + 20 * oneSecond,
              limit: 2,
              chunk: 7,
            })
            for (const each of claimed) {
              const fate = yield* below(6)
              // It died: the lease ends.
              if (fate === 0) continue
              const settlement = fate === 1 ? again(each, { tried: true }) : answered(each)
              const held = yield* store.settle(settlement, now)
              if (held && settlement._tag === "Answered") {
                for (const { phone } of settlement.answers) {
                  settledAnswers.push(`${each.id} ${phone}`)
                }
              }
            }
            if (claimed.length === 0) {
              const open = yield* Effect.forEach(checks, lookUp)
              if (open.every(({ status }) => status === "completed")) return
            }
          }
        })
        yield* Effect.forEach(range(4), () => worker, atOnce)
        assert.lengthOf(new Set(settledAnswers), settledAnswers.length)
        for (const check of checks) {
          const { checked, registered, notRegistered } = yield* lookUp(check)
          assert.deepStrictEqual([checked, registered, notRegistered], [40, 40, 0])
          assert.notInclude(yield* readStatuses(check), "pending")
        }
      }
    }),
  )

  it.effect("each check has one holder when many workers claim at once", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const checks = yield* Effect.forEach(range(20), () => aCheck(number))
      const claims = yield* Effect.forEach(range(12), () => claim([number], { limit: 5 }), atOnce)
      const got = claims.flatMap((claimed) => ids(claimed))
      assert.lengthOf(new Set(got), got.length)
      const rest = ids(yield* claim([number]))
      assert.sameMembers([...got, ...rest], [...ids(checks)])
    }),
  )
}
