/** `search`, `waitingIds`, `found`, and lists of one error: how operators choose messages. */
import { assert } from "@effect/vitest"
import { everyMessage, Store } from "@messaging-service/core"
import type { CallerScope, MessageFilter, PageQuery } from "@messaging-service/core"
import { Effect } from "effect"
import { ids, present } from "../Expect.ts"
import { toScope } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aMessage, aNumber, aStage, noon } from "../Records.ts"

const search = (
  scope: CallerScope,
  pattern: string,
  {
    before = null,
    limit = 10,
    most = 100,
    now = noon,
    ...filter
  }: Partial<MessageFilter & PageQuery> & { readonly most?: number; readonly now?: number } = {},
) =>
  Effect.map(
    Store.use(({ messages: store }) =>
      store.search(
        scope,
        { ...everyMessage, ...filter },
        { pattern, most },
        { before, limit },
        now,
      ),
    ),
    ({ items, lookedUntil, next }) => ({ ids: ids(items), next, lookedUntil }),
  )

export const choices: Topic = (it) => {
  it.effect("a search looks at so many of the messages that the other filters leave", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const scope = toScope(workspace.id)
      const text = { message: { text: "found" } }
      const oldest = yield* aMessage(number, { ...text, now: noon })
      const [older] = yield* accepted(number, { now: noon + 1, count: 2 })
      const second = present(older)
      yield* accepted(other, { now: noon + 2, count: 3 })
      const checked = yield* search(scope, "found", { from: number.id, most: 2 })
      assert.deepStrictEqual(checked, { ids: [], next: second.id, lookedUntil: noon + 1 })
      const rest = yield* search(scope, "found", { from: number.id, most: 2, before: checked.next })
      assert.deepStrictEqual(rest, { ids: [oldest.id], next: null, lookedUntil: noon })
      const whole = yield* search(scope, "found", { most: 5 })
      assert.deepStrictEqual(whole, { ids: [], next: second.id, lookedUntil: noon + 1 })
      assert.deepStrictEqual(yield* search({ ...scope, restriction: [other.id] }, "found"), {
        ids: [],
        next: null,
        lookedUntil: noon + 2,
      })
    }),
  )
}
