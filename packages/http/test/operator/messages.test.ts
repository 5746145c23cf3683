/** What operators and portals do with a workspace's messages, over real sockets. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorOf } from "../Doors.ts"
import { aPhone, aSender, aText, aWorkspace, bodyOf, operate, settle } from "../Records.ts"
import type { Made, MessageBody } from "../Records.ts"
import { ask, layerWithWayOut, simulator } from "../webhooks/Asking.ts"
import { aReceiver } from "../webhooks/Receiver.ts"

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

const inside = (workspace: Made) => `/admin/v1/workspaces/${workspace.id}`

const send = (workspace: Made, json: object = aText, query = "") =>
  Effect.map(
    operate({ method: "POST", path: `${inside(workspace)}/messages${query}`, json }),
    (answer) => bodyOf<MessageBody>(answer, 202),
  )

const timelineOf = (workspace: Made, message: { readonly id: number }, role = "owner") =>
  Effect.map(
    operate({
      path: `${inside(workspace)}/messages/${message.id}/timeline`,
      headers: [["acting-role", role]],
    }),
    (answer) => bodyOf<TimelineBody>(answer, 200),
  )

const typesOf = ({ data }: TimelineBody) => data.map(({ type }) => type)

layer(layerWithWayOut())("a message's timeline", (it) => {
  it.effect("tells why it waits, and then all that happened to it", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender()
      const receiver = yield* aReceiver
      const hook = { url: `${receiver.url}?secret=1` }
      bodyOf(yield* ask({ method: "POST", path: "/api/v2/webhooks", token, json: hook }), 201)
      yield* operate({
        method: "POST",
        path: `${inside(workspace)}/numbers/${number.id}/pause`,
        json: { until: "1970-01-01T01:00:00Z" },
      })
      yield* send(workspace)
      const message = yield* send(workspace)
      const waiting = yield* timelineOf(workspace, message)
      assert.deepStrictEqual(waiting.waiting, {
        for: [{ reason: "paused", until: "1970-01-01T01:00:00Z", because: "paused" }],
        ahead: 1,
      })
      assert.deepStrictEqual(typesOf(waiting), ["accepted"])
      assert.strictEqual(waiting.message.status, "queued")

      yield* operate({ method: "POST", path: `${inside(workspace)}/numbers/${number.id}/resume` })
      yield* settle
      yield* operate({
        method: "POST",
        path: `${simulator}/messages/${message.id}/ticks`,
        json: { status: "read" },
      })
      const read = yield* timelineOf(workspace, message)
      assert.isNull(read.waiting)
      assert.isFalse(read.truncated)
      assert.deepStrictEqual(typesOf(read), ["accepted", "sent", "read", "delivery"])
      assert.strictEqual(read.message.status, "read")
      const [, sent, , delivery] = read.data
      assert.strictEqual(delivery?.event_id, sent?.event_id)
      assert.strictEqual(delivery?.url, hook.url)
      const seen = yield* timelineOf(workspace, message, "member")
      assert.strictEqual(seen.data.at(-1)?.url, receiver.url)
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
      const { data } = yield* timelineOf(workspace, message)
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
        assert.strictEqual(errorOf(answer).code, "message_not_found")
      }
    }),
  )
})
