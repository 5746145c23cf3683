/** `MessageStore.tick` and `byTransportId`: reports of the remote server about a sent message. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { Message, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { followOutbox } from "../follow.ts"
import { lookUp } from "../Reading.ts"
import { cancelled, end, sendNext } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accept, aMessage, anAcceptance, aStage, aTransportId, noon } from "../Records.ts"

const delivered = (message: Message) =>
  Store.use(({ messages: store }) =>
    store.tick(message.from.id, message.transportId, "delivered", noon),
  )

const read = (message: Message) =>
  Store.use(({ messages: store }) => store.tick(message.from.id, message.transportId, "read", noon))

export const ticks: Topic = (it) => {
  it.effect("a tick moves a message forward and never back, announcing nothing", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number)
      yield* aMessage(number)
      yield* sendNext(number)
      const left: Message = { ...message, state: "sent", sentAt: noon }
      assert.deepStrictEqual(yield* delivered(message), { ...left, state: "delivered" })
      assert.deepStrictEqual((yield* lookUp(message)).message, { ...left, state: "delivered" })
      assert.deepStrictEqual(yield* delivered(message), { ...left, state: "delivered" })
      assert.deepStrictEqual(yield* read(message), { ...left, state: "read" })
      assert.deepStrictEqual(yield* delivered(message), { ...left, state: "read" })
      assert.deepStrictEqual((yield* lookUp(message)).message, { ...left, state: "read" })
      assert.lengthOf(yield* follow(workspace.id), 1)
    }),
  )

  it.effect("a tick may skip a step", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      yield* sendNext(number)
      assert.deepStrictEqual(yield* read(message), { ...message, state: "read", sentAt: noon })
    }),
  )

  it.effect("a tick for a message that has not left changes nothing", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      assert.deepStrictEqual(yield* delivered(message), message)
      assert.deepStrictEqual(yield* lookUp(message), { message, inFlight: false })
      assert.strictEqual((yield* sendNext(number)).id, message.id)
    }),
  )

  it.effect("a tick that came early waits for its message, and the furthest counts", () =>
    Effect.gen(function* () {
      const { messages } = yield* Store
      const { number } = yield* aStage()
      const [left, cancelledOne] = [yield* aMessage(number), yield* aMessage(number)]
      const listEarly = (message: Message) =>
        Effect.map(messages.earlyTicks(1000), (all) =>
          all.filter(({ transportId }) => transportId === message.transportId),
        )
      yield* read(left)
      yield* delivered(left)
      yield* delivered(cancelledOne)
      assert.deepStrictEqual(yield* listEarly(left), [])
      yield* sendNext(number)
      yield* end(cancelled(cancelledOne))
      const [early] = yield* listEarly(left)
      assert.deepStrictEqual(early, {
        numberId: number.id,
        transportId: left.transportId,
        tick: "read",
      })
      assert.deepStrictEqual(yield* listEarly(cancelledOne), [])
      yield* read(left)
      assert.deepStrictEqual(yield* listEarly(left), [])
    }),
  )

  it.effect("a message is found by its transport id, whatever happened to it", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      const other = yield* aMessage(number)
      assert.deepStrictEqual(yield* store.byTransportId(number.id, message.transportId), message)
      yield* sendNext(number)
      const left: Message = { ...message, state: "sent", sentAt: noon }
      assert.deepStrictEqual(yield* store.byTransportId(number.id, message.transportId), left)
      assert.deepStrictEqual(yield* store.byTransportId(number.id, other.transportId), other)
    }),
  )

  it.effect("an unknown id returns null", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number } = yield* aStage()
      assert.isNull(yield* store.tick(number.id, aTransportId(), "delivered", noon))
      assert.isNull(yield* store.byTransportId(number.id, aTransportId()))
    }),
  )

  it.effect("a tick moves a message of the number that heard it, and of no other", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number } = yield* aStage()
      const { number: other } = yield* aStage()
      const message = yield* aMessage(number)
      const theirs = yield* aMessage(other)
      yield* sendNext(number)
      yield* sendNext(other)
      assert.isNull(yield* store.tick(other.id, message.transportId, "read", noon))
      assert.isNull(yield* store.byTransportId(other.id, message.transportId))
      assert.strictEqual((yield* lookUp(message)).message.state, "sent")
      assert.strictEqual((yield* read(theirs))?.state, "read")
    }),
  )

  it.effect("two numbers may use the same transport id", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number } = yield* aStage()
      const { number: other } = yield* aStage()
      const transportId = aTransportId()
      const sentFrom = (from: SendingNumber) =>
        Effect.gen(function* () {
          const acceptance = anAcceptance(from)
          const messages = acceptance.messages.map((one) => ({ ...one, transportId }))
          yield* accept({ ...acceptance, messages })
          return yield* sendNext(from)
        })
      const message = yield* sentFrom(number)
      const theirs = yield* sentFrom(other)
      assert.strictEqual((yield* read(message))?.id, message.id)
      assert.strictEqual((yield* lookUp(theirs)).message.state, "sent")
      assert.strictEqual((yield* delivered(theirs))?.id, theirs.id)
      assert.strictEqual((yield* store.byTransportId(number.id, transportId))?.id, message.id)
    }),
  )
}
