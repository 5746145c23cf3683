import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { EventId, WebhookId } from "../../src/model/Ids.ts"
import type { TimelineFacts, TimelineDelivery } from "../../src/model/Timeline.ts"
import { timelineEntries, timelineLimit } from "../../src/model/Timeline.ts"
import { aMessage, noon } from "../worker/claimedMessage.ts"

const hour = 3_600_000

const aDelivery = (overrides: Partial<TimelineDelivery> = {}): TimelineDelivery => ({
  attemptedAt: noon + 10,
  webhookId: 5 as WebhookId,
  url: "https://example.com/hook?secret=1#part",
  attempt: 1,
  responseStatus: 200,
  error: null,
  durationMillis: 84,
  nextAttemptAt: null,
  ...overrides,
})

const facts = (overrides: Partial<TimelineFacts> = {}): TimelineFacts => ({
  message: aMessage(),
  deliveredAt: null,
  readAt: null,
  event: null,
  ahead: 0,
  newChatsUntil: null,
  attempts: [],
  deliveries: [],
  ...overrides,
})

const event = (
  type: "message.sent" | "message.failed" | "message.cancelled",
  createdAt: number,
) => ({
  id: "evt_1" as EventId,
  type,
  createdAt,
})

/** Type and time since noon of each entry. */
const toTimeline = (overrides: Partial<TimelineFacts>, now = noon + hour) =>
  timelineEntries(facts(overrides), "owner", now).entries.map(({ at, type }) => [type, at - noon])

describe("a timeline", () => {
  it.effect("is what is stored, in the order in which it happened", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(
        toTimeline({
          message: aMessage({ sendAt: noon + 1 }),
          attempts: [
            { at: noon + 4, unfinished: "interrupted", nextAttemptAt: null },
            { at: noon + 3, unfinished: "not_connected", nextAttemptAt: null },
            { at: noon + 2, unfinished: "no_room", nextAttemptAt: noon + 3 },
            { at: noon + 1, unfinished: "postponed", nextAttemptAt: noon + 2 },
          ],
          event: event("message.sent", noon + 5),
          deliveredAt: noon + 6,
          readAt: noon + 12,
          deliveries: [aDelivery({ attempt: 2, attemptedAt: noon + 11 }), aDelivery()],
        }),
        [
          ["accepted", 0],
          ["due", 1],
          ["postponed", 1],
          ["postponed", 2],
          ["attempt_refused", 3],
          ["attempt_interrupted", 4],
          ["sent", 5],
          ["delivered", 6],
          ["delivery", 10],
          ["delivery", 11],
          ["read", 12],
        ],
      )
    }),
  )

  it.effect("of a scheduled message says that it fell due only once it did, while it waited", () =>
    Effect.sync(() => {
      const message = aMessage({ sendAt: noon + hour })
      assert.deepStrictEqual(toTimeline({ message }, noon + hour - 1), [["accepted", 0]])
      assert.deepStrictEqual(toTimeline({ message }, noon + hour), [
        ["accepted", 0],
        ["due", hour],
      ])
      const ended = event("message.cancelled", noon + 1)
      assert.deepStrictEqual(toTimeline({ message, event: ended }, noon + 2 * hour), [
        ["accepted", 0],
        ["cancelled", 1],
      ])
    }),
  )

  it.effect("gives each entry every field, and an error where something failed", () =>
    Effect.sync(() => {
      const blank = {
        attempt: null,
        eventId: null,
        webhookId: null,
        url: null,
        responseStatus: null,
        durationMillis: null,
        nextAttemptAt: null,
        error: null,
      }
      const error = { code: "send_failed", message: "The send failed." } as const
      const { entries } = timelineEntries(
        facts({
          message: aMessage({ state: "failed", error }),
          attempts: [{ at: noon + 1, unfinished: "no_room", nextAttemptAt: noon + 2 }],
          event: event("message.failed", noon + 2),
          deliveries: [aDelivery({ webhookId: null, error: "timeout", responseStatus: null })],
        }),
        "owner",
        noon + 2,
      )
      assert.deepStrictEqual(entries as unknown, [
        { ...blank, type: "accepted", at: noon },
        {
          ...blank,
          type: "postponed",
          at: noon + 1,
          nextAttemptAt: noon + 2,
          error: { code: "no_room", message: "The disk had no room for the file." },
        },
        { ...blank, type: "failed", at: noon + 2, eventId: "evt_1", error },
        {
          ...blank,
          type: "delivery",
          at: noon + 10,
          attempt: 1,
          eventId: "evt_1",
          url: "https://example.com/hook?secret=1#part",
          durationMillis: 84,
          error: { code: "timeout", message: null },
        },
      ])
    }),
  )

  it.effect("shows members a receiver's address without its query", () =>
    Effect.sync(() => {
      const urls = (["owner", "administrator", "member"] as const).map(
        (role) =>
          timelineEntries(
            facts({ event: event("message.sent", noon), deliveries: [aDelivery()] }),
            role,
            noon,
          ).entries.at(-1)?.url,
      )
      const whole = "https://example.com/hook?secret=1#part"
      assert.deepStrictEqual(urls, [whole, whole, "https://example.com/hook"])
    }),
  )

  it.effect("keeps the message's own steps and the newest deliveries", () =>
    Effect.sync(() => {
      const many = (count: number) =>
        timelineEntries(
          facts({
            event: event("message.sent", noon + 1),
            readAt: noon + 2,
            attempts: [{ at: noon, unfinished: "postponed", nextAttemptAt: null }],
            deliveries: Array.from({ length: count }, (_, index) =>
              aDelivery({ attemptedAt: noon + 10 + count - index, attempt: count - index }),
            ),
          }),
          "owner",
          noon + hour,
        )
      const whole = many(timelineLimit - 4)
      assert.isFalse(whole.truncated)
      assert.lengthOf(whole.entries, timelineLimit)
      const { entries, truncated } = many(timelineLimit + 1)
      assert.isTrue(truncated)
      assert.lengthOf(entries, timelineLimit)
      assert.deepStrictEqual(
        entries.slice(0, 4).map(({ attempt, type }) => [type, attempt]),
        [
          ["accepted", null],
          ["sent", null],
          ["read", null],
          ["delivery", 5],
        ],
      )
      assert.strictEqual(entries.at(-1)?.attempt, timelineLimit + 1)
    }),
  )
})
