import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { claimRetentionMillis, Store } from "../../src/index.ts"
import { toClaimant } from "../../src/model/Auth.ts"
import {
  listMessages,
  answer,
  arrived,
  cancel,
  code,
  logOut,
  reconnect,
  refusal,
  remaining,
  sendBatch,
  status,
  the,
} from "./Operations.ts"
import {
  aContact,
  ahead,
  aKey,
  aSender,
  day,
  hour,
  inAService,
  minute,
  pass,
  settled,
} from "./Service.ts"

describe("Idempotency-Key", () => {
  it.effect("a repeat returns the first answer, marked as a replay, and acts only once", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender(10)
        const first = yield* answer(key, {}, "key")
        assert.isFalse(first.replayed)
        yield* pass(minute)
        const again = yield* answer(key, {}, "key")
        assert.isTrue(again.replayed)
        // After the message was sent too: the first answer, not the message's present state.
        assert.deepStrictEqual(again.messages, first.messages)
        assert.strictEqual(the(again.messages).status, "queued")
        assert.strictEqual(yield* status(key, the(first.messages)), "sent")
        assert.lengthOf(yield* arrived(), 1)
        assert.strictEqual(yield* remaining(workspace), 9)
      }),
    ),
  )

  it.effect("a repeat gets the first answer even when its sendAt has passed", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const input = { sendAt: yield* ahead(hour), expiresAt: yield* ahead(2 * hour) }
        const first = yield* answer(key, input, "key")
        yield* pass(3 * hour)
        const again = yield* answer(key, input, "key")
        assert.deepStrictEqual(again, { messages: first.messages, replayed: true })
        assert.strictEqual(the(again.messages).status, "scheduled")
      }),
    ),
  )

  it.effect(
    "a repeat gets the first answer though number, plan and quota would refuse it now",
    () =>
      inAService(
        Effect.gen(function* () {
          const { key, number, workspace } = yield* aSender(1)
          const contact = yield* aContact(workspace, { phone: "+15550000061" })
          const input = { to: { contactId: contact } }
          const first = yield* answer(key, input, "key")
          yield* logOut(number)
          const again = yield* answer(key, input, "key")
          assert.deepStrictEqual(again, { messages: first.messages, replayed: true })
          assert.strictEqual(yield* code(answer(key, input)), "from_required")
        }),
      ),
  )

  it.effect("replays a batch in the order of to, whatever happened to its messages", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const first = yield* sendBatch(key, 5, { from: number }, "key")
        yield* cancel(key, first[2]!)
        yield* reconnect(number)
        yield* settled
        const again = yield* sendBatch(key, 5, { from: number }, "key")
        assert.deepStrictEqual(again, first)
        assert.lengthOf(yield* arrived(), 4)
      }),
    ),
  )

  it.effect("the same key with another request is idempotency_key_reused", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* answer(key, {}, "key", "one")
        const refused = yield* refusal(answer(key, { text: "Other" }, "key", "two"))
        assert.deepStrictEqual([refused.code, refused.status], ["idempotency_key_reused", 422])
        // Even if that request is invalid.
        const late = answer(key, { sendAt: "2001-01-01T00:00:00Z" }, "key", "two")
        assert.strictEqual(yield* code(late), "idempotency_key_reused")
        assert.lengthOf(yield* listMessages(workspace), 1)
      }),
    ),
  )

  it.effect(
    "a second request during the first is idempotency_in_progress, and one message is made",
    () =>
      inAService(
        Effect.gen(function* () {
          const { key, workspace } = yield* aSender(10)
          const results = yield* Effect.forEach(
            Array.from({ length: 10 }),
            () => Effect.result(answer(key, {}, "key")),
            { concurrency: "unbounded" },
          )
          const created = new Set<number>()
          let first = 0
          for (const result of results) {
            if (result._tag === "Success") {
              created.add(the(result.success.messages).id)
              if (!result.success.replayed) first++
            } else if (result.failure._tag === "Refusal") {
              assert.strictEqual(result.failure.code, "idempotency_in_progress")
              assert.strictEqual(result.failure.status, 409)
              assert.strictEqual(result.failure.retryAfter, 1)
            }
          }
          assert.strictEqual(first, 1)
          assert.strictEqual(created.size, 1)
          assert.strictEqual(yield* remaining(workspace), 9)
        }),
      ),
  )

  it.effect("errors are not stored: a corrected request may reuse the key", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender(5)
        const codes = yield* Effect.all([
          code(answer(key, { from: 999_999 }, "key", "one")),
          code(answer(key, { to: { contactId: 999_999 } }, "key", "two")),
          code(answer(key, { sendAt: "2001-01-01T00:00:00Z" }, "key", "three")),
          code(sendBatch(key, 6, {}, "key")),
          code(answer(key, { to: { phone: "bad" } }, "key", "four")),
        ])
        assert.deepStrictEqual(codes, [
          "number_not_found",
          "contact_not_found",
          "time_in_past",
          "no_credits",
          "invalid_phone",
        ])
        const right = yield* answer(key, { from: number }, "key", "five")
        assert.isFalse(right.replayed)
      }),
    ),
  )

  it.effect("is kept for 24 hours from the first request, then is new again", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* answer(key, {}, "key")
        yield* pass(day - 1)
        assert.isTrue((yield* answer(key, {}, "key")).replayed)
        yield* pass(1)
        assert.isFalse((yield* answer(key, {}, "key", "other")).replayed)
        yield* settled
        assert.lengthOf(yield* arrived(), 2)
      }),
    ),
  )

  it.effect("belongs to the API key", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const other = yield* aKey(workspace)
        yield* answer(key, {}, "key")
        assert.isFalse((yield* answer(other, {}, "key", "other")).replayed)
      }),
    ),
  )

  it.effect("a claim whose process died is free after 30 s", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const store = (yield* Store).messages
        // What a request does before its process dies.
        yield* store.loadAcceptance({
          workspaceId: key.workspaceId,
          mode: "live",
          now: yield* Clock.currentTimeMillis,
          from: null,
          phones: [],
          contactIds: [],
          chatIds: [],
          replyTo: null,
          mediaId: null,
          exactQuota: null,
          idempotency: { keyId: toClaimant(key), key: "key", fingerprint: "same", token: "dead" },
        })
        yield* pass(claimRetentionMillis - 1)
        assert.strictEqual(yield* code(answer(key, {}, "key")), "idempotency_in_progress")
        yield* pass(1)
        assert.isFalse((yield* answer(key, {}, "key")).replayed)
        assert.isTrue((yield* answer(key, {}, "key")).replayed)
      }),
    ),
  )
})
