/** Conversations over HTTP: turning them on, and what a workspace may name and hears then. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { aKey, aSender, expectBody, operate, settle } from "../Records.ts"
import type { Created, PageBody } from "../Records.ts"
import { send } from "../v2/Asking.ts"
import {
  anEndpoint,
  ask,
  create,
  hook,
  layerWithWayOut,
  log,
  operatorPath,
  pass,
  redeliver,
  simulator,
} from "../webhooks/Asking.ts"
import { aReceiver, bodyOfDelivery, getTypes } from "../webhooks/Receiver.ts"

const at = (workspace: Created) => `/admin/v1/workspaces/${workspace.id}/conversations`

const turnOn = (workspace: Created, json: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(operate({ method: "PUT", path: at(workspace), json }), (answer) =>
    expectBody<Readonly<Record<string, unknown>>>(answer, 200),
  )

const turnOff = (workspace: Created) => operate({ method: "DELETE", path: at(workspace) })

const six = ["messages:send", "messages:read", "reminders", "numbers", "media", "contacts"]
const eight = [...six, "chats:read", "chats:write"]

const defaults = {
  groups: false,
  retention_days: 30,
  media: "on_arrival",
  max_file_bytes: 16_777_216,
  max_storage_bytes: 5_368_709_120,
  hold_new_chats: false,
}

const stored = { messages: 0, bytes: 0, oldest_at: null }

const control = (path: string, json?: unknown) =>
  Effect.map(operate({ method: "POST", path, json }), (answer) => expectBody(answer, 200))

layer(layerWithWayOut())("conversations", (it) => {
  it.effect("are off until they are put, and every field left out takes its default", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      const off = yield* operate({ path: at(workspace) })
      assert.strictEqual(errorBody(off).code, "conversations_not_enabled")
      assert.strictEqual(off.status, 404)
      const { since, ...first } = yield* turnOn(workspace)
      assert.deepStrictEqual(first, defaults)
      yield* pass(60)
      const second = yield* turnOn(workspace, { retention_days: 7, media: "off" })
      assert.deepStrictEqual(second, { ...defaults, retention_days: 7, media: "off", since })
      const read = expectBody(yield* operate({ path: at(workspace) }), 200)
      assert.deepStrictEqual(read, { ...second, stored })
      assert.deepStrictEqual(expectBody(yield* turnOff(workspace), 200), { deleted: true })
      assert.strictEqual((yield* turnOff(workspace)).status, 404)
    }),
  )

  it.effect("refuse what no setting can be, and change nothing", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      for (const [field, value] of [
        ["retention_days", 0],
        ["retention_days", 366],
        ["media", "never"],
        ["max_file_bytes", 104_857_601],
        ["max_storage_bytes", -1],
        ["groups", "yes"],
        ["unknown", 1],
      ] as const) {
        const answer = yield* operate({
          method: "PUT",
          path: at(workspace),
          json: { [field]: value },
        })
        assert.strictEqual(errorBody(answer).code, "validation_failed")
        assert.strictEqual(errorBody(answer).field, field)
        const range = typeof value === "number" ? /whole number(, 0 or more| from \d+ to \d+)/ : /./
        assert.match(errorBody(answer).message, field === "unknown" ? /./ : range)
      }
      assert.strictEqual((yield* operate({ path: at(workspace) })).status, 404)
    }),
  )

  it.effect("let keys made meanwhile name two scopes more, which are hidden while off", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const keys = `/admin/v1/workspaces/${workspace.id}/keys`
      const refused = yield* operate({
        method: "POST",
        path: keys,
        json: { version: 2, name: "Chats", scopes: ["chats:read"] },
      })
      assert.strictEqual(errorBody(refused).code, "validation_failed")
      yield* turnOn(workspace)
      const all = yield* aKey(workspace, { scopes: "all" })
      const own = (key: string) =>
        Effect.map(ask({ path: "/api/v2/me", token: key }), (answer) =>
          expectBody<{ readonly key: { readonly scopes: ReadonlyArray<string> } }>(answer, 200),
        )
      assert.deepStrictEqual((yield* own(all.key)).key.scopes, eight)
      assert.deepStrictEqual((yield* own(token)).key.scopes, six)
      yield* turnOff(workspace)
      assert.deepStrictEqual((yield* own(all.key)).key.scopes, six)
      const { data } = expectBody<PageBody<{ readonly scopes: ReadonlyArray<string> }>>(
        yield* operate({ path: keys }),
        200,
      )
      assert.deepStrictEqual(
        data.map(({ scopes }) => scopes),
        [six, six],
      )
    }),
  )

  it.effect("let endpoints name more events, which are unknown while off", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const events = ["number.connected", "message.read"]
      const unknown = yield* create(token, { ...hook, events: ["number.gone"] })
      const refused = yield* create(token, { ...hook, events })
      assert.deepStrictEqual(errorBody(refused).message, errorBody(unknown).message)
      yield* turnOn(workspace)
      const endpoint = expectBody<Created & { readonly events: ReadonlyArray<string> }>(
        yield* create(token, { ...hook, events }),
        201,
      )
      assert.deepStrictEqual(endpoint.events, events)
      const plain = expectBody<typeof endpoint>(yield* create(token, hook), 201)
      assert.lengthOf(plain.events, 4)
      assert.lengthOf((yield* log(workspace, endpoint, "?type=number.connected")).data, 0)
      yield* turnOff(workspace)
      const path = operatorPath(workspace, endpoint, "/deliveries?type=number.connected")
      assert.strictEqual(errorBody(yield* operate({ path })).code, "validation_failed")
    }),
  )

  it.effect("announce ticks, connections and pauses to those who name them, once each", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { number, token, workspace } = yield* aSender()
      yield* turnOn(workspace)
      yield* anEndpoint(token, receiver, {
        events: [
          "message.delivered",
          "message.read",
          "number.connected",
          "number.disconnected",
          "number.paused",
          "number.resumed",
        ],
      })
      const message = yield* send(token)
      yield* settle
      for (const status of ["delivered", "delivered", "read", "delivered"]) {
        yield* control(`${simulator}/messages/${message.id}/ticks`, { status })
      }
      const own = `/admin/v1/workspaces/${workspace.id}/numbers/${number.id}`
      yield* control(`${own}/pause`, {})
      yield* control(`${own}/resume`)
      yield* control(`${simulator}/numbers/${number.id}/logout`)
      yield* settle
      const inOrder = receiver.deliveries
        .map(bodyOfDelivery)
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      assert.sameMembers(
        [...getTypes(receiver)],
        [
          "message.delivered",
          "message.read",
          "number.paused",
          "number.resumed",
          "number.disconnected",
        ],
      )
      const read = inOrder.find(({ type }) => type === "message.read")
      assert.strictEqual(read?.data.message?.["id"], message.id)
      assert.strictEqual(read?.data.message?.["status"], "read")
      const disconnected = inOrder.find(({ type }) => type === "number.disconnected")
      assert.deepStrictEqual<unknown>(disconnected?.data, {
        number: {
          id: number.id,
          phone: number["phone"],
          platform: "whatsapp",
          status: "disconnected",
        },
        reason: "logged_out",
        since: disconnected?.created_at,
      })
    }),
  )

  it.effect("let a test phone read what a test key sends it, a second apart", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { workspace } = yield* aSender()
      yield* turnOn(workspace)
      const { key } = yield* aKey(workspace, { mode: "test" })
      yield* anEndpoint(key, receiver, { events: ["message.delivered", "message.read"] })
      const message = yield* send(key, { to: { phone: "+15005550002" } })
      for (const seconds of [0, 1, 1, 1]) yield* pass(seconds)
      const times = receiver.deliveries.map(bodyOfDelivery).map(({ created_at, data, type }) => {
        assert.strictEqual(data.message?.["id"], message.id)
        return [type, Date.parse(created_at) - Date.parse(String(message.created_at))]
      })
      assert.deepStrictEqual(times, [
        ["message.delivered", 1000],
        ["message.read", 2000],
      ])
    }),
  )

  it.effect("announce the end of a pause whose time is over", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { number, token, workspace } = yield* aSender()
      yield* turnOn(workspace)
      yield* anEndpoint(token, receiver, { events: ["number.paused", "number.resumed"] })
      const until = yield* Effect.map(send(token), ({ created_at }) =>
        new Date(Date.parse(String(created_at)) + 3_600_000).toISOString(),
      )
      yield* control(`/admin/v1/workspaces/${workspace.id}/numbers/${number.id}/pause`, { until })
      yield* pass(3590)
      assert.deepStrictEqual([...getTypes(receiver)], ["number.paused"])
      yield* pass(20)
      assert.deepStrictEqual([...getTypes(receiver)], ["number.paused", "number.resumed"])
    }),
  )

  it.effect("change nothing for endpoints of others, and announce nothing while off", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { number, token, workspace } = yield* aSender()
      yield* turnOn(workspace)
      yield* anEndpoint(token, receiver)
      yield* anEndpoint(token, receiver, { events: ["message.read"] })
      yield* turnOff(workspace)
      const message = yield* send(token)
      yield* settle
      yield* control(`${simulator}/messages/${message.id}/ticks`, { status: "read" })
      yield* control(`${simulator}/numbers/${number.id}/logout`)
      yield* settle
      assert.deepStrictEqual([...getTypes(receiver)], ["message.sent"])
    }),
  )

  it.effect("leave nothing of their events in logs and redeliveries once they are off", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { number, token, workspace } = yield* aSender()
      yield* turnOn(workspace)
      const endpoint = yield* anEndpoint(token, receiver, {
        events: ["message.sent", "number.paused"],
      })
      yield* send(token)
      yield* control(`/admin/v1/workspaces/${workspace.id}/numbers/${number.id}/pause`, {})
      yield* settle
      const logged = (yield* log(workspace, endpoint)).data
      assert.sameMembers(
        logged.map(({ type }) => type),
        ["number.paused", "message.sent"],
      )
      const [paused, sent] = ["number.paused", "message.sent"].map((name) =>
        logged.find(({ type }) => type === name),
      )
      yield* turnOff(workspace)
      assert.deepStrictEqual((yield* log(workspace, endpoint)).data, sent && [sent])
      const detail = (delivery: { readonly id: number } | undefined) =>
        operate({ path: operatorPath(workspace, endpoint, `/deliveries/${delivery?.id}`) })
      assert.strictEqual((yield* detail(sent)).status, 200)
      assert.strictEqual(errorBody(yield* detail(paused)).code, "delivery_not_found")
      const again = yield* redeliver(workspace, endpoint, paused?.event_id)
      assert.strictEqual(errorBody(again).code, "event_not_found")
      yield* turnOn(workspace)
      assert.lengthOf((yield* log(workspace, endpoint)).data, 2)
      assert.strictEqual((yield* redeliver(workspace, endpoint, paused?.event_id)).status, 202)
    }),
  )
})
