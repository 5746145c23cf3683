/** `MessageStore.orphaned`: messages that wait for a removed number. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids } from "../Expect.ts"
import { again, cancelled, claimOne, end, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aMessage, aNumber, aStage, noon, oneSecond } from "../Records.ts"

const listOrphaned = (workspaceId: WorkspaceId) =>
  Effect.map(
    Store.use(({ messages: store }) => store.orphaned(100_000)),
    (messages) =>
      messages
        .filter((message) => message.workspaceId === workspaceId)
        .toSorted((a, b) => a.id - b.id),
  )

export const orphaned: Topic = (it) => {
  it.effect("the waiting messages of a deleted workspace, of all its numbers", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id, { status: "disconnected" })
      const messages = [
        ...(yield* accepted(number, { count: 2 })),
        yield* aMessage(other),
        yield* aMessage(other, { mode: "test" }),
      ]
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, noon))
      assert.deepStrictEqual(yield* listOrphaned(workspace.id), messages)
    }),
  )

  it.effect("a message in flight is not orphaned until its attempt is taken back", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const messages = yield* accepted(number, { count: 2 })
      const claimed = yield* claimOne(number, { leaseUntil: noon + oneSecond })
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      assert.deepStrictEqual(yield* listOrphaned(workspace.id), [at(messages, 1)])
      assert.deepStrictEqual(yield* settle([again(claimed)]), [at(messages, 0).id])
      assert.deepStrictEqual(yield* listOrphaned(workspace.id), messages)
    }),
  )

  it.effect("no more than requested, until all are found", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number } = yield* aStage()
      const messages = yield* accepted(number, { count: 5 })
      yield* Store.use(({ numbers }) => numbers.remove(workspace.id, number.id, noon))
      const left = new Set(ids(messages))
      while (left.size > 0) {
        const page = yield* store.orphaned(2)
        assert.isAtMost(page.length, 2)
        assert.isAbove(page.length, 0)
        const ended = yield* end(...page.map((message) => cancelled(message)))
        assert.deepStrictEqual(
          ended,
          ids(page).toSorted((a, b) => a - b),
        )
        for (const id of ended) left.delete(id)
      }
    }),
  )
}
