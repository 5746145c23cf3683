/** The plan's allowance: taken at acceptance, refunded by cancel and expiry, exactly. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { Plan, Workspace } from "@messaging-service/core"
import { Effect } from "effect"
import { at, only } from "../Expect.ts"
import { brokenBy, remaining } from "../Reading.ts"
import {
  cancelled,
  change,
  claimOne,
  end,
  endedAs,
  expired,
  failed,
  settle,
  sent,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aMessage,
  anAcceptance,
  aPlan,
  aStage,
  hour,
  noon,
  admitsAll,
} from "../Records.ts"

const setPlan = (workspace: Workspace, plan: Plan | null) =>
  Store.use(({ workspaces: store }) =>
    store.update(workspace.id, () => ({ change: { plan }, admits: admitsAll }), noon),
  )

export const allowance: Topic = (it) => {
  it.effect("every live message takes one, scheduled ones too, until none is left", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(4) })
      yield* accepted(number, { count: 2 })
      yield* accepted(number, { sendAt: noon + hour })
      assert.strictEqual(yield* remaining(workspace), 1)
      assert.strictEqual(yield* brokenBy(anAcceptance(number, { count: 2 })), "allowance")
      assert.strictEqual(yield* remaining(workspace), 1)
      yield* accepted(number)
      assert.strictEqual(yield* remaining(workspace), 0)
      assert.strictEqual(yield* brokenBy(anAcceptance(number)), "allowance")
    }),
  )

  it.effect("all numbers of a workspace share its allowance", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(1) })
      const other = yield* aStage({ plan: aPlan(1) })
      yield* accepted(number)
      assert.strictEqual(yield* remaining(workspace), 0)
      assert.strictEqual(yield* remaining(other.workspace), 1)
    }),
  )

  it.effect("an unlimited plan takes nothing, no plan has nothing to take", () =>
    Effect.gen(function* () {
      const unlimited = yield* aStage({ plan: aPlan(null) })
      yield* accepted(unlimited.number, { count: 3 })
      assert.isNull(yield* remaining(unlimited.workspace))
      const without = yield* aStage({ plan: null })
      assert.strictEqual(yield* brokenBy(anAcceptance(without.number)), "allowance")
      assert.isNull(yield* brokenBy(anAcceptance(without.number, { mode: "test" })))
    }),
  )

  it.effect("cancelled and expired messages refund theirs, failed and sent ones do not", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(10) })
      yield* accepted(number, { count: 2 })
      const last = yield* accepted(number, { count: 2, expiresAt: noon + hour })
      assert.strictEqual(yield* remaining(workspace), 6)
      yield* settle([sent(yield* claimOne(number))])
      yield* settle([failed(yield* claimOne(number))])
      assert.strictEqual(yield* remaining(workspace), 6)
      yield* end(cancelled(at(last, 0)))
      assert.strictEqual(yield* remaining(workspace), 7)
      yield* end(expired(at(last, 1), noon + hour), cancelled(at(last, 0)))
      assert.strictEqual(yield* remaining(workspace), 8)
    }),
  )

  it.effect("a settlement that cancels or expires refunds too", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(2) })
      yield* accepted(number, { count: 2 })
      yield* settle([endedAs(yield* claimOne(number), { trigger: "cancel" })])
      assert.strictEqual(yield* remaining(workspace), 1)
      yield* settle([endedAs(yield* claimOne(number), { trigger: "expire" })])
      assert.strictEqual(yield* remaining(workspace), 2)
    }),
  )

  it.effect("one call refunds for all its messages, of all workspaces", () =>
    Effect.gen(function* () {
      const a = yield* aStage({ plan: aPlan(5) })
      const b = yield* aStage({ plan: aPlan(5) })
      const messages = [
        ...(yield* accepted(a.number, { count: 3 })),
        ...(yield* accepted(b.number, { count: 2 })),
      ]
      yield* end(...messages.map((message) => cancelled(message)))
      assert.strictEqual(yield* remaining(a.workspace), 5)
      assert.strictEqual(yield* remaining(b.workspace), 5)
    }),
  )

  it.effect("test messages take nothing and refund nothing", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(1) })
      const messages = yield* accepted(number, { count: 2, mode: "test" })
      assert.strictEqual(yield* remaining(workspace), 1)
      yield* end(cancelled(at(messages, 0)), expired(at(messages, 1)))
      assert.strictEqual(yield* remaining(workspace), 1)
    }),
  )

  it.effect("messages accepted under an unlimited plan refund nothing to a later plan", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(null) })
      const free = yield* aMessage(number)
      yield* setPlan(workspace, aPlan(5))
      const paid = yield* aMessage(number)
      yield* end(cancelled(free))
      assert.strictEqual(yield* remaining(workspace), 4)
      yield* end(cancelled(paid))
      assert.strictEqual(yield* remaining(workspace), 5)
    }),
  )

  it.effect("messages refund nothing to a plan that is gone or unlimited meanwhile", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(5) })
      const messages = yield* accepted(number, { count: 3 })
      yield* setPlan(workspace, aPlan(null))
      yield* end(cancelled(at(messages, 0)))
      assert.isNull(yield* remaining(workspace))
      yield* setPlan(workspace, null)
      yield* end(cancelled(at(messages, 1)))
      assert.isUndefined(yield* remaining(workspace))
      yield* setPlan(workspace, aPlan(0))
      yield* end(cancelled(at(messages, 2)))
      assert.strictEqual(yield* remaining(workspace), 1)
    }),
  )

  it.effect("a message refunds once", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(1) })
      const message = only(yield* accepted(number))
      yield* end(cancelled(message))
      yield* end(cancelled(message))
      yield* end(change(message, { trigger: "expire" }))
      assert.strictEqual(yield* remaining(workspace), 1)
    }),
  )
}
