/** `ChatStore`, and what changes of messages and numbers announce while conversations are on. */
import { assert } from "@effect/vitest"
import { noFailures, numberEvent, Store } from "@messaging-service/core"
import type {
  ConversationSettings,
  Message,
  MessageEvent,
  Mode,
  NumberEventIds,
  Phone,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { aLinking, digits } from "../Linking.ts"
import { again, change, claimOne, end, sendNext, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  aMessage,
  anEventId,
  anEra,
  aStage,
  aWorkspace,
  hour,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"

const settings: ConversationSettings = {
  groups: true,
  retentionDays: 7,
  media: "on_demand",
  maxFileBytes: 1000,
  maxStorageBytes: 5_368_709_120,
  holdNewChats: true,
  since: noon,
}

const nothingStored = { messages: 0, bytes: 0, oldestAt: null }

export const turnOn = (workspaceId: WorkspaceId, since = noon) =>
  Store.use(({ chats }) => chats.putConversations(workspaceId, { ...settings, since }))

export const someIds = (): NumberEventIds => ({
  status: anEventId(),
  pause: anEventId(),
  gap: anEventId(),
})

/** What a listener reads of each event. */
export const shownEvents = (
  follow: Effect.Success<typeof followOutbox>,
  workspaceId: WorkspaceId,
) =>
  Effect.map(follow(workspaceId), (events) =>
    events.map(({ body, createdAt, eventId, messageId, mode, type }) => ({
      id: eventId,
      type,
      workspaceId,
      mode,
      messageId,
      createdAt,
      body,
    })),
  )

const tickedEvent = (moved: Message): MessageEvent => ({
  id: anEventId(),
  type: moved.state === "read" ? "message.read" : "message.delivered",
  workspaceId: moved.workspaceId,
  mode: moved.mode,
  messageId: moved.id,
  createdAt: noon,
  body: `{"message":${moved.id},"state":"${moved.state}"}`,
})

export const conversations: Topic = (it) => {
  it.effect("conversations are off until they are put, and off again once deleted", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { id } = yield* aWorkspace()
      assert.isNull(yield* chats.conversations(id))
      assert.isFalse(yield* chats.deleteConversations(id, noon))
      const stored = { ...settings, stored: nothingStored }
      assert.deepStrictEqual(yield* turnOn(id), stored)
      assert.deepStrictEqual(yield* chats.conversations(id), stored)
      const changed = { ...settings, groups: false, since: noon + hour }
      assert.deepStrictEqual(yield* chats.putConversations(id, changed), {
        ...changed,
        since: noon,
        stored: nothingStored,
      })
      assert.isTrue(yield* chats.deleteConversations(id, noon))
      assert.isNull(yield* chats.conversations(id))
    }),
  )

  it.effect("a deleted workspace has no conversations", () =>
    Effect.gen(function* () {
      const { chats, workspaces } = yield* Store
      const { id } = yield* aWorkspace()
      yield* turnOn(id)
      yield* workspaces.delete(id, noon)
      assert.isNull(yield* chats.conversations(id))
      assert.isNull(yield* turnOn(id))
      assert.isFalse(yield* chats.deleteConversations(id, noon))
    }),
  )

  it.effect("a tick announces itself once, while conversations are on", () =>
    Effect.gen(function* () {
      const { messages } = yield* Store
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const before = yield* aMessage(number)
      const message = yield* aMessage(number)
      yield* sendNext(number)
      yield* sendNext(number)
      const tick = ({ from, transportId }: Message, to: "delivered" | "read") =>
        Effect.gen(function* () {
          const announced: Array<MessageEvent> = []
          const moved = yield* messages.tick(from.id, transportId, to, noon, (one) => {
            const event = tickedEvent(one)
            announced.push(event)
            return event
          })
          return { moved: present(moved), announced }
        })
      const ends = (yield* follow(workspace.id)).length
      assert.strictEqual((yield* tick(before, "delivered")).moved.state, "delivered")
      assert.lengthOf(yield* follow(workspace.id), ends)

      yield* turnOn(workspace.id)
      const first = yield* tick(message, "delivered")
      const repeated = yield* tick(message, "delivered")
      const second = yield* tick(message, "read")
      const late = yield* tick(message, "delivered")
      assert.deepStrictEqual(
        [first, repeated, second, late].map(({ moved }) => moved.state),
        ["delivered", "delivered", "read", "read"],
      )
      assert.deepStrictEqual((yield* shownEvents(follow, workspace.id)).slice(ends), [
        only(first.announced),
        only(second.announced),
      ])
    }),
  )

  it.effect("a tick for a message that still waits announces nothing", () =>
    Effect.gen(function* () {
      const { messages } = yield* Store
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      yield* turnOn(workspace.id)
      const { transportId } = yield* aMessage(number)
      const moved = yield* messages.tick(number.id, transportId, "read", noon, tickedEvent)
      assert.strictEqual(moved?.state, "waiting")
      yield* sendNext(number)
      assert.lengthOf(yield* follow(workspace.id), 1)
    }),
  )

  it.effect("a number announces that it is connected and disconnected, once each", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const become = (
        status: SendingNumber["status"],
        now: number,
        reason: "logged_out" | null = null,
      ) => {
        const events = someIds()
        const changed = numbers.setStatus(number.id, status, undefined, now, null, reason, events)
        return Effect.map(changed, (after) => ({ after: present(after), events, now }))
      }
      yield* become("disconnected", noon)
      assert.deepStrictEqual(yield* follow(workspace.id), [])

      yield* turnOn(workspace.id)
      const up = yield* become("connected", noon + minute)
      yield* become("connected", noon + 2 * minute)
      const down = yield* become("disconnected", noon + 3 * minute, "logged_out")
      yield* become("connecting", noon + 4 * minute)
      assert.deepStrictEqual(yield* shownEvents(follow, workspace.id), [
        numberEvent(
          up.events.status,
          { type: "number.connected", reason: null, since: up.now },
          up.after,
          up.now,
        ),
        numberEvent(
          down.events.status,
          { type: "number.disconnected", reason: "logged_out", since: down.now },
          down.after,
          down.now,
        ),
      ])
    }),
  )

  it.effect("a link announces the connected number, and the end of its own pause", () =>
    Effect.gen(function* () {
      const { numbers, queue } = yield* Store
      const follow = yield* followOutbox
      const era = anEra()
      const { id } = yield* aWorkspace()
      yield* turnOn(id, era)
      const { attempt, number } = yield* aLinking(id, era)
      yield* queue.pause(number.id, { until: null, reason: "banned" }, era, someIds())
      const linked = present(
        yield* numbers.linked(attempt.id, digits(), era + oneSecond, null, someIds()),
      )
      const [paused, ...others] = yield* shownEvents(follow, id)
      assert.strictEqual(paused?.type, "number.paused")
      assert.deepStrictEqual(others.map(({ type }) => type).toSorted(), [
        "number.connected",
        "number.resumed",
      ])
      for (const { body } of others) {
        assert.deepStrictEqual(JSON.parse(body).data.number, {
          id: number.id,
          phone: linked.phone,
          platform: "whatsapp",
          status: "connected",
        })
      }
    }),
  )

  it.effect("a link that fails announces the disconnected number", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const follow = yield* followOutbox
      const era = anEra()
      const { id } = yield* aWorkspace()
      yield* turnOn(id, era)
      const { attempt } = yield* aLinking(id, era)
      const why = { at: era + minute, reason: "link_expired" as const }
      yield* numbers.abandonLinking(attempt.id, why, null, someIds())
      const event = only(yield* follow(id))
      assert.strictEqual(event.type, "number.disconnected")
      assert.strictEqual(JSON.parse(event.body).data.reason, "link_expired")
    }),
  )

  it.effect("a pause announces its begin and its end, of an operator or of the breaker", () =>
    Effect.gen(function* () {
      const { queue } = yield* Store
      const follow = yield* followOutbox
      const era = anEra()
      const { workspace, number } = yield* aStage({ createdAt: era })
      // A pause from before is not reported; its end is.
      yield* queue.pause(number.id, { until: null, reason: "paused" }, era, someIds())
      yield* turnOn(workspace.id, era)
      yield* queue.resume(number.id, era + 1, someIds())
      yield* queue.resume(number.id, era + 2, someIds())
      yield* queue.pause(number.id, { until: era + hour, reason: "paused" }, era + 3, someIds())
      yield* queue.pause(number.id, { until: null, reason: "banned" }, era + 4, someIds())
      yield* queue.resume(number.id, era + 5, someIds())
      yield* aMessage(number, { now: era + 6 })
      const claimed = yield* claimOne(number, { now: era + 6, leaseUntil: era + minute })
      const breaker = {
        failures: noFailures,
        pause: { until: era + hour, reason: "restricted" as const },
        events: someIds(),
      }
      yield* settle([again(claimed, { breaker })], era + 7)
      assert.deepStrictEqual(
        (yield* follow(workspace.id)).map(({ body, type }) => [type, JSON.parse(body).data.reason]),
        [
          ["number.resumed", null],
          ["number.paused", "paused"],
          ["number.resumed", null],
          ["number.paused", "restricted"],
        ],
      )
      yield* queue.resume(number.id, era + 8, someIds())
    }),
  )

  it.effect("a pause that ends by itself is due, and announced once", () =>
    Effect.gen(function* () {
      const { queue } = yield* Store
      const follow = yield* followOutbox
      const era = anEra()
      const { workspace, number } = yield* aStage({ createdAt: era })
      yield* turnOn(workspace.id, era)
      yield* queue.pause(number.id, { until: era + hour, reason: "paused" }, era, someIds())
      assert.strictEqual(yield* queue.nextDue("pauses"), era + hour)
      assert.strictEqual(yield* queue.reportEndedPauses(era + hour - 1, [anEventId()]), 0)
      assert.strictEqual(yield* queue.reportEndedPauses(era + 2 * hour, []), 0)
      const id = anEventId()
      assert.strictEqual(yield* queue.reportEndedPauses(era + 2 * hour, [id, anEventId()]), 1)
      assert.strictEqual(yield* queue.reportEndedPauses(era + 2 * hour, [anEventId()]), 0)
      assert.isNull(yield* queue.nextDue("pauses"))
      const [, ended] = yield* shownEvents(follow, workspace.id)
      const report = { type: "number.resumed", reason: null, since: era + hour } as const
      assert.deepStrictEqual(ended, numberEvent(id, report, number, era + 2 * hour))
    }),
  )

  it.effect("test messages to phones that read are ticked a second apart", () =>
    Effect.gen(function* () {
      const { messages, queue } = yield* Store
      const era = anEra()
      const { workspace, number } = yield* aStage({ createdAt: era })
      const sent = (phone: string, mode: Mode = "test") =>
        Effect.gen(function* () {
          const to = { kind: "phone", phone: phone as Phone, contactId: null } as const
          const message = yield* aMessage(number, { mode, message: { to }, now: era })
          yield* end(change(message, { trigger: "send_succeeded" }, era))
          return message
        })
      const quiet = yield* queue.nextDue("test_messages")
      const first = yield* sent("+15005550002")
      const second = yield* sent("+15005550003")
      yield* sent("+15005550004")
      yield* sent("+15005550002", "live")
      const due = (now: number) =>
        Effect.map(messages.dueTestTicks(now, 1000), (ticks) =>
          ticks
            .filter(({ numberId }) => numberId === number.id)
            .map(({ tick, transportId }) => [transportId, tick]),
        )
      assert.deepStrictEqual(yield* due(era + minute), [])
      assert.strictEqual(yield* queue.nextDue("test_messages"), quiet)
      yield* turnOn(workspace.id, era)
      assert.strictEqual(yield* queue.nextDue("test_messages"), era + oneSecond)
      assert.deepStrictEqual(yield* due(era + oneSecond - 1), [])
      assert.deepStrictEqual(yield* due(era + oneSecond), [
        [first.transportId, "delivered"],
        [second.transportId, "delivered"],
      ])
      yield* messages.tick(number.id, first.transportId, "delivered", era + oneSecond)
      yield* messages.tick(number.id, second.transportId, "read", era + oneSecond)
      assert.deepStrictEqual(yield* due(era + 2 * oneSecond - 1), [])
      assert.deepStrictEqual(yield* due(era + 2 * oneSecond), [[first.transportId, "read"]])
      yield* messages.tick(number.id, first.transportId, "read", era + 2 * oneSecond)
      assert.deepStrictEqual(yield* due(era + hour), [])
    }),
  )
}
