/**
 * Records of one version as the other shows them: fields, statuses and reports, as
 * docs/migration.md maps them.
 */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aContact, aKey, aNumber, expectBody, operate, settle } from "../Records.ts"
import type { Created, MessageBody } from "../Records.ts"
import { cancel, get, send } from "../v2/Asking.ts"
import { upload } from "../v2/Uploading.ts"
import { answered, request, onV2, assertRefusedV1, sends, both } from "./Asking.ts"
import type { Credentials, Fields } from "./Asking.ts"

interface StatusBody {
  readonly status: number
  readonly status_text: string
  readonly message: string
  readonly msg_id: number
  readonly sent_at: string | null
  readonly error: string | null
}

const getStatus = (credentials: Credentials, msg_id: number) =>
  Effect.map(request("message/status/", { ...credentials, msg_id }), (answer) =>
    answered<StatusBody>(answer),
  )

/** A send of version 1, and what version 2 then shows of the message. */
const fields: ReadonlyArray<
  readonly [row: string, given: Fields, shown: Fields, operation?: string]
> = [
  [
    "`phone` with `country_code` is `to.phone`",
    {},
    { to: { phone: "+15550001234", contact_id: null } },
  ],
  ["`msg` is `text`", { msg: "Some *text*" }, { text: "Some *text*" }],
  ["`message` is `text`", { msg: null, message: "Text" }, { text: "Text" }],
  ["`msg_type` 0 is a message without media", { msg_type: 0 }, { media: null }],
  ["`group_name` is `to.group`", { phone: null, group_name: "Team" }, { to: { group: "Team" } }],
  [
    "date, time and timezone are `send_at`",
    { date: "01/07/2099", time: "09:00", timezone: "Europe/Berlin" },
    { send_at: "2099-07-01T07:00:00Z", status: "scheduled" },
    "schedule_msg/",
  ],
  [
    "`expire_after_seconds` is `expires_at`, a time and not a duration",
    { date: "01/07/2099", time: "09:00", expire_after_seconds: 3600 },
    { send_at: "2099-07-01T09:00:00Z", expires_at: "2099-07-01T10:00:00Z" },
    "schedule_msg/",
  ],
  ["version 2 does not show a per-message `webhook`", { webhook: "https://example.com/" }, {}],
]

layer(layerService())("a message of version 1", (it) => {
  for (const [row, input, shown, operation] of fields) {
    it.effect(`is read by version 2: ${row}`, () =>
      Effect.gen(function* () {
        const client = yield* both()
        const id = yield* sends(client.credentials, input, operation)
        const message = yield* onV2(client, id)
        // Both versions show the same id.
        assert.strictEqual(message.id, id)
        assert.deepStrictEqual(
          Object.fromEntries(Object.keys(shown).map((name) => [name, message[name]])),
          shown as Record<string, unknown>,
        )
      }),
    )
  }

  it.effect("is read by version 2: `whatsapp_client` is `from`", () =>
    Effect.gen(function* () {
      const client = yield* both()
      const second = yield* aNumber(client.workspace)
      for (const { id, phone } of [client.number, second]) {
        const sent = yield* sends(client.credentials, { whatsapp_client: id })
        assert.deepStrictEqual((yield* onV2(client, sent)).from, {
          id,
          phone: phone.replace("+", ""),
          platform: "whatsapp",
        })
      }
    }),
  )

  it.effect("is read by version 2: `phone` holding an `@username` is `to.username`", () =>
    Effect.gen(function* () {
      const client = yield* both({ number: { platform: "telegram" } })
      const id = yield* sends(client.credentials, { phone: "@recipient", country_code: "49" })
      assert.deepStrictEqual((yield* onV2(client, id)).to, { username: "@recipient" })
    }),
  )

  it.effect("is cancelled by version 2, and the other way round", () =>
    Effect.gen(function* () {
      const { credentials, token } = yield* both()
      const first = yield* sends(
        credentials,
        { date: "01/01/2099", time: "12:00" },
        "schedule_msg/",
      )
      assert.strictEqual((yield* cancel(token, first)).status, 200)
      assert.strictEqual((yield* getStatus(credentials, first)).status, 3)
      const second = yield* send(token, { send_at: "2099-01-01T12:00:00Z" })
      const cancelled = yield* request("cancel_msg/", { ...credentials, msg_id: second.id })
      assert.strictEqual(cancelled.status, 200, cancelled.text)
      const read = yield* get(token, `/api/v2/messages/${second.id}`)
      assert.strictEqual(expectBody<MessageBody>(read, 200).status, "cancelled")
    }),
  )
})

/** A message of version 2 in that status. */
const states: ReadonlyArray<
  readonly [
    v2: string,
    v1: readonly [status: number, text: string],
    reach: (token: string, number: Created) => Effect.Effect<number, never, HttpTestClients>,
  ]
> = [
  [
    "queued",
    [0, "Pending"],
    (token, number) =>
      Effect.gen(function* () {
        yield* operate({
          method: "POST",
          path: `/admin/v1/simulator/numbers/${number.id}/logout`,
        })
        return (yield* send(token, { from: number.id })).id
      }),
  ],
  [
    "scheduled",
    [0, "Pending"],
    (token) => Effect.map(send(token, { send_at: "2099-01-01T12:00:00Z" }), ({ id }) => id),
  ],
  [
    "sent",
    [1, "Sent"],
    (token) =>
      Effect.tap(
        Effect.map(send(token), ({ id }) => id),
        () => settle,
      ),
  ],
  ...(["delivered", "read"] as const).map(
    (status) =>
      [
        status,
        [1, "Sent"],
        (token: string) =>
          Effect.gen(function* () {
            const { id } = yield* send(token)
            yield* settle
            const path = `/admin/v1/simulator/messages/${id}/ticks`
            expectBody(yield* operate({ method: "POST", path, json: { status } }), 200)
            return id
          }),
      ] as const,
  ),
  [
    "failed",
    [2, "Failed"],
    (token) =>
      Effect.tap(
        Effect.map(send(token, { to: { group: "Nowhere" } }), ({ id }) => id),
        () => settle,
      ),
  ],
  [
    "cancelled",
    [3, "Cancelled"],
    (token) =>
      Effect.gen(function* () {
        const { id } = yield* send(token, { send_at: "2099-01-01T12:00:00Z" })
        yield* cancel(token, id)
        return id
      }),
  ],
  [
    "expired",
    [4, "Expired"],
    (token, number) =>
      Effect.gen(function* () {
        yield* operate({
          method: "POST",
          path: `/admin/v1/simulator/numbers/${number.id}/logout`,
        })
        const now = yield* Clock.currentTimeMillis
        const expires_at = new Date(now + 60_000).toISOString()
        const { id } = yield* send(token, { from: number.id, expires_at })
        yield* TestClock.adjust("2 minutes")
        yield* settle
        return id
      }),
  ],
]

layer(layerService())("a message of version 2", (it) => {
  for (const [v2, [status, status_text], reach] of states) {
    it.effect(`that is ${v2} has the status ${status} in version 1, ${status_text}`, () =>
      Effect.gen(function* () {
        const { credentials, number, token } = yield* both()
        const id = yield* reach(token, number)
        const message = expectBody<MessageBody>(yield* get(token, `/api/v2/messages/${id}`), 200)
        assert.strictEqual(message.status, v2)
        const expected = {
          status,
          status_text,
          message: "Hello",
          msg_id: id,
          sent_at: message["sent_at"] as string | null,
          error: v2 === "failed" ? "Group not found" : null,
        }
        assert.deepStrictEqual(yield* getStatus(credentials, id), expected)

        const { client_id, api_key } = credentials
        const { socket } = yield* HttpTestClients
        const path = `/api/v1/message/status/${id}`
        for (const answer of [
          yield* socket.call({ path: `${path}/?client_id=${client_id}&api_key=${api_key}` }),
          yield* socket.call({ path: `${path}?client_id=${client_id}`, token: api_key }),
        ]) {
          assert.deepStrictEqual(answered<StatusBody>(answer), expected)
        }
      }),
    )
  }

  it.effect("to a contact, with media of the directory or a link is in version 1's report", () =>
    Effect.gen(function* () {
      const { credentials, number, token, workspace } = yield* both()
      const telegram = yield* aNumber(workspace, { platform: "telegram" })
      const contact = yield* aContact(workspace, { phone: "+15550009999" })
      const friend = yield* aContact(workspace, { username: "@a_friend" })
      const photo = yield* upload(token)
      const messageBodies = [
        yield* send(token),
        yield* send(token, { to: { contact_id: contact.id }, media: { media_id: photo.id } }),
        yield* send(token, {
          to: { group: "Team" },
          media: { url: "https://example.com/a.pdf" },
        }),
        yield* send(token, { to: { contact_id: friend.id } }),
        yield* send(token, {
          to: { username: "t.me/recipient" },
          send_at: "2099-01-01T00:00:00Z",
        }),
      ]
      yield* settle
      const created = messageBodies[0]?.["created_at"] as string
      const day = created.slice(0, 10).split("-").toReversed().join("-")
      const answer = yield* request("report/", { ...credentials, start_date: day, end_date: day })
      const { history, ...rest } = answered<{
        readonly history: ReadonlyArray<Record<string, unknown>>
      }>(answer)
      assert.deepStrictEqual(rest, { status: 1, total: 5, page: 1 } as object)
      const shown = messageBodies.map(({ id }) => history.find(({ msg_id }) => msg_id === id))
      assert.deepStrictEqual(
        shown.map((item) => [item?.["to"], item?.["msg_type"], item?.["whatsapp_client"]]),
        [
          ["+15550001234", 0, number.id],
          ["+15550009999", 1, number.id],
          ["Team", 2, number.id],
          ["@a_friend", 0, telegram.id],
          ["t.me/recipient", 0, telegram.id],
        ],
      )
      assert.deepStrictEqual(Object.keys(history[0] ?? {}), [
        "msg_id",
        "status",
        "status_text",
        "to",
        "whatsapp_client",
        "msg_type",
        "created_at",
        "sent_at",
      ])
      assert.deepStrictEqual(
        history.map(({ msg_id }) => msg_id),
        messageBodies.map(({ id }) => id).toReversed(),
      )
    }),
  )

  it.effect("of test mode is hidden from version 1, whose keys are live", () =>
    Effect.gen(function* () {
      const { credentials, workspace } = yield* both()
      const { key } = yield* aKey(workspace, { mode: "test" })
      const { id } = yield* send(key)
      assertRefusedV1(
        yield* request("message/status/", { ...credentials, msg_id: id }),
        400,
        "Invalid message id",
      )
    }),
  )
})
