import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { Egress, EgressError, OutboundRule } from "../../src/model/Egress.ts"
import type { PostLimits, PostRequest } from "../../src/model/Egress.ts"
import { Ids } from "../../src/model/Ids.ts"
import type { EventId, WorkspaceId } from "../../src/model/Ids.ts"
import type { ClaimedDelivery } from "../../src/store/WebhookStore.ts"
import { layerSecrets } from "../secret/layerSecrets.ts"
import { SigningSecrets } from "../../src/model/WebhookEndpoint.ts"
import { judgeCall, makeDeliveryCall } from "../../src/worker/Deliverer.ts"
import type { CallOutcome } from "../../src/worker/Deliverer.ts"

const hour = 3_600_000
/** 2026-03-02T12:00:00.250Z */
const noon = Date.UTC(2026, 2, 2, 12, 0, 0, 250)

const claimed = (overrides: Partial<ClaimedDelivery> = {}): ClaimedDelivery => ({
  id: 3,
  kind: "webhook",
  targetId: 7,
  workspaceId: 5 as WorkspaceId,
  lease: 11,
  eventId: "evt_000000000000000000000001" as EventId,
  body: '{"id":"evt_000000000000000000000001","text":"Grüße 🦉"}',
  attempt: 1,
  url: "https://example.com/hook",
  secretSalt: "salt",
  ...overrides,
})

const answered = (status: number, headers: Readonly<Record<string, string>> = {}): CallOutcome =>
  Result.succeed({ status, headers })

const judged = (outcome: CallOutcome, overrides: Partial<ClaimedDelivery> = {}) =>
  judgeCall(claimed(overrides), { outcome, startedAt: noon, endedAt: noon + 40, chance: 0 })

describe("the outcome of a call", () => {
  it.effect.each([200, 201, 202, 204, 299])("%i is delivered", (status) =>
    Effect.sync(() =>
      assert.deepStrictEqual(judged(answered(status)), {
        id: 3,
        kind: "webhook",
        targetId: 7,
        lease: 11,
        attemptedAt: noon,
        durationMillis: 40,
        responseStatus: status,
        responseBody: null,
        error: null,
        nextAttemptAt: null,
        stopUnlessDeliveredSince: null,
      }),
    ),
  )

  it.effect.each([301, 302, 304, 307, 400, 404, 410, 429, 500, 503])(
    "%i is a failure and retried, redirects and 4xx too",
    (status) =>
      Effect.sync(() => {
        const result = judged(answered(status))
        assert.deepStrictEqual(
          [result.responseStatus, result.error, result.nextAttemptAt],
          [status, "http_status", noon + 40 + 5000],
        )
        assert.isNull(result.stopUnlessDeliveredSince)
      }),
  )

  it.effect.each(["timeout", "dns", "tls", "connection", "blocked_address"] as const)(
    "without an answer: %s",
    (reason) =>
      Effect.sync(() => {
        const result = judged(Result.fail(reason))
        assert.deepStrictEqual(
          [result.responseStatus, result.error, result.nextAttemptAt],
          [null, reason, noon + 40 + 5000],
        )
      }),
  )

  it.effect("Retry-After counts from the end of the attempt", () =>
    Effect.sync(() => {
      const result = judged(answered(503, { "retry-after": "8" }))
      assert.strictEqual(result.nextAttemptAt, noon + 40 + 8000)
    }),
  )

  it.effect("the ninth failure is the last, and stops the endpoint after 120 h of silence", () =>
    Effect.sync(() => {
      const result = judged(answered(500), { attempt: 9 })
      assert.isNull(result.nextAttemptAt)
      assert.strictEqual(result.stopUnlessDeliveredSince, noon + 40 - 120 * hour)
      assert.isNull(judged(answered(200), { attempt: 9 }).stopUnlessDeliveredSince)
    }),
  )
})

interface Posted {
  readonly url: string
  readonly request: PostRequest
  readonly limits: PostLimits
}

/** One call over a scripted egress, and the request that it made. */
const call = (
  answer: Effect.Effect<{ status: number; headers: Record<string, string> }, EgressError>,
  allowPrivate = false,
) =>
  Effect.gen(function* () {
    const posted: Array<Posted> = []
    const unused = () => Effect.die("not asked for in these tests")
    const layer = SigningSecrets.layer.pipe(
      Layer.provideMerge(
        Layer.mergeAll(
          Ids.layerRandom,
          layerSecrets(),
          Layer.succeed(OutboundRule, { allowPrivate }),
          Layer.succeed(Egress, {
            allows: unused,
            fetch: unused,
            post: (url, request, limits) =>
              Effect.suspend(() => {
                posted.push({ url, request, limits })
                return answer
              }),
          }),
        ),
      ),
    )
    yield* TestClock.setTime(noon)
    return yield* Effect.gen(function* () {
      const result = yield* (yield* makeDeliveryCall)(claimed())
      return { result, posted: posted[0]!, secret: (yield* SigningSecrets).webhooks.of("salt") }
    }).pipe(Effect.provide(layer))
  })

const ok = Effect.succeed({ status: 200, headers: {} })

describe("the outcome of a callback", () => {
  const callback = { kind: "callback", targetId: -7 } as const

  it.effect.each([
    [1, 10_000],
    [2, 60_000],
    [3, 240_000],
  ] as const)("attempt %i is followed by another after %i ms", ([attempt, delay]) =>
    Effect.sync(() => {
      const result = judged(answered(500), { ...callback, attempt })
      assert.deepStrictEqual(
        [result.kind, result.targetId, result.error, result.nextAttemptAt],
        ["callback", -7, "http_status", noon + 40 + delay],
      )
    }),
  )

  it.effect("the fourth failure is the last, and stops nothing", () =>
    Effect.sync(() => {
      const result = judged(answered(500), { ...callback, attempt: 4 })
      assert.deepStrictEqual([result.nextAttemptAt, result.stopUnlessDeliveredSince], [null, null])
    }),
  )
})

describe("a call", () => {
  it.effect("carries the frozen body and the contract's headers, signed with the secret", () =>
    Effect.gen(function* () {
      const { posted, secret } = yield* call(ok)
      const { body } = claimed()
      const timestamp = Math.floor(noon / 1000)
      const mac = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")
      assert.strictEqual(posted.url, "https://example.com/hook")
      assert.strictEqual(posted.request.body, body)
      assert.strictEqual(posted.request.workspaceId, 5)
      assert.deepStrictEqual(posted.request.headers, {
        "content-type": "application/json",
        "user-agent": "Service-Webhooks/2",
        "service-event-id": "evt_000000000000000000000001",
        "service-timestamp": String(timestamp),
        "service-signature": `v1=${mac}`,
      })
    }),
  )

  it.effect("has 15 s in all, 5 s to connect, and reads at most 16 KiB of the answer", () =>
    Effect.gen(function* () {
      const { posted } = yield* call(ok)
      assert.deepStrictEqual(posted.limits, {
        timeoutMillis: 15_000,
        connectTimeoutMillis: 5000,
        maximumBytes: 16_384,
        storedBytes: 1024,
      })
    }),
  )

  it.effect("logs the first KiB of an answer that is UTF-8, and nothing of another one", () =>
    Effect.gen(function* () {
      const bytes = (text: string) => new TextEncoder().encode(text)
      const long = bytes(`x${"é".repeat(600)}`).subarray(0, 1024)
      for (const [beginning, logged] of [
        [bytes("größer"), "größer"],
        [bytes(""), ""],
        [bytes("\uFEFFa"), "\uFEFFa"],
        [long, `x${"é".repeat(511)}`],
        [bytes("é").subarray(0, 1), null],
        [Uint8Array.of(0xff, 0xfe), null],
        [bytes("a\0b"), "a\uFFFDb"],
        [undefined, null],
      ] as const) {
        const answer = { status: 200, headers: {}, ...(beginning && { beginning }) }
        assert.strictEqual((yield* call(Effect.succeed(answer))).result.responseBody, logged)
      }
    }),
  )

  it.effect("goes over plain http only where private targets are allowed", () =>
    Effect.gen(function* () {
      assert.isFalse((yield* call(ok)).posted.request.allowHttp)
      assert.isTrue((yield* call(ok, true)).posted.request.allowHttp)
    }),
  )

  it.effect("counts a failing adapter as a broken connection", () =>
    Effect.gen(function* () {
      const { result } = yield* call(Effect.die(new Error("a bug")))
      assert.deepStrictEqual([result.error, result.responseStatus], ["connection", null])
    }),
  )

  it.effect("adds jitter to the delay after a failure", () =>
    Effect.gen(function* () {
      const { result } = yield* call(Effect.fail(new EgressError({ reason: "dns" })))
      const delay = (result.nextAttemptAt ?? 0) - noon
      assert.isAtLeast(delay, 5000)
      assert.isAtMost(delay, 5250)
    }),
  )
})
