/** The client refuses invalid calls at once, without a request or a retry. */
import { assert, vi } from "@effect/vitest"
import { MessagingError, messagingClient, operatorClient } from "../src/index.ts"
import type { ConnectionOptions, MessagingClient } from "../src/index.ts"
import {
  aClient,
  accepted,
  anOperator,
  ended,
  lost,
  message,
  refused,
  scripted,
  stopTime,
  test,
} from "./Scripted.ts"

stopTime()

const circular: Record<string, unknown> = {}
circular["self"] = circular

const refusals: ReadonlyArray<
  readonly [
    what: string,
    ask: (client: MessagingClient) => Promise<unknown>,
    code: MessagingError["code"],
    field: string | null,
  ]
> = [
  ...["", "№", "a\nb", "a".repeat(256), 7 as unknown as string].map(
    (idempotencyKey) =>
      [
        `the idempotency key ${JSON.stringify(idempotencyKey).slice(0, 8)}`,
        (client: MessagingClient) => client.messages.send(message, { idempotencyKey }),
        "invalid_idempotency_key",
        "idempotencyKey",
      ] as const,
  ),
  ...[10n, circular, () => 1].map(
    (text) =>
      [
        `a body with a ${typeof text}`,
        (client: MessagingClient) =>
          client.messages.send((typeof text === "function" ? text : { ...message, text }) as never),
        "invalid_json",
        null,
      ] as const,
  ),
  ...["", "..", ".", "../me", "x", undefined, null, Number.NaN, 0, -1, 1.5, 1e21, {}].map(
    (id) =>
      [
        `the id ${String(id)} of type ${typeof id}`,
        (client: MessagingClient) => client.messages.get(id as number),
        "validation_failed",
        "id",
      ] as const,
  ),
  ...[0, -1, Number.NaN, "5" as unknown as number].map(
    (timeoutMillis) =>
      [
        `the time-out ${JSON.stringify(timeoutMillis)}`,
        (client: MessagingClient) => client.me({ timeoutMillis }),
        "validation_failed",
        "timeoutMillis",
      ] as const,
  ),
]
for (const [what, request, code, field] of refusals) {
  test(`${what} is refused before anything is asked`, async () => {
    const { attempts, fetch } = scripted(accepted)
    const { error, millis } = await ended(request(aClient(fetch)))
    assert.instanceOf(error, MessagingError)
    assert.deepInclude(error, { code, field, status: null })
    assert.lengthOf(attempts, 0)
    assert.strictEqual(millis, 0)
  })
}

test("the second id of a path is named as the path does, and a list refuses when it is read", async () => {
  const { attempts, fetch } = scripted(accepted)
  const operator = anOperator(fetch)
  const { error } = await ended(operator.keys.revoke(1, "" as unknown as number))
  assert.strictEqual(error?.field, "key_id")
  const listing = operator.webhooks.deliveries(1, Number.NaN)
  assert.strictEqual((await ended(listing.page())).error?.field, "webhook_id")
  assert.lengthOf(attempts, 0)
})

test("an id may be given as its digits", async () => {
  const { attempts, fetch } = scripted(accepted)
  await aClient(fetch).messages.get("7" as unknown as number)
  assert.strictEqual(attempts[0]?.url, "https://messages.test/api/v2/messages/7")
})

for (const timeoutMillis of [Number.POSITIVE_INFINITY, 2 ** 31, 9_999_999_000]) {
  test(`a time-out of ${timeoutMillis} is longer than timers count: there is none`, async () => {
    const { attempts, fetch } = scripted(() => null)
    const ending = new AbortController()
    const request = aClient(fetch, { timeoutMillis }).me({ signal: ending.signal })
    await vi.advanceTimersByTimeAsync(60_000)
    assert.lengthOf(attempts, 1)
    ending.abort(new Error("enough"))
    assert.strictEqual((await ended(request)).error?.message, "enough")
  })
}

test("a rest that is longer than timers count is not taken for none", async () => {
  const { attempts, fetch } = scripted(
    refused(429, "rate_limited", {}, { "retry-after": "9999999" }),
    lost,
  )
  const ending = new AbortController()
  const client = aClient(fetch, { longestRestMillis: Number.POSITIVE_INFINITY, retries: 1 })
  const request = client.me({ signal: ending.signal })
  await vi.advanceTimersByTimeAsync(60_000)
  assert.lengthOf(attempts, 1)
  ending.abort(new Error("enough"))
  assert.strictEqual((await ended(request)).error?.message, "enough")
})

const url = "https://messages.test"
const wrongClients: ReadonlyArray<readonly [what: string, make: () => unknown]> = [
  ["no key", () => messagingClient({ url, key: undefined as unknown as string })],
  ["a key that is a number", () => messagingClient({ url, key: 7 as unknown as string })],
  ["no token", () => operatorClient({ url, token: undefined as unknown as string })],
  ...[0, -1, Number.NaN, "5" as unknown as number].map(
    (timeoutMillis) =>
      [
        `the time-out ${JSON.stringify(timeoutMillis)}`,
        () => messagingClient({ url, key: "k", timeoutMillis }),
      ] as const,
  ),
  ...([{ "x-team": "sec\nret" }, { "x-team": "№" }, { "x team": "a" }] as const).map(
    (headers: NonNullable<ConnectionOptions["headers"]>) =>
      [
        `the header ${JSON.stringify(headers)}`,
        () => messagingClient({ url, key: "k", headers }),
      ] as const,
  ),
]
for (const [what, make] of wrongClients) {
  test(`no client is made with ${what}, and the complaint shows no secret`, async () => {
    try {
      make()
    } catch (error) {
      assert.instanceOf(error, TypeError)
      assert.notInclude((error as TypeError).message, "sec")
      return
    }
    assert.fail("it was made")
  })
}
