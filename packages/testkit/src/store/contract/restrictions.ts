/** What platforms let numbers do with new chats, and what it announces while conversations are on. */
import { assert } from "@effect/vitest"
import { restrictionsEvent, Store } from "@messaging-service/core"
import type { Restrictions, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { followOutbox } from "../follow.ts"
import { anEventId, anEra, aStage, aWorkspace, hour, minute } from "../Records.ts"
import type { Topic } from "../Topic.ts"
import { shownEvents, turnOn } from "./conversations.ts"

const open = (checkedAt: number): Restrictions => ({
  state: "none",
  until: null,
  reason: null,
  newChats: { limit: 100, used: 42, resetsAt: checkedAt + hour, warning: "second" },
  checkedAt,
})

const closed = (checkedAt: number): Restrictions => ({
  ...open(checkedAt),
  state: "new_chats_closed",
  until: checkedAt + hour,
  reason: "DEFAULT",
  newChats: { limit: null, used: 0, resetsAt: null, warning: "none" },
})

const unknown = (checkedAt: number | null): Restrictions => ({
  state: "unknown",
  until: null,
  reason: null,
  newChats: null,
  checkedAt,
})

const read = ({ id, workspaceId }: Pick<SendingNumber, "id" | "workspaceId">) =>
  Store.use(({ numbers }) => numbers.restrictions(workspaceId, id))

const restrict = Effect.fnUntraced(function* restrict(
  { id }: SendingNumber,
  restrictions: Restrictions,
  now: number,
) {
  const eventId = anEventId()
  const { numbers } = yield* Store
  return { stored: yield* numbers.restrict(id, restrictions, now, eventId, minute), eventId }
})

export const restrictions: Topic = (it) => {
  it.effect("restrictions are stored as told, the latest alone", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      yield* turnOn(workspace.id, era)
      assert.isNull(yield* read(number))
      for (const one of [closed(era), unknown(era + 1), open(era + 2), unknown(null)]) {
        assert.isTrue((yield* restrict(number, one, era)).stored)
        assert.deepStrictEqual(yield* read(number), one)
      }
      assert.isNull(yield* read({ ...number, workspaceId: (yield* aWorkspace()).id }))
    }),
  )

  it.effect("restrictions are stored only while conversations are on", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const follow = yield* followOutbox
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const refused = Effect.gen(function* () {
        assert.isFalse((yield* restrict(number, closed(era), era)).stored)
        assert.isNull(yield* read(number))
      })
      yield* refused
      yield* turnOn(workspace.id, era)
      yield* restrict(number, closed(era), era + 1)
      yield* chats.deleteConversations(workspace.id, era)
      assert.isNull(yield* read(number))
      yield* refused
      // What was announced before is forgotten.
      yield* turnOn(workspace.id, era + minute)
      assert.isNull(yield* read(number))
      yield* restrict(number, open(era), era + 2)
      yield* restrict(number, closed(era), era + 3)
      const types = (yield* follow(workspace.id)).map(({ type }) => type)
      assert.deepStrictEqual(types, ["number.restricted", "number.restricted"])
    }),
  )

  it.effect("restrictions go with their number and its workspace", () =>
    Effect.gen(function* () {
      const { numbers, workspaces } = yield* Store
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      yield* turnOn(workspace.id, era)
      yield* restrict(number, closed(era), era)
      yield* numbers.remove(workspace.id, number.id, era)
      assert.isNull(yield* read(number))
      assert.isFalse((yield* restrict(number, closed(era), era)).stored)

      const other = yield* aStage({ createdAt: era })
      yield* turnOn(other.workspace.id, era)
      yield* restrict(other.number, closed(era), era)
      yield* workspaces.delete(other.workspace.id, era)
      assert.isNull(yield* read(other.number))
      assert.isFalse((yield* restrict(other.number, closed(era), era)).stored)
    }),
  )

  it.effect("closed new chats are announced once, and once more when they open", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      yield* turnOn(workspace.id, era)
      const announce = (one: Restrictions, now: number) =>
        Effect.map(restrict(number, one, now), ({ eventId }) => eventId)
      yield* announce(open(era), era)
      const shut = yield* announce(closed(era + 1), era + 1)
      yield* announce(closed(era + 2), era + 2)
      // A refused question in between loses neither.
      yield* announce(unknown(era + 3), era + 3)
      yield* announce(closed(era + 4), era + 4)
      yield* announce(unknown(era + 5), era + 5)
      const opened = yield* announce(open(era + 6), era + 6)
      yield* announce(unknown(era + 7), era + 7)
      yield* announce(open(era + 8), era + 8)
      assert.deepStrictEqual(yield* shownEvents(follow, workspace.id), [
        restrictionsEvent(
          { id: shut, type: "number.restricted" },
          number,
          closed(era + 1),
          era + 1,
        ),
        restrictionsEvent(
          { id: opened, type: "number.unrestricted" },
          number,
          open(era + 6),
          era + 6,
        ),
      ])
    }),
  )

  it.effect("calls at once announce a change of restrictions once", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      yield* turnOn(workspace.id, era)
      const calls = Array.from({ length: 8 }, () => restrict(number, closed(era), era))
      yield* Effect.all(calls, { concurrency: "unbounded" })
      const types = (yield* follow(workspace.id)).map(({ type }) => type)
      assert.deepStrictEqual(types, ["number.restricted"])
    }),
  )
}
