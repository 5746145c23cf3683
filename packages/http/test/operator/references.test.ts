/** References of messages: the operator gives and reads them, and keys and webhooks never do. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aSender, aText, expectBody, operate } from "../Records.ts"
import type { Created } from "../Records.ts"

interface View extends Created {
  readonly reference?: string | null
  readonly transport_id?: string | null
}

const reference = "order 4711"
const key = (text: string) => [["idempotency-key", text] as const]

describe("a message's reference", () => {
  layer(layerService())("in the operator's answers", (it) => {
    it.effect("is shown wherever an operator reads or cancels the message, and filters", () =>
      Effect.gen(function* () {
        const { workspace } = yield* aSender()
        const path = `/admin/v1/workspaces/${workspace.id}/messages`
        const sendAt = new Date(Date.UTC(2100, 0, 1)).toISOString()
        const json = { ...aText, send_at: sendAt, reference }
        const sent = expectBody<View>(yield* operate({ method: "POST", path, json }), 202)
        assert.strictEqual(sent.reference, reference)
        assert.match(sent.transport_id ?? "", /^[0-9A-F]{20}$/)
        const plain = expectBody<View>(yield* operate({ method: "POST", path, json: aText }), 202)
        assert.isNull(plain.reference)
        const batch = { ...aText, to: [aText.to, aText.to], reference: "spring" }
        const request = { method: "POST", path: `${path}/batch`, json: batch }
        const { data } = expectBody<{ readonly data: ReadonlyArray<View> }>(
          yield* operate(request),
          202,
        )
        assert.deepStrictEqual(
          data.map((one) => one.reference),
          ["spring", "spring"],
        )
        const listed = yield* operate({ path: `${path}?reference=order%204711` })
        assert.deepStrictEqual(expectBody<unknown>(listed, 200), {
          data: [sent],
          next_cursor: null,
        })
        const read = yield* operate({ path: `${path}/${sent.id}` })
        assert.deepStrictEqual(expectBody<unknown>(read, 200), sent)
        const cancelled = yield* operate({ method: "DELETE", path: `${path}/${sent.id}` })
        assert.deepStrictEqual(expectBody<unknown>(cancelled, 200), {
          ...sent,
          status: "cancelled",
        })
      }),
    )

    it.effect("makes a repeat another request when it differs", () =>
      Effect.gen(function* () {
        const { workspace } = yield* aSender()
        const path = `/admin/v1/workspaces/${workspace.id}/messages`
        const send = (json: unknown) =>
          operate({ method: "POST", path, json, headers: key("order 4711") })
        const first = expectBody<unknown>(yield* send({ ...aText, reference }), 202)
        const again = yield* send({ ...aText, reference })
        assert.deepStrictEqual(expectBody<unknown>(again, 202), first)
        assert.strictEqual(again.headers["idempotent-replayed"], "true")
        for (const json of [aText, { ...aText, reference: "order 4712" }]) {
          assert.strictEqual(errorBody(yield* send(json)).code, "idempotency_key_reused")
        }
      }),
    )

    it.effect("is unknown to version 2: given, asked by and shown", () =>
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        const { socket } = yield* HttpTestClients
        const path = "/api/v2/messages"
        const json = { ...aText, reference }
        for (const call of [
          { method: "POST", path, json },
          { method: "POST", path: `${path}/batch`, json: { ...json, to: [aText.to] } },
          { path: `${path}?reference=x` },
        ]) {
          const { code, field } = errorBody(yield* socket.call({ ...call, token }))
          assert.deepStrictEqual([code, field], ["validation_failed", "reference"])
        }
        const at = `/admin/v1/workspaces/${workspace.id}/messages`
        const { id } = expectBody<View>(yield* operate({ method: "POST", path: at, json }), 202)
        const shown = yield* socket.call({ path: `${path}/${id}`, token })
        assert.doesNotHaveAnyKeys(expectBody<object>(shown, 200), ["reference", "transport_id"])
      }),
    )
  })
})
