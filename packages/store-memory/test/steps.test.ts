/**
 * Lists and counts of many rows go in steps, so other work of the process has its turn meanwhile:
 * the tests count the rows read between two turns.
 */
import { assert, describe, it } from "@effect/vitest"
import { everyMessage, Store } from "@messaging-service/core"
import type { Message, MessageId } from "@messaging-service/core"
import { accepted, aStage, noon, toScope } from "@messaging-service/testkit"
import { Context, Effect, Fiber } from "effect"
import { newestFirst } from "../src/collections.ts"
import { memoryStore } from "../src/MemoryStore.ts"
import { newMessageRow, Tables } from "../src/tables.ts"
import type { MessageRow } from "../src/tables.ts"

/** The maximum of rows read between two turns of another fiber, and its number of turns. */
const watched = <A, E, R>(checked: () => ReadonlySet<unknown>, work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    let max = 0
    let iterations = 0
    const other = yield* Effect.forkChild(
      Effect.forever(
        Effect.sync(() => {
          const rows = checked() as Set<unknown>
          max = Math.max(max, rows.size)
          if (rows.size > 0) iterations++
          rows.clear()
        }),
      ),
    )
    yield* Effect.yieldNow
    const answer = yield* work
    max = Math.max(max, checked().size)
    yield* Fiber.interrupt(other)
    return { answer, most: max, iterations }
  })

/** A store with so many messages of one workspace that counts reads of each. */
const aStoreWith = Effect.fnUntraced(function* (many: number) {
  const tables = new Tables()
  const context = Context.make(Store, memoryStore(tables))
  const checked = new Set<unknown>()
  const { number, workspace } = yield* Effect.provideContext(aStage(), context)
  const [first] = yield* Effect.provideContext(accepted(number, { count: 1 }), context)
  const owner = tables.workspaces.get(workspace.id)
  const lane = tables.lanes.get(number.id)
  if (first === undefined || owner === undefined || lane === undefined) return yield* Effect.never
  const insert = () =>
    tables.messages.insert((id: MessageId): MessageRow => {
      const message: Message = { ...first, id }
      return {
        lane,
        campaign: null,
        tookAllowance: false,
        ...newMessageRow(),
        get message() {
          checked.add(id)
          return message
        },
        set message(_) {
          assert.fail("no message is changed")
        },
      }
    })
  while (owner.messages.live.length < many) owner.messages.live.push(insert())
  checked.clear()
  return { tables, context, looked: checked, workspace, number, first }
})

describe("with many messages the store in memory", () => {
  it.effect("reads a thousand in one step, where a filter lets none pass", () =>
    Effect.gen(function* () {
      const many = 500_000
      const { context, first, looked, workspace } = yield* aStoreWith(many)
      const store = Context.get(context, Store).messages
      const filter = { ...everyMessage, since: first.createdAt + 1 }
      const { answer, most, iterations } = yield* watched(
        () => looked,
        store.list(toScope(workspace.id), filter, { before: null, limit: 100 }, noon),
      )
      assert.deepStrictEqual(answer, { items: [], next: null })
      assert.isAtMost(most, 1000)
      assert.isAtLeast(iterations, many / 1000 - 1)
    }),
  )

  it.effect("does the same for a page of version 1, which counts them all", () =>
    Effect.gen(function* () {
      const many = 60_000
      const { context, looked, workspace } = yield* aStoreWith(many)
      const store = Context.get(context, Store).version1Lists
      const { answer, most } = yield* watched(
        () => looked,
        store.messages(
          { workspaceId: workspace.id, mode: "live" },
          { since: 0, until: Number.MAX_SAFE_INTEGER },
          { offset: 10, limit: 3 },
        ),
      )
      assert.strictEqual(answer.total, many)
      assert.deepStrictEqual(
        answer.items.map(({ id }) => id),
        [many - 10, many - 11, many - 12],
      )
      assert.isAtMost(most, 1000)
    }),
  )

  it.effect("does the same for the figures of the service", () =>
    Effect.gen(function* () {
      const { context, looked, number, tables, workspace } = yield* aStoreWith(60_000)
      const lane = tables.lanes.get(number.id)
      for (const row of tables.workspaces.get(workspace.id)?.messages.live.slice(1) ?? [])
        lane?.waiting.add(row)
      looked.clear()
      const { answer, most } = yield* watched(
        () => looked,
        Context.get(context, Store).system.figures(noon, 50_000),
      )
      assert.strictEqual(answer.queued + answer.scheduled, 50_000)
      assert.isAtMost(most, 1000)
    }),
  )
})

describe("a list in steps", () => {
  const rows = () => Array.from({ length: 5000 }, (_, index) => ({ id: index + 1 }))

  it.effect("misses and repeats no row although others are removed and added meanwhile", () =>
    Effect.gen(function* () {
      const all = rows()
      const received: Array<number> = []
      const listing = yield* Effect.forkChild(
        newestFirst(
          all,
          { before: null, limit: 10_000 },
          (row) => row,
          (row) => received.push(row.id) > 0,
        ),
      )
      yield* Effect.yieldNow
      assert.lengthOf(received, 1000)
      // Visited rows, the next one, and some later ones.
      all.splice(4500, 10)
      all.splice(3990, 10)
      all.splice(0, 10)
      all.push({ id: 5001 })
      const { items } = yield* Fiber.join(listing)
      const expected = rows()
        .map(({ id }) => id)
        .filter((id) => !((id > 3990 && id <= 4000) || id <= 10))
        .toReversed()
      assert.deepStrictEqual(received, expected)
      assert.lengthOf(items, expected.length)
    }),
  )
})
