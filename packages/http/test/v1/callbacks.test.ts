/** Callbacks of version 1 messages to real receivers: content, time and signature. */
import { assert, layer } from "@effect/vitest"
import { layerStoredClock } from "@messaging-service/emulator"
import { Clock, Effect } from "effect"
import { advance, expectBody, operate, settle } from "../Records.ts"
import type { Created } from "../Records.ts"
import { aSession } from "../operator/sessionCookies.ts"
import { ask as call, layerWithWayOut } from "../webhooks/Asking.ts"
import { aReceiver, expectedSignature, withStatus } from "../webhooks/Receiver.ts"
import type { Delivery, Receiver } from "../webhooks/Receiver.ts"
import { aClient, request, sends } from "./Asking.ts"

const bodies = ({ deliveries }: Receiver) => deliveries.map(({ raw }) => raw.toString("utf8"))

const toPath = ({ id }: Created) => `/admin/v1/workspaces/${id}/callback-secret`

interface SecretBody {
  readonly secret: string
}

const getSecret = (workspace: Created) =>
  Effect.map(
    operate({ path: toPath(workspace) }),
    (answer) => expectBody<SecretBody>(answer, 200).secret,
  )

const isSigned = (delivery: Delivery, secret: string): boolean =>
  delivery.headers["service-signature"] === expectedSignature(delivery, secret)

layer(layerWithWayOut({ ports: layerStoredClock() }))("the callback of a message", (it) => {
  it.effect("arrives as a signed form with the contract's headers", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { credentials, workspace } = yield* aClient()
      const id = yield* sends(credentials, { webhook: receiver.url })
      yield* settle
      assert.deepStrictEqual(bodies(receiver), [`msg_id=${id}&status=SENT`])
      const delivery = receiver.deliveries[0]!
      const { headers, method, path } = delivery
      assert.deepStrictEqual([method, path], ["POST", "/hook"])
      assert.strictEqual(headers["content-type"], "application/x-www-form-urlencoded")
      assert.strictEqual(headers["user-agent"], "Service-Webhooks/2")
      assert.match(String(headers["service-event-id"]), /^evt_[0-9A-Za-z]{24}$/)
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      assert.strictEqual(headers["service-timestamp"], String(now))
      assert.isTrue(isSigned(delivery, yield* getSecret(workspace)))
    }),
  )

  it.effect("appears in the operator's log, attempt by attempt and page by page", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = withStatus(500)
      const { credentials, workspace } = yield* aClient()
      const url = `${receiver.url}?secret=1`
      yield* sends(credentials, { webhook: url })
      yield* settle
      receiver.answer = withStatus(204)
      yield* advance(11)
      const path = `/admin/v1/workspaces/${workspace.id}/callbacks/deliveries`
      const read = (query: string) =>
        Effect.map(operate({ path: `${path}${query}` }), (answer) =>
          expectBody<{
            readonly data: ReadonlyArray<Readonly<Record<string, unknown>>>
            readonly next_cursor: string | null
          }>(answer, 200),
        )
      const { data, next_cursor } = yield* read("")
      assert.isNull(next_cursor)
      const [second, first] = data
      const eventId = receiver.deliveries[0]?.headers["service-event-id"]
      const same = { event_id: eventId, type: "message.sent", url }
      assert.deepStrictEqual(first, {
        ...first,
        ...same,
        attempt: 1,
        response_status: 500,
        error: "http_status",
        next_attempt_at: second?.["attempted_at"],
      })
      assert.deepStrictEqual(second, {
        ...second,
        ...same,
        attempt: 2,
        response_status: 204,
        error: null,
        next_attempt_at: null,
      })
      const page = yield* read("?limit=1")
      assert.deepStrictEqual(page.data, [second!])
      assert.deepStrictEqual((yield* read(`?cursor=${page.next_cursor}`)).data, [first!])
      const cookie = yield* aSession("member", workspace.id)
      const seen = yield* call({ path, headers: [["cookie", cookie]] })
      const shown = expectBody<{ readonly data: ReadonlyArray<{ readonly url: string }> }>(
        seen,
        200,
      )
      assert.deepStrictEqual(new Set(shown.data.map(({ url }) => url)), new Set([receiver.url]))
      const { workspace: other } = yield* aClient()
      const foreign = yield* operate({
        path: `/admin/v1/workspaces/${other.id}/callbacks/deliveries?cursor=${page.next_cursor}`,
      })
      assert.strictEqual(foreign.status, 400)
      assert.strictEqual((yield* operate({ path: `${path}x` })).status, 404)
    }),
  )

  it.effect("arrives separately for each message of a batch", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { credentials } = yield* aClient()
      const answer = yield* request("send_msg/multi/", {
        ...credentials,
        phones: ["15550001234", "15550001235"],
        msg: "Hello",
        webhook: receiver.url,
      })
      const { msg_ids } = expectBody<{ readonly msg_ids: ReadonlyArray<number> }>(answer, 200)
      yield* settle
      assert.deepStrictEqual(
        bodies(receiver).toSorted(),
        msg_ids.map((id) => `msg_id=${id}&status=SENT`).toSorted(),
      )
    }),
  )
})
