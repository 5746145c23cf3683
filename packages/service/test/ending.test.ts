/** Closing a service lets running work finish within its limit. */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { aShop, failure, first, opened, openedWithPhones, phone } from "./Opened.ts"

describe("closing lets what is under way end", () => {
  it("waits for a phone that does not answer no longer than it was told, and the message waits", async () => {
    const { messaging, phones } = await openedWithPhones({ shutdownMillis: 50 })
    const { api } = await aShop(messaging)
    const [number] = await api.numbers.list()
    await Effect.runPromise(phones.setBehaviour(number?.id as never, { send: "hang" }))
    const heard = first(1)
    messaging.on("message.sent", heard.handler)
    await api.messages.send({ to: { phone }, text: "Hello" })
    await messaging.close()
    assert.deepStrictEqual(heard.heard, [])
  })

  it("lets a call that is under way end", async () => {
    const messaging = await opened({ worker: false })
    const { api } = await aShop(messaging)
    const sending = api.messages.send({ to: { phone }, text: "Hello" })
    await messaging.close()
    assert.strictEqual((await sending).status, "queued")
    assert.strictEqual((await failure(messaging.drain())).code, "closed")
  })

  it("lets a request that is under way end, and answers later ones with 503", async () => {
    const messaging = await opened({ worker: false, http: { basePath: "/messaging" } })
    const { shop } = await aShop(messaging)
    const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const request = (path: string, more: RequestInit & { readonly duplex?: "half" } = {}) =>
      messaging.handler(new Request(`http://host/messaging${path}`, { headers, ...more }))
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const received: Array<string> = []
    const sending = request("/api/v2/messages", { method: "POST", body: readable, duplex: "half" })
    const closing = messaging.close().then(() => received.push("closed"))
    const body = writable.getWriter()
    await body.write(new TextEncoder().encode(JSON.stringify({ to: { phone }, text: "Hello" })))
    // The reader got everything that was there.
    await body.ready
    assert.deepStrictEqual(received, [])
    await body.close()
    await closing
    assert.strictEqual((await sending).status, 202)
    for (const path of ["/api/v2/me", "/health/ready", "/media/x"]) {
      const answer = await request(path)
      assert.deepStrictEqual(
        [answer.status, answer.headers.get("retry-after"), answer.headers.get("cache-control")],
        [503, "1", "no-store"],
      )
      assert.match(answer.headers.get("x-request-id") ?? "", /^req_/)
      const { error } = (await answer.json()) as { readonly error: { readonly code: string } }
      assert.strictEqual(error.code, "service_unavailable")
    }
    assert.strictEqual((await messaging.handler(new Request("http://host/else"))).status, 404)
  })

  it("a handler that was never asked before answers with 503 too", async () => {
    const messaging = await opened({ worker: false })
    await messaging.close()
    const answer = await messaging.handler(new Request("http://host/api/v2/me"))
    assert.strictEqual(answer.status, 503)
  })
})
