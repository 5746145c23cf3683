import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { get } from "./Asking.ts"
import { refusal } from "./Uploading.ts"
import { aKey, aNumber, aPhone, aSender, expectBody, settle } from "../Records.ts"
import type { PageBody } from "../Records.ts"

const path = "/api/v2/number-checks"

interface CheckBody {
  readonly id: number
  readonly status: string
  readonly checked: number
  readonly registered: number
  readonly not_registered: number
  readonly [field: string]: unknown
}

interface ResultBody {
  readonly id: number
  readonly phone: string
  readonly status: string
  readonly checked_at: string | null
}

const unknownPhone = "+15550000000"

const post = (token: string, json: unknown, call: Partial<Call> = {}) =>
  Effect.flatMap(HttpTestClients, ({ socket }) =>
    socket.call({ method: "POST", path, token, json, ...call }),
  )

const create = (token: string, phones: ReadonlyArray<string>, fields: object = {}) =>
  Effect.map(post(token, { phones, ...fields }), (answer) => expectBody<CheckBody>(answer, 202))

const read = (token: string, { id }: CheckBody) =>
  Effect.map(get(token, `${path}/${id}`), (answer) => expectBody<CheckBody>(answer, 200))

const results = (token: string, { id }: CheckBody, query = "") =>
  Effect.map(get(token, `${path}/${id}/results${query}`), (answer) =>
    expectBody<PageBody<ResultBody>>(answer, 200),
  )

const notFound = [404, "number_check_not_found", null] as const

layer(layerService())("number checks", (it) => {
  it.effect("a check answers 202 at once, and is completed by the worker", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const phone = aPhone()
      const check = yield* create(token, ["+1 555-000 0000", phone, phone], { name: "Lead list" })
      assert.deepStrictEqual(check, {
        id: check.id,
        name: "Lead list",
        status: "pending",
        total: 3,
        checked: 0,
        registered: 0,
        not_registered: 0,
        created_at: "1970-01-01T00:00:00Z",
        completed_at: null,
      })
      yield* settle
      assert.deepStrictEqual(yield* read(token, check), {
        ...check,
        status: "completed",
        checked: 3,
        registered: 2,
        not_registered: 1,
        completed_at: "1970-01-01T00:00:00Z",
      })
      const { data, next_cursor } = yield* results(token, check)
      assert.isNull(next_cursor)
      const checked_at = "1970-01-01T00:00:00Z"
      const [first = 0, second = 0, third = 0] = data.map(({ id }) => id)
      assert.isTrue(first > second && second > third)
      assert.deepStrictEqual(data, [
        { id: first, phone, status: "registered", checked_at },
        { id: second, phone, status: "registered", checked_at },
        { id: third, phone: unknownPhone, status: "not_registered", checked_at },
      ])
    }),
  )

  it.effect("checks and results are paged newest first, results filtered by status", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const phones = [aPhone(), unknownPhone, aPhone(), aPhone(), unknownPhone]
      const checks = [
        yield* create(token, phones),
        yield* create(token, phones),
        yield* create(token, phones),
      ]
      yield* settle
      const ids = checks.map(({ id }) => id).toReversed()
      const list = (query = "") =>
        Effect.map(get(token, `${path}${query}`), (answer) =>
          expectBody<PageBody<CheckBody>>(answer, 200),
        )
      const toIds = (page: PageBody<{ readonly id: number }>) => page.data.map(({ id }) => id)
      assert.deepStrictEqual(toIds(yield* list()), ids)
      const page = yield* list("?limit=2")
      assert.deepStrictEqual(toIds(page), ids.slice(0, 2))
      const last = yield* list(`?limit=1&cursor=${page.next_cursor}`)
      assert.deepStrictEqual([toIds(last), last.next_cursor], [ids.slice(2), null])

      const [check, other] = checks as [CheckBody, CheckBody]
      const all = toIds(yield* results(token, check))
      const registered = yield* results(token, check, "?status=registered&limit=2")
      assert.deepStrictEqual(toIds(registered), [all[1], all[2]])
      const next = `&cursor=${registered.next_cursor}`
      assert.deepStrictEqual(toIds(yield* results(token, check, `?status=registered${next}`)), [
        all[4],
      ])
      const several = yield* results(token, check, "?status=failed,not_registered")
      assert.deepStrictEqual(toIds(several), [all[0], all[3]])
      for (const [at, code] of [
        [`${path}/${other.id}/results?status=registered${next}`, "invalid_cursor"],
        [`${path}/${check.id}/results?status=failed${next}`, "invalid_cursor"],
        [`${path}?cursor=${registered.next_cursor}`, "invalid_cursor"],
        [`${path}/${check.id}/results?status=known`, "validation_failed"],
        [`${path}/${check.id}/results?limit=101`, "validation_failed"],
        [`${path}/${check.id}/results?phone=x`, "validation_failed"],
        [`${path}?status=completed`, "validation_failed"],
      ] as const) {
        assert.strictEqual(errorBody(yield* get(token, at)).code, code, at)
      }
    }),
  )

  it.effect("a check of another mode, workspace, number or scope does not exist", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender()
      const other = yield* aNumber(workspace)
      const check = yield* create(token, [aPhone()], { from: number.id })
      yield* settle
      const strangers = [
        (yield* aSender()).token,
        (yield* aKey(workspace, { mode: "test" })).key,
        (yield* aKey(workspace, { number_ids: [other.id] })).key,
      ]
      for (const stranger of strangers) {
        assert.deepStrictEqual(refusal(yield* get(stranger, `${path}/${check.id}`)), notFound)
        const at = `${path}/${check.id}/results`
        assert.deepStrictEqual(refusal(yield* get(stranger, at)), notFound)
        assert.deepStrictEqual(expectBody<PageBody<CheckBody>>(yield* get(stranger, path), 200), {
          data: [],
          next_cursor: null,
        })
      }
      for (const id of ["0", "nonsense", "999999"]) {
        assert.deepStrictEqual(refusal(yield* get(token, `${path}/${id}`)), notFound)
        assert.deepStrictEqual(refusal(yield* get(token, `${path}/${id}/results`)), notFound)
      }
      const without = (yield* aKey(workspace, { scopes: ["media", "numbers"] })).key
      const refused = yield* post(without, { phones: [aPhone()] })
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(errorBody(refused)["required_scope"], "contacts")
    }),
  )
})
