import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import {
  allEvents,
  arrived,
  behave,
  copies,
  events,
  get,
  logOut,
  reconnect,
  send,
  sendBatch,
  status,
  statuses,
  stored,
  the,
} from "./Operations.ts"
import {
  aContact,
  ahead,
  aKey,
  aNumber,
  aSender,
  day,
  hour,
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
} from "./Service.ts"

describe("a message that is sent", () => {
  it.effect("is queued, then sent, with its event in the outbox", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const message = yield* send(key)
        assert.deepStrictEqual<unknown>(message, {
          id: message.id,
          status: "queued",
          from: { id: number, phone: "15550000100", platform: "whatsapp" },
          to: { phone: "+15550000001", contact_id: null },
          text: "Hello",
          media: null,
          send_at: null,
          expires_at: null,
          created_at: "2026-03-02T12:00:00Z",
          sent_at: null,
          error: null,
        })
        yield* settled
        const sent = { ...message, status: "sent", sent_at: "2026-03-02T12:00:00Z" }
        assert.deepStrictEqual<unknown>(yield* get(key, message), sent)
        const [event, ...rest] = yield* allEvents
        assert.deepStrictEqual(rest, [])
        assert.match(event?.eventId ?? "", /^evt_[0-9A-Za-z]{24}$/)
        assert.deepStrictEqual<unknown>(event, {
          id: event?.id,
          eventId: event?.eventId,
          type: "message.sent",
          workspaceId: workspace,
          mode: "live",
          messageId: message.id,
          reference: null,
          createdAt: noon,
          body: event?.body,
        })
        assert.deepStrictEqual<unknown>(JSON.parse(event?.body ?? ""), {
          id: event?.eventId,
          type: "message.sent",
          created_at: "2026-03-02T12:00:00Z",
          data: { message: sent },
        })
        const copy = the(yield* copies())
        assert.deepStrictEqual<unknown>(copy, {
          id: copy.id,
          transportId: (yield* stored(message)).transportId,
          messageId: message.id,
          numberId: number,
          workspaceId: workspace,
          to: "+15550000001",
          text: "Hello",
          media: null,
          at: noon,
        })
      }),
    ),
  )

  it.effect("goes to each kind of recipient", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const telegram = yield* aNumber(workspace, { platform: "telegram", phone: "+15550000200" })
        const withPhone = yield* aContact(workspace, { phone: "+15550000061" })
        const withUsername = yield* aContact(workspace, { username: "t.me/jane_doe" })
        yield* send(key, { to: { group: "Team" } })
        yield* send(key, { to: { contactId: withPhone } })
        yield* send(key, { to: { username: "@john_doe" } })
        yield* send(key, { to: { contactId: withUsername } })
        yield* send(key, { to: { username: "tg:42" } })
        yield* settled
        const to = (all: ReadonlyArray<{ readonly to: string }>) => all.map((copy) => copy.to)
        assert.deepStrictEqual(to(yield* copies(number)), ["Team", "+15550000061"])
        assert.deepStrictEqual(to(yield* copies(telegram)), ["@john_doe", "@jane_doe", "tg:42"])
      }),
    ),
  )

  it.effect("a recipient that appears twice receives two messages", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const messages = yield* sendBatch(key, 2)
        yield* settled
        assert.deepStrictEqual<unknown>(
          yield* arrived(),
          messages.map(({ id }) => id),
        )
      }),
    ),
  )
})

describe("a scheduled message", () => {
  it.effect("becomes queued when due, then sent", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const message = yield* send(key, { sendAt: yield* ahead(hour) })
        assert.strictEqual(message.status, "scheduled")
        assert.strictEqual(message.send_at, "2026-03-02T13:00:00Z")
        yield* pass(hour - 1)
        assert.strictEqual(yield* status(key, message), "scheduled")
        assert.deepStrictEqual(yield* arrived(), [])
        yield* logOut(number)
        yield* pass(1)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* reconnect(number)
        yield* settled
        const sent = yield* get(key, message)
        assert.deepStrictEqual([sent.status, sent.sent_at], ["sent", "2026-03-02T13:00:00Z"])
        assert.deepStrictEqual(yield* events(message), ["message.sent"])
      }),
    ),
  )

  it.effect("is sent at its time to the millisecond", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* send(key, { sendAt: yield* ahead(90 * second + 123) })
        yield* pass(day)
        assert.strictEqual(the(yield* copies()).at, noon + 90 * second + 123)
      }),
    ),
  )
})

describe("a message with expiresAt", () => {
  it.effect("becomes expired instead of sent, with its event", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const message = yield* send(key, { from: number, expiresAt: yield* ahead(minute) })
        yield* pass(minute - 1)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* pass(1)
        assert.strictEqual(yield* status(key, message), "expired")
        yield* reconnect(number)
        yield* pass(day)
        assert.deepStrictEqual(yield* arrived(), [])
        assert.deepStrictEqual(yield* events(message), ["message.expired"])
      }),
    ),
  )

  it.effect("is sent when it leaves in time, and never expires then", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { expiresAt: yield* ahead(minute) })
        yield* pass(day)
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual(yield* events(message), ["message.sent"])
      }),
    ),
  )

  it.effect("expires when its turn comes at the very moment of its expiry", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        // The one in front takes a minute; when it ends, the one behind falls due and expires.
        yield* behave(number, { latencyMillis: minute - 1 })
        const first = yield* send(key)
        const second_ = yield* send(key, { expiresAt: yield* ahead(minute - 1) })
        yield* pass(day)
        assert.deepStrictEqual(yield* statuses(key, [first, second_]), ["sent", "expired"])
        assert.deepStrictEqual<unknown>(yield* arrived(), [first.id])
      }),
    ),
  )

  it.effect("expires when sending and expiry are due at once, after the worker paused", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const message = yield* send(key, {
          from: number,
          sendAt: yield* ahead(hour),
          expiresAt: yield* ahead(hour + 1),
        })
        yield* pass(hour)
        assert.strictEqual(yield* status(key, message), "queued")
        // Both at one moment: the number returns just when the message expires.
        yield* reconnectAt(number, 1)
        assert.strictEqual(yield* status(key, message), "expired")
        assert.deepStrictEqual(yield* arrived(), [])
        assert.deepStrictEqual(yield* events(message), ["message.expired"])
      }),
    ),
  )

  /** Reconnects a number `millis` from now, at the same moment as other due work. */
  const reconnectAt = (number: Parameters<typeof reconnect>[0], millis: number) =>
    Effect.gen(function* () {
      const start = yield* Clock.currentTimeMillis
      yield* Effect.forkScoped(Effect.andThen(Effect.sleep(millis), reconnect(number)))
      yield* pass(millis)
      assert.strictEqual(yield* Clock.currentTimeMillis, start + millis)
    })

  it.effect("a scheduled message expires only after its sendAt, when it could not leave", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const message = yield* send(key, {
          from: number,
          sendAt: yield* ahead(hour),
          expiresAt: yield* ahead(2 * hour),
        })
        yield* pass(2 * hour - 1)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* pass(1)
        assert.strictEqual(yield* status(key, message), "expired")
      }),
    ),
  )
})

describe("the order of sending", () => {
  it.effect("messages of one number leave in the order of their due times, then of their ids", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const from = { from: number }
        const late = yield* send(key, { ...from, sendAt: yield* ahead(2 * minute) })
        const early = yield* send(key, { ...from, sendAt: yield* ahead(minute) })
        const twin = yield* send(key, { ...from, sendAt: yield* ahead(minute) })
        const now = yield* send(key, from)
        yield* pass(hour)
        const last = yield* send(key, from)
        yield* reconnect(number)
        yield* settled
        assert.deepStrictEqual<unknown>(
          yield* arrived(),
          [now, early, twin, late, last].map(({ id }) => id),
        )
      }),
    ),
  )

  it.effect("one at a time: the next leaves when the previous one has settled", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 10 * second })
        yield* sendBatch(key, 3)
        yield* pass(minute)
        assert.deepStrictEqual(
          (yield* copies()).map(({ at }) => at - noon),
          [10 * second, 20 * second, 30 * second],
        )
      }),
    ),
  )

  it.effect("a number that hangs does not block other numbers", () =>
    inAService(
      Effect.gen(function* () {
        const { number: slow, workspace } = yield* aSender()
        const quick = yield* aNumber(workspace)
        const key = yield* aKey(workspace)
        yield* behave(slow, { send: "hang" })
        const stuck = yield* send(key, { from: slow })
        const free = yield* Effect.forEach([1, 2, 3], () => send(key, { from: quick }))
        yield* settled
        assert.deepStrictEqual(yield* statuses(key, free), ["sent", "sent", "sent"])
        assert.strictEqual(yield* status(key, stuck), "queued")
      }),
    ),
  )

  it.effect(
    "a logged-out number blocks only its own lane, and drains in order when it returns",
    () =>
      inAService(
        Effect.gen(function* () {
          const { number: lost, workspace } = yield* aSender()
          const other = yield* aNumber(workspace)
          const key = yield* aKey(workspace)
          yield* logOut(lost)
          const waiting = yield* Effect.forEach([1, 2, 3], () => send(key, { from: lost }))
          const free = yield* send(key, { from: other })
          yield* pass(day)
          assert.deepStrictEqual(yield* statuses(key, waiting), ["queued", "queued", "queued"])
          assert.strictEqual(yield* status(key, free), "sent")
          yield* reconnect(lost)
          yield* settled
          assert.deepStrictEqual<unknown>(
            yield* arrived(lost),
            waiting.map(({ id }) => id),
          )
          assert.deepStrictEqual(yield* statuses(key, waiting), ["sent", "sent", "sent"])
        }),
      ),
  )

  it.effect("a number that logs out during an attempt keeps the message waiting", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 10 * second })
        const message = yield* send(key)
        yield* pass(5 * second)
        yield* logOut(number)
        yield* pass(hour)
        assert.strictEqual(yield* status(key, message), "queued")
        assert.deepStrictEqual(yield* arrived(), [])
        yield* reconnect(number)
        yield* pass(minute)
        assert.strictEqual(yield* status(key, message), "sent")
        assert.lengthOf(yield* copies(), 1)
      }),
    ),
  )
})
