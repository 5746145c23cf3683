import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Egress, Messages } from "../../src/index.ts"
import type { CallbackUrl, Caller, MessageId, Refusal } from "../../src/index.ts"
import { plainTerms } from "../message/plainTerms.ts"
import type { SendTerms } from "../../src/service/Messages.ts"
import { readContent, leftOver, uploaded } from "./Attaching.ts"
import {
  allEvents,
  cancel,
  code,
  copies,
  get,
  logOut,
  refusal,
  remaining,
  send,
  sendBatch,
  the,
} from "./Operations.ts"
import { ahead, aSender, day, hour, inAService, minute, pass, settled } from "./Service.ts"

const full = "number_daily_cap_reached"

/** Sends one message that is stored even if refused. */
const sendStored = (
  caller: Caller,
  overrides: Readonly<Record<string, unknown>> = {},
  terms: Partial<SendTerms> = {},
) =>
  Messages.use((messages) =>
    messages.send(caller, { to: { phone: "+15550000001" }, text: "Hello", ...overrides }, null, {
      ...plainTerms,
      keepRefused: true,
      ...terms,
    }),
  )

/** The id of the message that a refusal left behind. */
const storedId = ({ details }: Pick<Refusal, "details">) => Number(details.messageId) as MessageId

/** A workspace with a single number that has no quota. The number is logged out, so accepted messages wait. */
const aFullSender = (accepted = 1000, messagesRemaining: number | null = null) =>
  Effect.gen(function* () {
    const sender = yield* aSender(messagesRemaining)
    const { key, number } = sender
    yield* logOut(number)
    yield* sendBatch(key, accepted, { from: number })
    return { ...sender, from: { from: number } }
  })

describe("a kept message that was refused for quota", () => {
  it.effect("is stored as failed; the refusal tells its id, and version 2 reads it", () =>
    inAService(
      Effect.gen(function* () {
        const { from, key, number } = yield* aFullSender()
        const refused = yield* refusal(sendStored(key, from))
        assert.deepStrictEqual(
          [refused.code, refused.status, refused.retryAfter],
          [full, 429, 86_400],
        )
        const message = yield* get(key, { id: storedId(refused) })
        assert.deepStrictEqual<unknown>(message, {
          id: storedId(refused),
          status: "failed",
          from: { id: number, phone: "15550000100", platform: "whatsapp" },
          to: { phone: "+15550000001", contact_id: null },
          text: "Hello",
          media: null,
          send_at: null,
          expires_at: null,
          created_at: "2026-03-02T12:00:00Z",
          sent_at: null,
          error: { code: "send_failed", message: "Daily limit reached" },
        })
        yield* settled
        assert.deepStrictEqual(yield* copies(), [])
        const received = (yield* allEvents).filter(({ messageId }) => messageId === message.id)
        const event = the(received)
        assert.strictEqual(event.type, "message.failed")
        assert.deepStrictEqual(JSON.parse(event.body ?? "").data, { message })
        assert.strictEqual(yield* code(cancel(key, message)), "not_cancellable")
      }),
    ),
  )

  it.effect("takes neither allowance nor quota, however many there are", () =>
    inAService(
      Effect.gen(function* () {
        const { from, key, workspace } = yield* aFullSender(999, 2500)
        yield* pass(hour)
        yield* sendStored(key, from)
        for (let count = 0; count < 20; count++) {
          assert.strictEqual((yield* refusal(sendStored(key, from))).retryAfter, 23 * 3600)
        }
        assert.strictEqual(yield* remaining(workspace), 1500)
        yield* pass(23 * hour)
        yield* sendBatch(key, 999, from)
        assert.strictEqual(yield* code(sendStored(key, from)), full)
      }),
    ),
  )

  it.effect("is stored too when its planned time has no room", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* sendBatch(key, 1000, { sendAt: yield* ahead(2 * day) })
        const refused = yield* refusal(sendStored(key, { sendAt: yield* ahead(2 * day) }))
        const message = yield* get(key, { id: storedId(refused) })
        assert.deepStrictEqual(
          [message.status, message.send_at],
          ["failed", "2026-03-04T12:00:00Z"],
        )
        yield* sendStored(key)
      }),
    ),
  )

  it.effect("reports its failure to its callback", () => {
    const posted: Array<readonly [string, string]> = []
    const egress = Layer.succeed(Egress, {
      allows: () => Effect.succeed(true),
      fetch: () => Effect.never,
      post: (url, { body }) =>
        Effect.sync(() => {
          posted.push([url, body])
          return { status: 200, headers: {} }
        }),
    })
    return inAService(
      Effect.gen(function* () {
        const { from, key } = yield* aFullSender()
        const callbackUrl = "https://example.com/callback" as CallbackUrl
        const refused = yield* refusal(sendStored(key, from, { callbackUrl }))
        yield* pass(minute)
        const [url, body] = the(posted)
        assert.strictEqual(url, callbackUrl)
        assert.deepStrictEqual(Object.fromEntries(new URLSearchParams(body)), {
          msg_id: String(storedId(refused)),
          status: "FAILED",
          error: "Daily limit reached",
        })
      }),
      { egress },
    )
  })

  it.effect("keeps its attachment for 26 h like any other message", () =>
    inAService(
      Effect.gen(function* () {
        const { from, key } = yield* aFullSender()
        const { file, refused } = yield* Effect.scoped(
          Effect.gen(function* () {
            const attachment = yield* uploaded(key, "a.pdf", "content")
            return {
              file: attachment,
              refused: yield* refusal(sendStored(key, from, { attachment })),
            }
          }),
        )
        const { media } = yield* get(key, { id: storedId(refused) })
        assert.strictEqual(media?.file_name, "a.pdf")
        yield* pass(26 * hour - 1)
        assert.strictEqual(yield* readContent(file.id), "content")
        yield* pass(22 * minute)
        assert.isNull(yield* readContent(file.id))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )

  it.effect("is one of two results in a race: each is accepted or stored as failed", () =>
    inAService(
      Effect.gen(function* () {
        const { from, key } = yield* aFullSender(990)
        const results = yield* Effect.forEach(
          Array.from({ length: 30 }),
          () => Effect.result(sendStored(key, from)),
          { concurrency: "unbounded" },
        )
        const accepted = results.flatMap((result) =>
          result._tag === "Success" ? result.success.messages : [],
        )
        const kept = results.flatMap((result) =>
          result._tag === "Failure" && result.failure._tag === "Refusal"
            ? storedId(result.failure)
            : [],
        )
        assert.deepStrictEqual([accepted.length, kept.length, new Set(kept).size], [10, 20, 20])
        yield* settled
        for (const id of kept) assert.strictEqual((yield* get(key, { id })).status, "failed")
        for (const { id } of accepted) {
          assert.strictEqual((yield* get(key, { id })).status, "queued")
        }
      }),
    ),
  )
})

describe("a refusal that keeps nothing", () => {
  it.effect("is every one of version 2: a refused send stores nothing", () =>
    inAService(
      Effect.gen(function* () {
        const { from, key } = yield* aFullSender()
        const before = (yield* allEvents).length
        const refused = yield* refusal(send(key, from))
        assert.strictEqual(refused.code, full)
        assert.notProperty(refused.details, "messageId")
        assert.lengthOf(yield* allEvents, before)
      }),
    ),
  )

  it.effect("is that of a batch, all or nothing", () =>
    inAService(
      Effect.gen(function* () {
        const { from, key } = yield* aFullSender(999)
        const sendTwo = Messages.use((messages) =>
          messages.sendBatch(
            key,
            { to: [{ phone: "+15550000001" }, { phone: "+15550000002" }], text: "Hello", ...from },
            null,
            { ...plainTerms, keepRefused: true },
          ),
        )
        const before = (yield* allEvents).length
        const refused = yield* refusal(sendTwo)
        assert.strictEqual(refused.code, full)
        assert.notProperty(refused.details, "messageId")
        assert.lengthOf(yield* allEvents, before)
      }),
    ),
  )

  it.effect("is any other than the number's quota", () =>
    inAService(
      Effect.gen(function* () {
        const { from, key } = yield* aFullSender(1000, 1000)
        const before = (yield* allEvents).length
        // Neither credits nor quota: the allowance is checked first.
        assert.strictEqual(yield* code(sendStored(key, from)), "no_credits")
        assert.strictEqual(yield* code(sendStored(key, { ...from, text: "" })), "text_required")
        assert.lengthOf(yield* allEvents, before)
      }),
    ),
  )
})
