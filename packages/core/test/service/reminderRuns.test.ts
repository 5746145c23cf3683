/** Runs of reminders: their times and their numbers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Contacts, Numbers } from "../../src/index.ts"
import type { Caller } from "../../src/index.ts"
import { log, nextRun, patch, read, remove, scheduled, sent, times } from "./Reminding.ts"
import { arrived, copies, logOut, remaining, sendBatch } from "./Operations.ts"
import {
  aContact,
  aKey,
  aNumber,
  aSender,
  day,
  hour,
  inAService,
  minute,
  pass,
  second,
} from "./Service.ts"

describe("a run", () => {
  it.effect("sends one ordinary message at its due time, which uses the plan's allowance", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender(5)
        const reminder = yield* scheduled(key, "0 13 * * *")
        yield* pass(hour - second)
        assert.deepStrictEqual(yield* sent(key), [])
        yield* pass(second)
        const [message, ...others] = yield* sent(key)
        assert.deepStrictEqual(others, [])
        assert.deepInclude(message, {
          status: "sent",
          to: { phone: "+15550000001", contact_id: null },
          text: "Please pay",
          send_at: null,
          created_at: "2026-03-02T13:00:00Z",
        })
        assert.strictEqual(message?.from.id, number)
        assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* arrived(), [message?.id])
        assert.strictEqual(yield* remaining(workspace), 4)
        assert.strictEqual(nextRun(yield* read(key, reminder)), "2026-03-03T13:00:00+00:00")
        assert.deepStrictEqual(yield* log(workspace, reminder), [
          ["2026-03-02T13:00:00Z", "accepted", null],
        ])
      }),
    ),
  )

  it.effect("keeps its time of day for months, over both changes of the clocks", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* scheduled(key, "0 9 1 * *", "Europe/Berlin")
        const reminder = yield* scheduled(key, "30 2 * * SUN", "Europe/Berlin", { text: "Night" })
        for (let month = 0; month < 12; month++) yield* pass(30 * day)
        const all = yield* sent(key)
        const monthly = all.filter(({ text }) => text === "Please pay")
        assert.deepStrictEqual(
          monthly.map(({ created_at }) => created_at),
          [
            "2026-04-01T07:00:00Z",
            "2026-05-01T07:00:00Z",
            "2026-06-01T07:00:00Z",
            "2026-07-01T07:00:00Z",
            "2026-08-01T07:00:00Z",
            "2026-09-01T07:00:00Z",
            "2026-10-01T07:00:00Z",
            "2026-11-01T08:00:00Z",
            "2026-12-01T08:00:00Z",
            "2027-01-01T08:00:00Z",
            "2027-02-01T08:00:00Z",
          ],
        )
        const nights = all
          .filter(({ text }) => text === "Night")
          .map(({ created_at }) => created_at)
        // 51 Sundays; one skips 02:30, and another has it twice.
        assert.lengthOf(nights, 51)
        assert.include(nights, "2026-03-29T01:00:00Z")
        assert.include(nights, "2026-10-25T00:30:00Z")
        assert.notInclude(nights, "2026-10-25T01:30:00Z")
        assert.strictEqual(nextRun(yield* read(key, reminder)), "2027-02-28T02:30:00+01:00")
      }),
    ),
  )

  it.effect("of a frequent pattern follows real time through a change of the clocks", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const { id } = yield* scheduled(key, "*/30 * * * *", "Europe/Berlin", { active: false })
        yield* pass(27 * day)
        yield* patch(key, { id }, { active: true })
        yield* pass(6 * hour)
        const all = yield* times(key)
        assert.strictEqual(all[0], "2026-03-29T12:30:00Z")
        assert.lengthOf(all, 12)
      }),
    ),
  )

  it.effect("of a paused or deleted reminder does not happen", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const paused = yield* scheduled(key, "0 * * * *")
        const deleted = yield* scheduled(key, "0 * * * *")
        yield* pass(hour)
        yield* patch(key, paused, { active: false })
        yield* remove(key, deleted)
        yield* pass(day)
        assert.lengthOf(yield* sent(key), 2)
        assert.lengthOf(yield* log(workspace, paused), 1)
      }),
    ),
  )

  it.effect("of a resumed reminder happens at its next due time, and none is made up", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const { id } = yield* scheduled(key, "0 13 * * *", "UTC", { active: false })
        yield* pass(hour + minute)
        const resumed = yield* patch(key, { id }, { active: true })
        assert.strictEqual(nextRun(resumed), "2026-03-03T13:00:00+00:00")
        yield* pass(minute)
        assert.deepStrictEqual(yield* sent(key), [])
        yield* pass(day)
        assert.deepStrictEqual(yield* times(key), ["2026-03-03T13:00:00Z"])
      }),
    ),
  )

  it.effect("uses the reminder's current content and schedule", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const reminder = yield* scheduled(key, "0 20 * * *")
        yield* patch(key, reminder, { text: "New" })
        yield* patch(key, reminder, { schedule: { cron: "15 12 * * *" } })
        yield* pass(hour)
        const all = yield* sent(key)
        assert.deepStrictEqual(
          all.map(({ created_at, text }) => [created_at, text]),
          [["2026-03-02T12:15:00Z", "New"]],
        )
      }),
    ),
  )

  it.effect("goes to the current contact, from the currently connected number", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const contactId = yield* aContact(workspace, { phone: "+15550000007" })
        const reminder = yield* scheduled(key, "0 * * * *", "UTC", { to: { contactId } })
        yield* pass(hour)
        yield* logOut(number)
        yield* pass(hour)
        const other = yield* aNumber(workspace, { phone: "+15550000102" })
        yield* pass(hour)
        yield* Contacts.use((contacts) => contacts.delete("owner", workspace, contactId))
        yield* pass(hour)
        const all = yield* sent(key)
        assert.deepStrictEqual(
          all.map(({ from, to }) => [from.id, to]),
          [
            [number, { contact_id: contactId, phone: "+15550000007" }],
            // None was connected: it waits for the number of the run before.
            [number, { contact_id: contactId, phone: "+15550000007" }],
            [other, { contact_id: contactId, phone: "+15550000007" }],
          ],
        )
        assert.deepStrictEqual(yield* log(workspace, reminder), [
          ["2026-03-02T13:00:00Z", "accepted", null],
          ["2026-03-02T14:00:00Z", "accepted", null],
          ["2026-03-02T15:00:00Z", "accepted", null],
          ["2026-03-02T16:00:00Z", "refused", "contact_not_found"],
        ])
      }),
    ),
  )

  it.effect("from a named number that is logged out is accepted and waits", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* scheduled(key, "0 13 * * *", "UTC", { from: number })
        yield* logOut(number)
        yield* pass(hour)
        const [message] = yield* sent(key)
        assert.strictEqual(message?.status, "queued")
      }),
    ),
  )

  it.effect("of test mode creates a test message, which reaches no transport", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender(5)
        const test = yield* aKey(workspace, { mode: "test" })
        yield* scheduled(test, "0 13 * * *")
        yield* pass(hour)
        const [message] = yield* sent(test)
        assert.strictEqual(message?.status, "sent")
        assert.deepStrictEqual(yield* sent(key), [])
        assert.deepStrictEqual(yield* copies(), [])
        assert.strictEqual(yield* remaining(workspace), 5)
      }),
    ),
  )
})

describe("a run without a number of its own", () => {
  const froms = (key: Caller) => Effect.map(sent(key), (all) => all.map(({ from }) => from.id))

  it.effect("uses the one with most room in its 24 hours, the oldest among equals", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number: first, workspace } = yield* aSender()
        const second = yield* aNumber(workspace, { phone: "+15550000102" })
        const third = yield* aNumber(workspace, { phone: "+15550000103" })
        const reminder = yield* scheduled(key, "0 * * * *")
        yield* sendBatch(key, 3, { from: first })
        yield* sendBatch(key, 1, { from: second, sendAt: "2026-03-03T13:30:00Z" })
        yield* sendBatch(key, 1, { from: third })
        const before = (yield* sent(key)).length
        yield* pass(5 * hour)
        // Messages planned for tomorrow count only when less than 24 hours ahead.
        assert.deepStrictEqual((yield* froms(key)).slice(before), [
          second,
          second,
          third,
          second,
          third,
        ])
        assert.deepStrictEqual(yield* log(workspace, reminder), [
          ["2026-03-02T13:00:00Z", "accepted", null],
          ["2026-03-02T14:00:00Z", "accepted", null],
          ["2026-03-02T15:00:00Z", "accepted", null],
          ["2026-03-02T16:00:00Z", "accepted", null],
          ["2026-03-02T17:00:00Z", "accepted", null],
        ])
      }),
    ),
  )

  it.effect("uses the platform that the recipient needs, WhatsApp where both could", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number: whatsapp, workspace } = yield* aSender()
        const telegram = yield* aNumber(workspace, { platform: "telegram", phone: "+15550000102" })
        const second = yield* aNumber(workspace, { platform: "telegram", phone: "+15550000103" })
        yield* sendBatch(key, 5, { from: whatsapp })
        yield* sendBatch(key, 1, { from: telegram })
        const before = (yield* sent(key)).length
        for (const to of [{ username: "@jane" }, { group: "Team" }, { phone: "+15550000001" }]) {
          yield* scheduled(key, "0 13 * * *", "UTC", { to })
        }
        yield* pass(hour)
        const all = (yield* sent(key)).slice(before)
        assert.deepStrictEqual(
          new Map(all.map(({ from, to }) => [Object.keys(to)[0], from.id])),
          new Map([
            ["username", second],
            ["group", whatsapp],
            ["phone", whatsapp],
          ]),
        )
        yield* logOut(whatsapp)
        yield* pass(day)
        // A group needs WhatsApp, and waits for it; Telegram can reach a phone too.
        assert.deepStrictEqual(
          new Map(
            (yield* sent(key))
              .slice(before + 3)
              .map(({ from, to }) => [Object.keys(to)[0], from.id]),
          ),
          new Map([
            ["username", telegram],
            ["group", whatsapp],
            ["phone", second],
          ]),
        )
      }),
    ),
  )

  it.effect("is refused where none is connected and the previous number is missing", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const reminder = yield* scheduled(key, "0 * * * *")
        yield* logOut(number)
        yield* pass(hour)
        yield* Numbers.use((numbers) => numbers.connectionChanged(number, "connected", null))
        yield* pass(hour)
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        yield* pass(hour)
        assert.deepStrictEqual(yield* log(workspace, reminder), [
          ["2026-03-02T13:00:00Z", "refused", "from_required"],
          ["2026-03-02T14:00:00Z", "accepted", null],
          ["2026-03-02T15:00:00Z", "refused", "from_required"],
        ])
      }),
    ),
  )
})
