/** What operators and portals do with a workspace's messages, over real sockets. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { aPhone, aSender, aText, aWorkspace, expectBody, operate, settle } from "../Records.ts"
import type { Created, MessageBody } from "../Records.ts"
import { ask, layerWithWayOut, simulator } from "../webhooks/Asking.ts"
import { aReceiver } from "../webhooks/Receiver.ts"
import { aSession } from "./sessionCookies.ts"

interface TimelineBody {
  readonly message: MessageBody
  readonly waiting: {
    readonly for: ReadonlyArray<{
      readonly reason: string
      readonly until: string | null
      readonly because: string | null
    }>
    readonly ahead: number
  } | null
  readonly data: ReadonlyArray<{
    readonly type: string
    readonly url: string | null
    readonly event_id: string | null
    readonly error: { readonly code: string } | null
  }>
  readonly truncated: boolean
}

const inside = (workspace: Created) => `/admin/v1/workspaces/${workspace.id}`

const send = (workspace: Created, json: object = aText, query = "") =>
  Effect.map(
    operate({ method: "POST", path: `${inside(workspace)}/messages${query}`, json }),
    (answer) => expectBody<MessageBody>(answer, 202),
  )

const readTimeline = (workspace: Created, message: { readonly id: number }, role = "owner") =>
  Effect.map(
    operate({
      path: `${inside(workspace)}/messages/${message.id}/timeline`,
      headers: [["acting-role", role]],
    }),
    (answer) => expectBody<TimelineBody>(answer, 200),
  )

const getTypes = ({ data }: TimelineBody) => data.map(({ type }) => type)

layer(layerWithWayOut())("a message's timeline", (it) => {
  it.effect("tells why it waits, and then all that happened to it", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender()
      const receiver = yield* aReceiver
      const hook = { url: `${receiver.url}?secret=1` }
      expectBody(yield* ask({ method: "POST", path: "/api/v2/webhooks", token, json: hook }), 201)
      yield* operate({
        method: "POST",
        path: `${inside(workspace)}/numbers/${number.id}/pause`,
        json: { until: "1970-01-01T01:00:00Z" },
      })
      yield* send(workspace)
      const message = yield* send(workspace)
      const waiting = yield* readTimeline(workspace, message)
      assert.deepStrictEqual(waiting.waiting, {
        for: [{ reason: "paused", until: "1970-01-01T01:00:00Z", because: "paused" }],
        ahead: 1,
      })
      assert.deepStrictEqual(getTypes(waiting), ["accepted"])
      assert.strictEqual(waiting.message.status, "queued")

      yield* operate({ method: "POST", path: `${inside(workspace)}/numbers/${number.id}/resume` })
      yield* settle
      yield* operate({
        method: "POST",
        path: `${simulator}/messages/${message.id}/ticks`,
        json: { status: "read" },
      })
      const read = yield* readTimeline(workspace, message)
      assert.isNull(read.waiting)
      assert.isFalse(read.truncated)
      assert.deepStrictEqual(getTypes(read), ["accepted", "sent", "read", "delivery"])
      assert.strictEqual(read.message.status, "read")
      const [, sent, , delivery] = read.data
      assert.strictEqual(delivery?.event_id, sent?.event_id)
      assert.strictEqual(delivery?.url, hook.url)
      const timelineBody = yield* readTimeline(workspace, message, "member")
      assert.strictEqual(timelineBody.data.at(-1)?.url, receiver.url)
    }),
  )

  it.effect("shows a portal's member a webhook's URL without its query", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const receiver = yield* aReceiver
      const hook = { url: `${receiver.url}?secret=1` }
      expectBody(yield* ask({ method: "POST", path: "/api/v2/webhooks", token, json: hook }), 201)
      const message = yield* send(workspace)
      yield* settle
      for (const [caller, url] of [
        ["member", receiver.url],
        ["administrator", hook.url],
        ["owner", hook.url],
      ] as const) {
        const cookie = yield* aSession(caller, workspace.id)
        const path = `${inside(workspace)}/messages/${message.id}/timeline`
        const answer = yield* ask({ path, headers: [["cookie", cookie]] })
        const delivery = expectBody<TimelineBody>(answer, 200).data.at(-1)
        assert.deepStrictEqual([delivery?.type, delivery?.url], ["delivery", url], caller)
        if (caller === "member") assert.notInclude(answer.text, "secret=1")
      }
    }),
  )

  it.effect("has a failure's reason, and the steps of test messages", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      const message = yield* send(
        workspace,
        { ...aText, to: { phone: "+15005550001" } },
        "?mode=test",
      )
      yield* settle
      const { data } = yield* readTimeline(workspace, message)
      assert.deepStrictEqual(
        data.map(({ error, type }) => [type, error?.code]),
        [
          ["accepted", undefined],
          ["failed", "recipient_not_found"],
        ],
      )
    }),
  )

  it.effect("of another workspace's message is not there, as little as of none", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      const other = yield* aWorkspace()
      const message = yield* send(workspace, { ...aText, to: { phone: aPhone() } })
      for (const [place, id] of [
        [inside(other), message.id],
        [inside(workspace), 987_654],
      ] as const) {
        const answer = yield* operate({ path: `${place}/messages/${id}/timeline` })
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(errorBody(answer).code, "message_not_found")
      }
    }),
  )
})

interface Listed {
  readonly data: ReadonlyArray<MessageBody>
  readonly next_cursor: string | null
  readonly looked_until?: string | null
}

const list = (workspace: Created, query: string) =>
  Effect.map(operate({ path: `${inside(workspace)}/messages?${query}` }), (answer) =>
    expectBody<Listed>(answer, 200),
  )

const cancel = (workspace: Created, json: object) =>
  operate({ method: "POST", path: `${inside(workspace)}/messages/cancel`, json })

const tomorrow = new Date(Date.UTC(2100, 0, 1)).toISOString()

layer(layerWithWayOut())("a workspace's messages", (it) => {
  it.effect("are found by a word of their text, page by page", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const sendText = (text: string) => send(workspace, { ...aText, text })
      const first = yield* sendText("Your ORDER (1) is ready.")
      yield* sendText("Hello")
      const third = yield* sendText("The order (1) left.")
      const word = encodeURIComponent("order (1)")
      const found = yield* list(workspace, `text=${word}&limit=1`)
      assert.deepStrictEqual(
        found.data.map(({ id }) => id),
        [third.id],
      )
      assert.strictEqual(found.looked_until, "1970-01-01T00:00:00Z")
      const next = yield* list(workspace, `text=${word}&cursor=${found.next_cursor}`)
      assert.deepStrictEqual(
        next.data.map(({ id }) => id),
        [first.id],
      )
      assert.isNull(next.next_cursor)
      assert.isNull((yield* list(workspace, "text=x&mode=test")).looked_until)
      assert.notProperty(yield* list(workspace, "limit=1"), "looked_until")
      // Another search cannot go on with this cursor, and keys cannot search.
      const other = yield* operate({
        path: `${inside(workspace)}/messages?text=Hello&cursor=${found.next_cursor}`,
      })
      assert.strictEqual(errorBody(other).code, "invalid_cursor")
      const keys = yield* ask({ path: "/api/v2/messages?text=Hello", token })
      assert.strictEqual(errorBody(keys).code, "validation_failed")
    }),
  )

  it.effect("are found by the error that they failed with", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      const failing = { ...aText, to: { phone: "+15005550009" } }
      const { id } = yield* send(workspace, failing, "?mode=test")
      yield* send(workspace, aText, "?mode=test")
      yield* settle
      const { data } = yield* list(workspace, "error=send_failed&mode=test")
      assert.deepStrictEqual(
        data.map((message) => message.id),
        [id],
      )
      assert.deepStrictEqual((yield* list(workspace, "error=send_failed")).data, [])
    }),
  )

  it.effect("are cancelled together, with an event for each, and told apart from others", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const receiver = yield* aReceiver
      const hook = { url: receiver.url }
      expectBody(yield* ask({ method: "POST", path: "/api/v2/webhooks", token, json: hook }), 201)
      const later = { ...aText, send_at: tomorrow }
      const sent = yield* send(workspace)
      yield* settle
      const first = yield* send(workspace, later)
      const test = yield* send(workspace, later, "?mode=test")
      const { workspace: other } = yield* aSender()
      const theirs = yield* send(other, later)
      const ids = [sent.id, first.id, first.id, test.id, theirs.id, 987_654]
      assert.deepStrictEqual(expectBody(yield* cancel(workspace, { ids }), 200), {
        cancelled: 2,
        not_cancellable: 3,
        more: false,
      })
      // Repeating it is harmless.
      assert.deepStrictEqual(expectBody(yield* cancel(workspace, { ids: [first.id] }), 200), {
        cancelled: 0,
        not_cancellable: 1,
        more: false,
      })
      yield* settle
      assert.deepStrictEqual(
        receiver.deliveries.map(({ raw }) => (JSON.parse(raw.toString()) as { type: string }).type),
        ["message.sent", "message.cancelled"],
      )
    }),
  )

  it.effect("are cancelled by a filter, at most 1,000 at once", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender()
      const to = Array.from({ length: 501 }, () => aText.to)
      // Two days, since a number takes 1,000 in 24 hours.
      for (const day of [1, 3]) {
        const path = `${inside(workspace)}/messages/batch`
        const send_at = new Date(Date.UTC(2100, 0, day)).toISOString()
        const json = { to, text: "Hello", send_at, from: number.id }
        expectBody(yield* operate({ method: "POST", path, json }), 202)
      }
      yield* send(workspace, { ...aText, send_at: tomorrow }, "?mode=test")
      const filter = { from: number.id, status: "scheduled" }
      const some = { cancelled: 1000, not_cancellable: 0, more: true }
      assert.deepStrictEqual(expectBody(yield* cancel(workspace, { filter }), 200), some)
      const rest = { cancelled: 2, not_cancellable: 0, more: false }
      assert.deepStrictEqual(expectBody(yield* cancel(workspace, { filter }), 200), rest)
      const none = { cancelled: 0, not_cancellable: 0, more: false }
      assert.deepStrictEqual(expectBody(yield* cancel(workspace, { filter }), 200), none)
      const test = { cancelled: 1, not_cancellable: 0, more: false }
      assert.deepStrictEqual(
        expectBody(yield* cancel(workspace, { filter, mode: "test" }), 200),
        test,
      )
    }),
  )

  it.effect("are not cancelled by mistake: a filter needs a field", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      yield* send(workspace, { ...aText, send_at: tomorrow })
      const refused: ReadonlyArray<readonly [body: object, field: string]> = [
        [{ filter: {} }, "filter"],
        [{ ids: [] }, "ids"],
        [{}, ""],
        [{ ids: [1], filter: { status: "queued" } }, ""],
        [{ filter: { status: "sent" } }, "filter.status"],
        [{ filter: { since: "2999-01-01T00:00:00Z" } }, "filter.since"],
        [{ filter: { status: "queued" }, mode: "dead" }, "mode"],
      ]
      for (const [body, field] of refused) {
        const answer = yield* cancel(workspace, body)
        assert.strictEqual(answer.status, 400, JSON.stringify(body))
        const error = errorBody(answer)
        assert.strictEqual(error.code, "validation_failed", answer.text)
        if (field !== "") assert.strictEqual(error.field, field, answer.text)
      }
      assert.strictEqual((yield* list(workspace, "status=scheduled")).data.length, 1)
    }),
  )
})
