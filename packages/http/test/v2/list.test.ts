import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { errorOf } from "../Doors.ts"
import { layerService } from "../Service.ts"
import { aKey, aNumber, aPhone, aSender, settle } from "../Records.ts"
import { anHourLater, get, idsOf, list, path, send } from "./Asking.ts"

layer(layerService())("the list of messages", (it) => {
  it.effect("is paged, newest first, and new messages do not shift a page", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const sent: Array<number> = []
      for (let count = 0; count < 5; count++) {
        sent.unshift((yield* send(token, { send_at: anHourLater })).id)
      }
      const first = yield* list(token, "?limit=2")
      assert.deepStrictEqual(idsOf(first), sent.slice(0, 2))
      yield* send(token)
      const second = yield* list(token, `?limit=2&cursor=${first.next_cursor}`)
      assert.deepStrictEqual(idsOf(second), sent.slice(2, 4))
      const third = yield* list(token, `?cursor=${second.next_cursor}&limit=100`)
      assert.deepStrictEqual(idsOf(third), sent.slice(4))
      assert.strictEqual(third.next_cursor, null)
    }),
  )

  it.effect("is filtered by status, number, phone and time", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 2, 2, 12))
      const { number, token, workspace } = yield* aSender()
      const other = yield* aNumber(workspace, { status: "disconnected" })
      const phone = aPhone()
      const early = yield* send(token, { from: other.id })
      yield* TestClock.adjust("1 hour")
      const late = yield* send(token, { from: number.id, to: { phone } })
      const later = yield* send(token, { from: number.id, send_at: "2026-03-03T00:00:00Z" })
      yield* settle
      for (const [query, expected] of [
        ["", [later, late, early]],
        ["?status=sent", [late]],
        ["?status=queued,scheduled", [later, early]],
        [`?from=${number.id}`, [later, late]],
        [`?to=${encodeURIComponent(phone)}`, [late]],
        ["?since=2026-03-02T13:00:00Z", [later, late]],
        ["?until=2026-03-02T13:00:00Z", [early]],
        // In a query a plus sign means a space, as in forms; an offset needs %2B.
        ["?since=2026-03-02T15:00:00%2B02:00", [later, late]],
      ] as const) {
        assert.deepStrictEqual(
          idsOf(yield* list(token, query)),
          expected.map(({ id }) => id),
          query,
        )
      }
    }),
  )

  for (const [query, code, field] of [
    ["?limit=0", "validation_failed", "limit"],
    ["?limit=101", "validation_failed", "limit"],
    ["?limit=ten", "validation_failed", "limit"],
    ["?limit=1&limit=1", "validation_failed", "limit"],
    ["?unknown=1", "validation_failed", "unknown"],
    ["?status=lost", "validation_failed", "status"],
    ["?from=x", "validation_failed", "from"],
    ["?to=0171", "invalid_phone", "to"],
    ["?since=yesterday", "invalid_datetime", "since"],
    ["?since=2026-03-02T15:00:00+02:00", "invalid_datetime", "since"],
    ["?since=2099-03-02T15:00:00Z", "validation_failed", "since"],
    ["?since=2026-03-02T15:00:00-12:01", "invalid_datetime", "since"],
    ["?to=%", "validation_failed", "to"],
    ["?limit=1&to=%ff", "validation_failed", "to"],
    ["?%ff=1", "validation_failed", "%ff"],
    ["?cursor=", "invalid_cursor", "cursor"],
    ["?cursor=1.0000", "invalid_cursor", "cursor"],
  ] as const) {
    it.effect(`${query} is ${code}`, () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const answer = yield* get(token, `${path}${query}`)
        assert.deepInclude(errorOf(answer), { code, field })
        assert.include(errorOf(answer).message.toLowerCase(), field)
        assert.strictEqual(answer.status, code === "invalid_phone" ? 422 : 400)
      }),
    )
  }

  it.effect("a cursor belongs to its list, filters and key", () =>
    Effect.gen(function* () {
      const { token, workspace, number } = yield* aSender()
      const { key: limited } = yield* aKey(workspace, { number_ids: [number.id] })
      const { key: test } = yield* aKey(workspace, { mode: "test" })
      const { key: equal } = yield* aKey(workspace)
      yield* send(token)
      yield* send(token)
      const { next_cursor } = yield* list(token, "?limit=1")
      const same = yield* list(equal, `?cursor=${next_cursor}`)
      assert.lengthOf(same.data, 1)
      for (const [asker, query] of [
        [token, `?status=sent&cursor=${next_cursor}`],
        [limited, `?cursor=${next_cursor}`],
        [test, `?cursor=${next_cursor}`],
        [(yield* aSender()).token, `?cursor=${next_cursor}`],
        [token, `?cursor=${next_cursor}x`],
        [token, `?cursor=${next_cursor?.toUpperCase()}`],
      ] as const) {
        assert.strictEqual(
          errorOf(yield* get(asker, `${path}${query}`)).code,
          "invalid_cursor",
          query,
        )
      }
    }),
  )
})
