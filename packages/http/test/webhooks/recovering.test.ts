/** Operators: what was sent and answered, changed endpoints, and events delivered again. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { aKey, aSender, expectBody, operate, revoke, settle } from "../Records.ts"
import type { Created } from "../Records.ts"
import { send } from "../v2/Asking.ts"
import { anEndpoint, ask, layerWithWayOut, log, operatorPath, pass } from "./Asking.ts"
import type { EndpointBody, LogBody } from "./Asking.ts"
import { aSession } from "../operator/sessionCookies.ts"
import { aReceiver, eventIds, expectedSignature, withStatus } from "./Receiver.ts"
import type { Receiver } from "./Receiver.ts"
import { hour } from "./Retrying.ts"

interface BodiesBody extends LogBody {
  readonly request_body: string | null
  readonly response_body: string | null
}

const answering =
  (status: number, body: string | Buffer): Receiver["answer"] =>
  (response) =>
    response.writeHead(status).end(body)

const getDelivery = (
  workspace: Created,
  endpoint: Created,
  delivery: Created,
  call: Partial<Call> = {},
) => operate({ path: operatorPath(workspace, endpoint, `/deliveries/${delivery.id}`), ...call })

const change = (workspace: Created, endpoint: Created, json: object) =>
  operate({ method: "PATCH", path: operatorPath(workspace, endpoint), json })

const recover = (workspace: Created, endpoint: Created, since: string) =>
  operate({
    method: "POST",
    path: operatorPath(workspace, endpoint, "/recover"),
    json: { since },
  })

/** The service's time, so many hours ago. */
const ago = (hours: number) =>
  Effect.map(operate({ path: "/admin/v1/simulator/clock" }), (answer) => {
    const { now } = expectBody<{ readonly now: string }>(answer, 200)
    return new Date(Date.parse(now) - hours * 3_600_000).toISOString()
  })

layer(layerWithWayOut())("an endpoint's log", (it) => {
  it.effect("shows what was sent and the first KiB of what was answered, as text", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      const bodies: Array<string | null> = []
      for (const answer of [
        "größer\n<b>",
        Buffer.from([0xff, 0xfe]),
        `x${"é".repeat(2000)}`,
        "",
      ] as const) {
        receiver.answer = answering(200, answer)
        yield* send(token)
        yield* settle
        const [line] = (yield* log(workspace, endpoint)).data
        if (line === undefined) return assert.fail("not logged")
        const shown = expectBody<BodiesBody>(yield* getDelivery(workspace, endpoint, line), 200)
        const { request_body: sent, response_body: answered, ...rest } = shown
        assert.deepStrictEqual(rest, line)
        assert.strictEqual(sent, receiver.deliveries.at(-1)?.raw.toString())
        bodies.push(answered)
      }
      assert.deepStrictEqual(bodies, ["größer\n<b>", null, `x${"é".repeat(511)}`, ""])
      const missing = yield* getDelivery(workspace, endpoint, { id: 987_654 })
      assert.deepStrictEqual([missing.status, errorBody(missing).code], [404, "delivery_not_found"])
    }),
  )

  it.effect("shows no body to a member", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = answering(200, "a secret of the receiver")
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      yield* send(token)
      yield* settle
      const [line] = (yield* log(workspace, endpoint)).data
      if (line === undefined) return assert.fail("not logged")
      const request = { headers: [["acting-role", "member"]] } as const
      const refused = yield* getDelivery(workspace, endpoint, line, request)
      assert.deepStrictEqual([refused.status, errorBody(refused).code], [403, "role_required"])
      assert.notInclude(refused.text, "secret")
      assert.notInclude(JSON.stringify(yield* log(workspace, endpoint)), "secret")
    }),
  )

  it.effect("and its list show a portal's member no query of a receiver's URL", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const receiver = yield* aReceiver
      const url = `${receiver.url}?secret=1`
      yield* anEndpoint(token, { ...receiver, url })
      for (const [caller, text] of [
        ["member", receiver.url],
        ["administrator", url],
        ["owner", url],
        ["operator", url],
      ] as const) {
        const cookie = yield* aSession(caller, workspace.id)
        const path = `/admin/v1/workspaces/${workspace.id}/webhooks`
        const answer = yield* ask({ path, headers: [["cookie", cookie]] })
        const { data } = expectBody<{ readonly data: ReadonlyArray<EndpointBody> }>(answer, 200)
        assert.deepStrictEqual(
          data.map((each) => each.url),
          [text],
          caller,
        )
      }
    }),
  )

  it.effect("has the attempts of a type, of a time, and those that failed", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      yield* send(token)
      yield* settle
      yield* pass(hour)
      receiver.answer = withStatus(500)
      yield* send(token)
      yield* settle
      const counted = (query: string) =>
        Effect.map(log(workspace, endpoint, query), ({ data }) => data.length)
      const since = encodeURIComponent(yield* ago(0.5))
      assert.deepStrictEqual(
        yield* Effect.forEach(
          ["", "?failed=true", "?type=ping", "?type=ping,message.sent", `?until=${since}`],
          counted,
        ),
        [2, 1, 0, 2, 1],
      )
      assert.strictEqual(yield* counted(`?since=${since}&failed=true`), 1)
      for (const query of [
        "?failed=yes",
        "?failed=false",
        "?type=message.read",
        "?since=monday",
        "?since=2099-01-01T00:00Z",
      ]) {
        const refused = yield* operate({
          path: operatorPath(workspace, endpoint, `/deliveries${query}`),
        })
        assert.strictEqual(refused.status, 400, query)
      }
    }),
  )
})

layer(layerWithWayOut())("a changed endpoint", (it) => {
  it.effect("gets later attempts at its new address, signed with the same secret", () =>
    Effect.gen(function* () {
      const [before, after] = [yield* aReceiver, yield* aReceiver]
      before.answer = withStatus(500)
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, before)
      yield* send(token)
      yield* settle
      const input = { url: after.url, events: ["message.failed"], description: "Till" }
      const changed = expectBody<EndpointBody>(yield* change(workspace, endpoint, input), 200)
      assert.deepInclude(changed, { ...input, secret_last4: endpoint.secret_last4 })
      yield* pass(hour)
      assert.deepStrictEqual(eventIds(after), eventIds(before).slice(0, 1))
      const [retry] = after.deliveries
      if (retry === undefined) return assert.fail("no retry")
      const signature = expectedSignature(retry, endpoint.secret)
      assert.strictEqual(retry.headers["service-signature"], signature)
      yield* send(token)
      yield* settle
      assert.lengthOf(after.deliveries, 1)
    }),
  )

  it.effect("is refused as a new one would be", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      for (const [input, status, code] of [
        [{ url: "ftp://a.example" }, 422, "invalid_webhook_url"],
        [{ events: [] }, 400, "validation_failed"],
        [{ description: "x".repeat(101) }, 400, "validation_failed"],
        [{ secret: "mine" }, 400, "validation_failed"],
      ] as const) {
        const refused = yield* change(workspace, endpoint, input)
        assert.deepStrictEqual([refused.status, errorBody(refused).code], [status, code])
      }
      const missing = yield* change(workspace, { id: 987_654 }, {})
      assert.strictEqual(errorBody(missing).code, "webhook_not_found")
    }),
  )
})

layer(layerWithWayOut())("recovering events", (it) => {
  it.effect("delivers what was missed, and nothing that was delivered", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      yield* send(token)
      yield* settle
      receiver.answer = withStatus(500)
      yield* send(token)
      yield* send(token)
      yield* settle
      receiver.answer = withStatus(200)
      const answer = expectBody(yield* recover(workspace, endpoint, yield* ago(1)), 202)
      assert.deepStrictEqual<unknown>(answer, { queued: 2, more: false })
      yield* settle
      const ids = eventIds(receiver)
      assert.sameMembers(ids.slice(3), ids.slice(1, 3))
      const again = expectBody(yield* recover(workspace, endpoint, yield* ago(1)), 202)
      assert.deepStrictEqual<unknown>(again, { queued: 0, more: false })
      yield* pass(24 * hour)
      assert.lengthOf(receiver.deliveries, 5)
    }),
  )

  it.effect("needs a running endpoint and a time of the last 30 days", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      for (const [since, status, code] of [
        [yield* ago(31 * 24), 400, "validation_failed"],
        [yield* ago(-1), 400, "validation_failed"],
        ["yesterday", 400, "invalid_datetime"],
      ] as const) {
        const refused = yield* recover(workspace, endpoint, since)
        assert.deepStrictEqual([refused.status, errorBody(refused).code], [status, code])
        assert.strictEqual(errorBody(refused).field, "since")
      }
      const maker = yield* aKey(workspace)
      const stopped = yield* anEndpoint(maker.key, receiver)
      yield* revoke(workspace, maker)
      const refused = yield* recover(workspace, stopped, yield* ago(1))
      assert.deepStrictEqual([refused.status, errorBody(refused).code], [409, "webhook_stopped"])
    }),
  )
})
