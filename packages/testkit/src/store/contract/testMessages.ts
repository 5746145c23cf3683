/** `MessageStore.dueTest`: test messages, which no transport sees. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { Message, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { cancelled, change, end } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aMessage, anEra, aNumber, aStage, hour, minute, noon } from "../Records.ts"

const listDue = (workspaceId: WorkspaceId, now: number) =>
  Effect.map(
    Store.use(({ messages: store }) => store.dueTest(now, 100_000, 100_000)),
    (messages) => messages.filter((message) => message.workspaceId === workspaceId),
  )

export const testMessages: Topic = (it) => {
  it.effect("waiting test messages come in the order of their due times, live ones never", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id, { status: "disconnected" })
      yield* aMessage(number)
      const mode = "test"
      const last = yield* aMessage(number, { mode, sendAt: noon + 2 * minute })
      const tied = yield* aMessage(number, { mode, sendAt: noon + minute })
      const first = yield* aMessage(other, { mode })
      const alsoTied = yield* aMessage(other, { mode, now: noon + minute })
      assert.deepStrictEqual(yield* listDue(workspace.id, noon - 1), [])
      assert.deepStrictEqual(yield* listDue(workspace.id, noon), [first])
      assert.deepStrictEqual(yield* listDue(workspace.id, noon + hour), [
        first,
        tied,
        alsoTied,
        last,
      ])
    }),
  )

  it.effect("ended and expired ones are not due", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const mode = "test"
      const gone = yield* aMessage(number, { mode })
      const sent = yield* aMessage(number, { mode })
      const expiring = yield* aMessage(number, { mode, expiresAt: noon + minute })
      yield* end(cancelled(gone), change(sent, { trigger: "send_succeeded" }))
      assert.deepStrictEqual(yield* listDue(workspace.id, noon + minute - 1), [expiring])
      assert.deepStrictEqual(yield* listDue(workspace.id, noon + minute), [])
    }),
  )

  it.effect("those of a removed number are orphaned, not due", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      yield* aMessage(number, { mode: "test" })
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      assert.deepStrictEqual(yield* listDue(workspace.id, noon + hour), [])
    }),
  )

  it.effect("no more than its share of each workspace, however many it has waiting", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const era = anEra()
      const flood = yield* aStage({ createdAt: era })
      const second = yield* aNumber(flood.workspace.id)
      const idle = yield* aStage({ createdAt: era })
      const mode = "test"
      const flooding: Array<Message> = []
      for (const number of [flood.number, second, flood.number]) {
        flooding.push(...(yield* accepted(number, { now: era, mode, count: 20 })))
      }
      const later = yield* accepted(idle.number, { now: era + minute, mode, count: 3 })
      const ids = (messages: ReadonlyArray<Message>) => messages.map(({ id }) => id)
      const due = (limit: number, perWorkspace: number) =>
        Effect.map(store.dueTest(era + hour, limit, perWorkspace), ids)
      assert.deepStrictEqual(yield* due(20, 5), ids([...flooding.slice(0, 5), ...later]))
      assert.deepStrictEqual(yield* due(6, 5), ids([...flooding.slice(0, 5), ...later.slice(0, 1)]))
      assert.deepStrictEqual(yield* due(4, 5), ids(flooding.slice(0, 4)))
      yield* end(...[...flooding, ...later].map((message) => cancelled(message, era)))
      assert.deepStrictEqual(yield* due(20, 5), [])
    }),
  )

  it.effect("no more than requested", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const options = { now: era, mode: "test" as const }
      const first = yield* aMessage(number, options)
      const second = yield* aMessage(number, options)
      const third = yield* aMessage(number, options)
      assert.deepStrictEqual(yield* store.dueTest(era + hour, 2, 2), [first, second])
      yield* end(...[first, second, third].map((message) => cancelled(message, era)))
    }),
  )
}
