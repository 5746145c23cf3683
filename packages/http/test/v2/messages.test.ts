import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Doors, errorOf } from "../Doors.ts"
import { layerService } from "../Service.ts"
import {
  aContact,
  aKey,
  aNumber,
  aPhone,
  aSender,
  aText,
  aWorkspace,
  bodyOf,
  operate,
  settle,
} from "../World.ts"
import type { MessageBody, PageBody } from "../World.ts"

const path = "/api/v2/messages"

const post = (token: string, json: unknown, at = path) =>
  Effect.flatMap(Doors, ({ socket }) => socket.call({ method: "POST", path: at, token, json }))

const send = (token: string, fields: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(post(token, { ...aText, ...fields }), (answer) => bodyOf<MessageBody>(answer, 202))

const get = (token: string, at: string) =>
  Effect.flatMap(Doors, ({ socket }) => socket.call({ path: at, token }))

const cancel = (token: string, id: number) =>
  Effect.flatMap(Doors, ({ socket }) =>
    socket.call({ method: "DELETE", path: `${path}/${id}`, token }),
  )

const list = (token: string, query = "") =>
  Effect.map(get(token, `${path}${query}`), (answer) => bodyOf<PageBody<MessageBody>>(answer, 200))

const idsOf = (page: PageBody<MessageBody>) => page.data.map(({ id }) => id)

const anHourLater = "1970-01-01T01:00:00Z"

describe("GET /me", () => {
  layer(layerService())((it) => {
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
})

describe("the message operations", () => {
  layer(layerService())((it) => {
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

    it.effect("a message is sent by the worker that runs beside", () =>
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

    it.effect("another workspace's message is as unknown as one that never was", () =>
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
})

describe("the list of messages", () => {
  layer(layerService())((it) => {
    it.effect("is paged, newest first, and nothing added meanwhile shifts a page", () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const sent: Array<number> = []
        for (let count = 0; count < 5; count++) {
          sent.unshift((yield* send(token, { send_at: anHourLater })).id)
        }
        const first = yield* list(token, "?limit=2")
        assert.deepStrictEqual(idsOf(first), sent.slice(0, 2))
        yield* send(token)
        const second = yield* list(token, `?limit=2&cursor=${first.next_cursor}`)
        assert.deepStrictEqual(idsOf(second), sent.slice(2, 4))
        const third = yield* list(token, `?cursor=${second.next_cursor}&limit=100`)
        assert.deepStrictEqual(idsOf(third), sent.slice(4))
        assert.strictEqual(third.next_cursor, null)
      }),
    )

    it.effect("is filtered by status, number, phone and time", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.UTC(2026, 2, 2, 12))
        const { number, token, workspace } = yield* aSender()
        const other = yield* aNumber(workspace, { status: "disconnected" })
        const phone = aPhone()
        const early = yield* send(token, { from: other.id })
        yield* TestClock.adjust("1 hour")
        const late = yield* send(token, { from: number.id, to: { phone } })
        const later = yield* send(token, { from: number.id, send_at: "2026-03-03T00:00:00Z" })
        yield* settle
        for (const [query, expected] of [
          ["", [later, late, early]],
          ["?status=sent", [late]],
          ["?status=queued,scheduled", [later, early]],
          [`?from=${number.id}`, [later, late]],
          [`?to=${encodeURIComponent(phone)}`, [late]],
          ["?since=2026-03-02T13:00:00Z", [later, late]],
          ["?until=2026-03-02T13:00:00Z", [early]],
          // Written as in a form, a plus sign is a space; an offset needs %2B.
          ["?since=2026-03-02T15:00:00%2B02:00", [later, late]],
        ] as const) {
          assert.deepStrictEqual(
            idsOf(yield* list(token, query)),
            expected.map(({ id }) => id),
            query,
          )
        }
      }),
    )

    for (const [query, code, field] of [
      ["?limit=0", "validation_failed", "limit"],
      ["?limit=101", "validation_failed", "limit"],
      ["?limit=ten", "validation_failed", "limit"],
      ["?limit=1&limit=1", "validation_failed", "limit"],
      ["?unknown=1", "validation_failed", "unknown"],
      ["?status=lost", "validation_failed", "status"],
      ["?from=x", "validation_failed", "from"],
      ["?to=0171", "invalid_phone", "to"],
      ["?since=yesterday", "invalid_datetime", "since"],
      ["?since=2026-03-02T15:00:00+02:00", "invalid_datetime", "since"],
      ["?to=%", "validation_failed", null],
      ["?to=%ff", "validation_failed", null],
      ["?cursor=", "invalid_cursor", "cursor"],
      ["?cursor=1.0000", "invalid_cursor", "cursor"],
    ] as const) {
      it.effect(`${query} is ${code}`, () =>
        Effect.gen(function* () {
          const { token } = yield* aSender()
          const answer = yield* get(token, `${path}${query}`)
          assert.deepInclude(errorOf(answer), { code, field })
          assert.strictEqual(answer.status, code === "invalid_phone" ? 422 : 400)
        }),
      )
    }

    it.effect("a cursor belongs to its list, filters and key", () =>
      Effect.gen(function* () {
        const { token, workspace, number } = yield* aSender()
        const { key: limited } = yield* aKey(workspace, { number_ids: [number.id] })
        const { key: test } = yield* aKey(workspace, { mode: "test" })
        const { key: equal } = yield* aKey(workspace)
        yield* send(token)
        yield* send(token)
        const { next_cursor } = yield* list(token, "?limit=1")
        const same = yield* list(equal, `?cursor=${next_cursor}`)
        assert.lengthOf(same.data, 1)
        for (const [asker, query] of [
          [token, `?status=sent&cursor=${next_cursor}`],
          [limited, `?cursor=${next_cursor}`],
          [test, `?cursor=${next_cursor}`],
          [(yield* aSender()).token, `?cursor=${next_cursor}`],
          [token, `?cursor=${next_cursor}x`],
          [token, `?cursor=${next_cursor?.toUpperCase()}`],
        ] as const) {
          assert.strictEqual(
            errorOf(yield* get(asker, `${path}${query}`)).code,
            "invalid_cursor",
            query,
          )
        }
      }),
    )
  })
})

describe("a key limited to some numbers", () => {
  layer(layerService())((it) => {
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
})

describe("a test key", () => {
  layer(layerService())((it) => {
    it.effect("sends nothing, from a logged-out number too, and sees only its own world", () =>
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
})
