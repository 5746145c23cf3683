/** `ChatStore.receive`: edits, revocations and reactions, and what happens to them. */
import { assert } from "@effect/vitest"
import {
  changedEvent,
  mostReactions,
  numberAsPerson,
  reactionEvent,
  Store,
} from "@messaging-service/core"
import type {
  IncomingChange,
  IncomingMessage,
  Message,
  Person,
  SendingNumber,
  ServiceEvent,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { claimDue, delivered, settleDeliveries } from "../Delivering.ts"
import { at, only, present } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { lookUp as lookUpMessage, toScope } from "../Reading.ts"
import { aMessage, aNumber, aPhone, day, fresh, minute, noon, oneSecond } from "../Records.ts"
import { sendNext } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { shownEvents } from "./conversations.ts"
import {
  aLid,
  aReceivingStage,
  aText,
  aToldStage,
  erase,
  listIds,
  lookUp,
  needsNoCopy,
  readChats,
  receive,
  received,
  someone,
  turnOn,
  withEvents,
} from "./receiving.ts"

type Changed = IncomingChange["change"]

/** By the message's author, where it was written. */
const aChange = (
  { fromMe, group, mode, person, remoteId }: IncomingMessage,
  change: Changed,
  overrides: Partial<IncomingChange> = {},
): IncomingChange => ({
  _tag: "Change",
  mode,
  fromMe,
  group,
  person,
  target: { remoteId, fromMe },
  isVerified: false,
  change,
  at: noon,
  ...overrides,
})

const edit = (text: string): Changed => ({ type: "edit", text })
const revocation: Changed = { type: "revocation" }
const reaction = (emoji: string | null): Changed => ({ type: "reaction", emoji })

/** To a message of the service, by one whom it reached. */
const aReaction = (
  { transportId }: Message,
  emoji: string | null,
  overrides: Partial<IncomingChange> = {},
): IncomingChange => ({
  _tag: "Change",
  mode: "live",
  fromMe: false,
  group: null,
  person: someone(),
  target: { remoteId: transportId, fromMe: true },
  isVerified: false,
  change: reaction(emoji),
  at: noon,
  ...overrides,
})

/** What happened to one thing. */
const become = (number: SendingNumber, change: IncomingChange, now = noon) =>
  Effect.map(receive(number, [change], now), (outcomes) => only(outcomes).became)

const aGroup = () => ({ remoteId: `group ${fresh()}`, name: "Group" })

const toShown = ({ body, createdAt, id, messageId, mode, type, workspaceId }: ServiceEvent) => ({
  id,
  type,
  workspaceId,
  mode,
  messageId,
  createdAt,
  body,
})

const readTypes = (follow: Effect.Success<typeof followOutbox>, workspaceId: WorkspaceId) =>
  Effect.map(follow(workspaceId), (events) => events.map(({ type }) => type))

const emojis = ({ reactions }: Effect.Success<ReturnType<typeof lookUp>>) =>
  reactions.map(({ emoji }) => emoji)

/** A message of the service that left. */
const aSentMessage = (number: SendingNumber, mode: Message["mode"] = "live") =>
  Effect.gen(function* () {
    const message = yield* aMessage(number, { mode })
    yield* sendNext(number)
    return message
  })

export const changes: Topic = (it) => {
  it.effect("an edit replaces the text of its author's message, the latest one last", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { number, workspace } = yield* aReceivingStage()
      const text = aText({
        kind: "image",
        content: { type: "of its own", truncated: true },
        quote: { remoteId: null, text: "quoted" },
      })
      const before = only(yield* received(number, [text]))
      const change = withEvents([
        aChange(text, edit("Better"), { at: noon + oneSecond, target: { ...text, fromMe: null } }),
      ])
      const { chats } = yield* Store
      const { id } = before
      const outcomes = yield* chats.receive(number.id, change, noon + minute)
      assert.deepStrictEqual(outcomes, [{ id, became: "changed" }])
      const after = yield* lookUp(number, id)
      assert.deepStrictEqual(after, {
        ...before,
        text: "Better",
        content: { type: "of its own" },
        editedAt: noon + oneSecond,
      })
      assert.deepStrictEqual(yield* chats.receive(number.id, change, noon + minute), [
        { id, became: "repeat" },
      ])
      assert.strictEqual(yield* become(number, aChange(text, edit("Old"))), "repeat")
      const { eventId } = only(change)
      const [, event, ...others] = yield* shownEvents(follow, workspace.id)
      assert.deepStrictEqual(
        event,
        toShown(changedEvent({ eventId }, "message.edited", after, noon + minute)),
      )
      assert.deepStrictEqual(others, [])
      assert.strictEqual(
        yield* become(number, aChange(text, edit("Best"), { at: noon + minute })),
        "changed",
      )
      assert.strictEqual((yield* lookUp(number, id)).text, "Best")
      const chat = only(yield* readChats(number))
      assert.deepStrictEqual([chat.unread, chat.lastReceivedAt], [1, noon])
    }),
  )

  it.effect("edits with one time count in the order in which they came, and none twice", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { number, workspace } = yield* aReceivingStage()
      const text = aText()
      const { id } = only(yield* received(number, [text]))
      const outcomes: Array<string> = []
      for (const next of ["A", "B", "B", "A", "A"]) {
        outcomes.push(yield* become(number, aChange(text, edit(next))))
      }
      assert.deepStrictEqual(outcomes, ["changed", "changed", "repeat", "changed", "repeat"])
      const before = { at: noon - oneSecond }
      assert.strictEqual(yield* become(number, aChange(text, edit("B"), before)), "repeat")
      const { editedAt, text: last } = yield* lookUp(number, id)
      assert.deepStrictEqual([last, editedAt], ["A", noon])
      assert.lengthOf(yield* shownEvents(follow, workspace.id), 4)
    }),
  )

  it.effect("a long edit is cut", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const text = aText()
      const { id } = only(yield* received(number, [text]))
      yield* receive(number, [aChange(text, edit("é".repeat(70_000)))])
      const after = yield* lookUp(number, id)
      assert.deepStrictEqual([after.text.length, after.content], [65_536, { truncated: true }])
    }),
  )

  it.effect("only its author edits or revokes a message, unless the platform checked it", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const [ann, ben] = [someone(), someone()]
      const group = aGroup()
      const alone = aText({ person: ann })
      const inGroup = aText({ group, person: ann })
      const own = aText({ person: ann, fromMe: true })
      const ownInGroup = aText({ group, person: null, fromMe: true })
      yield* received(number, [alone, inGroup, own, ownInGroup, aText({ group, person: ben })])
      for (const change of [edit("Changed"), revocation]) {
        for (const one of [
          // Not its author: another person, the other side, or the owner.
          aChange(alone, change, { person: ben }),
          aChange(alone, change, { fromMe: true }),
          aChange(inGroup, change, { person: ben }),
          aChange(inGroup, change, { person: null, fromMe: true }),
          aChange(own, change, { fromMe: false }),
          aChange(ownInGroup, change, { person: ann, fromMe: false }),
          // Not there, of the other side, or of the other mode.
          aChange(alone, change, { group }),
          aChange(inGroup, change, { group: null }),
          aChange(inGroup, change, { group: aGroup() }),
          aChange(alone, change, { target: { remoteId: "unknown", fromMe: false } }),
          aChange(alone, change, { target: { ...alone, fromMe: true } }),
          aChange(alone, change, { mode: "test" }),
          // Anywhere only when it was checked.
          aChange(alone, change, { person: null }),
        ]) {
          assert.strictEqual(yield* become(number, one), "dropped", JSON.stringify(one))
        }
      }
      for (const one of [
        aChange(alone, revocation, { group: null, person: null, isVerified: true }),
        aChange(inGroup, revocation, { person: ben, isVerified: true }),
        aChange(own, revocation),
        aChange(ownInGroup, revocation),
      ]) {
        assert.strictEqual(yield* become(number, one), "changed", JSON.stringify(one))
      }
    }),
  )

  it.effect("its author is known by every address", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const [phone, lid] = [aPhone(), aLid()]
      const text = aText({ person: someone({ phone, lid }) })
      const { id } = only(yield* received(number, [text]))
      yield* receive(number, [aChange(text, edit("By LID"), { person: someone({ lid }) })])
      assert.strictEqual((yield* lookUp(number, id)).text, "By LID")
      yield* receive(number, [
        aChange(text, edit("By phone"), { person: someone({ phone }), at: noon + 1 }),
      ])
      assert.strictEqual((yield* lookUp(number, id)).text, "By phone")
    }),
  )

  it.effect("a revoked message keeps its place and its quote, and is not edited any more", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { number, workspace } = yield* aReceivingStage()
      const file = { mimeType: null, size: 1, fileName: null, seconds: null, sha256: null }
      const text = aText({
        kind: "image",
        content: { type: "of its own" },
        file,
        quote: { remoteId: null, text: "quoted" },
      })
      const before = only(yield* received(number, [text]))
      const { chats } = yield* Store
      const change = withEvents([aChange(text, revocation, { at: noon + oneSecond })])
      yield* chats.receive(number.id, change, noon + minute)
      const after = yield* lookUp(number, before.id)
      assert.deepStrictEqual(after, {
        ...before,
        text: "",
        content: null,
        file: null,
        revokedAt: noon + oneSecond,
      })
      for (const again of [
        aChange(text, revocation),
        aChange(text, edit("Back"), { at: noon + minute }),
        text,
      ]) {
        assert.deepStrictEqual(yield* receive(number, [again]), [
          { id: before.id, became: "repeat" },
        ])
      }
      assert.deepStrictEqual(yield* lookUp(number, before.id), after)
      const [, event, ...others] = yield* shownEvents(follow, workspace.id)
      const { eventId } = only(change)
      assert.deepStrictEqual(
        event,
        toShown(changedEvent({ eventId }, "message.revoked", after, noon + minute)),
      )
      assert.deepStrictEqual(others, [])
    }),
  )

  it.effect(
    "reactions: one for each person, replaced, taken back, and the same again is none",
    () =>
      Effect.gen(function* () {
        const { chats } = yield* Store
        const follow = yield* followOutbox
        const { number, workspace } = yield* aReceivingStage()
        const group = aGroup()
        const [ann, ben] = [someone({ phone: aPhone(), name: "Ann" }), someone()]
        const text = aText({ group, person: ann })
        const { id } = only(yield* received(number, [text]))
        const [chat] = yield* readChats(number)
        const events: Array<unknown> = []
        const react = Effect.fnUntraced(function* (
          by: Person | null,
          emoji: string | null,
          when: number,
          becomes: "changed" | "repeat",
        ) {
          const author = { person: by, fromMe: by === null, at: when }
          const incoming = withEvents([aChange(text, reaction(emoji), { ...author, target: text })])
          const outcomes = yield* chats.receive(number.id, incoming, noon + minute)
          assert.deepStrictEqual(outcomes, [{ id, became: becomes }])
          const after = yield* lookUp(number, id)
          const from = by ?? numberAsPerson(number)
          if (becomes === "changed") {
            const to = { received: after }
            const event = reactionEvent(
              only(incoming),
              { from, emoji, at: when },
              to,
              noon + minute,
            )
            events.push(toShown(event))
          }
          return after
        })
        yield* react(ben, "👍", noon + 2, "changed")
        yield* react(ben, "👍", noon + 2, "repeat")
        yield* react(ben, "🎉", noon + 1, "repeat")
        yield* react(ann, "❤", noon + 3, "changed")
        const both = yield* react(null, "👀", noon + 1, "changed")
        assert.deepStrictEqual(both.reactions, [
          { from: numberAsPerson(number), emoji: "👀", at: noon + 1 },
          { from: ben, emoji: "👍", at: noon + 2 },
          { from: ann, emoji: "❤", at: noon + 3 },
        ])
        const replaced = yield* react(ben, "🎉", noon + 4, "changed")
        assert.deepStrictEqual(emojis(replaced), ["👀", "❤", "🎉"])
        // The same emoji again is stored, and not announced.
        yield* react(ben, "🎉", noon + 6, "repeat")
        yield* react(ben, null, noon + 5, "repeat")
        yield* react(ben, null, noon + 7, "changed")
        yield* react(ben, null, noon + 8, "repeat")
        const last = yield* react(ben, "🎉", noon + 8, "repeat")
        assert.deepStrictEqual(emojis(last), ["👀", "❤"])
        assert.deepStrictEqual((yield* shownEvents(follow, workspace.id)).slice(1), events)
        assert.deepStrictEqual(yield* readChats(number), [present(chat)])
      }),
  )

  it.effect("taking back what was never put is no event, and its repeats are none either", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const text = aText()
      const { id } = only(yield* received(number, [text]))
      const put = aChange(text, reaction("👍"))
      const back = aChange(text, reaction(null), { at: noon + 1 })
      assert.strictEqual(yield* become(number, back), "repeat")
      // What was put before it comes late.
      assert.strictEqual(yield* become(number, put), "repeat")
      assert.deepStrictEqual(emojis(yield* lookUp(number, id)), [])
    }),
  )

  it.effect("of many reactions a message shows the latest", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const group = aGroup()
      const text = aText({ group })
      const { id } = only(yield* received(number, [text]))
      const people = Array.from({ length: mostReactions + 2 }, (_, index) =>
        aChange(text, reaction(`e${index}`), { person: someone(), at: noon + index }),
      )
      yield* receive(number, people)
      assert.deepStrictEqual(
        emojis(yield* lookUp(number, id)),
        people.slice(2).map((_, index) => `e${index + 2}`),
      )
      const quiet = aChange(text, reaction(null), {
        person: present(at(people, 40).person),
        at: noon + minute,
      })
      yield* receive(number, [quiet])
      const after = emojis(yield* lookUp(number, id))
      assert.lengthOf(after, mostReactions)
      assert.deepStrictEqual(after.slice(0, 2), ["e1", "e2"])
      assert.notInclude(after, "e40")
    }),
  )

  it.effect("of two people who turn out to be one the later reaction stays", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const text = aText({ group: aGroup() })
      const [phone, lid] = [aPhone(), aLid()]
      const sent = yield* aSentMessage(number)
      const { id } = only(yield* received(number, [text]))
      yield* receive(number, [
        aChange(text, reaction("early"), { person: someone({ phone }), at: noon + 1 }),
        aChange(text, reaction("late"), { person: someone({ lid }), at: noon + 2 }),
        aReaction(sent, "late", { person: someone({ phone }), at: noon + 2 }),
        aReaction(sent, "early", { person: someone({ lid }), at: noon + 1 }),
      ])
      assert.deepStrictEqual(emojis(yield* lookUp(number, id)), ["early", "late"])
      yield* received(number, [aText({ person: someone({ phone, lid }) })])
      const after = yield* lookUp(number, id)
      assert.deepStrictEqual(after.reactions, [
        { from: someone({ phone, lid }), emoji: "late", at: noon + 2 },
      ])
      for (const to of [
        aChange(text, reaction("late"), { person: someone({ phone }), at: noon + 3 }),
        aReaction(sent, "late", { person: someone({ phone }), at: noon + 3 }),
      ]) {
        assert.strictEqual(yield* become(number, to), "repeat")
      }
    }),
  )

  it.effect("a reaction to a message of the service tells of it, and creates no chat", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const follow = yield* followOutbox
      const { number, workspace } = yield* aReceivingStage()
      const sent = yield* aSentMessage(number)
      const own = yield* aSentMessage(number)
      const before = (yield* follow(workspace.id)).length
      const ann = someone({ phone: aPhone(), name: "Ann" })
      const incoming = withEvents([
        aReaction(sent, "👍", { person: ann }),
        aReaction(sent, "👀", { person: ann, fromMe: true }),
        aReaction(sent, null, { person: ann, at: noon + 1 }),
        aReaction(own, "👍", { group: aGroup(), person: null, fromMe: true }),
      ])
      const outcomes = yield* chats.receive(number.id, incoming, noon + minute)
      assert.deepStrictEqual(
        outcomes,
        incoming.map(() => ({ id: null, became: "changed" })),
      )
      yield* chats.receive(number.id, incoming, noon + minute)
      const messages = yield* Effect.forEach([sent, sent, sent, own], (one) =>
        Effect.map(lookUpMessage(one), ({ message }) => message),
      )
      const events = messages.map((message, index) => {
        const one = at(incoming, index)
        const { change, fromMe, ...place } = one.incoming as IncomingChange
        const from = fromMe ? numberAsPerson(number) : ann
        const emoji = change.type === "reaction" ? change.emoji : null
        const put = { from, emoji, at: place.at }
        return toShown(reactionEvent(one, put, { message }, noon + minute))
      })
      assert.deepStrictEqual((yield* shownEvents(follow, workspace.id)).slice(before), events)
      assert.deepStrictEqual(yield* readChats(number), [])
      for (const elsewhere of [
        aReaction(sent, "👍", { target: { remoteId: sent.transportId, fromMe: false } }),
        aReaction(sent, "👍", { mode: "test" }),
        aReaction(sent, "👍", { person: null }),
        aReaction(sent, "👍", { change: edit("Changed"), fromMe: true, isVerified: true }),
      ]) {
        assert.strictEqual(yield* become(number, elsewhere), "dropped")
      }
      const another = yield* aNumber(workspace.id)
      assert.strictEqual(yield* become(another, aReaction(sent, "👍")), "dropped")
    }),
  )

  it.effect("what happens in a batch is announced in its order", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { number, workspace } = yield* aReceivingStage()
      const [first, second] = [aText(), aText({ text: "Second" })]
      const outcomes = yield* receive(number, [
        first,
        aChange(first, edit("Edited")),
        second,
        aChange(first, reaction("👍")),
        { _tag: "Gap", mode: "live", reason: "skipped", from: noon },
        aChange(second, revocation),
        first,
      ])
      assert.deepStrictEqual(
        outcomes.map(({ became }) => became),
        ["stored", "changed", "stored", "changed", "told", "changed", "repeat"],
      )
      const events = yield* follow(workspace.id)
      assert.deepStrictEqual(
        events.map(({ body, type }) => [type, JSON.parse(body).data.received_message?.text]),
        [
          ["message.received", "Hello"],
          ["message.edited", "Edited"],
          ["message.received", "Second"],
          ["message.reaction", "Edited"],
          ["number.gap", undefined],
          ["message.revoked", ""],
        ],
      )
    }),
  )

  it.effect(
    "changes in groups that are not kept, and while conversations are off, are dropped",
    () =>
      Effect.gen(function* () {
        const { chats } = yield* Store
        const { number, workspace } = yield* aReceivingStage()
        const [text, inGroup] = [aText(), aText({ group: aGroup() })]
        const sent = yield* aSentMessage(number)
        yield* received(number, [text, inGroup])
        yield* turnOn(workspace.id, { groups: false })
        for (const change of [edit("Changed"), revocation, reaction("👍")]) {
          assert.strictEqual(yield* become(number, aChange(inGroup, change)), "dropped")
        }
        yield* chats.deleteConversations(workspace.id, noon)
        for (const one of [aChange(text, edit("Changed")), aReaction(sent, "👍")]) {
          assert.strictEqual(yield* become(number, one), "dropped")
        }
        // What came before is not changed either once they are on again.
        yield* turnOn(workspace.id, { since: noon + 1 })
        assert.strictEqual(yield* become(number, aChange(text, edit("Changed"))), "dropped")
        assert.strictEqual(yield* become(number, aReaction(sent, "👍"), noon + 1), "changed")
      }),
  )

  it.effect("a deleted message takes its reactions and the events of its changes along", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const follow = yield* followOutbox
      const { number, workspace } = yield* aToldStage
      const text = aText()
      const { id } = only(yield* received(number, [text]))
      yield* receive(number, [
        aChange(text, reaction("👍")),
        aChange(text, edit("Better")),
        aChange(text, revocation),
      ])
      assert.deepStrictEqual(yield* readTypes(follow, workspace.id), [
        "message.received",
        "message.reaction",
        "message.edited",
        "message.revoked",
      ])
      yield* chats.deleteReceived(toScope(workspace.id), id, noon)
      assert.deepStrictEqual(yield* readTypes(follow, workspace.id), [])
      assert.deepStrictEqual(yield* claimDue({ now: noon }), [])
      for (const change of [edit("Changed"), revocation, reaction("👍")]) {
        assert.strictEqual(yield* become(number, aChange(text, change)), "dropped")
      }
      assert.deepStrictEqual(yield* receive(number, [text]), [{ id, became: "repeat" }])
    }),
  )

  it.effect("a removed chat takes the reactions to messages of the service along", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const follow = yield* followOutbox
      const { number, workspace } = yield* aToldStage
      const [ann, ben] = [someone(), someone()]
      const group = aGroup()
      const messages = yield* received(number, [
        aText({ person: ann }),
        aText({ person: ben }),
        aText({ group, person: ben }),
      ])
      const [toAnn, toBen, toGroup] = [
        yield* aSentMessage(number),
        yield* aSentMessage(number),
        yield* aSentMessage(number),
      ]
      const readReactions = Effect.map(readTypes(follow, workspace.id), (types) =>
        types.filter((type) => type === "message.reaction"),
      )
      yield* receive(number, [
        aReaction(toAnn, "👍", { person: ann }),
        aReaction(toBen, "👍", { person: ben }),
        aReaction(toGroup, "👍", { group, person: ben }),
        aReaction(toAnn, "👀", { person: ann, fromMe: true }),
      ])
      const remove = Effect.fnUntraced(function* (index: number) {
        const { chat } = at(messages, index)
        assert.isTrue(yield* chats.deleteChat(toScope(workspace.id), chat.id, noon))
        yield* erase(workspace.id)
        return (yield* readReactions).length
      })
      assert.lengthOf(yield* readReactions, 4)
      assert.strictEqual(yield* remove(0), 2)
      assert.strictEqual(yield* remove(2), 1)
      assert.strictEqual(yield* remove(1), 0)
      assert.deepStrictEqual(yield* listIds(toScope(workspace.id)), [])
      const claimed = yield* claimDue({ now: noon })
      assert.isFalse(claimed.some(({ body }) => body.includes("message.reaction")))
      yield* settleDeliveries(...claimed.map((one) => delivered(one)))
      // Erased, it is new.
      const again = aReaction(toAnn, "👍", { person: ann })
      assert.strictEqual(yield* become(number, again), "changed")
    }),
  )

  it.effect("reactions to messages of the service go in time, and with all that was received", () =>
    Effect.gen(function* () {
      const { chats, numbers } = yield* Store
      const follow = yield* followOutbox
      const { number, workspace } = yield* aReceivingStage({ retentionDays: 7 })
      const another = yield* aNumber(workspace.id)
      const sent = yield* aSentMessage(number)
      const ofAnother = yield* aSentMessage(another)
      const count = Effect.map(
        readTypes(follow, workspace.id),
        (types) => types.filter((type) => type === "message.reaction").length,
      )
      yield* receive(number, [aReaction(sent, "👍")], noon)
      yield* receive(number, [aReaction(sent, "👍")], noon + 1)
      yield* receive(another, [aReaction(ofAnother, "👍")], noon + 1)
      yield* erase(workspace.id, { now: noon + 7 * day })
      assert.strictEqual(yield* count, 3)
      yield* erase(workspace.id, { now: noon + 7 * day + 1 })
      assert.strictEqual(yield* count, 2)
      yield* numbers.remove(workspace.id, another.id, noon + 2)
      yield* erase(workspace.id)
      assert.strictEqual(yield* count, 1)
      yield* chats.deleteConversations(workspace.id, noon)
      yield* erase(workspace.id)
      assert.strictEqual(yield* count, 0)
    }),
  )

  it.effect("no copy is asked for of a repeated change, whatever its outcome was", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage()
      const [phone, lid] = [aPhone(), aLid()]
      const text = aText({ person: someone({ phone, lid }) })
      yield* received(number, [text])
      const changed = aChange(text, edit("Changed"), { changeId: `edit ${fresh()}` })
      const lost = aChange(aText(), revocation, { changeId: `revocation ${fresh()}` })
      for (const [change, became] of [
        [changed, "changed"],
        [lost, "dropped"],
      ] as const) {
        const itself = { ...change, remoteId: change.changeId ?? "" }
        assert.isFalse(yield* needsNoCopy(number, itself))
        assert.strictEqual(yield* become(number, change), became)
        assert.isTrue(yield* needsNoCopy(number, itself))
        assert.isFalse(yield* needsNoCopy(number, { ...itself, person: someone() }))
      }
      const byLid = { ...changed, remoteId: changed.changeId ?? "", person: someone({ lid }) }
      assert.isTrue(yield* needsNoCopy(number, byLid))
      yield* erase(workspace.id, { marksBefore: noon + 1 })
      assert.isFalse(yield* needsNoCopy(number, byLid))
    }),
  )

  it.effect("a person who reacted stays known as long as the reaction", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage()
      const text = aText({ group: aGroup() })
      const { id } = only(yield* received(number, [text]))
      const person = someone({ phone: aPhone(), name: "Ann" })
      yield* receive(number, [aChange(text, reaction("👍"), { person })])
      yield* erase(workspace.id)
      assert.deepStrictEqual((yield* lookUp(number, id)).reactions, [
        { from: person, emoji: "👍", at: noon },
      ])
    }),
  )
}
