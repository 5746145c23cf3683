import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Contacts, Messages, Numbers, ReminderRunner, Workspaces } from "../../src/index.ts"
import type { Caller, CursorPage, Message, MessageJson } from "../../src/index.ts"
import { list, log, nextRun, patch, read, remind, remove, scheduled } from "./Reminding.ts"
import { storeWithin } from "./Watched.ts"
import { arrived, copies, logOut, remaining, sendBatch, shown } from "./Operations.ts"
import {
  aContact,
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
  startWorker,
  stopWorker,
} from "./Service.ts"

/** The messages that a key sees, oldest first. */
const sent = (key: Caller) =>
  Effect.gen(function* () {
    const messages = yield* Messages
    const all: Array<MessageJson> = []
    let cursor: string | null = null
    do {
      const page: CursorPage<Message> = yield* messages.list(key, {
        limit: 100,
        ...(cursor === null ? {} : { cursor }),
      })
      all.push(...(yield* shown(page.items)))
      cursor = page.next
    } while (cursor !== null)
    return all.toReversed()
  })

/** When they were made. */
const times = (key: Caller) =>
  Effect.map(sent(key), (all) => all.map(({ created_at }) => created_at))

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

  it.effect("comes at the same time of day for months, over both changes of the clocks", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* scheduled(key, "0 9 1 * *", "Europe/Berlin")
        const made = yield* scheduled(key, "30 2 * * SUN", "Europe/Berlin", { text: "Night" })
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
        // 51 Sundays; 02:30 is skipped on one of them and comes twice on another.
        assert.lengthOf(nights, 51)
        assert.include(nights, "2026-03-29T01:00:00Z")
        assert.include(nights, "2026-10-25T00:30:00Z")
        assert.notInclude(nights, "2026-10-25T01:30:00Z")
        assert.strictEqual(nextRun(yield* read(key, made)), "2027-02-28T02:30:00+01:00")
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

  it.effect("of a paused or deleted reminder does not come", () =>
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

  it.effect("of a resumed reminder comes at its next due time, and none is made up", () =>
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

  it.effect("uses what the reminder says by then, and follows a new schedule at once", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const made = yield* scheduled(key, "0 20 * * *")
        yield* patch(key, made, { text: "New" })
        yield* patch(key, made, { schedule: { cron: "15 12 * * *" } })
        yield* pass(hour)
        const all = yield* sent(key)
        assert.deepStrictEqual(
          all.map(({ created_at, text }) => [created_at, text]),
          [["2026-03-02T12:15:00Z", "New"]],
        )
      }),
    ),
  )

  it.effect("goes to the contact as it is by then, from the number that is connected by then", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const contact_id = yield* aContact(workspace, { phone: "+15550000007" })
        const made = yield* scheduled(key, "0 * * * *", "UTC", { to: { contact_id } })
        yield* pass(hour)
        yield* logOut(number)
        yield* pass(hour)
        const other = yield* aNumber(workspace, { phone: "+15550000102" })
        yield* pass(hour)
        yield* Contacts.use((contacts) => contacts.delete("owner", workspace, contact_id))
        yield* pass(hour)
        const all = yield* sent(key)
        assert.deepStrictEqual(
          all.map(({ from, to }) => [from.id, to]),
          [
            [number, { contact_id, phone: "+15550000007" }],
            // None was connected: it waits for the number of the run before.
            [number, { contact_id, phone: "+15550000007" }],
            [other, { contact_id, phone: "+15550000007" }],
          ],
        )
        assert.deepStrictEqual(yield* log(workspace, made), [
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

  it.effect("of test mode makes a test message, which reaches no transport", () =>
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

  it.effect("takes the one with most room in its 24 hours, the oldest among equals", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number: first, workspace } = yield* aSender()
        const second = yield* aNumber(workspace, { phone: "+15550000102" })
        const third = yield* aNumber(workspace, { phone: "+15550000103" })
        const reminder = yield* scheduled(key, "0 * * * *")
        yield* sendBatch(key, 3, { from: first })
        yield* sendBatch(key, 1, { from: second, send_at: "2026-03-03T13:30:00Z" })
        yield* sendBatch(key, 1, { from: third })
        const before = (yield* sent(key)).length
        yield* pass(5 * hour)
        // What is planned for tomorrow takes of the room only when it is less than 24 hours ahead.
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

  it.effect("takes one of the platform that the recipient needs, WhatsApp where both could", () =>
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
        // A group needs WhatsApp, and waits for it; a phone can be reached from Telegram too.
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

  it.effect("is refused where none is connected and none was before, or that one is gone", () =>
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

describe("last_run", () => {
  const lastRun = (key: Caller, reminder: { readonly id: number }) =>
    Effect.map(read(key, { id: reminder.id as never }), (found) => found.lastRun)

  it.effect("tells what became of the latest run, and why", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender(1)
        const made = yield* scheduled(key, "0 * * * *")
        assert.isNull(made.lastRun)
        assert.isNull(yield* lastRun(key, made))
        yield* pass(hour)
        const [message] = yield* sent(key)
        const accepted = {
          dueAt: noon + hour,
          outcome: "accepted",
          messageId: message?.id,
          code: null,
        }
        assert.deepStrictEqual<unknown>(yield* lastRun(key, made), accepted)
        const changed = yield* patch(key, made, { name: "Other" })
        assert.deepStrictEqual<unknown>(changed.lastRun, accepted)
        yield* pass(hour)
        const refused = {
          dueAt: noon + 2 * hour,
          outcome: "refused",
          messageId: null,
          code: "no_credits",
        }
        assert.deepStrictEqual<unknown>(yield* lastRun(key, made), refused)
        const listed = yield* list(key)
        assert.deepStrictEqual<unknown>(listed.items[0]?.lastRun, refused)
      }),
    ),
  )

  it.effect("tells of runs that passed while nothing was running and were not made up", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const made = yield* scheduled(key, "4 15 * * *")
        yield* TestClock.adjust(4 * hour + 5 * minute)
        yield* startWorker
        yield* settled
        assert.deepStrictEqual<unknown>(yield* lastRun(key, made), {
          dueAt: noon + 3 * hour + 4 * minute,
          outcome: "missed",
          messageId: null,
          code: null,
        })
      }),
      { worker: false },
    ),
  )
})

describe("a run that is refused", () => {
  it.effect("leaves no message, is shown in the log, and the reminder goes on", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender(1)
        const made = yield* scheduled(key, "0 * * * *", "UTC", { from: number })
        const workspaces = yield* Workspaces
        const plan = (messages_remaining: number, reminders: boolean) => ({
          plan: {
            name: "Plan",
            messages_remaining,
            reminders,
            qr_code_api: true,
            max_numbers: null,
            media_storage_bytes: 0,
          },
        })
        yield* pass(hour)
        yield* pass(hour)
        yield* workspaces.update("owner", workspace, plan(5, false))
        yield* pass(hour)
        yield* workspaces.update("owner", workspace, { ...plan(5, true), account_disabled: true })
        yield* pass(hour)
        yield* workspaces.update("owner", workspace, { account_disabled: false })
        yield* pass(hour)
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        yield* pass(hour)
        assert.deepStrictEqual(yield* log(workspace, made), [
          ["2026-03-02T13:00:00Z", "accepted", null],
          ["2026-03-02T14:00:00Z", "refused", "no_credits"],
          ["2026-03-02T15:00:00Z", "refused", "plan_required"],
          ["2026-03-02T16:00:00Z", "refused", "account_disabled"],
          ["2026-03-02T17:00:00Z", "accepted", null],
          ["2026-03-02T18:00:00Z", "refused", "number_not_found"],
        ])
        assert.lengthOf(yield* sent(key), 2)
        assert.isTrue((yield* read(key, made)).active)
      }),
    ),
  )

  it.effect("because the number has its 1,000 in 24 hours comes again when there is room", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const made = yield* scheduled(key, "0 13 * * *")
        yield* sendBatch(key, 1000)
        yield* pass(2 * day)
        assert.deepStrictEqual(yield* log(workspace, made), [
          ["2026-03-02T13:00:00Z", "refused", "number_daily_cap_reached"],
          ["2026-03-03T13:00:00Z", "accepted", null],
        ])
      }),
    ),
  )

  it.effect("a deleted workspace has no runs", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* scheduled(key, "0 * * * *")
        yield* Workspaces.use((workspaces) => workspaces.delete("owner", workspace))
        yield* pass(day)
        assert.deepStrictEqual(yield* sent(key), [])
      }),
    ),
  )
})

describe("runs missed while nothing was running", () => {
  it.effect("only the latest one within the last hour is made up", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const often = yield* scheduled(key, "*/10 * * * *")
        const hourAgo = yield* scheduled(key, "5 15 * * *")
        const longAgo = yield* scheduled(key, "4 15 * * *")
        yield* TestClock.adjust(4 * hour + 5 * minute)
        yield* startWorker
        yield* settled
        assert.deepStrictEqual(yield* log(workspace, often), [
          ["2026-03-02T16:00:00Z", "accepted", null],
        ])
        assert.deepStrictEqual(yield* log(workspace, hourAgo), [
          ["2026-03-02T15:05:00Z", "accepted", null],
        ])
        assert.deepStrictEqual(yield* log(workspace, longAgo), [
          ["2026-03-02T15:04:00Z", "missed", null],
        ])
        assert.deepStrictEqual(new Set(yield* times(key)), new Set(["2026-03-02T16:05:00Z"]))
        yield* pass(5 * minute)
        assert.lengthOf(yield* log(workspace, often), 2)
        assert.strictEqual(nextRun(yield* read(key, longAgo)), "2026-03-03T15:04:00+00:00")
      }),
      { worker: false },
    ),
  )
})

describe("exactly one message for each due time", () => {
  it.effect("with two workers at it, for hours of runs every minute", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* startWorker
        const made = yield* scheduled(key, "* * * * *")
        yield* pass(3 * hour)
        const all = yield* times(key)
        assert.lengthOf(all, 180)
        assert.strictEqual(new Set(all).size, 180)
        assert.lengthOf(yield* arrived(), 180)
        assert.lengthOf(yield* log(workspace, made), 100)
      }),
    ),
  )

  it.effect("when both have loaded the same due time before either commits", () => {
    let waiting = 0
    const both = Deferred.makeUnsafe<void>()
    const store = storeWithin((operation, effect) =>
      operation !== "ReminderStore.run"
        ? effect
        : Effect.gen(function* () {
            if (++waiting === 2) yield* Deferred.succeed(both, undefined)
            yield* Deferred.await(both)
            return yield* effect
          }),
    )
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender(10)
        const made = yield* scheduled(key, "0 13 * * *")
        yield* TestClock.adjust(hour)
        const { runOnce } = yield* ReminderRunner
        yield* Effect.all([runOnce, runOnce], { concurrency: 2 })
        assert.lengthOf(yield* sent(key), 1)
        assert.strictEqual(yield* remaining(workspace), 9)
        assert.lengthOf(yield* log(workspace, made), 1)
        assert.strictEqual(yield* runOnce, 0)
      }),
      { store, worker: false },
    )
  })

  it.effect("when a worker dies between load and commit, and another takes over", () => {
    let dying = true
    const reached = Deferred.makeUnsafe<void>()
    const store = storeWithin((operation, effect) =>
      operation !== "ReminderStore.run" || !dying
        ? effect
        : Effect.andThen(Deferred.succeed(reached, undefined), Effect.never),
    )
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const made = yield* scheduled(key, "0 13 * * *")
        const worker = yield* startWorker
        yield* TestClock.adjust(hour)
        yield* Deferred.await(reached)
        yield* stopWorker(worker)
        assert.deepStrictEqual(yield* sent(key), [])
        dying = false
        yield* TestClock.adjust(10 * minute)
        yield* startWorker
        assert.lengthOf(yield* sent(key), 1)
        assert.deepStrictEqual(yield* log(workspace, made), [
          ["2026-03-02T13:00:00Z", "accepted", null],
        ])
      }),
      { store, worker: false },
    )
  })

  it.effect("when a worker dies after the commit, before its answer came", () => {
    let dying = true
    const reached = Deferred.makeUnsafe<void>()
    const store = storeWithin((operation, effect) =>
      operation !== "ReminderStore.run" || !dying
        ? effect
        : Effect.andThen(
            effect,
            Effect.andThen(Deferred.succeed(reached, undefined), Effect.never),
          ),
    )
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* scheduled(key, "0 13 * * *")
        const worker = yield* startWorker
        yield* TestClock.adjust(hour)
        yield* Deferred.await(reached)
        yield* stopWorker(worker)
        dying = false
        yield* startWorker
        yield* settled
        assert.lengthOf(yield* sent(key), 1)
        assert.lengthOf(yield* arrived(), 1)
      }),
      { store, worker: false },
    )
  })

  it.effect(
    "when the reminder is changed between load and commit, which is then decided anew",
    () => {
      let change: Effect.Effect<unknown, unknown> = Effect.void
      const store = storeWithin((operation, effect) =>
        operation !== "ReminderStore.run"
          ? effect
          : Effect.gen(function* () {
              const now = change
              change = Effect.void
              yield* Effect.orDie(now)
              return yield* effect
            }),
      )
      return inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const made = yield* remind(key, { schedule: { cron: "0 13 * * *" } })
          const context = yield* Effect.context<never>()
          change = Effect.provideContext(patch(key, made, { text: "New" }), context as never)
          yield* pass(hour)
          assert.deepStrictEqual(
            (yield* sent(key)).map(({ text }) => text),
            ["New"],
          )
        }),
        { store },
      )
    },
  )
})

it.effect("an idle worker asks nothing for a reminder that is due on a later day", () => {
  const asked: Array<string> = []
  const store = storeWithin((operation, effect) =>
    Effect.suspend(() => {
      asked.push(operation)
      return effect
    }),
  )
  return inAService(
    Effect.gen(function* () {
      const { key } = yield* aSender()
      yield* scheduled(key, "0 0 1 6 *")
      yield* settled
      asked.length = 0
      const before = yield* Clock.currentTimeMillis
      yield* TestClock.adjust(day)
      assert.strictEqual((yield* Clock.currentTimeMillis) - before, day)
      assert.notInclude(asked, "ReminderStore.due")
      assert.notInclude(asked, "WorkStatus.nextDue")
    }),
    { store },
  )
})
