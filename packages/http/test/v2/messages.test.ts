import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Doors, errorOf } from "../Doors.ts"
import { layerService } from "../Service.ts"
import {
  aContact,
  aKey,
  aNumber,
  aSender,
  aText,
  aWorkspace,
  bodyOf,
  operate,
  settle,
} from "../Records.ts"
import type { MessageBody, PageBody } from "../Records.ts"
import { anHourLater, cancel, get, idsOf, list, path, post, send } from "./Asking.ts"

layer(layerService())("GET /me", (it) => {
  it.effect("shows the key, its workspace, plan and limits", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace({
        name: "Shop",
        plan: {
          name: "Basic",
          messages_remaining: 7,
          reminders: false,
          qr_code_api: false,
          max_numbers: 1,
          media_storage_bytes: 0,
        },
      })
      const number = yield* aNumber(workspace)
      const key = yield* aKey(workspace, {
        name: "Till",
        mode: "test",
        scopes: ["messages:read", "messages:send"],
        number_ids: [number.id],
        expires_in: "30d",
      })
      const answer = yield* get(key.key, "/api/v2/me")
      assert.deepStrictEqual(bodyOf(answer, 200), {
        workspace: { id: workspace.id, name: "Shop" },
        key: {
          id: key.id,
          name: "Till",
          mode: "test",
          scopes: ["messages:send", "messages:read"],
          limited_to_numbers: true,
          number_ids: [number.id],
          expires_at: "1970-01-31T00:00:00Z",
        },
        plan: { name: "Basic" },
        limits: {
          requests_per_minute: 60,
          requests_per_day: 10_000,
          messages_per_number_per_day: 1000,
          messages_remaining: 7,
        },
      })
    }),
  )

  it.effect("works with any scope, and without a plan", () =>
    Effect.gen(function* () {
      const { key } = yield* aKey(yield* aWorkspace({ plan: null }), { scopes: ["contacts"] })
      const answer = yield* get(key, "/api/v2/me")
      assert.deepInclude(bodyOf<object>(answer, 200), { plan: null })
    }),
  )
})

layer(layerService())("the message operations", (it) => {
  it.effect("POST answers 202 with the whole Message, which GET shows again", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender({ number: { status: "disconnected" } })
      const sent = yield* send(token, { from: number.id })
      assert.deepStrictEqual(sent, {
        id: sent.id,
        status: "queued",
        from: { id: number.id, phone: number.phone, platform: "whatsapp" },
        to: { phone: "+15550001234", contact_id: null },
        text: "Hello",
        media: null,
        send_at: null,
        expires_at: null,
        created_at: "1970-01-01T00:00:00Z",
        sent_at: null,
        error: null,
      })
      assert.deepStrictEqual(bodyOf(yield* get(token, `${path}/${sent.id}`), 200), sent)
    }),
  )

  it.effect("the running worker sends a message", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { id } = yield* send(token)
      yield* settle
      const answer = yield* get(token, `${path}/${id}`)
      assert.strictEqual(bodyOf<MessageBody>(answer, 200).status, "sent")
    }),
  )

  it.effect("POST batch answers 202 with data in the order of to", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const contact = yield* aContact(workspace, { phone: "+15550009999" })
      const answer = yield* post(
        token,
        {
          to: [{ group: "Team" }, { phone: "+15550000001" }, { contact_id: contact.id }],
          text: "Hi",
        },
        `${path}/batch`,
      )
      const { data } = bodyOf<PageBody<MessageBody>>(answer, 202)
      assert.deepStrictEqual(Object.keys(answer.body as object), ["data"])
      assert.deepStrictEqual(
        data.map(({ to }) => to),
        [
          { group: "Team" },
          { phone: "+15550000001", contact_id: null },
          { contact_id: contact.id, phone: "+15550009999" },
        ],
      )
    }),
  )

  it.effect("one bad recipient queues nothing, and field names it", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const answer = yield* post(
        token,
        { to: [aText.to, { phone: "0171" }], text: "Hi" },
        `${path}/batch`,
      )
      assert.strictEqual(answer.status, 422)
      assert.deepInclude(errorOf(answer), { code: "invalid_phone", field: "to[1].phone" })
      assert.deepStrictEqual(idsOf(yield* list(token)), [])
    }),
  )

  it.effect("DELETE cancels a waiting message and answers with it, once", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { id } = yield* send(token, { send_at: anHourLater })
      const cancelled = yield* cancel(token, id)
      assert.deepInclude(bodyOf<object>(cancelled, 200), { id, status: "cancelled" })
      const again = yield* cancel(token, id)
      assert.strictEqual(again.status, 409)
      assert.deepInclude(errorOf(again), { code: "not_cancellable", status: "cancelled" })
    }),
  )

  it.effect("a scope allows its own operations only", () =>
    Effect.gen(function* () {
      const { socket } = yield* Doors
      const { workspace } = yield* aSender()
      const sender = yield* aKey(workspace, { scopes: ["messages:send"] })
      const reader = yield* aKey(workspace, { scopes: ["messages:read"] })
      const { id } = yield* send(sender.key, { send_at: anHourLater })
      for (const [method, at, allowed] of [
        ["POST", path, "send"],
        ["POST", `${path}/batch`, "send"],
        ["DELETE", `${path}/${id}`, "send"],
        ["GET", path, "read"],
        ["GET", `${path}/${id}`, "read"],
      ] as const) {
        const refused = allowed === "send" ? reader : sender
        const answer = yield* socket.call({ method, path: at, token: refused.key })
        assert.strictEqual(answer.status, 403, `${method} ${at}`)
        assert.deepInclude(errorOf(answer), {
          code: "missing_scope",
          required_scope: `messages:${allowed}`,
        })
      }
    }),
  )

  it.effect("another workspace's message is as unknown as one that never existed", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { id } = yield* send(token, { send_at: anHourLater })
      const stranger = yield* aSender()
      const other = yield* get(stranger.token, `${path}/${id}`)
      const never = yield* get(stranger.token, `${path}/999999999`)
      assert.strictEqual(other.status, 404)
      assert.strictEqual(errorOf(other).code, "message_not_found")
      const { request_id: _, ...known } = errorOf(other)
      const { request_id: __, ...unknown } = errorOf(never)
      assert.deepStrictEqual(known, unknown)
      assert.strictEqual((yield* cancel(stranger.token, id)).status, 404)
    }),
  )
})

layer(layerService())("a key limited to some numbers", (it) => {
  it.effect("sends from, lists, reads and cancels only theirs", () =>
    Effect.gen(function* () {
      const { number: mine, token, workspace } = yield* aSender()
      const other = yield* aNumber(workspace)
      const { key: limited } = yield* aKey(workspace, { number_ids: [mine.id] })
      const later = { send_at: anHourLater }
      const hidden = yield* send(token, { ...later, from: other.id })
      const shown = yield* send(limited, { ...later, from: mine.id })

      const refused = yield* post(limited, { ...aText, from: other.id })
      assert.strictEqual(refused.status, 403)
      assert.deepInclude(errorOf(refused), { code: "number_not_allowed", field: "from" })
      const unknown = yield* post(limited, { ...aText, from: 999_999 })
      assert.strictEqual(errorOf(unknown).code, "number_not_found")

      assert.deepStrictEqual(idsOf(yield* list(limited)), [shown.id])
      assert.deepStrictEqual(idsOf(yield* list(limited, `?from=${other.id}`)), [])
      assert.strictEqual((yield* get(limited, `${path}/${hidden.id}`)).status, 404)
      assert.strictEqual((yield* cancel(limited, hidden.id)).status, 404)
      assert.strictEqual((yield* cancel(limited, shown.id)).status, 200)
    }),
  )
})

layer(layerService())("a test key", (it) => {
  it.effect("sends nothing, even from a logged-out number, and sees only its own mode", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender({ number: { status: "disconnected" } })
      const { key: test } = yield* aKey(workspace, { mode: "test" })
      const live = yield* send(token, { from: number.id })
      const sent = yield* send(test, { from: number.id })
      const failing = yield* send(test, { from: number.id, to: { phone: "+15005550001" } })
      assert.strictEqual(sent.status, "queued")
      yield* settle

      const page = yield* list(test)
      assert.deepStrictEqual(
        page.data.map(({ id, status }) => [id, status]),
        [
          [failing.id, "failed"],
          [sent.id, "sent"],
        ],
      )
      assert.deepStrictEqual(idsOf(yield* list(token)), [live.id])
      assert.strictEqual((yield* get(test, `${path}/${live.id}`)).status, 404)
      assert.strictEqual((yield* get(token, `${path}/${sent.id}`)).status, 404)
      const left = yield* operate({ path: `/admin/v1/simulator/sent?number_id=${number.id}` })
      assert.deepStrictEqual(bodyOf<PageBody<object>>(left, 200).data, [])
    }),
  )
})
