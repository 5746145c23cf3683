/**
 * `RestoreStore`: what a store that went back in time holds. It reads the whole store and holds
 * everything that waits in it, so it runs last.
 */
import { assert } from "@effect/vitest"
import { idsSkipped, maximumInterruptions, Store } from "@messaging-service/core"
import type { HeldFilter, HeldSelection, Message, Workspace } from "@messaging-service/core"
import { Effect } from "effect"
import {
  aRow,
  aRunning,
  moved,
  pause,
  resume,
  someRows,
  took,
  readAgain,
  readWaiting,
} from "../Campaigning.ts"
import { ids, only, present } from "../Expect.ts"
import {
  aContact,
  aKey,
  aMediaFile,
  aMessage,
  aNumber,
  aStage,
  accepted,
  day,
  hour,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"
import { readExactQuota, lookUp, listMessages, readQuota, toScope } from "../Reading.ts"
import { aReminder, aRun, dueIn, get, readRunLog, run, getScope, update } from "../Reminding.ts"
import {
  again,
  cancelled,
  change,
  claim,
  claimOne,
  connectionFacts,
  end,
  failed,
  sendNext,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  aClosedStage,
  aMessageTo,
  aWriter,
  findWait,
  leaving,
  newChatsExtra,
  openNewChats,
} from "./newChats.ts"
import { aText, received, turnOn } from "./receiving.ts"

const begin = (above = 0, now = noon) =>
  Store.use(({ system: store }) =>
    Effect.flatMap(store.epoch, ({ epoch }) => store.startEpoch({ epoch, above, now })),
  )

const all: HeldFilter = { from: null, since: null, until: null, dueUntil: null }

const listHeld = (workspace: Workspace, selection: HeldSelection = { filter: all }, limit = 1000) =>
  Effect.map(
    Store.use(({ system: store }) => store.heldMessages(workspace.id, selection, limit)),
    ids,
  )

const readCounts = (workspace: Workspace) =>
  Effect.map(
    Store.use(({ system: store }) => store.heldCounts),
    (counts) => {
      const found = counts.find(({ workspaceId }) => workspaceId === workspace.id)
      return [found?.messages ?? 0, found?.reminders ?? 0]
    },
  )

const ofWorkspace =
  ({ id }: Workspace) =>
  (messages: ReadonlyArray<Message>) =>
    messages.filter(({ workspaceId }) => workspaceId === id)

const listExpired = (workspace: Workspace, now: number) =>
  Effect.map(
    Store.use(({ messages: store }) => store.expired(now, 100_000)),
    ofWorkspace(workspace),
  )

const listDueTest = (workspace: Workspace) =>
  Effect.map(
    Store.use(({ messages: store }) => store.dueTest(noon, 100_000, 100_000)),
    ofWorkspace(workspace),
  )

/** By id: a store returns orphaned messages in any order. */
const listOrphaned = (workspace: Workspace) =>
  Effect.map(
    Store.use(({ messages: store }) => store.orphaned(100_000)),
    (orphaned) => ofWorkspace(workspace)(orphaned).toSorted((x, y) => x.id - y.id),
  )

export const restores: Topic = (it) => {
  it.effect("an epoch begins once: ids of every kind move on, beyond those known outside", () =>
    Effect.gen(function* () {
      const created = Effect.gen(function* () {
        const { number, workspace } = yield* aStage()
        const reminder = yield* aReminder(workspace.id)
        return [
          workspace.id,
          number.id,
          reminder.id,
          (yield* aMessage(number)).id,
          (yield* aContact(workspace.id)).id,
          (yield* aKey(workspace.id)).key.id,
          (yield* aMediaFile(workspace.id)).id,
        ]
      })
      const store = (yield* Store).system
      const { epoch } = yield* store.epoch
      const before = yield* created
      assert.strictEqual(yield* begin(), epoch + 1)
      assert.isNull(yield* store.startEpoch({ epoch, above: 0, now: noon }))
      assert.deepStrictEqual(yield* store.epoch, { epoch: epoch + 1, hasAccepted: false })
      const after = yield* created
      for (const [kind, id] of after.entries()) {
        assert.isAtLeast(id, (before[kind] ?? 0) + idsSkipped)
      }
      assert.deepStrictEqual(yield* store.epoch, { epoch: epoch + 1, hasAccepted: true })
      const above = Math.max(...after) + 5_000_000
      assert.strictEqual(yield* begin(above), epoch + 2)
      for (const id of yield* created) assert.isAbove(id, above)
    }),
  )

  it.effect(
    "what a number receives goes on in a new epoch, also of a number that had received nothing",
    () =>
      Effect.gen(function* () {
        const { chats } = yield* Store
        const { workspace, number } = yield* aStage()
        const another = yield* aNumber(workspace.id)
        yield* turnOn(workspace.id)
        const before = only(yield* received(number, [aText()]))
        const readActivity = Effect.map(
          chats.getChat(toScope(workspace.id), before.chat.id),
          (chat) => present(chat).activity,
        )
        const activity = yield* readActivity
        yield* begin()
        const after = only(yield* received(number, [aText()]))
        const first = only(yield* received(another, [aText()]))
        assert.deepStrictEqual(
          [after.sequence, first.sequence],
          [before.sequence + idsSkipped + 1, idsSkipped + 1],
        )
        assert.isAtLeast(after.id, before.id + idsSkipped)
        assert.isAtLeast(after.chat.id, before.chat.id + idsSkipped)
        const chat = present(yield* chats.getChat(toScope(workspace.id), after.chat.id))
        assert.isAtLeast(chat.activity, activity + idsSkipped)
      }),
  )

  it.effect("of a turn only what is in flight comes again: the rest is held", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const messages = yield* accepted(number, { count: 4 })
      const claimed = yield* claimOne(number, { turn: 3 })
      yield* Store.use(({ queue }) => queue.settle([sent(claimed)], noon))
      yield* begin()
      assert.deepStrictEqual(yield* listHeld(workspace), ids(messages.slice(2)))
      const second = present(claimed.rest[0])
      assert.deepStrictEqual(yield* settle([sent({ ...claimed, message: second })]), [])
      const repeat = yield* claimOne(number, { now: noon + minute, turn: 3 })
      assert.deepStrictEqual([repeat.message.id, repeat.rest], [second.id, []])
      assert.isAtLeast(repeat.interruptions, maximumInterruptions)
    }),
  )

  it.effect(
    "waiting messages are held: newer ones pass them, and they leave in order once released",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).system
        const { workspace, number } = yield* aStage()
        const first = yield* aMessage(number)
        const second = yield* aMessage(number, { now: noon + 1 })
        const scheduled = yield* aMessage(number, { sendAt: noon + hour })
        const over = yield* aMessage(number, { sendAt: noon - 1 })
        yield* sendNext(number)
        assert.isFalse(yield* store.isHeld(first.id))
        yield* begin()
        assert.deepStrictEqual(yield* listHeld(workspace), ids([first, second, scheduled]))
        assert.deepStrictEqual(yield* readCounts(workspace), [3, 0])
        assert.isTrue(yield* store.isHeld(first.id))
        assert.isFalse(yield* store.isHeld(over.id))
        assert.deepStrictEqual(yield* lookUp(scheduled), { message: scheduled, inFlight: false })
        assert.deepStrictEqual(yield* claim([number], { now: noon + day }), [])

        const newer = yield* aMessage(number, { now: noon + minute })
        const facts = yield* connectionFacts(number, noon + minute)
        assert.deepStrictEqual([facts.waiting, facts.firstDueAt], [4, noon + minute])
        assert.strictEqual((yield* sendNext(number, noon + minute)).id, newer.id)
        assert.deepStrictEqual(yield* claim([number], { now: noon + day }), [])

        const released = yield* store.releaseHeld([second, scheduled, first, newer], noon + minute)
        assert.deepStrictEqual(
          [...released].toSorted((a, b) => a - b),
          ids([first, second, scheduled]),
        )
        assert.deepStrictEqual(yield* readCounts(workspace), [0, 0])
        assert.strictEqual((yield* sendNext(number, noon + minute)).id, first.id)
        assert.strictEqual((yield* sendNext(number, noon + minute)).id, second.id)
        assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
        assert.deepStrictEqual((yield* sendNext(number, noon + hour)).dueAt, scheduled.dueAt)
      }),
  )

  it.effect("what waits for new chats is held, and waits for them again once released", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { number, workspace } = yield* aClosedStage
      const known = yield* aWriter(number)
      const aside = yield* aMessage(number)
      assert.deepStrictEqual(yield* leaving(number), [])
      const messages = [aside, yield* aMessage(number), yield* aMessageTo(number, known)]
      yield* begin()
      assert.deepStrictEqual(yield* listHeld(workspace), ids(messages))
      const released = yield* store.releaseHeld(messages, noon + minute)
      assert.strictEqual(released.size, 3)
      assert.deepStrictEqual(yield* leaving(number, noon + minute), ids(messages.slice(2)))
      const over = noon + hour + newChatsExtra
      for (const message of messages.slice(0, 2)) {
        assert.strictEqual(yield* findWait(message, noon + minute), over)
      }
      assert.deepStrictEqual(yield* leaving(number, over - 1), [])
      yield* openNewChats(over)
      assert.deepStrictEqual(yield* leaving(number, over), ids(messages.slice(0, 2)))
      assert.deepStrictEqual(yield* leaving(number, over + day), [])
    }),
  )

  it.effect("the end of closed new chats releases nothing that is held since a restore", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { number, workspace } = yield* aClosedStage
      const messages = yield* accepted(number, { count: 2 })
      assert.deepStrictEqual(yield* leaving(number), [])
      yield* begin()
      const over = noon + hour + newChatsExtra
      yield* openNewChats(over)
      assert.deepStrictEqual(yield* leaving(number, over), [])
      assert.deepStrictEqual(yield* listHeld(workspace), ids(messages))
      yield* store.releaseHeld(messages, over + minute)
      assert.deepStrictEqual(yield* leaving(number, over + minute), ids(messages))
    }),
  )

  it.effect(
    "a message that was in flight is in doubt: neither held, cancelled nor expired, and the next claim gives it up",
    () =>
      Effect.gen(function* () {
        const { workspace, number } = yield* aStage()
        const [inFlight, behind] = yield* accepted(number, { count: 2 })
        const interrupted = yield* aNumber(workspace.id)
        const doubtful = yield* aMessage(interrupted, { expiresAt: noon + hour })
        const claimed = yield* claimOne(number)
        yield* settle([again(yield* claimOne(interrupted), { interrupted: true })])
        yield* begin()
        assert.deepStrictEqual(yield* listHeld(workspace), [present(behind).id])
        assert.deepStrictEqual(yield* settle([sent(claimed)]), [])
        assert.deepStrictEqual(
          yield* end(
            cancelled(present(inFlight)),
            change(doubtful, { trigger: "expire" }, noon + hour),
          ),
          [],
        )
        yield* aMessage(number)
        for (const [each, message] of [
          [number, present(inFlight)],
          [interrupted, doubtful],
        ] as const) {
          const input = yield* claimOne(each)
          assert.strictEqual(input.message.id, message.id)
          assert.isAtLeast(input.interruptions, maximumInterruptions)
          assert.isAtLeast(input.lease, idsSkipped)
          assert.deepStrictEqual(yield* settle([failed(input)]), [message.id])
        }
        assert.isAbove((yield* claimOne(number)).message.id, present(behind).id)
      }),
  )

  it.effect("campaigns are paused and ask for the row to go on from", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { workspace } = yield* aStage()
      const states = ["running", "scheduled", "draft", "stopped"] as const
      const before = yield* Effect.forEach(states, (state) =>
        aRunning(workspace.id, [aRow(1)], { state }),
      )
      const paused = yield* pause(yield* aRunning(workspace.id, [aRow(1)]))
      yield* begin()
      const restored = {
        state: "paused",
        stateReason: "restored",
        asksFromRow: true,
        isHolding: true,
        runningSince: null,
        lookAt: noon,
      } as const
      for (const campaign of [...before.slice(0, 2), paused]) {
        const revision = campaign.revision + 1
        assert.deepStrictEqual(yield* readAgain(campaign), { ...campaign, ...restored, revision })
      }
      for (const campaign of before.slice(2)) {
        assert.deepStrictEqual(yield* readAgain(campaign), campaign)
      }
      const counts = yield* store.heldCounts
      assert.deepStrictEqual(
        counts.find(({ workspaceId }) => workspaceId === workspace.id),
        { workspaceId: workspace.id, messages: 0, reminders: 0, campaigns: 3 },
      )
      yield* moved(yield* readAgain(paused), { state: "running", asksFromRow: false })
      const after = yield* store.heldCounts
      assert.strictEqual(
        after.find(({ workspaceId }) => workspaceId === workspace.id)?.campaigns,
        2,
      )
    }),
  )

  it.effect("what waits of a campaign is held for it, and counts in the quota all along", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { number, workspace } = yield* aStage()
      const campaign = yield* aRunning(workspace.id, someRows(1, 3))
      const messages = yield* took(campaign, number, [1, 2])
      const other = yield* aMessage(number, { now: noon + 1 })
      yield* begin()
      assert.deepStrictEqual(yield* listHeld(workspace), [other.id])
      assert.deepStrictEqual([...(yield* store.releaseHeld(messages, noon))], [])
      assert.deepStrictEqual(yield* readWaiting(campaign), ids(messages))
      assert.deepStrictEqual(yield* claim([number], { now: noon + day }), [])
      const limit = { messages: 10, windowMillis: day }
      const count = readExactQuota(number, { plannedAt: noon, limit })
      assert.strictEqual((yield* count).planned, 2)
      yield* store.releaseHeld([other], noon + 1)
      assert.strictEqual((yield* count).planned, 3)
      yield* resume(yield* readAgain(campaign), noon + 1)
      assert.strictEqual((yield* count).planned, 3)
      for (const message of [...messages, other]) {
        assert.strictEqual((yield* sendNext(number, noon + 1)).id, message.id)
      }
    }),
  )

  it.effect("a number that rests keeps resting", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      yield* settle([again(yield* claimOne(number), { notBefore: noon + minute })])
      yield* begin()
      assert.strictEqual((yield* connectionFacts(number)).pacedUntil, noon + minute)
      assert.deepStrictEqual([...(yield* store.releaseHeld([message], noon))], [message.id])
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute - 1 }), [])
      assert.strictEqual((yield* sendNext(number, noon + minute)).id, message.id)
    }),
  )

  it.effect("held messages may expire and be cancelled", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const expiring = yield* aMessage(number, { expiresAt: noon + minute })
      const waits = yield* aMessage(number)
      yield* begin()
      assert.deepStrictEqual(yield* listExpired(workspace, noon + minute), [expiring])
      const changes = [
        change(expiring, { trigger: "expire" }, noon + minute),
        cancelled(waits, noon + minute),
      ]
      assert.deepStrictEqual(yield* end(...changes), ids([expiring, waits]))
      assert.deepStrictEqual(
        (yield* listMessages(workspace.id)).map(({ state }) => state),
        ["cancelled", "expired"],
      )
      assert.deepStrictEqual(yield* readCounts(workspace), [0, 0])
    }),
  )

  it.effect("held messages count in the quota once released, or marked as sent", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { number } = yield* aStage()
      const [first, second] = yield* accepted(number, { count: 2 })
      const limit = { messages: 1, windowMillis: day }
      const count = readExactQuota(number, { plannedAt: noon, limit })
      yield* begin()
      assert.deepStrictEqual(yield* count, { planned: 0, roomAt: noon })
      yield* end(change(present(first), { trigger: "send_succeeded", sentAt: noon - hour }, noon))
      assert.deepStrictEqual(yield* count, { planned: 1, roomAt: noon + day })
      assert.strictEqual((yield* readQuota(number)).fullUntil, noon + day)
      assert.deepInclude(present(yield* lookUp(present(first))).message, {
        state: "sent",
        sentAt: noon - hour,
        dueAt: noon,
      })
      yield* store.releaseHeld([present(second)], noon)
      assert.isNull((yield* readQuota(number)).fullUntil)
      assert.strictEqual((yield* count).planned, 2)
      yield* end(cancelled(present(second)))
    }),
  )

  it.effect("test messages are held and released as live ones are", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { workspace, number } = yield* aStage()
      const test = yield* aMessage(number, { mode: "test" })
      yield* begin()
      assert.deepStrictEqual(yield* listDueTest(workspace), [])
      assert.deepStrictEqual(yield* listHeld(workspace), [test.id])
      assert.deepStrictEqual([...(yield* store.releaseHeld([test], noon))], [test.id])
      assert.deepStrictEqual(yield* listDueTest(workspace), [test])
      yield* end(cancelled(test))
    }),
  )

  it.effect("a removed number's messages are orphaned, not held, whenever the number goes", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const before = yield* aMessage(number)
      const after = yield* aMessage(other)
      const remove = (id: typeof number.id) =>
        Store.use(({ numbers: store }) => store.remove(workspace.id, id, noon))
      yield* remove(number.id)
      yield* begin()
      assert.deepStrictEqual(yield* listHeld(workspace), [after.id])
      yield* remove(other.id)
      assert.deepStrictEqual(yield* readCounts(workspace), [0, 0])
      assert.deepStrictEqual(yield* listOrphaned(workspace), [before, after])
      assert.deepStrictEqual(yield* end(cancelled(before), cancelled(after)), ids([before, after]))
    }),
  )

  it.effect(
    "selections: by ids, number and times of creation, oldest first, as many as requested",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).system
        const { workspace, number } = yield* aStage()
        const other = yield* aNumber(workspace.id)
        const first = yield* aMessage(number)
        const second = yield* aMessage(other, { now: noon + oneSecond })
        const third = yield* aMessage(number, { now: noon + 2 * oneSecond, mode: "test" })
        const elsewhere = yield* aMessage((yield* aStage()).number)
        yield* begin()
        const newer = yield* aMessage(number)
        const filtered = (overrides: Partial<HeldFilter>) =>
          listHeld(workspace, { filter: { ...all, ...overrides } })
        assert.deepStrictEqual(yield* filtered({}), ids([first, second, third]))
        assert.deepStrictEqual(yield* filtered({ from: number.id }), ids([first, third]))
        assert.deepStrictEqual(yield* filtered({ since: noon + oneSecond }), ids([second, third]))
        assert.deepStrictEqual(yield* filtered({ until: noon + oneSecond }), [first.id])
        assert.deepStrictEqual(
          yield* filtered({ dueUntil: noon + oneSecond }),
          ids([first, second]),
        )
        assert.deepStrictEqual(
          yield* listHeld(workspace, { ids: ids([third, newer, elsewhere, first]) }),
          ids([first, third]),
        )
        assert.deepStrictEqual(yield* listHeld(workspace, { filter: all }, 2), ids([first, second]))
        const page = yield* store.listHeld(workspace.id, { before: null, limit: 2 })
        assert.deepStrictEqual(page.items, [third, second])
        const rest = yield* store.listHeld(workspace.id, { before: page.next, limit: 2 })
        assert.deepStrictEqual([rest.items, rest.next], [[first], null])
      }),
  )

  it.effect("a reminder that was due is held until it is skipped, changed or deleted", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { workspace, number } = yield* aStage()
      const era = noon - 40 * day
      const due = yield* aReminder(workspace.id, { nextRunAt: era, from: number.id })
      const changed = yield* aReminder(workspace.id, { nextRunAt: era, createdAt: noon - day })
      const later = yield* aReminder(workspace.id, { nextRunAt: era + 2 })
      yield* begin(0, era + 1)
      assert.deepStrictEqual(ids((yield* dueIn(era, noon)).map(({ reminder }) => reminder)), [
        later.id,
      ])
      const listReminders = (filter: Partial<HeldFilter> = {}) =>
        store.heldReminders(workspace.id, { ...all, ...filter }, 10)
      assert.deepStrictEqual(
        (yield* listReminders()).map(({ dueAt, reminder }) => [reminder.id, dueAt]),
        [
          [due.id, era],
          [changed.id, era],
        ],
      )
      assert.strictEqual(only(yield* listReminders({ from: number.id })).reminder.id, due.id)
      assert.strictEqual(only(yield* listReminders({ until: noon })).reminder.id, changed.id)
      // A worker that read it before the epoch runs nothing.
      assert.strictEqual((yield* run(number, aRun(due)))._tag, "Conflict")
      assert.deepStrictEqual(yield* readCounts(workspace), [0, 2])

      // A change that keeps its times leaves it held.
      const renamed = present(yield* get(changed))
      assert.isTrue(yield* update(renamed, { name: "Other" }))
      assert.deepStrictEqual(yield* readCounts(workspace), [0, 2])
      assert.isTrue(yield* update(present(yield* get(changed)), { cron: "1 9 * * *" }, noon + day))
      // Nor do runs that are asked for end it.
      const atOnce = { dueAt: noon, ranAt: noon, nextRunAt: null }
      yield* run(number, aRun(present(yield* get(due)), atOnce))
      const refused = { outcome: "refused", code: "no_credits" } as const
      const second = aRun(present(yield* get(due)), atOnce)
      yield* Store.use(({ reminders }) => reminders.advanceWithoutMessage(second, refused))
      const held = only(yield* listReminders())
      assert.deepStrictEqual(held.reminder, present(yield* get(due)))
      const skipped = aRun(held.reminder, { dueAt: era, ranAt: noon, nextRunAt: noon + day })
      const missed = { outcome: "missed", code: null } as const
      const commit = yield* Store.use(({ reminders }) =>
        reminders.advanceWithoutMessage(skipped, missed),
      )
      assert.strictEqual(commit._tag, "Advanced")
      assert.deepStrictEqual(yield* readCounts(workspace), [0, 0])
      assert.strictEqual(present(yield* get(due, getScope(due))).nextRunAt, noon + day)
      assert.deepStrictEqual(
        (yield* readRunLog(due)).map(({ dueAt, outcome }) => [dueAt, outcome]),
        [
          [era, "missed"],
          [noon, "refused"],
          [noon, "accepted"],
        ],
      )
    }),
  )

  it.effect("a shared store tells its position, and whether it has what was seen", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { number } = yield* aStage()
      const waits = yield* aMessage(number)
      const gone = yield* aMessage(number)
      yield* end(cancelled(gone))
      const found = yield* store.position({ accepted: [waits.id, gone.id], ended: [gone.id] })
      // Null: nothing restores it under the process.
      if (found === null) return
      const { epoch } = yield* store.epoch
      assert.deepStrictEqual(
        [found.epoch, found.messages, found.missing, found.waitsAgain],
        [epoch, { given: gone.id, highest: gone.id }, null, null],
      )
      assert.isAbove(found.events.highest, 0)
      assert.isAtLeast(found.events.given, found.events.highest)
      const beyond = (gone.id + 1) as typeof gone.id
      const seen = { accepted: [gone.id, beyond], ended: [gone.id, waits.id] }
      assert.deepStrictEqual(yield* store.position(seen), {
        ...found,
        missing: beyond,
        waitsAgain: waits.id,
      })
      assert.deepStrictEqual(yield* store.position({ accepted: [], ended: [] }), found)
    }),
  )
}
