/** Version 1's report of messages on given days (contract: Version 1: messages). */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { layerService } from "../Service.ts"
import { settle } from "../Records.ts"
import { aClient, answered, request, sends } from "./Asking.ts"
import type { Credentials, Fields } from "./Asking.ts"

interface Item {
  readonly msg_id: number
  readonly created_at: string
  readonly sent_at: string | null
}

interface ReportBody {
  readonly status: 1
  readonly total: number
  readonly page: number
  readonly history: ReadonlyArray<Item>
}

const report = (credentials: Credentials, fields: Fields) =>
  Effect.map(request("report/", { ...credentials, ...fields }), (answer) =>
    answered<ReportBody>(answer),
  )

const toIds = ({ history }: ReportBody) => history.map(({ msg_id }) => msg_id)

layer(layerService())("the report of version 1", (it) => {
  it.effect("covers whole days in UTC, both included, newest first", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const instants = [
        "2028-02-28T23:59:59.999Z",
        "2028-02-29T00:00:00Z",
        "2028-02-29T12:00:00Z",
        "2028-03-01T23:59:59.999Z",
        "2028-03-02T00:00:00Z",
      ]
      const ids: Array<number> = []
      for (const instant of instants) {
        yield* TestClock.setTime(Date.parse(instant))
        ids.push(yield* sends(client.credentials))
      }
      yield* settle
      const days = (start_date: string, end_date: string) =>
        report(client.credentials, { start_date, end_date })
      const both = yield* days("29-02-2028", "01-03-2028")
      assert.deepStrictEqual(toIds(both), [ids[3], ids[2], ids[1]])
      assert.deepInclude(both, { status: 1, total: 3, page: 1 })
      assert.deepStrictEqual(both.history[0]?.created_at, "2028-03-01T23:59:59Z")
      assert.match(both.history[0]?.sent_at ?? "", /^2028-03-0[12]T\d\d:\d\d:\d\dZ$/)
      assert.deepStrictEqual(toIds(yield* days("28-02-2028", "28-02-2028")), [ids[0]])
      assert.deepStrictEqual(toIds(yield* days("28-02-2028", "02-03-2028")), ids.toReversed())
      const none = { status: 1, total: 0, page: 1, history: [] } as const
      assert.deepStrictEqual(yield* days("27-02-2028", "27-02-2028"), none)
      // A period that ends before it begins.
      assert.deepStrictEqual(yield* days("01-03-2028", "28-02-2028"), none)
    }),
  )

  it.effect("shows 200 a page, all of its own workspace", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2029-01-01T12:00:00Z"))
      const { credentials } = yield* aClient()
      const other = yield* aClient()
      const phones = Array.from({ length: 401 }, () => "15550001234")
      const sent = yield* request("send_msg/multi/", { ...credentials, phones, msg: "Hi" })
      const { msg_ids } = answered<{ msg_ids: ReadonlyArray<number> }>(sent)
      const day = { start_date: "01-01-2029", end_date: "01-01-2029" }
      const pages = yield* Effect.forEach([null, "2", 3, 4], (page) =>
        report(credentials, { ...day, page }),
      )
      assert.deepStrictEqual(
        pages.map(({ history, page, total }) => [page, total, history.length]),
        [
          [1, 401, 200],
          [2, 401, 200],
          [3, 401, 1],
          [4, 401, 0],
        ],
      )
      assert.deepStrictEqual(pages.flatMap(toIds), msg_ids.toReversed())
      assert.strictEqual((yield* report(other.credentials, day)).total, 0)
    }),
  )
})
