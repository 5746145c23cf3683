/** Numbers of version 2: their visibility, plan limits, repeats, and test keys. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aPlan, aKey, aNumber, aSender, aWorkspace, operate } from "../Records.ts"
import { get, post, send } from "./Asking.ts"
import {
  request,
  connect,
  listed,
  numbersPath,
  qrLink,
  read,
  scanned,
  until,
  aToken,
} from "./Connecting.ts"

layer(layerService())("the numbers", (it) => {
  it.effect("GET returns every number, oldest first, in data, with connect null", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aToken()
      const first = yield* aNumber(workspace, { label: "Shop", platform: "telegram" })
      const second = yield* connect(token)
      assert.deepStrictEqual(yield* listed(token), [
        {
          id: first.id,
          phone: first.phone,
          label: "Shop",
          platform: "telegram",
          status: "connected",
          login_method: "qr",
          connect: null,
        },
        second,
      ])
    }),
  )

  it.effect("a number that does not exist or is another workspace's is 404 number_not_found", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const { number } = yield* aSender()
      for (const id of ["999999", "x", "0", String(number.id)]) {
        const answer = yield* get(token, `${numbersPath}/${id}`)
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(errorBody(answer).code, "number_not_found")
      }
    }),
  )

  it.effect("a limited key sees only its numbers", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender()
      const other = yield* aNumber(workspace)
      const { key } = yield* aKey(workspace, { number_ids: [other.id] })
      assert.deepStrictEqual(
        (yield* listed(key)).map(({ id }) => id),
        [other.id],
      )
      assert.strictEqual((yield* get(key, `${numbersPath}/${number.id}`)).status, 404)
    }),
  )
})

layer(layerService())("the plan", (it) => {
  it.effect("without the QR code API answers plan_required, whatever the number", () =>
    Effect.gen(function* () {
      for (const lacking of [null, aPlan({ qr_code_api: false })]) {
        const { token } = yield* aToken({ plan: lacking })
        for (const json of [{}, { number_id: 999_999 }]) {
          const answer = yield* request(token, json)
          assert.strictEqual(answer.status, 403)
          assert.strictEqual(errorBody(answer).code, "plan_required")
        }
      }
    }),
  )

  it.effect("counts its numbers: connected, disconnected and connecting ones", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aToken({ plan: aPlan({ max_numbers: 3 }) })
      yield* aNumber(workspace)
      const idle = yield* aNumber(workspace, { status: "disconnected" })
      yield* connect(token)
      const full = yield* request(token)
      assert.strictEqual(full.status, 403)
      assert.strictEqual(errorBody(full).code, "number_limit_reached")
      // Reconnecting adds none.
      yield* connect(token, { number_id: idle.id })
      yield* operate({
        method: "DELETE",
        path: `/admin/v1/workspaces/${workspace.id}/numbers/${idle.id}`,
      })
      yield* connect(token)
    }),
  )

  it.effect("holds against concurrent requests", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken({ plan: aPlan({ max_numbers: 2 }) })
      const answers = yield* Effect.all(
        Array.from({ length: 6 }, () => request(token)),
        { concurrency: "unbounded" },
      )
      const created = answers.filter(({ status }) => status === 202)
      assert.lengthOf(created, 2)
      assert.lengthOf(yield* listed(token), 2)
    }),
  )
})

layer(layerService())("a test key", (it) => {
  it.effect("adds a number that links itself after 5 s and is seen by test keys only", () =>
    Effect.gen(function* () {
      const { token: live, workspace } = yield* aToken()
      const shared = yield* aNumber(workspace)
      const { key: test } = yield* aKey(workspace, { mode: "test" })
      const numberBody = yield* connect(test)
      assert.deepInclude(numberBody, { phone: null, status: "connecting", connect: null })
      assert.isNotNull(yield* scanned(yield* qrLink(test, numberBody.id)))
      assert.deepStrictEqual(
        (yield* listed(test)).map(({ id }) => id),
        [shared.id, numberBody.id],
      )
      assert.deepStrictEqual(
        (yield* listed(live)).map(({ id }) => id),
        [shared.id],
      )
      assert.strictEqual((yield* get(live, `${numbersPath}/${numberBody.id}`)).status, 404)
      assert.strictEqual(
        errorBody(yield* request(live, { number_id: numberBody.id })).code,
        "number_not_found",
      )

      yield* TestClock.adjust("4 seconds")
      assert.strictEqual((yield* read(test, numberBody.id)).status, "connecting")
      yield* TestClock.adjust("1 second")
      const linked = yield* until(test, numberBody.id, ({ status }) => status === "connected")
      assert.match(String(linked.phone), /^\d+$/)

      const from = { from: numberBody.id }
      assert.strictEqual((yield* send(test, from)).from.id, numberBody.id)
      const refused = yield* post(live, { to: { phone: "+15550001234" }, text: "Hello", ...from })
      assert.strictEqual(errorBody(refused).code, "number_not_found")
      // A live key still sees exactly one connected number.
      assert.strictEqual((yield* send(live)).from.id, shared.id)
    }),
  )

  it.effect("follows every rule, but leaves live numbers alone", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const { key } = yield* aKey(workspace, { mode: "test" })
      const connected = yield* aNumber(workspace)
      const idle = yield* aNumber(workspace, { status: "disconnected" })
      const already = yield* request(key, { number_id: connected.id })
      assert.strictEqual(errorBody(already).code, "already_connected")
      const refused = yield* request(key, { number_id: idle.id })
      assert.strictEqual(errorBody(refused).code, "number_not_found")
      assert.strictEqual((yield* read(key, idle.id)).status, "disconnected")
    }),
  )
})
