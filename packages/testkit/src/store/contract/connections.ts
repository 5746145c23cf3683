/** The facts of a number's connection, and the reports of its workers. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ConnectionReport } from "@messaging-service/core"
import { Effect } from "effect"
import { anAttempt } from "../Linking.ts"
import {
  accepted,
  aMessage,
  aNumber,
  aPhone,
  aStage,
  aWorkspace,
  day,
  hour,
  minute,
  noon,
} from "../Records.ts"
import { claim, claimOne, connectionFacts, dailyLimit, sendNext, sent, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"

export const connections: Topic = (it) => {
  it.effect("tells what waits, what was sent, and when the first may leave", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const empty = yield* connectionFacts(number)
      assert.deepStrictEqual(empty, {
        number,
        changed: null,
        report: null,
        waiting: 0,
        sent: 0,
        lastSentAt: null,
        pause: null,
        isDisabled: false,
        isSending: false,
        firstDueAt: null,
        pacedUntil: null,
        limitedUntil: null,
        noRoomUntil: null,
      })
      yield* accepted(number, { count: 3 })
      yield* aMessage(number, { sendAt: noon + hour })
      yield* accepted(number, { count: 2, mode: "test" })
      yield* sendNext(number, noon + minute)
      const claimed = yield* claimOne(number, { now: noon + 2 * minute })
      const sending = yield* connectionFacts(number, noon + 2 * minute)
      assert.deepInclude(sending, {
        waiting: 2,
        sent: 1,
        lastSentAt: noon + minute,
        isSending: true,
      })
      const notBefore = noon + 3 * minute
      yield* settle([sent(claimed, noon + 2 * minute, { notBefore })], noon + 2 * minute)
      assert.deepInclude(yield* connectionFacts(number, noon + 2 * minute), {
        waiting: 2,
        sent: 2,
        isSending: false,
        firstDueAt: noon,
        pacedUntil: notBefore,
      })
      assert.deepInclude(yield* connectionFacts(number, noon + minute + day), { sent: 1 })
    }),
  )

  it.effect("tells of all numbers what they sent by the hour and how much room they have", () =>
    Effect.gen(function* () {
      const { number: first, workspace } = yield* aStage()
      const second = yield* aNumber(workspace.id)
      const removed = yield* aNumber(workspace.id)
      const { numbers: store } = yield* Store
      yield* store.remove(workspace.id, removed.id, noon)
      yield* accepted(first, { count: 3, now: noon - 2 * hour - minute })
      for (const ago of [2 * hour, 2 * hour - minute, 0]) yield* sendNext(first, noon - ago)
      yield* aMessage(second, { now: noon, sendAt: noon + hour })
      yield* accepted(second, { count: 2, mode: "test" })
      const cap = { messages: 3, windowMillis: day }
      const found = yield* store.connections(workspace.id, noon, cap, 10)
      assert.deepStrictEqual(
        found.map(({ facts }) => facts.number.id),
        [first.id, second.id],
      )
      for (const { facts } of found) {
        const { id, workspaceId } = facts.number
        assert.deepStrictEqual(facts, yield* store.connection(workspaceId, id, noon, cap))
      }
      const none = Array.from({ length: 24 }, () => 0)
      assert.deepStrictEqual(found[0]?.hours, none.with(21, 1).with(22, 1).with(23, 1))
      assert.deepStrictEqual(found[1]?.hours, none)
      // Full until the first of three leaves the window; a planned one takes room too.
      const planned = noon - 2 * hour - minute
      assert.deepStrictEqual(found[0]?.quota, { planned: 3, roomAt: planned + day })
      assert.deepStrictEqual(found[1]?.quota, { planned: 1, roomAt: noon })
      assert.lengthOf(yield* store.connections(workspace.id, noon, cap, 1), 1)
      const other = yield* aWorkspace()
      assert.deepStrictEqual(yield* store.connections(other.id, noon, cap, 10), [])
    }),
  )

  it.effect("a message whose attempt broke off waits again, and reads as waiting", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 2 })
      const leaseUntil = noon + minute
      yield* claimOne(number, { leaseUntil })
      assert.deepInclude(yield* connectionFacts(number), { waiting: 1, isSending: true })
      // The worker died: after its end the lease says nothing, also before another claim.
      assert.deepInclude(yield* connectionFacts(number, leaseUntil), {
        waiting: 2,
        isSending: false,
        firstDueAt: noon,
      })
      yield* Store.use(({ queue }) =>
        queue.pause(number.id, { until: null, reason: "paused" }, noon + 1),
      )
      assert.deepStrictEqual(yield* claim([number], { now: leaseUntil }), [])
      const facts = yield* connectionFacts(number, leaseUntil)
      assert.deepInclude(facts, { waiting: 2, isSending: false })
    }),
  )

  it.effect("tells since when a number has its status, and why", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { number } = yield* aStage()
      const change = (
        status: "connected" | "disconnected",
        now: number,
        reason: "logged_out" | null = null,
      ) => store.setStatus(number.id, status, undefined, now, null, reason)
      const changed = Effect.map(connectionFacts(number), (known) => known.changed)
      yield* change("connected", noon + 1)
      assert.isNull(yield* changed)
      yield* change("disconnected", noon + 2)
      assert.deepStrictEqual(yield* changed, { at: noon + 2, reason: null })
      // The reason may arrive later than the end.
      yield* change("disconnected", noon + 3, "logged_out")
      yield* change("disconnected", noon + 4)
      assert.deepStrictEqual(yield* changed, { at: noon + 2, reason: "logged_out" })
      yield* change("connected", noon + 5)
      assert.deepStrictEqual(yield* changed, { at: noon + 5, reason: null })
    }),
  )

  it.effect("a linking attempt tells when it began and why it ended", () =>
    Effect.gen(function* () {
      const linking = (yield* Store).numbers
      const { number } = yield* aStage()
      yield* Store.use(({ numbers: store }) =>
        store.setStatus(number.id, "disconnected", undefined, noon),
      )
      const attempt = anAttempt(noon + 1)
      const changed = Effect.map(connectionFacts(number), (known) => known.changed)
      yield* linking.reconnect(number.workspaceId, number.id, attempt, null)
      assert.deepStrictEqual(yield* changed, { at: noon + 1, reason: null })
      yield* linking.abandonLinking(attempt.id, { at: noon + 2, reason: "passkey_required" })
      assert.deepStrictEqual(yield* changed, { at: noon + 2, reason: "passkey_required" })
      yield* linking.reconnect(number.workspaceId, number.id, attempt, null)
      yield* linking.linked(attempt.id, aPhone().slice(1), noon + 3)
      assert.deepStrictEqual(yield* changed, { at: noon + 3, reason: null })
    }),
  )

  it.effect("keeps the last report of each connection", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const report: ConnectionReport = {
        numberId: number.id,
        state: "waiting",
        reason: "connection_lost",
        since: noon,
        lastSeenAt: noon - 1,
        reconnects: 3,
      }
      const theirs = { ...report, numberId: other.id, reason: null, lastSeenAt: null }
      yield* store.reportConnections([report, theirs], noon + 1)
      yield* store.reportConnections([{ ...report, state: "connected" }], noon + 2)
      yield* store.reportConnections([], noon + 3)
      assert.deepStrictEqual((yield* connectionFacts(number)).report, {
        ...report,
        state: "connected",
        reportedAt: noon + 2,
      })
      assert.deepStrictEqual((yield* connectionFacts(other)).report, {
        ...theirs,
        reportedAt: noon + 1,
      })
    }),
  )

  it.effect("belongs to the number's workspace, and ends with the number", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { workspace, number } = yield* aStage()
      const other = yield* aWorkspace()
      assert.isNull(yield* store.connection(other.id, number.id, noon, dailyLimit))
      yield* store.remove(workspace.id, number.id, noon)
      assert.isNull(yield* store.connection(workspace.id, number.id, noon, dailyLimit))
    }),
  )
}
