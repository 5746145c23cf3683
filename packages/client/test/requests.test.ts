/** When the client retries, what ends a request, and how it reports refusals. */
import { assert, describe, vi } from "@effect/vitest"
import { inspect } from "node:util"
import { MessagingError, messagingClient, operatorClient } from "../src/index.ts"
import type { ConnectionOptions } from "../src/index.ts"
import {
  aClient,
  accepted,
  anOperator,
  answered,
  ended,
  lost,
  message,
  refused,
  scripted,
  stopTime,
  test,
} from "./Scripted.ts"
import type { Outcome } from "./Scripted.ts"

stopTime()

describe("a request", () => {
  test("has the key, an own idempotency key, and JSON; none of them is in the path", async () => {
    const { attempts, fetch } = scripted(accepted)
    const client = aClient(fetch, {
      url: "https://messages.test/base/",
      headers: { "x-team": "a" },
    })
    await client.messages.send(message)
    await client.messages.send(message)
    const [{ headers, init, url } = attempts[1]!, second] = attempts
    assert.strictEqual(url, "https://messages.test/base/api/v2/messages")
    assert.strictEqual(headers.get("authorization"), "Bearer svc_live_secret")
    assert.strictEqual(headers.get("content-type"), "application/json")
    assert.strictEqual(headers.get("x-team"), "a")
    assert.strictEqual(init.body, JSON.stringify(message))
    assert.match(headers.get("idempotency-key") ?? "", /^[0-9a-f]{32}$/)
    assert.notStrictEqual(
      headers.get("idempotency-key"),
      second?.headers.get("idempotency-key") ?? null,
    )
  })

  test("has the caller's idempotency key when there is one, and none where none is taken", async () => {
    const { attempts, fetch } = scripted(accepted)
    await aClient(fetch).messages.send(message, { idempotencyKey: "order-7" })
    await anOperator(fetch).workspaces.create({ name: "Shop" })
    assert.strictEqual(attempts[0]?.headers.get("idempotency-key"), "order-7")
    assert.isNull(attempts[1]?.headers.get("idempotency-key") ?? null)
  })

  test("has its filters in the query: several values with commas, and nothing that is undefined", async () => {
    const { attempts, fetch } = scripted(answered(200, { data: [], next_cursor: null }))
    const since = "2030-01-31T09:00:00+02:00"
    await aClient(fetch)
      .messages.list({ status: ["sent", "read"], since, limit: 5 })
      .page()
    await aClient(fetch).messages.list().page()
    assert.strictEqual(
      attempts[0]?.url,
      "https://messages.test/api/v2/messages?status=sent%2Cread&since=2030-01-31T09%3A00%3A00%2B02%3A00&limit=5",
    )
    assert.strictEqual(attempts[1]?.url, "https://messages.test/api/v2/messages")
  })

  test("says who acts for an operator", async () => {
    const { attempts, fetch } = scripted(answered(200, { data: [] }))
    const url = "https://messages.test"
    await operatorClient({ url, token: "t", actingRole: "member", fetch }).keys.list(1)
    assert.strictEqual(attempts[0]?.headers.get("acting-role"), "member")
  })

  test("for a webhook tells by a null that the answer with the secret was lost", async () => {
    const endpoint = { id: 7, secret_last4: "beef" }
    const { attempts, fetch } = scripted(lost, answered(201, endpoint))
    const { value } = await ended(aClient(fetch).webhooks.create({ url: "https://example.com/" }))
    assert.lengthOf(attempts, 2)
    assert.deepEqual<unknown>(value, { ...endpoint, secret: null })
    const first = scripted(answered(201, { ...endpoint, secret: "beef" }))
    const createdWebhook = await aClient(first.fetch).webhooks.create({
      url: "https://example.com/",
    })
    assert.strictEqual(createdWebhook.secret, "beef")
  })

  for (const [what, make] of [
    ["a url without a scheme", () => aClient(fetch, { url: "messages.test" })],
    ["a url of another scheme", () => aClient(fetch, { url: "ftp://messages.test" })],
    ["a url with a query", () => aClient(fetch, { url: "https://messages.test/?a=1" })],
    [
      "a url with a name and a password",
      () => aClient(fetch, { url: "https://op:secret@messages.test" }),
    ],
    [
      "a url with a password that cannot be read",
      () => aClient(fetch, { url: "https://op:secret@messages.test:x" }),
    ],
    ["a url with a name", () => aClient(fetch, { url: "https://secret@messages.test" })],
    ["an empty key", () => messagingClient({ url: "https://messages.test", key: "" })],
    [
      "a key with a line break",
      () => messagingClient({ url: "https://messages.test", key: "sec\nret" }),
    ],
  ] as const) {
    test(`is never made with ${what}, and the complaint does not show a key`, async () => {
      const error = (() => {
        try {
          return make()
        } catch (thrown) {
          return thrown
        }
      })()
      assert.instanceOf(error, TypeError)
      assert.notMatch(inspect(error), /sec\s*ret/)
    })
  }
})

describe("a request is repeated", () => {
  const cases: ReadonlyArray<
    readonly [name: string, outcome: () => Outcome, restsBetween: readonly [number, number]]
  > = [
    ["when the connection broke", lost, [250, 500]],
    [
      "when there is no room, after the time that the service names",
      refused(503, "service_unavailable", {}, { "retry-after": "2" }),
      [2000, 2000],
    ],
    ["when a proxy has no room", () => new Response("<html>", { status: 503 }), [250, 500]],
    ["after a fault of the service", refused(500, "internal_error"), [250, 500]],
    ["after a fault of a proxy", () => new Response("<html>", { status: 502 }), [250, 500]],
    [
      "above a limit, after the time that the service names",
      refused(429, "rate_limited", {}, { "retry-after": "17" }),
      [17_000, 17_000],
    ],
    [
      "when the first attempt is still being answered",
      refused(409, "idempotency_in_progress", {}, { "retry-after": "1" }),
      [1000, 1000],
    ],
  ]
  for (const [name, outcome, [min, max]] of cases) {
    test(`${name}, with the same idempotency key and body`, async () => {
      const { attempts, fetch } = scripted(outcome, accepted)
      const { millis, value } = await ended(aClient(fetch).messages.send(message))
      assert.strictEqual(value?.id, 1)
      assert.lengthOf(attempts, 2)
      const [first, second] = attempts.map(({ headers }) => headers.get("idempotency-key"))
      assert.strictEqual(second, first)
      assert.strictEqual(attempts[1]?.init.body, attempts[0]?.init.body)
      assert.isAtLeast(millis, min)
      assert.isAtMost(millis, max)
    })
  }

  test("when it was not answered in time", async () => {
    const { attempts, fetch } = scripted(() => null, accepted)
    const { millis, value } = await ended(
      aClient(fetch, { timeoutMillis: 5000 }).messages.send(message),
    )
    assert.strictEqual(value?.id, 1)
    assert.lengthOf(attempts, 2)
    assert.isAtLeast(millis, 5250)
  })

  test("three times at most, after rests that grow, and then its error is the last one", async () => {
    const { attempts, fetch } = scripted(lost)
    const { error, millis } = await ended(aClient(fetch).me())
    assert.strictEqual(error?.code, "no_answer")
    assert.isNull(error?.status)
    assert.instanceOf(error?.cause, TypeError)
    assert.lengthOf(attempts, 4)
    assert.isAtLeast(millis, 250 + 500 + 1000)
    assert.isAtMost(millis, 500 + 1000 + 2000)
  })

  test("not with a key that was never issued: it will be no better in a minute", async () => {
    const { attempts, fetch } = scripted(
      refused(429, "too_many_auth_failures", {}, { "retry-after": "60" }),
    )
    const { error } = await ended(aClient(fetch).me())
    assert.strictEqual(error?.code, "too_many_auth_failures")
    assert.lengthOf(attempts, 1)
  })

  test("as often as the client or the call says", async () => {
    const never = scripted(lost)
    await ended(aClient(never.fetch, { retries: 0 }).me())
    assert.lengthOf(never.attempts, 1)
    const once = scripted(lost)
    await ended(aClient(once.fetch, { retries: 0 }).me({ retries: 1 }))
    assert.lengthOf(once.attempts, 2)
  })

  test("not when the service asks for a longer rest than the caller takes", async () => {
    const { attempts, fetch } = scripted(refused(429, "rate_limited", {}, { "retry-after": "61" }))
    const { error, millis } = await ended(aClient(fetch).me())
    assert.strictEqual(error?.retryAfterSeconds, 61)
    assert.lengthOf(attempts, 1)
    assert.strictEqual(millis, 0)
  })

  test("after a date as well as after seconds", async () => {
    const { fetch } = scripted(
      () =>
        refused(
          429,
          "rate_limited",
          {},
          { "retry-after": new Date(Date.now() + 9000).toUTCString() },
        )(),
      answered(200, {}),
    )
    const { millis } = await ended(aClient(fetch).me())
    assert.isAtLeast(millis, 8000)
    assert.isAtMost(millis, 9000)
  })

  const operations: Readonly<
    Record<
      string,
      readonly [
        (fetch: NonNullable<ConnectionOptions["fetch"]>) => Promise<unknown>,
        afterLoss: number,
        afterBusy: number,
      ]
    >
  > = {
    GET: [(fetch) => aClient(fetch).messages.get(1), 2, 2],
    PATCH: [(fetch) => aClient(fetch).reminders.update(1, { active: false }), 2, 2],
    PUT: [(fetch) => anOperator(fetch).simulator.setRegistered({ phones: null }), 2, 2],
    "a keyed POST": [(fetch) => aClient(fetch).messages.send(message), 2, 2],
    "a POST without a key": [
      (fetch) => anOperator(fetch).workspaces.create({ name: "Shop" }),
      1,
      2,
    ],
    DELETE: [(fetch) => aClient(fetch).messages.cancel(1), 1, 2],
  }
  for (const [what, [request, afterLoss, afterBusy]] of Object.entries(operations)) {
    test(`if it is ${what}: ${afterLoss === 2 ? "also" : "not"} when it may have been done`, async () => {
      const broken = scripted(lost, accepted)
      await ended(request(broken.fetch))
      assert.lengthOf(broken.attempts, afterLoss)
      const busy = scripted(refused(503, "service_unavailable"), accepted)
      await ended(request(busy.fetch))
      assert.lengthOf(busy.attempts, afterBusy)
      const behindProxy = scripted(() => new Response("", { status: 503 }), accepted)
      await ended(request(behindProxy.fetch))
      assert.lengthOf(behindProxy.attempts, afterLoss)
      const faulty = scripted(refused(500, "internal_error"), accepted)
      await ended(request(faulty.fetch))
      assert.lengthOf(faulty.attempts, afterLoss)
    })
  }

  for (const [status, code] of [
    [400, "validation_failed"],
    [401, "invalid_api_key"],
    [409, "not_cancellable"],
    [422, "invalid_phone"],
    [429, "number_daily_cap_reached"],
  ] as const) {
    test(`never after ${status} ${code} without a time to wait`, async () => {
      const { attempts, fetch } = scripted(refused(status, code))
      const { error } = await ended(aClient(fetch).messages.send(message))
      assert.strictEqual(error?.status, status)
      assert.lengthOf(attempts, 1)
    })
  }
})

describe("a refusal", () => {
  test("is an error with all that the service says", async () => {
    const { fetch } = scripted(
      refused(409, "not_cancellable", {
        status: "sent",
        errors: [{ field: "to", message: "No." }],
      }),
    )
    const { error } = await ended(aClient(fetch).messages.cancel(7))
    assert.instanceOf(error, MessagingError)
    assert.deepInclude(error, {
      name: "MessagingError",
      code: "not_cancellable",
      status: 409,
      field: null,
      requestId: "req_1",
      retryAfterSeconds: null,
      message: "No. (not_cancellable, req_1)",
    })
    assert.deepStrictEqual(error?.details, { status: "sent" })
    assert.deepStrictEqual(error?.errors, [{ field: "to", message: "No." }])
  })

  test("names its field in its message", async () => {
    const { fetch } = scripted(refused(422, "invalid_phone", { field: "to[3].phone" }))
    const { error } = await ended(aClient(fetch).messages.send(message))
    assert.strictEqual(error?.message, "No. (invalid_phone, to[3].phone, req_1)")
  })

  for (const [what, outcome] of [
    ["a page of a proxy", () => new Response("<html>", { status: 502 })],
    [
      "a redirect",
      () => new Response("", { status: 301, headers: { location: "https://other.test/" } }),
    ],
    ["a page with status 200", () => new Response("<html>", { status: 200 })],
    ["JSON of another service", answered(404, { message: "Not here" })],
    ["JSON that is no object", answered(200, null)],
    ["a list in place of an object", answered(200, [])],
    ["half an answer", () => new Response('{"id":1,"sta', { status: 202 })],
  ] as const) {
    test(`differs from ${what}`, async () => {
      const { error } = await ended(aClient(scripted(outcome).fetch).messages.send(message))
      assert.strictEqual(error?.code, "unexpected_answer")
      assert.strictEqual(error?.status, outcome().status)
    })
  }
})

describe("a list", () => {
  for (const page of [
    {},
    { data: [] },
    { data: [], next_cursor: 1 },
    { data: {}, next_cursor: null },
  ]) {
    test(`ends with a page that is ${JSON.stringify(page)}`, async () => {
      const { attempts, fetch } = scripted(answered(200, page))
      const all = async () => {
        for await (const _ of aClient(fetch).messages.list()) assert.fail("it had a record")
      }
      const { error } = await ended(all())
      assert.strictEqual(error?.code, "unexpected_answer")
      assert.lengthOf(attempts, 1)
    })
  }
})

describe("a stream of events", () => {
  const stream = (text: string) => () =>
    new Response(text, { headers: { "content-type": "text/event-stream; charset=utf-8" } })
  const event = (data: string) => `event: messages\nid: 7\ndata: ${data}\n\n`
  const first = async (...outcomes: ReadonlyArray<() => Outcome>) => {
    const { attempts, fetch } = scripted(...outcomes)
    const changeFeed = anOperator(fetch).follow(1)
    const { error, value } = await ended(changeFeed.next())
    return { error, ids: value?.value?.ids, attempts: attempts.length }
  }

  for (const [what, outcome] of [
    ["a proxy's 502 while the service restarts", () => new Response("<html>", { status: 502 })],
    ["an event that was cut", stream(event('{"ids":[1'))],
    ["an event that is no object", stream(event("null"))],
    ["a connection that ends", stream("event: messages")],
  ] as const) {
    test(`goes on after ${what}`, async () => {
      const found = await first(outcome, stream(event('{"ids":[5]}')))
      assert.deepStrictEqual(found, { error: undefined, ids: [5], attempts: 2 })
    })
  }

  test("ends where something else answers", async () => {
    const page = () => new Response("<html>", { headers: { "content-type": "text/html" } })
    const { attempts, error } = await first(page)
    assert.deepInclude(error, { code: "unexpected_answer", status: 200 })
    assert.strictEqual(attempts, 1)
  })
})

describe("a caller's signal", () => {
  test("ends a request that is under way, which rejects with the signal's reason", async () => {
    const { attempts, fetch } = scripted(() => null)
    const ending = new AbortController()
    const request = aClient(fetch).me({ signal: ending.signal })
    await vi.advanceTimersByTimeAsync(10)
    ending.abort(new Error("enough"))
    const { error, millis } = await ended(request)
    assert.strictEqual(error?.message, "enough")
    assert.strictEqual(millis, 0)
    assert.lengthOf(attempts, 1)
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  test("ends the rest before a repeat", async () => {
    const { attempts, fetch } = scripted(refused(429, "rate_limited", {}, { "retry-after": "30" }))
    const ending = new AbortController()
    const request = aClient(fetch).me({ signal: ending.signal })
    await vi.advanceTimersByTimeAsync(10)
    ending.abort(new Error("enough"))
    const { error, millis } = await ended(request)
    assert.strictEqual(error?.message, "enough")
    assert.strictEqual(millis, 0)
    assert.lengthOf(attempts, 1)
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  test("may be the client's, for all of its requests, in addition to that of one", async () => {
    for (const which of ["client", "request"] as const) {
      const { fetch } = scripted(() => null)
      const endings = { client: new AbortController(), request: new AbortController() }
      const client = aClient(fetch, { signal: endings.client.signal })
      const request = client.me({ signal: endings.request.signal })
      await vi.advanceTimersByTimeAsync(10)
      endings[which].abort(new Error(which))
      const { error, millis } = await ended(request)
      assert.strictEqual(error?.message, which)
      assert.strictEqual(millis, 0)
    }
  })

  test("that has ended already asks nothing", async () => {
    const { attempts, fetch } = scripted(accepted)
    const { error } = await ended(
      aClient(fetch).me({ signal: AbortSignal.abort(new Error("enough")) }),
    )
    assert.strictEqual(error?.message, "enough")
    assert.lengthOf(attempts, 0)
  })
})
