import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aSender } from "../Records.ts"
import { anHourLater, get, toIds, list, path, send } from "./Asking.ts"

layer(layerService())("the list of messages", (it) => {
  it.effect("is paged, newest first, and new messages do not shift a page", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const sent: Array<number> = []
      for (let count = 0; count < 5; count++) {
        sent.unshift((yield* send(token, { send_at: anHourLater })).id)
      }
      const first = yield* list(token, "?limit=2")
      assert.deepStrictEqual(toIds(first), sent.slice(0, 2))
      yield* send(token)
      const second = yield* list(token, `?limit=2&cursor=${first.next_cursor}`)
      assert.deepStrictEqual(toIds(second), sent.slice(2, 4))
      const third = yield* list(token, `?cursor=${second.next_cursor}&limit=100`)
      assert.deepStrictEqual(toIds(third), sent.slice(4))
      assert.strictEqual(third.next_cursor, null)
    }),
  )

  for (const [query, code, field] of [
    ["?limit=1&limit=1", "validation_failed", "limit"],
    ["?since=2026-03-02T15:00:00+02:00", "invalid_datetime", "since"],
    ["?to=%", "validation_failed", "to"],
    ["?limit=1&to=%ff", "validation_failed", "to"],
    ["?%ff=1", "validation_failed", "%ff"],
    ["?cursor=", "invalid_cursor", "cursor"],
  ] as const) {
    it.effect(`${query} is ${code}`, () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const answer = yield* get(token, `${path}${query}`)
        assert.deepInclude(errorBody(answer), { code, field })
        assert.include(errorBody(answer).message.toLowerCase(), field)
        assert.strictEqual(answer.status, 400)
      }),
    )
  }
})
