import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Doors, errorOf } from "../Doors.ts"
import type { Call } from "../Doors.ts"
import { layerService, operatorToken } from "../Service.ts"
import { aContact, aKey, aNumber, aSender, aText, aWorkspace, bodyOf, operate } from "../World.ts"
import type { Made, MessageBody, PageBody } from "../World.ts"

const root = "/admin/v1/workspaces"
const jsonType = ["content-type", "application/json"] as const
const acting = (role: string) => [["Acting-Role", role]] as const

describe("the order of the operator's checks", () => {
  const wrongThroughout: Call = {
    method: "POST",
    path: root,
    headers: [...acting("king"), ["content-type", "text/plain"]],
    body: "x".repeat(1_048_577),
  }

  const cases: ReadonlyArray<readonly [what: string, Call, number, string]> = [
    ["an unknown path", { ...wrongThroughout, path: "/admin/v1/x" }, 404, "not_found"],
    ["a wrong method", { ...wrongThroughout, method: "PUT" }, 405, "method_not_allowed"],
    ["no token", wrongThroughout, 401, "missing_operator_token"],
    ["a wrong token", { ...wrongThroughout, token: "x" }, 401, "invalid_operator_token"],
    ["an unknown role", { ...wrongThroughout, token: operatorToken }, 400, "validation_failed"],
    [
      "a wrong content type",
      { ...wrongThroughout, token: operatorToken, headers: [["content-type", "text/plain"]] },
      415,
      "unsupported_content_type",
    ],
    [
      "a large body",
      { ...wrongThroughout, token: operatorToken, headers: [jsonType] },
      413,
      "request_too_large",
    ],
    [
      "wrong JSON",
      { ...wrongThroughout, token: operatorToken, headers: [jsonType], body: "{" },
      400,
      "invalid_json",
    ],
    [
      "a role that may not",
      {
        method: "POST",
        path: root,
        token: operatorToken,
        headers: acting("member"),
        json: { name: 7 },
      },
      403,
      "role_required",
    ],
    [
      "an unknown field",
      { method: "POST", path: root, token: operatorToken, json: { name: "a", colour: "red" } },
      400,
      "validation_failed",
    ],
  ]

  layer(layerService())((it) => {
    for (const [what, call, status, code] of cases) {
      it.effect(`${what}, with everything later wrong, is ${code}`, () =>
        Effect.gen(function* () {
          const { socket, web } = yield* Doors
          for (const door of [socket, web]) {
            const answer = yield* door.call(call)
            assert.strictEqual(answer.status, status, answer.text)
            assert.strictEqual(errorOf(answer).code, code)
            assert.notProperty(answer.headers, "ratelimit-limit")
          }
        }),
      )
    }

    it.effect("the header that names the role is named by the error", () =>
      Effect.gen(function* () {
        for (const role of ["king", "", "Owner", "owner, member"]) {
          const answer = yield* operate({ path: root, headers: acting(role) })
          assert.deepInclude(errorOf(answer), { code: "validation_failed", field: "Acting-Role" })
        }
      }),
    )
  })
})

describe("workspaces", () => {
  layer(layerService())((it) => {
    it.effect("are made, read, changed and deleted", () =>
      Effect.gen(function* () {
        const made = yield* operate({ method: "POST", path: root, json: { name: "Shop" } })
        const { id } = bodyOf<Made>(made, 201)
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
          created_at: "1970-01-01T00:00:00Z",
        }
        assert.deepStrictEqual(made.body, workspace)
        assert.deepStrictEqual((yield* operate({ path: `${root}/${id}` })).body, workspace)

        const changed = yield* operate({
          method: "PATCH",
          path: `${root}/${id}`,
          json: { name: "Store", plan: null, demo: true },
        })
        assert.deepStrictEqual(bodyOf(changed, 200), {
          ...workspace,
          name: "Store",
          plan: null,
          demo: true,
        })

        const deleted = yield* operate({ method: "DELETE", path: `${root}/${id}` })
        assert.deepStrictEqual(bodyOf(deleted, 200), { id, deleted: true })
        for (const method of ["GET", "DELETE"]) {
          const gone = yield* operate({ method, path: `${root}/${id}` })
          assert.strictEqual(gone.status, 404)
          assert.strictEqual(errorOf(gone).code, "workspace_not_found")
        }
      }),
    )

    it.effect("a deleted one stops its keys and cancels what waits", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        const { token, workspace } = yield* aSender()
        yield* socket.call({
          method: "POST",
          path: "/api/v2/messages",
          token,
          json: { ...aText, send_at: "1970-01-02T00:00:00Z" },
        })
        yield* operate({ method: "DELETE", path: `${root}/${workspace.id}` })
        const answer = yield* socket.call({ path: "/api/v2/me", token })
        assert.strictEqual(errorOf(answer).code, "api_key_revoked")
      }),
    )

    it.effect("are listed newest first, in pages", () =>
      Effect.gen(function* () {
        const { id: older } = yield* aWorkspace()
        const { id: newer } = yield* aWorkspace()
        const first = bodyOf<PageBody<Made>>(yield* operate({ path: `${root}?limit=1` }), 200)
        assert.deepStrictEqual(
          first.data.map(({ id }) => id),
          [newer],
        )
        const second = yield* operate({ path: `${root}?limit=1&cursor=${first.next_cursor}` })
        assert.deepStrictEqual(
          bodyOf<PageBody<Made>>(second, 200).data.map(({ id }) => id),
          [older],
        )
        for (const [query, code] of [
          ["?limit=0", "validation_failed"],
          ["?name=x", "validation_failed"],
          ["?limit=1&limit=2", "validation_failed"],
          ["?cursor=x", "invalid_cursor"],
        ] as const) {
          assert.strictEqual(errorOf(yield* operate({ path: `${root}${query}` })).code, code)
        }
      }),
    )
  })
})

describe("keys", () => {
  layer(layerService())((it) => {
    it.effect("show themselves once, work, and stop at once when revoked", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        const workspace = yield* aWorkspace()
        const path = `${root}/${workspace.id}/keys`
        const made = yield* operate({
          method: "POST",
          path,
          json: { version: 2, name: "Till", scopes: ["contacts", "messages:send"] },
        })
        const { key, ...shown } = bodyOf<Made & { readonly key: string }>(made, 201)
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
        assert.deepStrictEqual(bodyOf(listed, 200), { data: [shown] })
        assert.notInclude(listed.text, key)

        assert.strictEqual((yield* socket.call({ path: "/api/v2/me", token: key })).status, 200)
        const revoked = yield* operate({ method: "DELETE", path: `${path}/${shown.id}` })
        assert.deepStrictEqual(bodyOf(revoked, 200), { id: shown.id, revoked: true })
        const answer = yield* socket.call({ path: "/api/v2/me", token: key })
        assert.strictEqual(errorOf(answer).code, "api_key_revoked")
      }),
    )

    it.effect("of version 1 have no choices, and are deleted", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const path = `${root}/${workspace.id}/keys`
        const made = yield* operate({ method: "POST", path, json: { version: 1 } })
        const { id, key } = bodyOf<Made & { readonly key: string }>(made, 201)
        assert.match(key, /^[0-9a-f]{40}$/)
        const named = yield* operate({ method: "POST", path, json: { version: 1, name: "x" } })
        assert.deepInclude(errorOf(named), { code: "validation_failed", field: "name" })
        const deleted = yield* operate({ method: "DELETE", path: `${path}/${id}` })
        assert.deepStrictEqual(bodyOf(deleted, 200), { id, deleted: true })
      }),
    )

    it.effect("an 11th that counts is key_limit_reached; a revoked one does not count", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const path = `${root}/${workspace.id}/keys`
        const first = yield* aKey(workspace, { expires_in: "30d" })
        for (let count = 2; count <= 10; count++) yield* aKey(workspace)
        const eleventh = yield* operate({ method: "POST", path, json: { version: 2, name: "11" } })
        assert.strictEqual(eleventh.status, 403)
        assert.strictEqual(errorOf(eleventh).code, "key_limit_reached")
        assert.include(errorOf(eleventh).message, "10")
        yield* operate({ method: "DELETE", path: `${path}/${first.id}` })
        yield* aKey(workspace)
      }),
    )
  })
})

describe("numbers and contacts", () => {
  layer(layerService())((it) => {
    it.effect("a number is added, labelled and removed with what waits on it", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
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
        assert.deepStrictEqual(bodyOf(labelled, 200), { ...shown, label: "Front desk" })

        const sent = yield* socket.call({
          method: "POST",
          path: "/api/v2/messages",
          token,
          json: { ...aText, send_at: "1970-01-02T00:00:00Z" },
        })
        const { id } = bodyOf<MessageBody>(sent, 202)
        const removed = yield* operate({ method: "DELETE", path: `${path}/${number.id}` })
        assert.deepStrictEqual(bodyOf(removed, 200), { id: number.id, deleted: true })
        const message = yield* socket.call({ path: `/api/v2/messages/${id}`, token })
        assert.strictEqual(bodyOf<MessageBody>(message, 200).status, "cancelled")
      }),
    )

    it.effect("contacts are added, listed in pages and deleted", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const path = `${root}/${workspace.id}/contacts`
        const phone = yield* aContact(workspace, { name: "Ann", phone: "+1 555-000-7777" })
        const user = yield* aContact(workspace, { name: "Bob", username: "@bob_b" })
        const first = yield* operate({ path: `${path}?limit=1` })
        const { data, next_cursor } = bodyOf<PageBody<Made>>(first, 200)
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
        assert.deepStrictEqual(bodyOf(deleted, 200), { id: user.id, deleted: true })
      }),
    )

    it.effect("what a path names must be there, and in that workspace", () =>
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const stranger = yield* aSender()
        const contact = yield* aContact(workspace, { phone: "+15550007778" })
        const own = `${root}/${stranger.workspace.id}`
        const body = { json: { label: "x" } }
        for (const [method, path, code, given] of [
          ["GET", `${root}/999999/keys`, "workspace_not_found", {}],
          ["GET", `${root}/999999/numbers`, "workspace_not_found", {}],
          ["GET", `${root}/x/contacts`, "workspace_not_found", {}],
          ["DELETE", `${own}/keys/999999`, "key_not_found", {}],
          ["DELETE", `${own}/keys/x`, "key_not_found", {}],
          ["PATCH", `${own}/numbers/${number.id}`, "number_not_found", body],
          ["DELETE", `${own}/numbers/${number.id}`, "number_not_found", {}],
          ["DELETE", `${own}/contacts/${contact.id}`, "contact_not_found", {}],
          ["DELETE", `${own}/contacts/0`, "contact_not_found", {}],
        ] as const) {
          const answer = yield* operate({ method, path, ...given })
          assert.strictEqual(answer.status, 404, path)
          assert.strictEqual(errorOf(answer).code, code, path)
        }
      }),
    )
  })
})

describe("roles", () => {
  interface Operation {
    readonly what: string
    readonly call: (at: string, made: { readonly number: Made; readonly contact: Made }) => Call
    readonly allowed: ReadonlyArray<string>
  }

  const everyone = ["owner", "administrator", "member"]
  const administrators = ["owner", "administrator"]
  const number = { platform: "whatsapp", phone: "+15550001111" }

  const operations: ReadonlyArray<Operation> = [
    { what: "read the workspace", call: (at) => ({ path: at }), allowed: everyone },
    {
      what: "change the workspace",
      call: (at) => ({ method: "PATCH", path: at, json: { name: "New" } }),
      allowed: ["owner"],
    },
    {
      what: "make a version 2 key",
      call: (at) => ({ method: "POST", path: `${at}/keys`, json: { version: 2, name: "k" } }),
      allowed: ["owner"],
    },
    {
      what: "make a version 1 key",
      call: (at) => ({ method: "POST", path: `${at}/keys`, json: { version: 1 } }),
      allowed: administrators,
    },
    { what: "list keys", call: (at) => ({ path: `${at}/keys` }), allowed: administrators },
    {
      what: "add a number",
      call: (at) => ({ method: "POST", path: `${at}/numbers`, json: number }),
      allowed: administrators,
    },
    { what: "list numbers", call: (at) => ({ path: `${at}/numbers` }), allowed: administrators },
    {
      what: "label a number",
      call: (at, made) => ({
        method: "PATCH",
        path: `${at}/numbers/${made.number.id}`,
        json: { label: "x" },
      }),
      allowed: administrators,
    },
    {
      what: "add a contact",
      call: (at) => ({
        method: "POST",
        path: `${at}/contacts`,
        json: { name: "n", phone: "+15550001112" },
      }),
      allowed: administrators,
    },
    { what: "list contacts", call: (at) => ({ path: `${at}/contacts` }), allowed: administrators },
    {
      what: "delete a contact",
      call: (at, made) => ({ method: "DELETE", path: `${at}/contacts/${made.contact.id}` }),
      allowed: administrators,
    },
    {
      what: "remove a number",
      call: (at, made) => ({ method: "DELETE", path: `${at}/numbers/${made.number.id}` }),
      allowed: administrators,
    },
    {
      what: "delete the workspace",
      call: (at) => ({ method: "DELETE", path: at }),
      allowed: ["owner"],
    },
  ]

  layer(layerService())((it) => {
    for (const { what, call, allowed } of operations) {
      for (const role of everyone) {
        const may = allowed.includes(role)
        it.effect(`${role} ${may ? "may" : "may not"} ${what}`, () =>
          Effect.gen(function* () {
            const workspace = yield* aWorkspace()
            const made = {
              number: yield* aNumber(workspace),
              contact: yield* aContact(workspace, { phone: "+15550001113" }),
            }
            const answer = yield* operate({
              ...call(`${root}/${workspace.id}`, made),
              headers: acting(role),
            })
            if (may) {
              assert.isBelow(answer.status, 300, answer.text)
            } else {
              assert.strictEqual(answer.status, 403)
              assert.strictEqual(errorOf(answer).code, "role_required")
            }
          }),
        )
      }
    }
  })
})
