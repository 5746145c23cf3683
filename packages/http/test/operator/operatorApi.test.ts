import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aContact, aSender, aText, aWorkspace, expectBody, operate } from "../Records.ts"
import type { Created, MessageBody, PageBody } from "../Records.ts"

const root = "/admin/v1/workspaces"

layer(layerService())("workspaces", (it) => {
  it.effect("are created, read, changed and deleted", () =>
    Effect.gen(function* () {
      const created = yield* operate({ method: "POST", path: root, json: { name: "Shop" } })
      const { id } = expectBody<Created>(created, 201)
      const workspace = {
        id,
        name: "Shop",
        client_id: id,
        demo: false,
        account_disabled: false,
        api_v2_enabled: true,
        plan: {
          name: "Unlimited",
          messages_remaining: null,
          reminders: true,
          qr_code_api: true,
          max_numbers: null,
          media_storage_bytes: 1_073_741_824,
        },
        retention_days: null,
        created_at: "1970-01-01T00:00:00Z",
      }
      assert.deepStrictEqual(created.body, workspace)
      assert.deepStrictEqual((yield* operate({ path: `${root}/${id}` })).body, workspace)

      const changed = yield* operate({
        method: "PATCH",
        path: `${root}/${id}`,
        json: { name: "Store", plan: null, demo: true, retention_days: 3650 },
      })
      assert.deepStrictEqual(expectBody(changed, 200), {
        ...workspace,
        name: "Store",
        plan: null,
        demo: true,
        retention_days: 3650,
      })
      const deleted = yield* operate({ method: "DELETE", path: `${root}/${id}` })
      assert.deepStrictEqual(expectBody(deleted, 200), { id, deleted: true })
    }),
  )
})

layer(layerService())("keys", (it) => {
  it.effect("show themselves once, work, and stop at once when revoked", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const workspace = yield* aWorkspace()
      const path = `${root}/${workspace.id}/keys`
      const created = yield* operate({
        method: "POST",
        path,
        json: { version: 2, name: "Till", scopes: ["contacts", "messages:send"] },
      })
      const { key, ...shown } = expectBody<Created & { readonly key: string }>(created, 201)
      assert.match(key, /^svc_live_[0-9A-Za-z]{38}$/)
      assert.deepStrictEqual<object>(shown, {
        id: shown.id,
        version: 2,
        name: "Till",
        mode: "live",
        scopes: ["messages:send", "contacts"],
        limited_to_numbers: false,
        number_ids: [],
        expires_at: null,
        last4: key.slice(-4),
        created_at: "1970-01-01T00:00:00Z",
        last_used_at: null,
        last_used_ip: null,
        revoked_at: null,
      })
      const listed = yield* operate({ path })
      assert.deepStrictEqual(expectBody(listed, 200), { data: [shown] })
      assert.notInclude(listed.text, key)

      assert.strictEqual((yield* socket.call({ path: "/api/v2/me", token: key })).status, 200)
      const revoked = yield* operate({ method: "DELETE", path: `${path}/${shown.id}` })
      assert.deepStrictEqual(expectBody(revoked, 200), { id: shown.id, revoked: true })
      const answer = yield* socket.call({ path: "/api/v2/me", token: key })
      assert.strictEqual(errorBody(answer).code, "api_key_revoked")
    }),
  )
})

layer(layerService())("numbers and contacts", (it) => {
  it.effect("a number is added, labelled and removed with its waiting messages", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { number, token, workspace } = yield* aSender()
      const path = `${root}/${workspace.id}/numbers`
      const shown = {
        id: number.id,
        phone: number.phone,
        label: "",
        platform: "whatsapp",
        status: "connected",
        login_method: "qr",
        connect: null,
      }
      assert.deepStrictEqual((yield* operate({ path })).body, { data: [shown] })
      const labelled = yield* operate({
        method: "PATCH",
        path: `${path}/${number.id}`,
        json: { label: "Front desk" },
      })
      assert.deepStrictEqual(expectBody(labelled, 200), {
        ...shown,
        label: "Front desk",
        pacing: {
          min_interval_ms: null,
          jitter_ms: null,
          per_minute: null,
          per_hour: null,
          new_recipients_per_day: null,
        },
        proxy: null,
      })

      const sent = yield* socket.call({
        method: "POST",
        path: "/api/v2/messages",
        token,
        json: { ...aText, send_at: "1970-01-02T00:00:00Z" },
      })
      const { id } = expectBody<MessageBody>(sent, 202)
      const removed = yield* operate({ method: "DELETE", path: `${path}/${number.id}` })
      assert.deepStrictEqual(expectBody(removed, 200), { id: number.id, deleted: true })
      const message = yield* socket.call({ path: `/api/v2/messages/${id}`, token })
      assert.strictEqual(expectBody<MessageBody>(message, 200).status, "cancelled")
    }),
  )

  it.effect("contacts are added, listed in pages and deleted", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const path = `${root}/${workspace.id}/contacts`
      const phone = yield* aContact(workspace, { name: "Ann", phone: "+1 555-000-7777" })
      const user = yield* aContact(workspace, { name: "Bob", username: "@bob_b" })
      const first = yield* operate({ path: `${path}?limit=1` })
      const { data, next_cursor } = expectBody<PageBody<Created>>(first, 200)
      assert.deepStrictEqual<ReadonlyArray<object>>(data, [
        {
          id: user.id,
          name: "Bob",
          phone: null,
          username: "@bob_b",
          created_at: "1970-01-01T00:00:00Z",
        },
      ])
      const second = yield* operate({ path: `${path}?cursor=${next_cursor}` })
      assert.deepStrictEqual(second.body, {
        data: [{ ...phone, name: "Ann", phone: "+15550007777", username: null }],
        next_cursor: null,
      })
      const deleted = yield* operate({ method: "DELETE", path: `${path}/${user.id}` })
      assert.deepStrictEqual(expectBody(deleted, 200), { id: user.id, deleted: true })
    }),
  )
})
