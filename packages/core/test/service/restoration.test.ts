/** A store that went back in time, as an operator sees it. */
import { assert, describe, it } from "@effect/vitest"
import { services } from "@messaging-service/testkit/world"
import { Clock, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  MediaDirectory,
  MediaFiles,
  MessageOperations,
  Restoration,
  Workspaces,
  idsSkipped,
} from "../../src/index.ts"
import type { MarkSent, SelectHeld, WorkspaceId } from "../../src/index.ts"
import { bytes } from "./Attaching.ts"
import {
  allEvents,
  cancel,
  code,
  events,
  get,
  refusal,
  remaining,
  send,
  sendBatch,
  status,
  statuses,
} from "./Operations.ts"
import { log, nextRun, read, scheduled } from "./Reminding.ts"
import { ahead, aPlan, aSender, hour, inAService, minute, pass, settled } from "./Service.ts"

const restored = (command: { readonly above?: number; readonly again?: boolean } = {}) =>
  Restoration.use((all) => all.restored("owner", command))
const counts = Restoration.use((all) => all.counts("owner"))
const release = (workspace: WorkspaceId, selection: SelectHeld = { filter: {} }) =>
  Restoration.use((all) => all.release("owner", workspace, selection))
const cancelHeld = (workspace: WorkspaceId, selection: SelectHeld = { filter: {} }) =>
  Restoration.use((all) => all.cancel("owner", workspace, selection))

const markSent = (workspace: WorkspaceId, selection: MarkSent = { filter: {} }) =>
  Restoration.use((all) => all.markSent("owner", workspace, selection))

describe("a restored store", () => {
  it.effect("holds what waits while newer messages leave, until it is released", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const old = yield* send(key, { sendAt: yield* ahead(minute) })
        assert.deepStrictEqual(yield* restored(), { epoch: 2, held: 1 })
        const newer = yield* send(key)
        assert.isAtLeast(newer.id, old.id + idsSkipped)
        yield* pass(hour)
        assert.deepStrictEqual(yield* statuses(key, [old, newer]), ["queued", "sent"])
        assert.deepStrictEqual(yield* counts, [
          { workspaceId: workspace, messages: 1, reminders: 0, campaigns: 0 },
        ])
        assert.deepStrictEqual(yield* release(workspace), { count: 1, more: false })
        yield* settled
        assert.strictEqual(yield* status(key, old), "sent")
        assert.deepStrictEqual(yield* counts, [])
      }),
    ),
  )

  it.effect("logs each time that it went back once, unless intended", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* send(key)
        assert.deepInclude(yield* restored(), { epoch: 2 })
        assert.deepInclude(yield* restored({ above: 9_000_000 }), { epoch: 3 })
        assert.isAbove((yield* send(key)).id, 9_000_000)
        assert.strictEqual(yield* code(restored()), "already_restored")
        assert.deepInclude(yield* restored({ again: true }), { epoch: 4 })
      }),
    ),
  )

  it.effect("refuses input out of bounds once, and names the bounds", () =>
    inAService(
      Effect.gen(function* () {
        const { workspace } = yield* aSender()
        for (const above of [-1, 1.5, 9_007_199_254_740_990_000]) {
          const { errors, field, message } = yield* refusal(restored({ above }))
          assert.deepStrictEqual(
            [field, message, errors],
            ["above", "must be a whole number from 0 to 1000000000000000", []],
          )
        }
        for (const ids of [[], Array.from({ length: 1001 }, (_, at) => at)]) {
          const { field, message } = yield* refusal(release(workspace, { ids }))
          assert.deepStrictEqual([field, message], ["ids", "must hold 1 to 1,000 ids"])
        }
        const { field, message } = yield* refusal(
          Workspaces.use((all) => all.update("owner", workspace, { retentionDays: 3651 })),
        )
        assert.deepStrictEqual(
          [field, message],
          ["retentionDays", "must be a whole number from 1 to 3650"],
        )
      }),
    ),
  )

  it.effect("lets operators and customers cancel held messages, by id or all", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const later = { sendAt: yield* ahead(hour) }
        const [first, second, third] = [
          yield* send(key, later),
          yield* send(key, later),
          yield* send(key, later),
        ]
        yield* restored()
        yield* cancel(key, first)
        const selection = { ids: [first.id, second.id] }
        assert.deepStrictEqual(yield* cancelHeld(workspace, selection), { count: 1, more: false })
        assert.deepStrictEqual(yield* cancelHeld(workspace), { count: 1, more: false })
        assert.deepStrictEqual(yield* statuses(key, [first, second, third]), [
          "cancelled",
          "cancelled",
          "cancelled",
        ])
        assert.strictEqual(yield* code(cancelHeld(workspace, {})), "validation_failed")
        assert.strictEqual(
          yield* code(cancelHeld(workspace, { ids: [1], filter: {} })),
          "validation_failed",
        )
      }),
    ),
  )

  it.effect("links to no file that is gone when it ends what is held", () =>
    inAService(
      Effect.gen(function* () {
        const plan = { ...aPlan({}), mediaStorageBytes: 1000 }
        const sender = { workspace: { plan }, number: { phone: "+15550000100" } }
        const { key, workspace } = yield* services.builders.aSender(sender)
        const files = yield* MediaFiles
        const content = yield* files.spool(Stream.make(bytes("soup")), 1000)
        const { answer: file } = yield* MediaDirectory.use((directory) =>
          directory.upload(key, { fileName: "menu.txt", content }, null),
        )
        const scheduled = yield* send(key, {
          sendAt: yield* ahead(hour),
          media: { mediaId: file.id },
        })
        yield* restored()
        yield* MediaDirectory.use((directory) => directory.delete(key, file.id))
        yield* cancelHeld(workspace)
        const event = (yield* allEvents).find(({ messageId }) => messageId === scheduled.id)
        assert.include(event?.body, '"url":null')
      }),
    ),
  )

  it.effect("marks what had left as sent, when it was planned or as told, and tells it", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender(10)
        const due = yield* send(key, { sendAt: yield* ahead(minute) })
        const told = yield* send(key, { sendAt: yield* ahead(2 * minute) })
        const early = yield* send(key, { sendAt: yield* ahead(2 * hour) })
        yield* restored()
        yield* pass(hour)
        const start = "2026-03-02T12:00:00Z"
        const at = { ids: [told.id], sentAt: start }
        assert.deepStrictEqual(yield* markSent(workspace, at), { count: 1, more: false })
        assert.deepStrictEqual(yield* markSent(workspace), { count: 1, more: false })
        assert.deepStrictEqual(yield* statuses(key, [due, told, early]), [
          "sent",
          "sent",
          "scheduled",
        ])
        assert.strictEqual((yield* get(key, told)).sent_at, start)
        assert.deepStrictEqual(yield* events(told), ["message.sent"])
        assert.strictEqual((yield* get(key, due)).sent_at, due.send_at)
        assert.strictEqual(yield* remaining(workspace), 7)
        // By name also what was planned for later.
        assert.deepStrictEqual(yield* markSent(workspace, { ids: [early.id, told.id] }), {
          count: 1,
          more: false,
        })
        assert.strictEqual((yield* get(key, early)).sent_at, "2026-03-02T13:00:00Z")
        const future = { filter: {}, sentAt: yield* ahead(minute) }
        assert.strictEqual((yield* refusal(markSent(workspace, future))).field, "sentAt")
        assert.strictEqual(yield* code(markSent(workspace, {})), "validation_failed")
      }),
    ),
  )

  it.effect("handles at most a thousand a call, and tells that there are more", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* sendBatch(key, 999, { sendAt: yield* ahead(hour) })
        yield* sendBatch(key, 2, { sendAt: yield* ahead(48 * hour) })
        yield* restored()
        assert.deepStrictEqual(yield* cancelHeld(workspace), { count: 1000, more: true })
        assert.deepStrictEqual(yield* cancelHeld(workspace), { count: 1, more: false })
      }),
    ),
  )

  it.effect("misses the runs that were due, and reminders continue once released", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const due = yield* scheduled(key, "0 13 * * *")
        const later = yield* scheduled(key, "30 13 * * *")
        yield* TestClock.adjust(hour)
        assert.deepStrictEqual(yield* restored(), { epoch: 2, held: 1 })
        assert.isNull((yield* read(key, due)).nextRunAt)
        assert.strictEqual(nextRun(yield* read(key, later)), "2026-03-02T13:30:00+00:00")
        assert.deepStrictEqual(yield* release(workspace), { count: 1, more: false })
        assert.strictEqual(nextRun(yield* read(key, due)), "2026-03-03T13:00:00+00:00")
        assert.deepStrictEqual(yield* log(workspace, due), [
          ["2026-03-02T13:00:00Z", "missed", null],
        ])
        assert.deepStrictEqual(yield* counts, [])
      }),
      { worker: false },
    ),
  )

  it.effect("misses a run once, though the clock was set back before the release", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const due = yield* scheduled(key, "0 13 * * *")
        yield* TestClock.adjust(hour)
        yield* restored()
        yield* TestClock.setTime((yield* Clock.currentTimeMillis) - minute)
        assert.deepStrictEqual(yield* release(workspace), { count: 1, more: false })
        assert.strictEqual(nextRun(yield* read(key, due)), "2026-03-03T13:00:00+00:00")
        assert.deepStrictEqual(yield* log(workspace, due), [
          ["2026-03-02T13:00:00Z", "missed", null],
        ])
      }),
      { worker: false },
    ),
  )
})

describe("an operator", () => {
  it.effect("cancels a message of a workspace, live or test", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const message = yield* send(key, { sendAt: yield* ahead(hour) })
        const cancelled = yield* MessageOperations.use((all) =>
          all.cancel("member", workspace, message.id as never),
        )
        assert.strictEqual(cancelled.state, "cancelled")
        const again = MessageOperations.use((all) =>
          all.cancel("owner", workspace, message.id as never),
        )
        assert.strictEqual(yield* code(again), "not_cancellable")
      }),
    ),
  )
})
