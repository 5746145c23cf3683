/** Reading messages: by id, by scope, in pages with filters. */
import { assert } from "@effect/vitest"
import { everyMessage, Store } from "@messaging-service/core"
import type {
  Message,
  MessageFilter,
  MessageId,
  CallerScope,
  MessageStatus,
  NumberId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, present } from "../Expect.ts"
import { toScope } from "../Reading.ts"
import { cancelled, claimOne, end, expired, failed, sendNext, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aContact,
  aMessage,
  aNumber,
  aPhone,
  aStage,
  aWorkspace,
  hour,
  minute,
  noon,
} from "../Records.ts"

const listed = (scope: CallerScope, filter: Partial<MessageFilter> = {}, now = noon) =>
  Effect.map(
    Store.use(({ messages: store }) =>
      store.list(scope, { ...everyMessage, ...filter }, { before: null, limit: 100 }, now),
    ),
    (page) => ids(page.items),
  )

const newestFirst = (...messages: ReadonlyArray<Message>) => ids(messages).toSorted((a, b) => b - a)

export const lists: Topic = (it) => {
  it.effect("a message is visible within its workspace, its mode and its key's numbers", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const message = yield* aMessage(number)
      const scope = toScope(workspace.id)
      const get = (overrides: Partial<CallerScope>) =>
        store.get({ ...scope, ...overrides }, message.id)
      const found = { message, inFlight: false }
      assert.deepStrictEqual(yield* get({}), found)
      assert.deepStrictEqual(yield* get({ restriction: [other.id, number.id] }), found)
      assert.isNull(yield* get({ restriction: [other.id] }))
      assert.isNull(yield* get({ restriction: [] }))
      assert.isNull(yield* get({ mode: "test" }))
      assert.isNull(yield* get({ workspaceId: (yield* aWorkspace()).id }))
      assert.isNull(yield* store.get(scope, 999_999_999 as MessageId))
    }),
  )

  it.effect("messages by id come in the requested order, without unknown ones", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number } = yield* aStage()
      const messages = yield* accepted(number, { count: 3 })
      const test = yield* aMessage(number, { mode: "test" })
      const [a, b, c] = [at(messages, 0), at(messages, 1), at(messages, 2)]
      const unknown = 999_999_999 as MessageId
      assert.deepStrictEqual(yield* store.byIds([c.id, unknown, a.id, test.id, b.id]), [
        c,
        a,
        test,
        b,
      ])
      assert.deepStrictEqual(yield* store.byIds([]), [])
    }),
  )

  it.effect("pages go newest first and nothing shifts when messages arrive", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number } = yield* aStage()
      const messages = (yield* accepted(number, { count: 5 })).toReversed()
      yield* aMessage((yield* aStage()).number)
      const page = (before: number | null, limit: number) =>
        store.list(toScope(workspace.id), everyMessage, { before, limit }, noon)
      const first = yield* page(null, 2)
      assert.deepStrictEqual(first, { items: messages.slice(0, 2), next: at(messages, 1).id })
      yield* accepted(number, { count: 3 })
      const second = yield* page(first.next, 2)
      assert.deepStrictEqual(second, { items: messages.slice(2, 4), next: at(messages, 3).id })
      assert.deepStrictEqual(yield* page(second.next, 2), { items: messages.slice(4), next: null })
      assert.deepStrictEqual(yield* page(second.next, 1), { items: messages.slice(4), next: null })
      assert.deepStrictEqual(yield* page(at(messages, 4).id, 2), { items: [], next: null })
    }),
  )

  it.effect("each mode lists only its own", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const live = yield* aMessage(number)
      const test = yield* aMessage(number, { mode: "test" })
      assert.deepStrictEqual(yield* listed(toScope(workspace.id)), [live.id])
      assert.deepStrictEqual(yield* listed(toScope(workspace.id, "test")), [test.id])
    }),
  )

  it.effect("a limited key lists its numbers' messages, merged, and pages through them", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number: a } = yield* aStage()
      const b = yield* aNumber(workspace.id)
      const c = yield* aNumber(workspace.id)
      const all: Array<Message> = []
      for (let round = 0; round < 3; round++) {
        for (const number of [a, b, c]) all.push(yield* aMessage(number))
      }
      const scope = { ...toScope(workspace.id), restriction: [c.id, a.id] }
      const mine = newestFirst(...all.filter((message) => message.from.id !== b.id))
      assert.deepStrictEqual(yield* listed(scope), mine)
      const page = yield* store.list(scope, everyMessage, { before: null, limit: 4 }, noon)
      assert.deepStrictEqual(ids(page.items), mine.slice(0, 4))
      const rest = yield* store.list(scope, everyMessage, { before: page.next, limit: 4 }, noon)
      assert.deepStrictEqual(ids(rest.items), mine.slice(4))
      assert.isNull(rest.next)
      assert.deepStrictEqual(
        yield* listed(scope, { from: a.id }),
        mine.filter((id) => all.some((message) => message.id === id && message.from.id === a.id)),
      )
      assert.deepStrictEqual(yield* listed(scope, { from: b.id }), [])
      assert.deepStrictEqual(yield* listed({ ...scope, restriction: [] }), [])
    }),
  )

  it.effect("the time of the response distinguishes queued from scheduled", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const scope = toScope(workspace.id)
      const queued = yield* aMessage(number)
      const scheduled = yield* aMessage(number, { sendAt: noon + hour })
      const status = (statuses: ReadonlyArray<MessageStatus>, now: number) =>
        listed(scope, { statuses }, now)
      assert.deepStrictEqual(yield* status(["queued"], noon), [queued.id])
      assert.deepStrictEqual(yield* status(["scheduled"], noon), [scheduled.id])
      assert.deepStrictEqual(yield* status(["scheduled"], noon + hour - 1), [scheduled.id])
      assert.deepStrictEqual(yield* status(["scheduled"], noon + hour), [])
      assert.deepStrictEqual(yield* status(["queued"], noon + hour), newestFirst(queued, scheduled))
      assert.deepStrictEqual(
        yield* status(["scheduled", "queued"], noon),
        newestFirst(queued, scheduled),
      )
    }),
  )

  it.effect("one or several statuses", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number } = yield* aStage()
      const scope = toScope(workspace.id)
      const [sent, delivered, read, failure] = [
        yield* aMessage(number),
        yield* aMessage(number),
        yield* aMessage(number),
        yield* aMessage(number),
      ]
      for (let index = 0; index < 3; index++) yield* sendNext(number)
      yield* settle([failed(yield* claimOne(number))])
      yield* store.tick(delivered.from.id, delivered.transportId, "delivered", noon)
      yield* store.tick(read.from.id, read.transportId, "read", noon)
      const gone = yield* aMessage(number)
      const late = yield* aMessage(number, { sendAt: noon + hour, expiresAt: noon + minute })
      yield* end(cancelled(gone), expired(late))
      const queued = yield* aMessage(number)
      const statuses: ReadonlyArray<readonly [MessageStatus, Message]> = [
        ["sent", sent],
        ["delivered", delivered],
        ["read", read],
        ["failed", failure],
        ["cancelled", gone],
        ["expired", late],
        ["queued", queued],
      ]
      for (const [status, message] of statuses) {
        assert.deepStrictEqual(yield* listed(scope, { statuses: [status] }), [message.id])
      }
      assert.deepStrictEqual(yield* listed(scope, { statuses: ["scheduled"] }), [])
      assert.deepStrictEqual(
        yield* listed(scope, { statuses: ["expired", "sent", "queued"] }),
        newestFirst(late, sent, queued),
      )
      assert.lengthOf(yield* listed(scope), 7)
    }),
  )

  it.effect("by reference, which each message keeps", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number: a } = yield* aStage()
      const b = yield* aNumber(workspace.id)
      const scope = toScope(workspace.id)
      const reference = 'Order 4711 "Zoë" 👩‍👧'
      const phone = aPhone()
      const first = yield* aMessage(a, {
        message: { reference, to: { kind: "phone", phone, contactId: null } },
      })
      const second = yield* aMessage(b, { now: noon + 1, message: { reference } })
      yield* end(cancelled(second))
      const test = yield* aMessage(a, { mode: "test", message: { reference } })
      yield* aMessage(a, { message: { reference: "order 4711" } })
      yield* aMessage(a, { message: { to: { kind: "phone", phone, contactId: null } } })
      yield* aMessage((yield* aStage()).number, { message: { reference } })
      assert.deepStrictEqual(yield* store.byIds([first.id]), [{ ...first, reference }])
      assert.deepStrictEqual(yield* listed(scope, { reference }), newestFirst(first, second))
      assert.deepStrictEqual(yield* listed({ ...scope, mode: "test" }, { reference }), [test.id])
      assert.deepStrictEqual(yield* listed(scope, { reference: "Order" }), [])
      assert.deepStrictEqual(yield* listed(scope, { reference, phone }), [first.id])
      assert.deepStrictEqual(yield* listed(scope, { reference, from: b.id }), [second.id])
      assert.deepStrictEqual(yield* listed(scope, { reference, statuses: ["cancelled"] }), [
        second.id,
      ])
      assert.deepStrictEqual(yield* listed(scope, { reference, since: noon + 1 }), [second.id])
      assert.deepStrictEqual(yield* listed({ ...scope, restriction: [a.id] }, { reference }), [
        first.id,
      ])
    }),
  )

  it.effect("by number, by phone, by time of creation, and by all of them", () =>
    Effect.gen(function* () {
      const { workspace, number: a } = yield* aStage()
      const b = yield* aNumber(workspace.id)
      const scope = toScope(workspace.id)
      const contact = yield* aContact(workspace.id)
      const phone = present(contact.phone)
      const direct = yield* aMessage(a, {
        now: noon,
        message: { to: { kind: "phone", phone, contactId: contact.id } },
      })
      const byContact = yield* aMessage(b, {
        now: noon + 1,
        message: { to: { kind: "contact_phone", phone, contactId: contact.id } },
      })
      const toGroup = yield* aMessage(a, {
        now: noon + 2,
        message: { to: { kind: "group", group: phone } },
      })
      const other = yield* aMessage(b, { now: noon + 3 })
      assert.deepStrictEqual(yield* listed(scope, { phone }), newestFirst(direct, byContact))
      assert.deepStrictEqual(yield* listed(scope, { phone: aPhone() }), [])
      assert.deepStrictEqual(yield* listed(scope, { from: a.id }), newestFirst(direct, toGroup))
      assert.deepStrictEqual(yield* listed(scope, { from: 999_999_999 as NumberId }), [])
      assert.deepStrictEqual(yield* listed(scope, { since: noon + 2 }), newestFirst(toGroup, other))
      assert.deepStrictEqual(
        yield* listed(scope, { until: noon + 2 }),
        newestFirst(direct, byContact),
      )
      assert.deepStrictEqual(
        yield* listed(scope, { since: noon + 1, until: noon + 3 }),
        newestFirst(byContact, toGroup),
      )
      const all: Partial<MessageFilter> = {
        phone,
        from: b.id,
        since: noon,
        until: noon + 5,
        statuses: ["queued"],
      }
      assert.deepStrictEqual(yield* listed(scope, all), [byContact.id])
      assert.deepStrictEqual(yield* listed({ ...scope, restriction: [a.id] }, all), [])
    }),
  )

  it.effect("a filtered page knows whether there is another", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const mine: Array<Message> = []
      for (let round = 0; round < 4; round++) {
        mine.push(yield* aMessage(number))
        yield* accepted(other, { count: 3 })
      }
      const filter = { ...everyMessage, from: number.id }
      const page = (before: number | null) =>
        store.list(toScope(workspace.id), filter, { before, limit: 2 }, noon)
      const first = yield* page(null)
      assert.deepStrictEqual(ids(first.items), newestFirst(at(mine, 3), at(mine, 2)))
      const second = yield* page(first.next)
      assert.deepStrictEqual(ids(second.items), newestFirst(at(mine, 1), at(mine, 0)))
      assert.isNull(second.next)
    }),
  )
}
