/** Requests to a service mounted below `/messaging` of some server. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

export const operatorToken = "an operator token for the examples"

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

const aKey = (mounted: string) =>
  Effect.gen(function* () {
    const workspaces = `${mounted}/admin/v1/workspaces`
    const workspace = yield* call(workspaces, operatorToken, "POST", { name: "Mounted" })
    assert.strictEqual(workspace.status, 201)
    const inside = `${workspaces}/${String(workspace.body["id"])}`
    const number = { platform: "whatsapp", phone: "+15550100001" }
    assert.strictEqual(
      (yield* call(`${inside}/numbers`, operatorToken, "POST", number)).status,
      201,
    )
    const key = yield* call(`${inside}/keys`, operatorToken, "POST", {
      version: 2,
      name: "Mounted",
    })
    return String(key.body["key"])
  })

/** A message goes from `queued` to `sent`, and refusals are the service's own. */
export const answersAsTheService = Effect.fnUntraced(function* (url: string) {
  const mounted = `${url}/messaging`
  const key = yield* aKey(mounted)
  const messages = `${mounted}/api/v2/messages`

  const accepted = yield* call(messages, key, "POST", {
    to: { phone: "+15550100002" },
    text: "Hello — ✓",
  })
  assert.strictEqual(accepted.status, 202)
  assert.strictEqual(accepted.body["status"], "queued")
  assert.match(accepted.headers.get("x-request-id") ?? "", /^req_[0-9A-Za-z]{24}$/)

  const address = `${messages}/${String(accepted.body["id"])}`
  const sent = yield* call(address, key, "GET").pipe(
    Effect.delay("10 millis"),
    Effect.repeat({ times: 500, until: ({ body }) => body["status"] === "sent" }),
  )
  assert.strictEqual(sent.body["text"], "Hello — ✓")

  assert.strictEqual((yield* call(messages, key, "POST", { to: {} })).status, 400)
  assert.strictEqual((yield* call(`${mounted}/api/v2/nothing`, key, "GET")).status, 404)
})
