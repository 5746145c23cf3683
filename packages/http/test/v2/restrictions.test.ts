/** What WhatsApp lets numbers do with new chats, over HTTP. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { aKey, aListener, aNumber, aSender, expectBody, operate, settle } from "../Records.ts"
import type { Created } from "../Records.ts"
import { anEndpoint, ask, layerWithWayOut, pass, simulator } from "../webhooks/Asking.ts"
import { aReceiver, bodyOfDelivery } from "../webhooks/Receiver.ts"
import { get, inWorkspace, write } from "./Received.ts"

const path = (id: number) => `/api/v2/numbers/${id}/restrictions`

const getCode = (token: string, at: string, method = "GET") =>
  Effect.map(ask({ method, path: at, token }), (answer) => [answer.status, errorBody(answer).code])

type Known = Readonly<Record<string, unknown>>

/** In whole seconds of the service's time. */
const inHours = (hours: number) =>
  Effect.map(operate({ path: `${simulator}/clock` }), (answer) => {
    const { now } = expectBody<{ readonly now: string }>(answer, 200)
    return `${new Date(Date.parse(now) + hours * 3_600_000).toISOString().slice(0, 19)}Z`
  })

layer(layerWithWayOut())("restrictions", (it) => {
  it.effect("are an unknown path while conversations are off", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender()
      const nowhere = [404, "not_found"]
      assert.deepStrictEqual(yield* getCode(token, path(number.id)), nowhere)
      yield* aListener()
      assert.deepStrictEqual(yield* getCode(token, path(number.id)), nowhere)
      const answer = yield* operate({
        path: inWorkspace(workspace, `numbers/${number.id}/restrictions`),
      })
      assert.strictEqual(errorBody(answer).code, "conversations_not_enabled")
      // The paths of numbers around it stay as they are.
      expectBody(yield* ask({ path: `/api/v2/numbers/${number.id}`, token }), 200)
      assert.deepStrictEqual(yield* getCode(token, `/api/v2/numbers/${number.id}/others`), nowhere)
    }),
  )

  it.effect("are unknown until WhatsApp was asked, for keys and operators", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aListener()
      const unknown = {
        number_id: number.id,
        state: "unknown",
        until: null,
        reason: null,
        new_chats: null,
        checked_at: null,
      }
      assert.deepStrictEqual<unknown>(yield* get(token, path(number.id)), unknown)
      const answer = yield* operate({
        path: inWorkspace(workspace, `numbers/${number.id}/restrictions`),
      })
      assert.deepStrictEqual<unknown>(expectBody(answer, 200), unknown)
      assert.deepStrictEqual(yield* getCode(token, path(number.id), "POST"), [
        405,
        "method_not_allowed",
      ])
    }),
  )

  it.effect("are seen by keys with the scope numbers, of their own numbers", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aListener()
      const other = yield* aNumber(workspace)
      const limited = yield* aKey(workspace, { scopes: ["numbers"], number_ids: [other.id] })
      assert.strictEqual((yield* ask({ path: path(other.id), token: limited.key })).status, 200)
      const missing = [404, "number_not_found"]
      assert.deepStrictEqual(yield* getCode(limited.key, path(number.id)), missing)
      const foreign = (yield* aListener()).number
      assert.deepStrictEqual(yield* getCode(token, path(foreign.id)), missing)
      const reader = yield* aKey(workspace, { scopes: ["messages:read"] })
      assert.deepStrictEqual(yield* getCode(reader.key, path(number.id)), [403, "missing_scope"])
    }),
  )

  it.effect("close new chats to people who never wrote, until their end, and tell of it", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { number, token } = yield* aListener()
      const events = ["number.restricted", "number.unrestricted"]
      yield* anEndpoint(token, receiver, { events })
      const [friend, writer, stranger] = ["+15550001230", "+15550001231", "+15550001232"]
      const sendTo = (phone: string) =>
        Effect.gen(function* () {
          const json = { to: { phone }, text: "Hello" }
          const answer = yield* ask({ method: "POST", path: "/api/v2/messages", token, json })
          const { id } = expectBody<Created>(answer, 202)
          yield* settle
          const { error, status } = yield* get<{
            readonly status: string
            readonly error: { readonly message: string } | null
          }>(token, `/api/v2/messages/${id}`)
          return [status, error?.message.includes("463") ?? false]
        })
      assert.deepStrictEqual(yield* sendTo(friend), ["sent", false])
      yield* write(number, { from: { phone: writer } })
      const end = yield* inHours(2)
      const restricted = yield* operate({
        method: "PUT",
        path: `${simulator}/numbers/${number.id}/restrictions`,
        json: { new_chats_closed_until: end, limit: 10, used: 10 },
      })
      const known = expectBody<Known>(restricted, 200)
      assert.deepInclude(known, {
        state: "new_chats_closed",
        until: end,
        reason: "DEFAULT",
        new_chats: { limit: 10, used: 10, resets_at: null, warning: "capped" },
      })
      assert.deepStrictEqual<unknown>(yield* get(token, path(number.id)), known)
      assert.deepStrictEqual(yield* sendTo(stranger), ["failed", true])
      assert.deepStrictEqual(yield* sendTo(friend), ["sent", false])
      assert.deepStrictEqual(yield* sendTo(writer), ["sent", false])
      yield* pass(2 * 3600)
      yield* settle
      assert.deepInclude(yield* get(token, path(number.id)), { state: "none", until: null })
      assert.deepStrictEqual(yield* sendTo(stranger), ["sent", false])
      const announced = receiver.deliveries.map(bodyOfDelivery)
      assert.deepStrictEqual(
        announced.map(({ type }) => type),
        events,
      )
      assert.deepStrictEqual<unknown>(announced[0]?.data, {
        number: {
          id: number.id,
          phone: (yield* get<Known>(token, `/api/v2/numbers/${number.id}`))["phone"],
          platform: "whatsapp",
          status: "connected",
        },
        restrictions: known,
      })
    }),
  )
})
