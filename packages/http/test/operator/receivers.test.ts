/** The emulator's receivers: deliveries to `https://<name>.receiver.test/…` stay within the process. */
import { assert, layer } from "@effect/vitest"
import { Egress, EgressError, sleepInRealTime } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { Receivers } from "@messaging-service/emulator"
import { Clock, Effect, Layer } from "effect"
import { createHmac } from "node:crypto"
import { errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aSender, aWorkspace, expectBody, operate, remove, settle } from "../Records.ts"
import type { Created } from "../Records.ts"
import { send } from "../v2/Asking.ts"

interface ReceiverBody {
  readonly name: string
  readonly url: string
  readonly calls: number
  readonly last_call_at: string | null
  readonly answer: { readonly status: number; readonly body: string; readonly hangs: boolean }
}

interface CallBody {
  readonly id: number
  readonly at: string
  readonly method: string
  readonly path: string
  readonly headers: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly body: string
  readonly event_id: string | null
  readonly type: string | null
  readonly signature: string
  readonly answer: ReceiverBody["answer"]
}

interface LoggedBody {
  readonly id: number
  readonly event_id: string
  readonly response_status: number | null
  readonly error: string | null
}

const receivers = ({ id }: Created) => `/admin/v1/simulator/workspaces/${id}/receivers`

const webhooks = ({ id }: Created) => `/admin/v1/workspaces/${id}/webhooks`

const list = (workspace: Created) =>
  Effect.map(
    operate({ path: receivers(workspace) }),
    (answer) => expectBody<{ readonly data: ReadonlyArray<ReceiverBody> }>(answer, 200).data,
  )

const calls = (workspace: Created, name = "shop") =>
  Effect.map(
    operate({ path: `${receivers(workspace)}/${name}/calls` }),
    (answer) => expectBody<{ readonly data: ReadonlyArray<CallBody> }>(answer, 200).data,
  )

const answers = (workspace: Created, json: object, name = "shop") =>
  Effect.map(operate({ method: "PUT", path: `${receivers(workspace)}/${name}`, json }), (answer) =>
    expectBody<ReceiverBody>(answer, 200),
  )

const anEndpoint = (workspace: Created, url = "https://shop.receiver.test/hook?of=orders") =>
  Effect.map(operate({ method: "POST", path: webhooks(workspace), json: { url } }), (answer) =>
    expectBody<Created & { readonly secret: string }>(answer, 201),
  )

const log = (workspace: Created, { id }: Created) =>
  Effect.map(
    operate({ path: `${webhooks(workspace)}/${id}/deliveries` }),
    (answer) => expectBody<{ readonly data: ReadonlyArray<LoggedBody> }>(answer, 200).data,
  )

/** A call as the delivery loop makes one. */
const post = (
  { id }: Created,
  headers: Readonly<Record<string, string>> = {},
  {
    allowHttp = false,
    body = "{}",
    timeoutMillis = 1000,
    url = "https://shop.receiver.test/hook",
  } = {},
) =>
  Egress.use((egress) =>
    egress.post(
      url,
      { workspaceId: id as WorkspaceId, headers, body, allowHttp },
      { maximumBytes: 1024, storedBytes: 8, timeoutMillis, connectTimeoutMillis: 1000 },
    ),
  )

const sign = (secret: string, timestamp: number, body: string) => ({
  "service-timestamp": String(timestamp),
  "service-signature": `v1=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`,
})

const seconds = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1000))

layer(layerService())("a receiver", (it) => {
  it.effect("gets deliveries as any address does, signed with the endpoint's secret", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(workspace)
      assert.deepStrictEqual(yield* list(workspace), [
        {
          name: "shop",
          url: "https://shop.receiver.test/",
          calls: 0,
          last_call_at: null,
          answer: { status: 200, body: "", hangs: false },
        },
      ])
      const { id } = yield* send(token)
      yield* settle
      const [call, ...more] = yield* calls(workspace)
      assert.isEmpty(more)
      assert.deepInclude(call, {
        method: "POST",
        path: "/hook?of=orders",
        type: "message.sent",
        signature: "valid",
        answer: { status: 200, body: "", hangs: false },
      })
      assert.strictEqual(JSON.parse(call?.body ?? "").data.message.id, id)
      const headers = new Map(call?.headers.map(({ name, value }) => [name, value]))
      assert.strictEqual(headers.get("host"), "shop.receiver.test")
      assert.strictEqual(headers.get("service-event-id"), call?.event_id)
      const [receiver] = yield* list(workspace)
      assert.deepInclude(receiver, { calls: 1, last_call_at: call!.at })
      const [attempt] = yield* log(workspace, endpoint)
      assert.deepInclude(attempt, {
        event_id: call!.event_id!,
        response_status: 200,
        error: null,
      })
    }),
  )

  it.effect("that answers 500 fails deliveries, and takes the redelivery once it is repaired", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(workspace)
      const broken = { status: 500, body: "out of order" }
      assert.deepInclude(yield* answers(workspace, broken), {
        answer: { ...broken, hangs: false },
      })
      yield* send(token)
      yield* settle
      const [failed] = yield* log(workspace, endpoint)
      assert.deepInclude(failed, { response_status: 500, error: "http_status" })
      const path = `${webhooks(workspace)}/${endpoint.id}`
      const logged = yield* operate({ path: `${path}/deliveries/${failed?.id}` })
      assert.deepInclude(expectBody<object>(logged, 200), { response_body: "out of order" })
      assert.strictEqual((yield* calls(workspace))[0]?.answer.status, 500)

      assert.deepInclude(yield* answers(workspace, {}), {
        answer: { status: 200, body: "", hangs: false },
      })
      const json = { event_id: failed?.event_id }
      expectBody(yield* operate({ method: "POST", path: `${path}/redeliver`, json }), 202)
      yield* settle
      const [again, first] = yield* calls(workspace)
      assert.deepInclude(again, {
        event_id: first!.event_id,
        signature: "valid",
        answer: { status: 200, body: "", hangs: false },
      })
      assert.isNull((yield* log(workspace, endpoint))[0]?.error)
    }),
  )

  it.effect("gets the ping of a test, and forgets its calls when told", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const endpoint = yield* anEndpoint(workspace)
      yield* answers(workspace, { status: 410 })
      const path = `${webhooks(workspace)}/${endpoint.id}/test`
      expectBody(yield* operate({ method: "POST", path }), 202)
      yield* settle
      assert.deepInclude((yield* calls(workspace))[0], { type: "ping", signature: "valid" })
      assert.strictEqual((yield* log(workspace, endpoint))[0]?.response_status, 410)
      const clear = { method: "DELETE", path: `${receivers(workspace)}/shop/calls` }
      assert.deepInclude(expectBody<object>(yield* operate(clear), 200), {
        calls: 0,
        answer: { status: 410, body: "", hangs: false },
      })
      assert.isEmpty(yield* calls(workspace))
    }),
  )

  it.effect("that hangs is called, and the call ends by its own time limit", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      yield* answers(workspace, { hangs: true })
      const answered = Effect.result(post(workspace, {}, { timeoutMillis: 50 }))
      const before = Effect.as(sleepInRealTime(5), "no answer yet")
      assert.strictEqual(yield* Effect.raceFirst(answered, before), "no answer yet")
      const { reason } = yield* Effect.flip(post(workspace, {}, { timeoutMillis: 20 }))
      assert.strictEqual(reason, "timeout")
      assert.isTrue((yield* calls(workspace))[0]?.answer.hangs)
    }),
  )

  it.effect("answers with as much of its body as the delivery keeps", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      yield* answers(workspace, { body: "0123456789" })
      const { beginning } = yield* post(workspace)
      assert.strictEqual(new TextDecoder().decode(beginning), "01234567")
    }),
  )

  it.effect("knows right signatures from wrong, old and missing ones", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const { secret } = yield* anEndpoint(workspace)
      const now = yield* seconds
      const body = '{"type":"ping"}'
      const judged = (headers: Readonly<Record<string, string>>, text = body) =>
        Effect.gen(function* () {
          yield* post(workspace, headers, { body: text })
          return (yield* calls(workspace))[0]?.signature
        })
      assert.strictEqual(yield* judged(sign(secret, now, body)), "valid")
      assert.strictEqual(yield* judged(sign("0".repeat(64), now, body)), "invalid")
      assert.strictEqual(yield* judged(sign(secret, now, body), "{}"), "invalid")
      assert.strictEqual(yield* judged(sign(secret, now - 301, body)), "invalid")
      assert.strictEqual(yield* judged({}), "none")
      // Of another receiver's endpoint.
      const other = yield* anEndpoint(workspace, "https://bakery.receiver.test/")
      assert.strictEqual(yield* judged(sign(other.secret, now, body)), "invalid")
    }),
  )

  it.effect(
    "takes callbacks of version 1, also over http, signed with the workspace's secret",
    () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const path = `/admin/v1/workspaces/${workspace.id}/callback-secret`
        const { secret } = expectBody<{ readonly secret: string }>(yield* operate({ path }), 200)
        const body = "msg_id=17&status=SENT"
        const headers = sign(secret, yield* seconds, body)
        const url = "http://shop.receiver.test/callback"
        yield* post(workspace, headers, { allowHttp: true, body, url })
        assert.deepInclude((yield* calls(workspace))[0], {
          path: "/callback",
          body,
          type: null,
          signature: "valid",
        })
      }),
  )
})

layer(layerService())("the bounds of receivers", (it) => {
  it.effect("only one label below receiver.test is a receiver", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const others = [
        "https://receiver.test/",
        "https://a.b.receiver.test/",
        "https://shop.receiver.test.example/",
        "https://shop.receiver.testing/",
        "https://example.org/.receiver.test",
        // Plain http only where the call allows it.
        "http://shop.receiver.test/",
      ]
      for (const url of others) {
        const { reason } = yield* Effect.flip(post(workspace, {}, { url }))
        assert.strictEqual(reason, "blocked_address", url)
      }
      assert.isEmpty(yield* list(workspace))
      yield* post(workspace, {}, { url: "https://SHOP.receiver.test.:8443/" })
      assert.deepStrictEqual(
        (yield* list(workspace)).map(({ name }) => name),
        ["shop"],
      )
    }),
  )

  it.effect("a name that is no label is refused", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      for (const name of ["Shop", "a.b", "x".repeat(64), "%61"]) {
        for (const call of [
          { method: "PUT", path: name, json: {} },
          { path: `${name}/calls` },
          { method: "DELETE", path: `${name}/calls` },
        ]) {
          const path = `${receivers(workspace)}/${call.path}`
          const answer = yield* operate({ ...call, path })
          assert.strictEqual(answer.status, 400, path)
          assert.deepInclude(errorBody(answer), { code: "validation_failed", field: "name" })
        }
      }
    }),
  )

  it.effect("workspaces see only their own receivers", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* aWorkspace(), yield* aWorkspace()]
      yield* answers(one, { status: 500 })
      assert.strictEqual((yield* post(other)).status, 200)
      assert.strictEqual((yield* post(one)).status, 500)
      assert.lengthOf(yield* calls(one), 1)
      assert.lengthOf(yield* calls(other), 1)
    }),
  )

  it.effect("the latest 100 calls of a receiver are kept, newest first", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      for (let index = 0; index <= 100; index++) {
        yield* post(workspace, {}, { body: String(index) })
      }
      const bodies = (yield* calls(workspace)).map(({ body }) => body)
      assert.lengthOf(bodies, 100)
      assert.deepStrictEqual([bodies[0], bodies.at(-1)], ["100", "1"])
    }),
  )

  it.effect("the 51st receiver takes the place of the one unused for longest", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      for (let index = 0; index < 50; index++) yield* answers(workspace, {}, `r${index}`)
      yield* post(workspace, {}, { url: "https://r0.receiver.test/" })
      yield* answers(workspace, {}, "r50")
      const names = (yield* list(workspace)).map(({ name }) => name)
      assert.lengthOf(names, 50)
      assert.includeMembers(names, ["r0", "r2", "r50"])
      assert.notInclude(names, "r1")
    }),
  )

  it.effect("16 MiB of calls are kept of a workspace, without those of another", () =>
    Effect.gen(function* () {
      const [workspace, other] = [yield* aWorkspace(), yield* aWorkspace()]
      yield* post(other)
      const body = "x".repeat(6 * 1024 ** 2)
      for (const name of ["one", "two", "three"]) {
        yield* post(workspace, {}, { body, url: `https://${name}.receiver.test/` })
      }
      const counts = (yield* list(workspace)).map(({ calls: count, name }) => [name, count])
      assert.deepStrictEqual(counts, [
        ["one", 0],
        ["three", 1],
        ["two", 1],
      ])
      assert.lengthOf(yield* calls(other), 1)
    }),
  )

  it.effect("a deleted workspace has no receivers, and later calls leave none", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      yield* post(workspace)
      const own = yield* Receivers.use((all) =>
        Effect.succeed(() => all.of(workspace.id as WorkspaceId).names),
      )
      assert.deepStrictEqual(own(), ["shop"])
      yield* remove(workspace)
      assert.deepStrictEqual(own(), [])
      assert.strictEqual((yield* post(workspace)).status, 200)
      assert.deepStrictEqual(own(), [])
      const answer = yield* operate({ path: receivers(workspace) })
      assert.strictEqual(errorBody(answer).code, "workspace_not_found")
    }),
  )
})

const blocked = () => Effect.fail(new EgressError({ reason: "blocked_address" }))

/** A network that lets nothing through. */
const nowhere = Layer.succeed(Egress, {
  allows: () => Effect.succeed(false),
  fetch: blocked,
  post: blocked,
})

layer(layerService({ egress: nowhere }))("without a network", (it) => {
  it.effect(
    "an endpoint may have a receiver's address and no other, and nothing is looked up",
    () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const path = webhooks(workspace)
        const json = { url: "https://shop.receiver.test.example/" }
        const refused = yield* operate({ method: "POST", path, json })
        assert.strictEqual(errorBody(refused).code, "invalid_webhook_url")
        const { id } = yield* anEndpoint(workspace)
        expectBody(yield* operate({ method: "POST", path: `${path}/${id}/test` }), 202)
        yield* settle
        assert.deepInclude((yield* calls(workspace))[0], { type: "ping", signature: "valid" })
      }),
  )
})
