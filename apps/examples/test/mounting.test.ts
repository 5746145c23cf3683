/** Every way of mounting answers as the service does, over real sockets, beside the server's own. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bareNode } from "../src/bareNode.ts"
import type { Mounted } from "../src/mounted.ts"
import { withExpress } from "../src/withExpress.ts"
import { withFastify } from "../src/withFastify.ts"
import { withHono } from "../src/withHono.ts"

const token = "an operator token for the examples"

const ways: Readonly<Record<string, (operatorToken: string) => Promise<Mounted>>> = {
  "node:http": bareNode,
  Express: withExpress,
  Fastify: withFastify,
  Hono: withHono,
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

const call = (url: string, bearer: string, method: string, json?: unknown) =>
  Effect.promise(async (): Promise<Answer> => {
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Answer["body"],
    }
  })

const aKey = (url: string) =>
  Effect.gen(function* () {
    const workspaces = `${url}/admin/v1/workspaces`
    const workspace = yield* call(workspaces, token, "POST", { name: "Mounted" })
    assert.strictEqual(workspace.status, 201)
    const inside = `${workspaces}/${String(workspace.body["id"])}`
    const number = { platform: "whatsapp", phone: "+15550100001" }
    assert.strictEqual((yield* call(`${inside}/numbers`, token, "POST", number)).status, 201)
    const key = yield* call(`${inside}/keys`, token, "POST", { version: 2, name: "Mounted" })
    return String(key.body["key"])
  })

for (const [name, mount] of Object.entries(ways)) {
  describe(`mounted in ${name}`, () => {
    it.live("a message goes from `queued` to `sent`, and other paths stay the server's own", () =>
      Effect.gen(function* () {
        const { url } = yield* Effect.acquireRelease(
          Effect.promise(() => mount(token)),
          ({ stop }) => Effect.promise(stop),
        )
        const key = yield* aKey(url)

        const accepted = yield* call(`${url}/api/v2/messages`, key, "POST", {
          to: { phone: "+15550100002" },
          text: "Hello — ✓",
        })
        assert.strictEqual(accepted.status, 202)
        assert.strictEqual(accepted.body["status"], "queued")
        assert.match(accepted.headers.get("x-request-id") ?? "", /^req_[0-9A-Za-z]{24}$/)

        const address = `${url}/api/v2/messages/${String(accepted.body["id"])}`
        const sent = yield* call(address, key, "GET").pipe(
          Effect.delay("10 millis"),
          Effect.repeat({ times: 500, until: ({ body }) => body["status"] === "sent" }),
        )
        assert.strictEqual(sent.body["text"], "Hello — ✓")

        const refused = yield* call(`${url}/api/v2/messages`, key, "POST", { to: {} })
        assert.strictEqual(refused.status, 400)
        const unknown = yield* call(`${url}/api/v2/nothing`, key, "GET")
        assert.strictEqual(unknown.status, 404)

        const own = yield* Effect.promise(async () => (await fetch(`${url}/`)).text())
        assert.strictEqual(own, "my own page")
      }).pipe(Effect.scoped),
    )
  })
}
