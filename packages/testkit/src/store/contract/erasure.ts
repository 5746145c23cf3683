/** `ErasureStore`: what has outlived its retention is gone, and nothing else. */
import { assert } from "@effect/vitest"
import {
  ErasureStore,
  MessageStore,
  WebhookStore,
  WorkspaceStore,
} from "@messaging-service/core/ports"
import type { Message, Mode, WorkspaceId } from "@messaging-service/core/ports"
import { SimulatedPhones } from "@messaging-service/emulator"
import { Effect } from "effect"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  logOf,
  refused,
  scopeOf as endpointScope,
  settleDeliveries,
} from "../Delivering.ts"
import { ids } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { messagesOf, scopeOf } from "../Reading.ts"
import { cancelled, change, end, sendNext } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  admitsAll,
  aMessage,
  aNumber,
  anEra,
  aStage,
  aWorkspace,
  day,
  hour,
  minute,
  noon,
} from "../Records.ts"

const eraseEnded = (workspaceId: WorkspaceId, endedBefore: number) =>
  ErasureStore.use((store) => store.eraseEnded([{ workspaceId, endedBefore }]))

const isThere = ({ id, mode, workspaceId }: Message) =>
  Effect.map(
    MessageStore.use((store) => store.get(scopeOf(workspaceId, mode), id)),
    (found) => found !== null,
  )

const left = (workspaceId: WorkspaceId, mode: Mode = "live") =>
  Effect.map(messagesOf(workspaceId, mode), ids)

export const erasure: Topic = (it) => {
  it.effect("a message is erased once it ended before the moment, however it ended", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const sent = yield* aMessage(number)
      yield* sendNext(number, noon)
      const expired = yield* aMessage(number, { expiresAt: noon + minute })
      yield* end(change(expired, { trigger: "expire" }, noon + hour))
      const test = yield* aMessage(number, { mode: "test" })
      yield* end(change(test, { trigger: "send_succeeded" }, noon + hour))
      const later = yield* aMessage(number)
      yield* end(cancelled(later, noon + 2 * hour))
      const waiting = yield* aMessage(number)

      yield* eraseEnded(workspace.id, noon)
      assert.isTrue(yield* isThere(sent))
      yield* eraseEnded(workspace.id, noon + 1)
      assert.isFalse(yield* isThere(sent))
      assert.isTrue(yield* isThere(expired))
      yield* eraseEnded(workspace.id, noon + 2 * hour)
      assert.deepStrictEqual(yield* left(workspace.id), [waiting.id, later.id])
      assert.deepStrictEqual(yield* left(workspace.id, "test"), [])
      yield* eraseEnded(workspace.id, noon + 50 * day)
      assert.deepStrictEqual(yield* left(workspace.id), [waiting.id])
      assert.isNull(
        yield* MessageStore.use((store) => store.byTransportId(sent.from.id, sent.transportId)),
      )
    }),
  )

  it.effect("thousands go in one call, and those of other workspaces stay", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber((yield* aWorkspace()).id)
      const kept = yield* aMessage(other)
      yield* end(cancelled(kept))
      for (let round = 0; round < 13; round++) {
        const some = yield* accepted(number, { count: 100 })
        yield* end(...some.filter((_, index) => index !== 50).map((one) => cancelled(one)))
      }
      yield* eraseEnded(workspace.id, noon + 1)
      assert.lengthOf(yield* left(workspace.id), 13)
      assert.isTrue(yield* isThere(kept))
    }),
  )

  it.effect("a page that is read after an erasure goes on where the one before it ended", () =>
    Effect.gen(function* () {
      const store = yield* MessageStore
      const { number, workspace } = yield* aStage()
      const all = yield* accepted(number, { count: 6 })
      const all3 = all.slice(0, 3)
      const page = (before: number | null) =>
        store.list(
          scopeOf(workspace.id),
          { statuses: null, from: null, phone: null, since: null, until: null },
          { before, limit: 2 },
          noon,
        )
      const first = yield* page(null)
      // The message that the cursor names is among the erased.
      yield* end(...all.slice(2).map((one) => cancelled(one)))
      yield* eraseEnded(workspace.id, noon + 1)
      const second = yield* page(first.next)
      assert.deepStrictEqual(ids(second.items), ids(all3.slice(0, 2).toReversed()))
      assert.isNull(second.next)
    }),
  )

  it.effect("events go with their messages, but those that are still to be delivered", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { key, number, workspace } = yield* aStageWithKey()
      const plain = yield* anEvent(number)
      const endpoint = yield* anEndpoint(key)
      const pending = yield* anEvent(number)
      const done = yield* anEvent(number, { now: noon + 1 })
      const late = yield* anEvent(number, { now: noon + hour })
      const [first, second, third] = yield* claimDue()
      assert.isDefined(first)
      if (first === undefined || second === undefined || third === undefined) return
      yield* settleDeliveries(refused(first, noon + 2 * hour), delivered(second), delivered(third))
      const events = Effect.map(follow(workspace.id), (all) => all.map(({ eventId }) => eventId))
      assert.deepStrictEqual(yield* events, [plain.id, pending.id, done.id, late.id])

      yield* eraseEnded(workspace.id, noon + hour)
      assert.deepStrictEqual(yield* events, [pending.id, late.id])
      const again = yield* claimTheOne({ now: noon + 2 * hour })
      assert.deepStrictEqual([again.eventId, again.body], [pending.id, pending.body])
      yield* settleDeliveries(delivered(again))
      yield* eraseEnded(workspace.id, noon + hour)
      assert.deepStrictEqual(yield* events, [late.id])
      assert.lengthOf(yield* logOf(endpoint), 0)
    }),
  )

  it.effect("the log of deliveries goes after its attempts, and nothing of it is redelivered", () =>
    Effect.gen(function* () {
      const store = yield* WebhookStore
      const { key, number, workspace } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const old = yield* anEvent(number)
      const late = yield* anEvent(number, { now: noon + hour })
      const claimed = yield* claimDue()
      yield* settleDeliveries(
        ...claimed.map((one) =>
          delivered(one, { attemptedAt: one.eventId === old.id ? noon : noon + hour }),
        ),
      )
      yield* eraseEnded(workspace.id, noon + hour)
      assert.deepStrictEqual(
        (yield* logOf(endpoint)).map(({ eventId }) => eventId),
        [late.id],
      )
      const redeliver = (id: typeof old.id) =>
        Effect.map(
          store.redeliver(endpointScope(key), endpoint.id, id, noon + 2 * hour),
          ({ _tag }) => _tag,
        )
      assert.strictEqual(yield* redeliver(old.id), "NoEvent")
      assert.strictEqual(yield* redeliver(late.id), "Queued")
    }),
  )

  it.effect("what a simulated phone shows of a message goes with it", () =>
    Effect.gen(function* () {
      const phones = yield* SimulatedPhones
      const { number, workspace } = yield* aStage()
      const [gone, kept] = [yield* aMessage(number), yield* aMessage(number)]
      for (const { transportId } of [gone, kept]) {
        const copy = { transportId, numberId: number.id, to: "+15550001234", text: "Hello" }
        yield* phones.receive({ ...copy, media: null, at: noon }, null)
      }
      yield* end(cancelled(gone))
      yield* eraseEnded(workspace.id, noon + 1)
      const shown = yield* phones.sent(number.id, { before: null, limit: 10 })
      assert.deepStrictEqual(
        shown.items.map(({ messageId }) => messageId),
        [kept.id],
      )
    }),
  )

  it.effect("workspaces are listed with their retention, deleted ones among them", () =>
    Effect.gen(function* () {
      const store = yield* ErasureStore
      const workspaces = yield* WorkspaceStore
      const era = anEra()
      const plain = yield* aWorkspace()
      const limited = yield* aWorkspace({ retentionDays: 3 })
      const deleted = yield* aWorkspace()
      yield* workspaces.update(
        plain.id,
        () => ({ change: { retentionDays: 30 }, admits: admitsAll }),
        era,
      )
      yield* workspaces.delete(deleted.id, era)
      const found = yield* store.workspaces(plain.id - 1, 3)
      assert.deepStrictEqual(found, [
        { id: plain.id, retentionDays: 30, deletedAt: null },
        { id: limited.id, retentionDays: 3, deletedAt: null },
        { id: deleted.id, retentionDays: null, deletedAt: era },
      ])
      assert.deepStrictEqual(yield* store.workspaces(deleted.id, 3), [])
    }),
  )
}
