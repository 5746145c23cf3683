/** The remote server of simulated phones. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { NumberId, PhoneBehaviour, ReceivedCopy, SentFilter } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, only } from "../Expect.ts"
import { toScope } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import { aLid, aText, received, someone, turnOn } from "./receiving.ts"
import { aMessage, aNumber, aPhone, aStage, aTransportId, noon, oneSecond } from "../Records.ts"

type Copy = ReceivedCopy

/** All copies of that number; of all numbers for null. */
const of = (numberId: NumberId | null): SentFilter => ({ numberId, workspaceId: null, to: null })

const aCopy = (numberId: NumberId, overrides: Partial<Copy> = {}): Copy => ({
  transportId: aTransportId(),
  numberId,
  to: aPhone(),
  text: "Hello",
  media: null,
  at: noon,
  ...overrides,
})

const dropping: PhoneBehaviour = {
  send: "drop",
  errorMessage: null,
  latencyMillis: 250,
  groups: ["Team", 'Süd "2"'],
}

export const simulatedPhones: Topic = (it) => {
  it.effect("a phone has the default behaviour until a test changes it", () =>
    Effect.gen(function* () {
      const { phones } = yield* Store
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      assert.isNull(yield* phones.behaviour(number.id))
      const failing: PhoneBehaviour = {
        ...dropping,
        send: "fail",
        errorMessage: "Grüße",
        groups: [],
      }
      yield* phones.setBehaviour(number.id, failing)
      assert.deepStrictEqual(yield* phones.behaviour(number.id), failing)
      yield* phones.setBehaviour(number.id, dropping)
      assert.deepStrictEqual(yield* phones.behaviour(number.id), dropping)
      assert.isNull(yield* phones.behaviour(other.id))
    }),
  )

  it.effect("a list, or the rule, decides which phones exist", () =>
    Effect.gen(function* () {
      const { phones } = yield* Store
      const [a, b] = [aPhone(), aPhone()]
      assert.isNull(yield* phones.registered)
      yield* phones.setRegistered([b, a])
      assert.deepStrictEqual([...((yield* phones.registered) ?? [])].toSorted(), [a, b])
      yield* phones.setRegistered([])
      assert.deepStrictEqual(yield* phones.registered, [])
      yield* phones.setRegistered(null)
      assert.isNull(yield* phones.registered)
    }),
  )

  it.effect("the remote server shows one copy for one transport id of a number", () =>
    Effect.gen(function* () {
      const { phones } = yield* Store
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const message = yield* aMessage(number)
      const copy = aCopy(number.id, {
        transportId: message.transportId,
        media: {
          fileName: "ä.png",
          mimeType: "image/png",
          size: 67_108_864,
          sha256: "ab".repeat(32),
        },
      })
      assert.isTrue(yield* phones.receive(copy, null))
      assert.isFalse(yield* phones.receive({ ...copy, at: noon + oneSecond, text: "Again" }, null))
      assert.isTrue(yield* phones.receive({ ...copy, numberId: other.id }, null))
      const page = yield* phones.sent(of(number.id), { before: null, limit: 10 })
      const shown = only(page.items)
      assert.deepStrictEqual(shown, {
        ...copy,
        id: shown.id,
        messageId: message.id,
        workspaceId: number.workspaceId,
      })
      assert.isNull(page.next)
    }),
  )

  it.effect("a copy without a message is shown without one", () =>
    Effect.gen(function* () {
      const { phones } = yield* Store
      const { number } = yield* aStage()
      yield* phones.receive(aCopy(number.id), null)
      const page = yield* phones.sent(of(number.id), { before: null, limit: 10 })
      assert.isNull(only(page.items).messageId)
    }),
  )

  it.effect("a phone's next action changes with each copy that it receives, repeats included", () =>
    Effect.gen(function* () {
      const { phones } = yield* Store
      const { number } = yield* aStage()
      const copy = aCopy(number.id)
      const after: PhoneBehaviour = { ...dropping, send: "succeed" }
      yield* phones.setBehaviour(number.id, dropping)
      assert.isTrue(yield* phones.receive(copy, null))
      assert.deepStrictEqual(yield* phones.behaviour(number.id), dropping)
      assert.isFalse(yield* phones.receive(copy, after))
      assert.deepStrictEqual(yield* phones.behaviour(number.id), after)
      yield* phones.setBehaviour(number.id, dropping)
      assert.isTrue(yield* phones.receive(aCopy(number.id), after))
      assert.deepStrictEqual(yield* phones.behaviour(number.id), after)
    }),
  )

  it.effect("concurrent copies are shown once", () =>
    Effect.gen(function* () {
      const { phones } = yield* Store
      const { number } = yield* aStage()
      const copy = aCopy(number.id)
      const shown = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => phones.receive(copy, null),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(shown.filter(Boolean), 1)
      assert.lengthOf((yield* phones.sent(of(number.id), { before: null, limit: 20 })).items, 1)
    }),
  )

  it.effect("sent messages are paged newest first, of one number or of all", () =>
    Effect.gen(function* () {
      const { phones } = yield* Store
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const texts = ["1", "2", "3", "4", "5"]
      for (const text of texts) yield* phones.receive(aCopy(number.id, { text }), null)
      yield* phones.receive(aCopy(other.id, { text: "other" }), null)
      const first = yield* phones.sent(of(number.id), { before: null, limit: 3 })
      assert.deepStrictEqual(
        first.items.map((copy) => copy.text),
        ["5", "4", "3"],
      )
      const second = yield* phones.sent(of(number.id), { before: first.next, limit: 3 })
      assert.deepStrictEqual(
        second.items.map((copy) => copy.text),
        ["2", "1"],
      )
      assert.isNull(second.next)
      const all = yield* phones.sent(of(null), { before: null, limit: 6 })
      assert.deepStrictEqual(
        all.items.map((copy) => copy.text),
        ["other", ...texts.toReversed()],
      )
      assert.deepStrictEqual(
        ids(all.items),
        ids(all.items).toSorted((a, b) => b - a),
      )
    }),
  )

  it.effect("copies are found by workspace and recipient, and tell their workspace", () =>
    Effect.gen(function* () {
      const { phones } = yield* Store
      const { workspace, number } = yield* aStage()
      const second = yield* aNumber(workspace.id)
      const other = yield* aStage()
      const to = aPhone()
      for (const one of [number, second, other.number]) {
        yield* phones.receive(aCopy(one.id, { to }), null)
        yield* phones.receive(aCopy(one.id), null)
      }
      const found = (filter: SentFilter) =>
        Effect.map(phones.sent(filter, { before: null, limit: 10 }), ({ items }) =>
          items.map(({ numberId, workspaceId }) => [numberId, workspaceId]),
        )
      const own = [second, number].map(({ id }) => [id, workspace.id])
      assert.deepStrictEqual(yield* found({ numberId: null, workspaceId: workspace.id, to }), own)
      assert.lengthOf(
        yield* found({ numberId: null, workspaceId: workspace.id, to: null }),
        2 * own.length,
      )
      assert.deepStrictEqual(yield* found({ numberId: number.id, workspaceId: null, to }), [own[1]])
      assert.deepStrictEqual(
        yield* found({ numberId: other.number.id, workspaceId: workspace.id, to }),
        [],
      )
    }),
  )

  it.effect("a copy shows what it quotes until the received message is erased", () =>
    Effect.gen(function* () {
      const { chats, phones } = yield* Store
      const { number, workspace } = yield* aStage()
      yield* turnOn(workspace.id)
      const stored = yield* received(number, [aText(), aText()])
      for (const { id } of stored) {
        const { transportId } = yield* aMessage(number, {
          message: { replyTo: { receivedMessageId: id } },
        })
        yield* phones.receive(aCopy(number.id, { transportId, quote: `quote of ${id}` }), null)
      }
      const [gone, kept] = [at(stored, 0), at(stored, 1)]
      yield* chats.deleteReceived(toScope(workspace.id), gone.id, noon)
      const page = yield* phones.sent(of(number.id), { before: null, limit: 10 })
      assert.deepStrictEqual(
        page.items.map(({ quote }) => quote),
        [`quote of ${kept.id}`, undefined],
      )
    }),
  )

  it.effect("the platform knows a received message until it is erased", () =>
    Effect.gen(function* () {
      const { chats, phones } = yield* Store
      const { number, workspace } = yield* aStage()
      yield* turnOn(workspace.id)
      const person = someone({ phone: aPhone(), lid: aLid(), name: "Ada" })
      const group = { remoteId: "Team", name: "Team" }
      const texts = [
        aText({ person }),
        aText({ person, fromMe: true }),
        aText({ person, group, text: "In a group" }),
        aText({ person: null, group, fromMe: true, mode: "test" }),
      ]
      const stored = yield* received(number, texts)
      const written = yield* Effect.forEach(stored, ({ id }) => phones.written(id))
      assert.deepStrictEqual(
        written,
        texts.map(({ fromMe, mode, remoteId, text, ...place }, index) => ({
          id: at(ids(stored), index),
          numberId: number.id,
          message: { mode, fromMe, group: place.group, person: place.person, remoteId },
          text,
        })),
      )
      const first = at(ids(stored), 0)
      assert.isTrue(yield* chats.deleteReceived(toScope(workspace.id, "live"), first, noon))
      assert.isNull(yield* phones.written(first))
      yield* chats.deleteConversations(workspace.id, noon)
      assert.isNull(yield* phones.written(at(ids(stored), 1)))
    }),
  )
}
