/**
 * Background work of the service inside a program: events, drains, restarts, closing, and its handler.
 */
import { Connections, EventFeed, StoreUnavailable } from "@messaging-service/core"
import { Context, Effect } from "effect"
import { assert, describe, it } from "vitest"
import type { MessageEvent } from "../src/index.ts"
import { aClosedPort, aShop, failure, first, opened, openedWithPhones, phone } from "./Opened.ts"

const later = () => new Date(Date.now() + 3_600_000)

describe("events", () => {
  it("reach listeners after their commit, with the message as it was then", async () => {
    const messaging = await opened({ worker: false })
    const { api, shop } = await aShop(messaging)
    const ended = first(2)
    const failed: Array<MessageEvent> = []
    messaging.on(["message.sent", "message.cancelled"], ended.handler)
    const subscription = messaging.on("message.failed", (event) => failed.push(event))
    const cancelled = await api.messages.send({ to: { phone }, text: "No", sendAt: later() })
    await api.messages.cancel(cancelled.id)
    const sent = await api.messages.send({ to: { phone }, text: "Yes" })
    await messaging.drain()
    const events = await ended.all
    assert.deepStrictEqual(
      events.map(({ message, type }) => [type, message.id, message.status]),
      [
        ["message.cancelled", cancelled.id, "cancelled"],
        ["message.sent", sent.id, "sent"],
      ],
    )
    const [one, two] = events
    assert.isBelow(one?.position ?? 0, two?.position ?? 0)
    assert.match(one?.id ?? "", /^evt_/)
    const { message } = one ?? {}
    const { sendAt, createdAt, ...rest } = message ?? {}
    const { replayed: _, sendAt: __, createdAt: ___, ...expected } = cancelled
    assert.deepStrictEqual<unknown>(rest, { ...expected, status: "cancelled" })
    assert.instanceOf(sendAt, Date)
    assert.instanceOf(createdAt, Date)
    assert.strictEqual(message?.workspaceId, shop.id)
    assert.deepStrictEqual(failed, [])
    await subscription.stop()
  })

  it("from earlier commits reach a listener that continues after a position", async () => {
    const messaging = await opened({ worker: false })
    const { api } = await aShop(messaging)
    const ids = []
    for (const text of ["One", "Two", "Three"]) {
      const { id } = await api.messages.send({ to: { phone }, text, sendAt: later() })
      await api.messages.cancel(id)
      ids.push(id)
    }
    const every = first(3)
    messaging.on("message.cancelled", every.handler, { after: 0 })
    const [one] = await every.all
    const rest = first(2)
    await messaging.on("message.cancelled", rest.handler, { after: one?.position }).ready
    assert.deepStrictEqual(
      (await rest.all).map(({ message }) => message.id),
      ids.slice(1),
    )
  })

  it("do not keep a listener from being stopped during delivery, even in its handler", async () => {
    const messaging = await opened()
    const { api } = await aShop(messaging)
    const heard: Array<string> = []
    await new Promise<void>((resolve, reject) => {
      const { stop } = messaging.on("message.sent", async ({ message }) => {
        heard.push(message.text ?? "")
        await stop().then(resolve, reject)
      })
      api.messages.sendBatch({ to: [{ phone }, { phone }], text: "Hello" }).catch(reject)
    })
    const all = first(2)
    await messaging.on("message.sent", all.handler, { after: 0 }).ready
    await all.all
    assert.deepStrictEqual(heard, ["Hello"])
  })

  it("are not told to a listener that was stopped", async () => {
    const messaging = await opened({ worker: false })
    const { api } = await aShop(messaging)
    const heard = first(1)
    const { stop } = messaging.on("message.cancelled", heard.handler)
    await stop()
    const others = first(1)
    messaging.on("message.cancelled", others.handler)
    const { id } = await api.messages.send({ to: { phone }, text: "No", sendAt: later() })
    await api.messages.cancel(id)
    await others.all
    assert.deepStrictEqual(heard.heard, [])
  })
})

it("a listener that the store does not answer keeps no call waiting", async () => {
  const { messaging } = await openedWithPhones({ worker: false }, (context) => {
    const feed = Context.get(context, EventFeed)
    const unavailable = new StoreUnavailable({ operation: "webhooks.readEvents", cause: "away" })
    return Context.add(context, EventFeed, { ...feed, end: Effect.fail(unavailable) })
  })
  const listening = messaging.on("message.sent", () => undefined)
  const { shop } = await aShop(messaging)
  assert.strictEqual(shop.name, "shop")
  await listening.stop()
})

describe("a drain", () => {
  it("works off what is due and no more, and tells what it did and when to come again", async () => {
    const messaging = await opened({ worker: false, egress: "open", logLevel: "error" })
    const { api } = await aShop(messaging)
    await api.webhooks.create({
      url: `https://127.0.0.1:${await aClosedPort()}/`,
      events: ["message.sent"],
    })
    const sendAt = later()
    await api.messages.send({ to: { phone }, text: "Later", sendAt })
    await api.messages.sendBatch({ to: [{ phone }, { phone }], text: "Now" })
    await api.messages.send({ to: { group: "Strangers" }, text: "Now" })
    const drained = await messaging.drain()
    assert.deepStrictEqual(
      { ...drained, nextDueAt: null },
      {
        sent: 2,
        failed: 1,
        cancelled: 0,
        expired: 0,
        delivered: 0,
        notDelivered: 2,
        finished: true,
        nextDueAt: null,
      },
    )
    // The first retry of a delivery is earlier.
    assert.isBelow(drained.nextDueAt?.getTime() ?? Infinity, sendAt.getTime())
    const again = await messaging.drain()
    assert.deepStrictEqual([again.sent, again.failed, again.finished], [0, 0, true])
  })

  it("ends when its time is over, and what is under way may end first", async () => {
    const { messaging, phones } = await openedWithPhones({ worker: false, shutdownMillis: 50 })
    const { api } = await aShop(messaging)
    const [number] = await api.numbers.list()
    await Effect.runPromise(phones.setBehaviour(number?.id as never, { send: "hang" }))
    await api.messages.send({ to: { phone }, text: "Hello" })
    const drained = await messaging.drain({ atMostMillis: 2000 })
    assert.deepStrictEqual([drained.finished, drained.sent, drained.nextDueAt], [false, 0, null])
  })
})

describe("a fault", () => {
  it("is an internal_error with its cause", async () => {
    const messaging = await opened({ worker: false })
    const { api } = await aShop(messaging)
    const fault = new Error("the host's own object broke")
    const command = {
      get to(): never {
        throw fault
      },
      text: "Hello",
    }
    const error = await failure(api.messages.send(command))
    assert.deepStrictEqual([error.code, error.status, error.cause], ["internal_error", 500, fault])
  })
})

describe("a store that does not answer", () => {
  it("fails a promise as it fails a request, with the retry time if there is one", async () => {
    const fault = new StoreUnavailable({ operation: "numbers.list", cause: "away" })
    const full = new StoreUnavailable({ ...fault, cause: "no room", retryAfter: 5 })
    const received: ReadonlyArray<readonly [StoreUnavailable, string, number, number | null]> = [
      [fault, "internal_error", 500, null],
      [full, "service_unavailable", 503, 5000],
    ]
    for (const [unavailable, code, status, retryAfterMillis] of received) {
      const { messaging } = await openedWithPhones({ worker: false }, (context) =>
        Context.add(context, Connections, {
          ...Context.get(context, Connections),
          list: () => Effect.fail(unavailable),
        }),
      )
      const { api, shop } = await aShop(messaging)
      const error = await failure(api.numbers.list())
      assert.deepStrictEqual(
        [error.code, error.status, error.retryAfterMillis, error.cause],
        [code, status, retryAfterMillis, unavailable],
      )
      const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
      const answer = await messaging.handler(
        new Request("http://host/api/v2/numbers", { headers: { authorization: `Bearer ${key}` } }),
      )
      assert.strictEqual(answer.status, status)
      const seconds = answer.headers.get("retry-after")
      assert.strictEqual(seconds === null ? null : Number(seconds) * 1000, retryAfterMillis)
      const body = (await answer.json()) as { readonly error: { readonly code: string } }
      assert.strictEqual(body.error.code, code)
    }
  })
})

describe("the handler", () => {
  it("serves every version below its path, with keys and links of this service", async () => {
    const operatorToken = "a-token-of-more-than-thirty-two-characters"
    const messaging = await opened({
      worker: false,
      http: { basePath: "messaging/", publicUrl: "https://shop.example.com", operatorToken },
    })
    const { api, shop } = await aShop(messaging)
    const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
    const command = { to: { phone }, text: "Hello" }
    const request = (path: string, init: RequestInit = {}) =>
      messaging.handler(new Request(`https://shop.example.com${path}`, init))
    const authorization = `Bearer ${key}`
    const sent = await request("/messaging/api/v2/messages", {
      method: "POST",
      headers: { authorization, "content-type": "application/json", "idempotency-key": "order" },
      body: JSON.stringify(command),
    })
    assert.strictEqual(sent.status, 202)
    const { id } = (await sent.json()) as { readonly id: number }
    // The same key, command and caller are one call, however it comes.
    const again = await messaging.withKey(key).messages.send(command, { idempotencyKey: "order" })
    assert.deepStrictEqual([again.id, again.replayed], [id, true])
    const { url } = await api.media.upload({ fileName: "a.txt", content: new Uint8Array([65]) })
    assert.match(url, /^https:\/\/shop\.example\.com\/messaging\/media\//)
    assert.strictEqual(await (await request(new URL(url).pathname)).text(), "A")
    assert.strictEqual((await request("/messaging/health/ready")).status, 200)
    const operator = { headers: { authorization: `Bearer ${operatorToken}` } }
    assert.strictEqual((await request("/messaging/admin/v1/workspaces", operator)).status, 200)
    assert.strictEqual((await request("/messagings/health/ready")).status, 404)
    const document = (await (await request("/messaging/openapi.json")).json()) as {
      readonly info: { readonly description: string }
      readonly servers: ReadonlyArray<object>
    }
    const [, errorPage = ""] =
      /the error catalogue\]\((.*?)\)/.exec(document.info.description) ?? []
    assert.strictEqual(errorPage, "https://shop.example.com/messaging/docs/errors")
    assert.strictEqual((await request(new URL(errorPage).pathname)).status, 200)
    assert.deepStrictEqual(document.servers, [{ url: "https://shop.example.com/messaging" }])
    // Strangers at unknown addresses lock no operator out.
    for (let wrong = 0; wrong < 40; wrong++) {
      const stranger = { headers: { authorization: `Bearer ${"x".repeat(40)}` } }
      assert.include([401, 429], (await request("/messaging/admin/v1/workspaces", stranger)).status)
    }
    assert.strictEqual((await request("/messaging/admin/v1/workspaces", operator)).status, 200)
    assert.strictEqual((await request("/health/ready")).status, 404)
  })
})
