/** The lists of version 1 show what version 2's keys created, and the reverse. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  Admission,
  Keys,
  NumberChecks,
  Reminders,
  Version1Lists,
  offsetOfPage,
} from "../../src/index.ts"
import type { NumberCheckId, WorkspaceId } from "../../src/index.ts"
import { code, get, send, stored } from "./Operations.ts"
import { aKey, aSender, aWorkspace, day, inAService, noon, settled } from "./Service.ts"

const midnight = noon - (noon % day)

const aKeyV1 = (workspace: WorkspaceId) =>
  Effect.gen(function* () {
    const { key } = yield* Keys.use((keys) => keys.create("owner", workspace, { version: 1 }))
    const admission = yield* Admission
    return yield* admission.admitV1({
      clientId: workspace,
      apiKey: key,
      clientAddress: "192.0.2.1",
    })
  })

const at = (instant: number) => TestClock.setTime(instant)

const all = { offset: 0, limit: 100 }

describe("pages by number", () => {
  it.effect("the first is 1", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(offsetOfPage(1, 50), { offset: 0, limit: 50 })
      assert.deepStrictEqual(offsetOfPage(3, 200), { offset: 400, limit: 200 })
    }),
  )
})

describe("messages of some days", () => {
  it.effect("both days are included, whole, and the newest comes first", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const caller = yield* aKeyV1(workspace)
        const lists = yield* Version1Lists
        yield* send(key, { text: "today" })
        yield* at(midnight + day - 1)
        const lastToday = yield* send(key, { text: "the last of today" })
        yield* at(midnight + day)
        const tomorrow = yield* send(key, { text: "tomorrow" })
        yield* at(midnight + 2 * day)
        yield* send(key, { text: "after" })
        const texts = (first: number, last: number) =>
          Effect.map(lists.messages(caller, { first, last }, all), ({ items, total }) => [
            total,
            ...items.map(({ text }) => text),
          ])
        assert.deepStrictEqual(yield* texts(midnight, midnight), [2, "the last of today", "today"])
        assert.deepStrictEqual(yield* texts(midnight + day, midnight + day), [1, "tomorrow"])
        assert.deepStrictEqual(yield* texts(midnight, midnight + day), [
          3,
          "tomorrow",
          "the last of today",
          "today",
        ])
        assert.deepStrictEqual(yield* texts(midnight + day, midnight), [0])
        const second = yield* lists.messages(
          caller,
          { first: midnight, last: midnight + day },
          { offset: 1, limit: 1 },
        )
        assert.deepStrictEqual(second, { total: 3, items: [yield* stored(lastToday)] })
        assert.strictEqual((yield* get(caller, tomorrow)).id, tomorrow.id)
      }),
      { worker: false },
    ),
  )

  it.effect("shows their current state, and no test messages", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const caller = yield* aKeyV1(workspace)
        yield* send(yield* aKey(workspace, { mode: "test" }))
        const sent = yield* send(key)
        yield* settled
        const now = yield* Clock.currentTimeMillis
        const today = now - (now % day)
        const { items, total } = yield* Version1Lists.use((lists) =>
          lists.messages(caller, { first: today, last: today }, all),
        )
        assert.deepStrictEqual(
          [total, items.map(({ id, state }) => [id, state])],
          [1, [[sent.id, "sent"]]],
        )
      }),
    ),
  )
})

describe("reminders and results of number checks", () => {
  it.effect("reminders are those that version 2 lists", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const reminders = yield* Reminders
        const make = (name: string) =>
          reminders.create(
            key,
            { name, to: { group: "Team" }, text: "Hello", schedule: { cron: "0 9 * * *" } },
            null,
          )
        const { answer: first } = yield* make("first")
        const { answer: second } = yield* make("second")
        const caller = yield* aKeyV1(workspace)
        const lists = yield* Version1Lists
        assert.deepStrictEqual(yield* lists.reminders(caller, all), {
          total: 2,
          items: [second, first],
        })
        yield* reminders.remove(caller, second.id)
        assert.deepStrictEqual(yield* lists.reminders(caller, all), { total: 1, items: [first] })
      }),
    ),
  )

  it.effect("results are those of a check of the workspace, else number_check_not_found", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const lists = yield* Version1Lists
        const { answer } = yield* NumberChecks.use((checks) =>
          checks.create(key, { phones: ["+15550000001", "+15550000000"] }, null),
        )
        const { id } = answer
        yield* settled
        const caller = yield* aKeyV1(workspace)
        const results = (status: "registered" | "not_registered" | null) =>
          Effect.map(lists.checkResults(caller, id, status, all), ({ items, total }) => [
            total,
            ...items.map(({ phone }) => phone),
          ])
        assert.deepStrictEqual(yield* results(null), [2, "+15550000000", "+15550000001"])
        assert.deepStrictEqual(yield* results("registered"), [1, "+15550000001"])
        assert.deepStrictEqual(yield* results("not_registered"), [1, "+15550000000"])
        const stranger = yield* aKeyV1(yield* aWorkspace())
        for (const [requesting, unknown] of [
          [stranger, id],
          [caller, undefined],
          [caller, 999 as NumberCheckId],
        ] as const) {
          const refused = lists.checkResults(requesting, unknown, null, all)
          assert.strictEqual(yield* code(refused), "number_check_not_found")
        }
      }),
    ),
  )
})
