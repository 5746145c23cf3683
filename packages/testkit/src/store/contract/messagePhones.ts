/** The phone that a message shows: its number's while it waits, then the one that it left from. */
import { assert } from "@effect/vitest"
import { everyMessage, Store } from "@messaging-service/core"
import type { Message, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, only, present } from "../Expect.ts"
import { lookUp, toScope } from "../Reading.ts"
import { cancelled, claimOne, end, expired, sent, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aMessage, anEra, aNumber, aStage, hour, minute, noon } from "../Records.ts"

const link = (number: SendingNumber, phone: string) =>
  Store.use(({ numbers }) => numbers.setStatus(number.id, "connected", phone, noon))

/** A number that was never linked. */
const anUnlinkedNumber = Effect.gen(function* () {
  const { workspace } = yield* aStage()
  return yield* aNumber(workspace.id, { phone: null, status: "connecting" })
})

const shown = (message: Message) =>
  Effect.map(lookUp(message), (found) => [
    found.message.from.phone,
    found.message.phoneAtAcceptance,
  ])

export const messagePhones: Topic = (it) => {
  it.effect("a message accepted before its number was linked shows null until then", () =>
    Effect.gen(function* () {
      const number = yield* anUnlinkedNumber
      const message = yield* aMessage(number)
      assert.deepStrictEqual(yield* shown(message), [null, null])
      yield* link(number, "15550000001")
      assert.deepStrictEqual(yield* shown(message), ["15550000001", null])
      yield* link(number, "15550000002")
      assert.deepStrictEqual(yield* shown(message), ["15550000002", null])
    }),
  )

  it.effect("a sent message keeps the phone that it left from, through ticks too", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const number = yield* anUnlinkedNumber
      const [first, second] = [yield* aMessage(number), yield* aMessage(number)]
      yield* link(number, "15550000001")
      const claimed = yield* claimOne(number)
      assert.strictEqual(claimed.message.from.phone, "15550000001")
      yield* settle([sent(claimed)])
      yield* link(number, "15550000002")
      yield* settle([sent(yield* claimOne(number))])
      yield* link(number, "15550000003")
      assert.deepStrictEqual(yield* shown(first), ["15550000001", null])
      assert.deepStrictEqual(yield* shown(second), ["15550000002", null])
      const ticked = present(yield* store.tick(first.from.id, first.transportId, "delivered", noon))
      assert.strictEqual(ticked.from.phone, "15550000001")
      const ignored = present(
        yield* store.tick(first.from.id, first.transportId, "delivered", noon),
      )
      assert.strictEqual(ignored.from.phone, "15550000001")
    }),
  )

  it.effect("a message that ended without leaving keeps the phone of its end", () =>
    Effect.gen(function* () {
      const number = yield* anUnlinkedNumber
      const messages = yield* accepted(number, { count: 2, expiresAt: noon + hour })
      const [one, another] = [at(messages, 0), at(messages, 1)]
      yield* end(cancelled(one))
      yield* link(number, "15550000001")
      yield* end(expired((yield* lookUp(another)).message))
      yield* link(number, "15550000002")
      assert.deepStrictEqual(yield* shown(one), [null, null])
      assert.deepStrictEqual(yield* shown(another), ["15550000001", null])
      const phones = [yield* lookUp(one), yield* lookUp(another)].map(
        ({ message }) => message.phoneAtAcceptance,
      )
      assert.deepStrictEqual(phones, [null, null])
    }),
  )

  it.effect("every list and every sweep shows the current phone", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const era = anEra()
      const number = yield* anUnlinkedNumber
      const input = { now: era, expiresAt: era + minute }
      const live = yield* aMessage(number, input)
      const test = yield* aMessage(number, { now: era, mode: "test" })
      yield* link(number, "15550000001")
      const phones = (messages: ReadonlyArray<Message>) => messages.map(({ from }) => from.phone)
      const mine = (messages: ReadonlyArray<Message>) =>
        phones(messages.filter(({ from }) => from.id === number.id))
      const scope = toScope(number.workspaceId)
      const filter = everyMessage
      const page = { before: null, limit: 10 }
      const listed = yield* store.list(scope, filter, page, era)
      assert.deepStrictEqual(phones(listed.items), ["15550000001"])
      const ofNumber = { ...scope, restriction: [number.id] }
      const narrow = yield* store.list(ofNumber, filter, page, era)
      assert.deepStrictEqual(phones(narrow.items), ["15550000001"])
      const offsets = yield* Store.use(({ version1Lists: lists }) =>
        lists.messages(scope, { since: era, until: era + 1 }, { limit: 10, offset: 0 }),
      )
      assert.deepStrictEqual(phones(offsets.items), ["15550000001"])
      assert.deepStrictEqual(phones(yield* store.byIds(ids([live, test]))), [
        "15550000001",
        "15550000001",
      ])
      assert.deepStrictEqual(mine(yield* store.dueTest(era, 1, 1)), ["15550000001"])
      assert.deepStrictEqual(mine(yield* store.expired(era + minute, 1)), ["15550000001"])
      yield* end(cancelled(test))
      yield* Store.use(({ numbers }) => numbers.remove(number.workspaceId, number.id, era))
      const orphaned = yield* store.orphaned(10_000)
      assert.deepStrictEqual(mine(orphaned), ["15550000001"])
      yield* end(cancelled(only(orphaned.filter(({ id }) => id === live.id))))
    }),
  )
}
