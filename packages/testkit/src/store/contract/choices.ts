/** `search`, `waitingIds`, `found`, and lists of one error: how operators choose messages. */
import { assert } from "@effect/vitest"
import { everyMessage, Store } from "@messaging-service/core"
import type { CallerScope, MessageFilter, PageQuery, WaitingFilter } from "@messaging-service/core"
import { Effect } from "effect"
import { ids, present } from "../Expect.ts"
import { scopeOf } from "../Reading.ts"
import { cancelled, claimOne, end, failed, sendNext, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aMessage, aNumber, aStage, hour, minute, noon } from "../Records.ts"

const search = (
  scope: CallerScope,
  pattern: string,
  {
    before = null,
    limit = 10,
    most = 100,
    now = noon,
    ...filter
  }: Partial<MessageFilter & PageQuery> & { readonly most?: number; readonly now?: number } = {},
) =>
  Effect.map(
    Store.use(({ messages: store }) =>
      store.search(
        scope,
        { ...everyMessage, ...filter },
        { pattern, most },
        { before, limit },
        now,
      ),
    ),
    ({ items, lookedUntil, next }) => ({ ids: ids(items), next, lookedUntil }),
  )

const waiting = (filter: Partial<WaitingFilter>, scope: CallerScope, limit = 10) =>
  Store.use(({ messages: store }) =>
    store.waitingIds(
      scope.workspaceId,
      scope.mode,
      {
        statuses: ["queued", "scheduled"],
        from: null,
        phone: null,
        since: null,
        until: null,
        ...filter,
      },
      noon,
      limit,
    ),
  )

export const choices: Topic = (it) => {
  it.effect("a search finds texts by their pattern, newest first, one page after the other", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const scope = scopeOf(workspace.id)
      const say = (text: string, at: number) =>
        aMessage(number, { now: noon + at, message: { text } })
      const first = yield* say("The order 4711 is on its way", 0)
      yield* say("Hello", 1)
      const third = yield* say("Grüße, ORDER 12", 2)
      yield* say("order\nof the day", 3)
      yield* aMessage(number, { mode: "test", message: { text: "order" } })
      const pattern = "[oO][rR][dD][eE][rR] [14]"
      const all = { ids: [third.id, first.id], next: null, lookedUntil: noon }
      assert.deepStrictEqual(yield* search(scope, pattern), all)
      const newest = { ids: [third.id], next: third.id, lookedUntil: noon + 2 }
      assert.deepStrictEqual(yield* search(scope, pattern, { limit: 1 }), newest)
      assert.deepStrictEqual(yield* search(scope, pattern, { before: third.id, limit: 1 }), {
        ids: [first.id],
        next: first.id,
        lookedUntil: noon,
      })
      const nothing = { ids: [], next: null, lookedUntil: null }
      assert.deepStrictEqual(yield* search(scope, pattern, { before: first.id }), nothing)
      assert.deepStrictEqual(yield* search(scope, "[üÜ][ßẞ]"), {
        ids: [third.id],
        next: null,
        lookedUntil: noon,
      })
    }),
  )

  it.effect("a search looks at so many of the messages that the other filters leave", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const scope = scopeOf(workspace.id)
      const text = { message: { text: "found" } }
      const oldest = yield* aMessage(number, { ...text, now: noon })
      const [older] = yield* accepted(number, { now: noon + 1, count: 2 })
      const second = present(older)
      yield* accepted(other, { now: noon + 2, count: 3 })
      const looked = yield* search(scope, "found", { from: number.id, most: 2 })
      assert.deepStrictEqual(looked, { ids: [], next: second.id, lookedUntil: noon + 1 })
      const rest = yield* search(scope, "found", { from: number.id, most: 2, before: looked.next })
      assert.deepStrictEqual(rest, { ids: [oldest.id], next: null, lookedUntil: noon })
      const whole = yield* search(scope, "found", { most: 5 })
      assert.deepStrictEqual(whole, { ids: [], next: second.id, lookedUntil: noon + 1 })
      assert.deepStrictEqual(yield* search({ ...scope, restriction: [other.id] }, "found"), {
        ids: [],
        next: null,
        lookedUntil: noon + 2,
      })
    }),
  )

  it.effect("a search goes with statuses, numbers, times, errors and references alike", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const scope = scopeOf(workspace.id)
      const message = { message: { text: "found" } }
      const sent = yield* aMessage(number, message)
      yield* sendNext(number)
      const failing = yield* aMessage(number, message)
      yield* settle([failed(yield* claimOne(number))])
      const queued = yield* aMessage(number, message)
      const planned = yield* aMessage(number, { ...message, sendAt: noon + hour })
      const found = (filter: Partial<MessageFilter>) =>
        Effect.gen(function* () {
          const { ids: inWorkspace } = yield* search(scope, "found", filter)
          const ofNumber = yield* search(scope, "found", { ...filter, from: number.id })
          assert.deepStrictEqual(ofNumber.ids, inWorkspace)
          return inWorkspace
        })
      assert.deepStrictEqual(yield* found({}), [planned.id, queued.id, failing.id, sent.id])
      assert.deepStrictEqual(yield* found({ statuses: ["queued", "sent"] }), [queued.id, sent.id])
      assert.deepStrictEqual(yield* found({ statuses: ["scheduled"] }), [planned.id])
      assert.deepStrictEqual(yield* found({ error: "send_failed" }), [failing.id])
      assert.deepStrictEqual(yield* found({ reference: "order 1" }), [])
      assert.deepStrictEqual(yield* found({ until: noon }), [])
      assert.lengthOf(yield* found({ since: noon }), 4)
    }),
  )

  it.effect("a list of an error has what failed with it", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const first = yield* aMessage(number)
      yield* settle([failed(yield* claimOne(number))])
      yield* aMessage(number)
      yield* sendNext(number)
      const second = yield* aMessage(other)
      yield* settle([failed(yield* claimOne(other))])
      yield* aMessage(number)
      const listed = (filter: Partial<MessageFilter>) =>
        Effect.map(
          store.list(
            scopeOf(workspace.id),
            { ...everyMessage, ...filter },
            { before: null, limit: 10 },
            noon,
          ),
          ({ items }) => ids(items),
        )
      const error = "send_failed"
      assert.deepStrictEqual(yield* listed({ error }), [second.id, first.id])
      assert.deepStrictEqual(yield* listed({ error, from: number.id }), [first.id])
      assert.deepStrictEqual(yield* listed({ error, statuses: ["sent"] }), [])
      assert.deepStrictEqual(yield* listed({ error: "outcome_unknown" }), [])
      const phone = "phone" in second.to ? second.to.phone : null
      assert.deepStrictEqual(yield* listed({ error, phone }), [second.id])
    }),
  )

  it.effect("the first waiting messages by id, of one mode, that a filter leaves", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const scope = scopeOf(workspace.id)
      const planned = yield* aMessage(number, { sendAt: noon + hour, now: noon - minute })
      const queued = yield* aMessage(number)
      const ended = yield* aMessage(number)
      const others = yield* aMessage(other)
      const test = yield* aMessage(number, { mode: "test" })
      yield* end(cancelled(ended))
      assert.deepStrictEqual(yield* waiting({}, scope), [planned.id, queued.id, others.id])
      assert.deepStrictEqual(yield* waiting({}, scope, 1), [planned.id])
      assert.deepStrictEqual(yield* waiting({ statuses: ["scheduled"] }, scope), [planned.id])
      assert.deepStrictEqual(yield* waiting({ statuses: ["queued"], from: number.id }, scope), [
        queued.id,
      ])
      const phone = "phone" in others.to ? others.to.phone : null
      assert.deepStrictEqual(yield* waiting({ phone }, scope), [others.id])
      assert.deepStrictEqual(yield* waiting({ until: noon }, scope), [planned.id])
      assert.deepStrictEqual(yield* waiting({ since: noon, from: number.id }, scope), [queued.id])
      assert.deepStrictEqual(yield* waiting({}, scopeOf(workspace.id, "test")), [test.id])
    }),
  )

  it.effect("finds messages of either mode of a workspace, and says what is in flight", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number, workspace } = yield* aStage()
      const { number: foreign } = yield* aStage()
      const first = yield* aMessage(number)
      const second = yield* aMessage(number)
      const test = yield* aMessage(number, { mode: "test" })
      const theirs = yield* aMessage(foreign)
      yield* claimOne(number)
      const found = yield* store.found(workspace.id, [
        test.id,
        theirs.id,
        second.id,
        first.id,
        first.id,
      ])
      assert.deepStrictEqual(
        found.map(({ inFlight, message }) => [message.id, inFlight]),
        [
          [first.id, true],
          [second.id, false],
          [test.id, false],
        ],
      )
      assert.deepStrictEqual(yield* store.found(workspace.id, []), [])
    }),
  )
}
