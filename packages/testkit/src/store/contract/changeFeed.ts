/** `ChangeFeedStore`: what tells that a record has changed, and which messages did since a position. */
import { assert } from "@effect/vitest"
import { changedMarks, Store } from "@messaging-service/core"
import type { ChangeFeedMark, ChangeFeedTopic, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { aCheck } from "../Checking.ts"
import { anEndpoint, aStageWithKey } from "../Delivering.ts"
import { ids, present } from "../Expect.ts"
import { aLinking } from "../Linking.ts"
import { accepted, aMessage, aStage, hour, noon, oneSecond } from "../Records.ts"
import { toScope } from "../Reading.ts"
import { aReminder, getScope } from "../Reminding.ts"
import { cancelled, end } from "../Sending.ts"
import { aText, receive, received, turnOn } from "./receiving.ts"
import type { Topic } from "../Topic.ts"

const limits = { recent: 50, most: 1000 }

const readMarks = (...workspaces: ReadonlyArray<WorkspaceId>) =>
  Effect.map(
    Store.use(({ news: store }) => store.marks(workspaces, limits)),
    (marks) =>
      new Map(marks.map((mark): [string, ChangeFeedMark] => [`${mark.topic} ${mark.id}`, mark])),
  )

/** What has changed since the last call, by topic. */
const following = (workspaceId: WorkspaceId) =>
  Effect.gen(function* () {
    let before = yield* readMarks(workspaceId)
    return Effect.gen(function* () {
      const after = yield* readMarks(workspaceId)
      const changed = Object.fromEntries(changedMarks(before, after))
      before = after
      return changed as Readonly<Partial<Record<ChangeFeedTopic, ReadonlyArray<number> | null>>>
    })
  })

export const news: Topic = (it) => {
  it.effect("messages have another mark once they are accepted and once they end", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const changed = yield* following(workspace.id)
      const messages = [
        ...(yield* accepted(number, { count: 2, sendAt: noon + hour })),
        ...(yield* accepted(number, { mode: "test" })),
      ]
      assert.sameMembers([...((yield* changed).messages ?? [])], [...ids(messages)])
      assert.deepStrictEqual(yield* changed, {})
      const [first] = messages
      if (first === undefined) return
      yield* end(cancelled(first, noon + oneSecond))
      assert.deepStrictEqual(yield* changed, { messages: [first.id] })
    }),
  )

  it.effect("numbers have another mark with each change of them, their links and pauses", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const { numbers, queue } = yield* Store
      const changed = yield* following(workspace.id)
      yield* numbers.change(workspace.id, number.id, { label: "Shop" }, noon)
      assert.deepStrictEqual(yield* changed, { numbers: [number.id] })
      yield* queue.pause(number.id, { until: null, reason: "paused" }, noon)
      assert.deepStrictEqual(yield* changed, { numbers: [number.id] })
      yield* queue.resume(number.id, noon)
      assert.deepStrictEqual(yield* changed, { numbers: [number.id] })
      yield* numbers.setStatus(number.id, "disconnected", undefined, noon, null, "logged_out")
      assert.deepStrictEqual(yield* changed, { numbers: [number.id] })
      const { attempt, number: linking } = yield* aLinking(workspace.id, noon)
      assert.deepStrictEqual(yield* changed, { numbers: [linking.id] })
      yield* numbers.isLinkingClaimed(attempt.id, noon)
      assert.deepStrictEqual(yield* changed, { numbers: [linking.id] })
      yield* numbers.remove(workspace.id, number.id, noon)
      yield* numbers.remove(workspace.id, linking.id, noon)
      const { numbers: removed } = yield* changed
      assert.sameMembers([...(removed ?? [])], [number.id, linking.id])
      assert.deepStrictEqual(yield* changed, {})
    }),
  )

  it.effect("endpoints, reminders and number checks have marks of their own", () =>
    Effect.gen(function* () {
      const { key, number, workspace } = yield* aStageWithKey()
      const { reminders } = yield* Store
      const changed = yield* following(workspace.id)
      const endpoint = yield* anEndpoint(key)
      assert.deepStrictEqual(yield* changed, { webhooks: [endpoint.id] })
      const reminder = yield* aReminder(workspace.id)
      assert.deepStrictEqual(yield* changed, { reminders: [reminder.id] })
      yield* reminders.remove(getScope(reminder), reminder.id, noon)
      assert.deepStrictEqual(yield* changed, { reminders: [reminder.id] })
      const check = yield* aCheck(number)
      assert.deepStrictEqual(yield* changed, { number_checks: [check.id] })
      assert.deepStrictEqual(yield* changed, {})
    }).pipe(Effect.scoped),
  )

  it.effect("chats have another mark with what is written in them, until they are gone", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number, workspace } = yield* aStage()
      yield* turnOn(workspace.id)
      const changed = yield* following(workspace.id)
      const text = aText()
      const [stored] = yield* received(number, [text])
      const { chat } = present(stored)
      assert.deepStrictEqual(yield* changed, { chats: [chat.id] })
      yield* receive(number, [text])
      assert.deepStrictEqual(yield* changed, {})
      yield* received(number, [aText({ person: text.person })])
      assert.deepStrictEqual(yield* changed, { chats: [chat.id] })
      yield* chats.deleteChat(toScope(workspace.id, "live"), chat.id, noon)
      assert.deepStrictEqual(yield* changed, { chats: [chat.id] })
      assert.deepStrictEqual(yield* changed, {})
    }),
  )

  it.effect("each workspace has its own, and the newest messages alone", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* aStage(), yield* aStage()]
      const messages = yield* accepted(one.number, { count: 5 })
      const store = (yield* Store).news
      const marks = yield* store.marks([one.workspace.id, two.workspace.id], {
        recent: 3,
        most: 1000,
      })
      const own = (id: WorkspaceId, topic: ChangeFeedTopic) => [
        ...ids(marks.filter((mark) => mark.workspaceId === id && mark.topic === topic)),
      ]
      assert.sameMembers(own(one.workspace.id, "messages"), [...ids(messages.slice(2))])
      assert.deepStrictEqual(own(one.workspace.id, "numbers"), [one.number.id])
      assert.deepStrictEqual(own(two.workspace.id, "messages"), [])
      assert.deepStrictEqual(own(two.workspace.id, "numbers"), [two.number.id])
      assert.deepStrictEqual(yield* store.marks([], limits), [])
    }),
  )

  it.effect(
    "messages that were accepted or ended after a position are found, earlier ones not",
    () =>
      Effect.gen(function* () {
        const { news: store, webhooks: outbox } = yield* Store
        const { workspace, number } = yield* aStage()
        const before = yield* aMessage(number, { now: noon - hour })
        const waiting = yield* aMessage(number, { now: noon - hour })
        yield* end(cancelled(before, noon - hour))
        const position = yield* outbox.latestEvent
        yield* end(cancelled(waiting, noon + oneSecond))
        const later = yield* aMessage(number, { now: noon + oneSecond })
        const query = { workspaceId: workspace.id, position, notBefore: noon, limit: 100 }
        const found = yield* store.changedMessages(query)
        assert.sameMembers([...found], [waiting.id, later.id])
        const late = { ...query, notBefore: noon + hour }
        assert.deepStrictEqual(yield* store.changedMessages(late), [])
        const other = yield* aStage()
        const elsewhere = { ...query, workspaceId: other.workspace.id }
        assert.deepStrictEqual(yield* store.changedMessages(elsewhere), [])
      }),
  )
}
