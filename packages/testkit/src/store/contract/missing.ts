/** `ChatStore`: messages that cannot be read and wait for a copy, and gaps. */
import { assert } from "@effect/vitest"
import {
  changedEvent,
  copyWaitMillis,
  formatInstant,
  gapEvent,
  receivedEvent,
  Store,
  toShard,
} from "@messaging-service/core"
import type {
  Incoming,
  IncomingGap,
  IncomingMessage,
  SendingNumber,
  UnreadableMessage,
} from "@messaging-service/core"
import { Effect } from "effect"
import { anEndpoint, aStageWithKey, claimTheOne } from "../Delivering.ts"
import { only, present } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { aLinking, anAttempt, digits } from "../Linking.ts"
import { readNextDue, toScope } from "../Reading.ts"
import { aNumber, anEra, anEventId, aPhone, aStage, aWorkspace } from "../Records.ts"
import { day, fresh, hour, minute, noon, oneSecond } from "../Records.ts"
import type { Topic } from "../Topic.ts"
import { shownEvents, someIds } from "./conversations.ts"
import {
  aLid,
  aText,
  erase,
  find,
  listIds,
  lookUp,
  needsNoCopy,
  receive,
  received,
  someone,
  turnOn,
  withEvents,
} from "./receiving.ts"

const unreadable = ({
  fromMe,
  group,
  mode,
  person,
  remoteId,
  sentAt,
}: IncomingMessage): UnreadableMessage => ({
  _tag: "Unreadable",
  fromMe,
  group,
  mode,
  person,
  remoteId,
  sentAt,
})

/** Of a time of its own, before those of other tests: its waits end first. */
const aWaitingStage = Effect.gen(function* () {
  const era = anEra()
  const stage = yield* aStage({ createdAt: era })
  yield* turnOn(stage.workspace.id, { since: era })
  return { ...stage, era, end: era + copyWaitMillis }
})

const endWaits = (now: number, count = 100) =>
  Effect.gen(function* () {
    const { chats } = yield* Store
    const eventIds = Array.from({ length: count }, anEventId)
    return { eventIds, ended: yield* chats.endCopyWaits(now, eventIds) }
  })

const becomes = (number: SendingNumber, one: Incoming, now: number) =>
  Effect.map(receive(number, [one], now), (outcomes) => only(outcomes).became)

const aGap = (from: number): IncomingGap => ({
  _tag: "Gap",
  mode: "live",
  reason: "skipped",
  from,
})

export const missing: Topic = (it) => {
  it.effect("an unreadable message waits once, and is nothing else meanwhile", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { end, era, number, workspace } = yield* aWaitingStage
      const text = aText()
      const waiting = { id: null, became: "waiting" } as const
      const repeat = { id: null, became: "repeat" } as const
      assert.deepStrictEqual(yield* receive(number, [unreadable(text)], era), [waiting])
      assert.deepStrictEqual(yield* receive(number, [unreadable(text)], era + 1), [repeat])
      const other = unreadable(aText())
      assert.deepStrictEqual(yield* receive(number, [other, other], era + 1), [waiting, repeat])
      assert.isFalse(yield* needsNoCopy(number, text))
      assert.deepStrictEqual(yield* listIds(toScope(workspace.id)), [])
      assert.deepStrictEqual(yield* follow(workspace.id), [])
      // From the first time on.
      assert.strictEqual(yield* readNextDue("copies", era), end)
      assert.strictEqual((yield* endWaits(end - 1)).ended, 0)
      assert.strictEqual((yield* endWaits(end)).ended, 1)
      assert.strictEqual(yield* readNextDue("copies", era), end + 1)
      assert.strictEqual((yield* endWaits(end + 1)).ended, 1)
      assert.isNull(yield* readNextDue("copies", era))
    }),
  )

  it.effect("a copy that comes in time is the message, and the wait is over", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { end, era, number, workspace } = yield* aWaitingStage
      const text = aText({ sentAt: era })
      assert.strictEqual(yield* becomes(number, unreadable(text), era), "waiting")
      const message = only(yield* received(number, [text], era + 1))
      assert.deepStrictEqual([message.sequence, message.text], [1, "Hello"])
      assert.isNull(yield* readNextDue("copies", era))
      assert.strictEqual((yield* endWaits(end)).ended, 0)
      assert.strictEqual(yield* becomes(number, unreadable(text), era + 2), "repeat")
      assert.isTrue(yield* needsNoCopy(number, text))
      assert.deepStrictEqual(
        (yield* follow(workspace.id)).map(({ type }) => type),
        ["message.received"],
      )
    }),
  )

  it.effect("a wait of a clock behind the conversations' beginning is kept, from that time", () =>
    Effect.gen(function* () {
      const { end, era, number, workspace } = yield* aWaitingStage
      const text = aText({ sentAt: era })
      assert.strictEqual(yield* becomes(number, unreadable(text), era - 5 * oneSecond), "waiting")
      yield* erase(workspace.id, { now: era })
      assert.strictEqual((yield* endWaits(end - 1)).ended, 0)
      assert.strictEqual((yield* endWaits(end)).ended, 1)
      assert.lengthOf(yield* listIds(toScope(workspace.id)), 1)
    }),
  )

  it.effect("a wait that ends without one becomes an unreadable message", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { end, era, number, workspace } = yield* aWaitingStage
      const person = someone({ phone: aPhone(), name: "Ann" })
      const group = { remoteId: `group ${fresh()}`, name: "Group" }
      const text = aText({ person, group, sentAt: era - minute })
      yield* receive(number, [unreadable(text)], era)
      const { eventIds } = yield* endWaits(end + minute)
      const id = only(yield* listIds(toScope(workspace.id)))
      const message = present(yield* find(number, id))
      assert.deepStrictEqual(message, {
        id,
        workspaceId: workspace.id,
        mode: "live",
        sequence: 1,
        number: { id: number.id, phone: number.phone, platform: number.platform },
        chat: { id: message.chat.id, type: "group", name: "Group" },
        fromMe: false,
        from: person,
        kind: "unreadable",
        text: "",
        content: null,
        file: null,
        replyTo: null,
        reactions: [],
        sentAt: era - minute,
        receivedAt: end + minute,
        editedAt: null,
        revokedAt: null,
      })
      const { body, id: eventId } = receivedEvent({ eventId: present(eventIds[0]) }, message)
      const event = only(yield* shownEvents(follow, workspace.id))
      assert.deepStrictEqual([event.id, event.body], [eventId, body])
      const again = { id, became: "repeat" } as const
      assert.deepStrictEqual(yield* receive(number, [unreadable(text)], end), [again])
      assert.isTrue(yield* needsNoCopy(number, text))
    }),
  )

  it.effect("a copy that comes later is taken in its place, once", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const follow = yield* followOutbox
      const { end, era, number, workspace } = yield* aWaitingStage
      const quoted = aText()
      yield* received(number, [quoted], era)
      const quote = { remoteId: quoted.remoteId, text: "quoted" }
      const text = aText({ person: quoted.person, kind: "image", text: "Read", quote })
      const file = { mimeType: null, size: 1, fileName: null, seconds: null, sha256: null }
      const copy = { ...text, file, content: { type: "of its own" } }
      yield* receive(number, [unreadable(text)], era)
      yield* endWaits(end)
      const [id, quotedId] = yield* listIds(toScope(workspace.id))
      const before = yield* lookUp(number, present(id))
      const unread = { kind: "unreadable", text: "" } as const
      yield* receive(number, [{ ...text, ...unread }], end)
      assert.deepStrictEqual(yield* lookUp(number, present(id)), before)
      const incoming = withEvents([copy])
      const outcomes = yield* chats.receive(number.id, incoming, end + minute)
      assert.deepStrictEqual(outcomes, [{ id: present(id), became: "recovered", file: "off" }])
      const after = yield* lookUp(number, present(id))
      assert.deepStrictEqual(after, {
        ...before,
        kind: "image",
        text: "Read",
        content: { type: "of its own" },
        file: { ...file, state: "off" },
        replyTo: { receivedMessageId: present(quotedId), messageId: null, text: "quoted" },
      })
      for (const repeated of [copy, unreadable(text)]) {
        assert.strictEqual(yield* becomes(number, repeated, end + minute), "repeat")
      }
      const events = yield* shownEvents(follow, workspace.id)
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        ["message.received", "message.received", "message.recovered"],
      )
      const { eventId } = only(incoming)
      const { body } = changedEvent({ eventId }, "message.recovered", after, end + minute)
      assert.strictEqual(events.at(-1)?.body, body)
      assert.isTrue(yield* chats.deleteReceived(toScope(workspace.id), present(id), end))
      assert.lengthOf(yield* follow(workspace.id), 1)
    }),
  )

  it.effect("an unreadable message that was revoked is not recovered, and never edited", () =>
    Effect.gen(function* () {
      const { end, era, number, workspace } = yield* aWaitingStage
      const text = aText()
      const changed = {
        ...unreadable(text),
        _tag: "Change" as const,
        target: text,
        isVerified: false,
        at: era,
      }
      const revoked = { ...changed, change: { type: "revocation" as const } }
      yield* receive(number, [unreadable(text)], era)
      // Of what is not stored.
      assert.strictEqual(yield* becomes(number, revoked, era), "dropped")
      yield* endWaits(end)
      const id = only(yield* listIds(toScope(workspace.id)))
      const edited = { ...changed, change: { type: "edit" as const, text: "Better" } }
      assert.strictEqual(yield* becomes(number, edited, end), "repeat")
      const liked = { ...changed, change: { type: "reaction" as const, emoji: "👍" } }
      assert.strictEqual(yield* becomes(number, liked, end), "changed")
      assert.strictEqual(yield* becomes(number, revoked, end), "changed")
      assert.strictEqual(yield* becomes(number, text, end), "repeat")
      const { kind, reactions, revokedAt } = yield* lookUp(number, id)
      assert.deepStrictEqual([kind, reactions.length, revokedAt], ["unreadable", 1, era])
    }),
  )

  it.effect("a message is there once, in whatever order it and its repeats come", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const steps = ["unreadable", "copy", "end"] as const
      const orders = steps.flatMap((a) =>
        steps.flatMap((b) => steps.flatMap((c) => steps.map((d) => [a, b, c, d] as const))),
      )
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      yield* turnOn(workspace.id, { since: era })
      for (const [index, order] of orders.entries()) {
        const start = era + index * hour
        const text = aText({ sentAt: start })
        for (const [turn, step] of order.entries()) {
          const now = start + turn * (copyWaitMillis + 1)
          if (step === "end") yield* endWaits(now)
          else yield* receive(number, [step === "copy" ? text : unreadable(text)], now)
        }
        yield* endWaits(start + hour - 1)
        const found = yield* chats.receivedAfter(toScope(workspace.id), number.id, index, null, 9)
        const isThere = order.includes("unreadable") || order.includes("copy")
        const isRead = order.includes("copy")
        assert.deepStrictEqual(
          found.map(({ kind }) => kind),
          isThere ? [isRead ? "text" : "unreadable"] : [],
          order.join(),
        )
        // So that each order has a sequence of its own.
        if (!isThere) yield* received(number, [aText()], start)
      }
    }),
  )

  it.effect("a copy is the same message under any address of its author", () =>
    Effect.gen(function* () {
      const { end, era, number } = yield* aWaitingStage
      const [phone, lid] = [aPhone(), aLid()]
      const text = aText({ person: someone({ lid }) })
      yield* received(number, [aText({ person: someone({ phone, lid }) })], era)
      yield* receive(number, [unreadable(text)], era)
      const again = { ...unreadable(text), person: someone({ phone }) }
      assert.strictEqual(yield* becomes(number, again, era), "repeat")
      for (const other of [
        { ...again, person: someone() },
        { ...again, fromMe: true },
        { ...again, mode: "test" as const },
        { ...again, group: { remoteId: `group ${fresh()}`, name: null } },
      ]) {
        assert.strictEqual(yield* becomes(number, other, era + 1), "waiting")
      }
      yield* received(number, [{ ...text, person: someone({ phone }) }], era)
      assert.strictEqual((yield* endWaits(end)).ended, 0)
      assert.strictEqual((yield* endWaits(end + 1)).ended, 4)
    }),
  )

  it.effect("two waits that turn out to be one message become one", () =>
    Effect.gen(function* () {
      const { end, era, number, workspace } = yield* aWaitingStage
      const [phone, lid] = [aPhone(), aLid()]
      const text = aText({ person: someone({ lid }) })
      yield* receive(
        number,
        [unreadable(text), { ...unreadable(text), person: someone({ phone }) }],
        era,
      )
      yield* received(number, [aText({ person: someone({ phone, lid }) })], era)
      assert.strictEqual((yield* endWaits(end)).ended, 1)
      assert.lengthOf(yield* listIds(toScope(workspace.id)), 2)
      assert.isNull(yield* readNextDue("copies", era))
    }),
  )

  it.effect("the longest waiting ones end first, at most as many as there are ids", () =>
    Effect.gen(function* () {
      const { end, era, number, workspace } = yield* aWaitingStage
      const another = yield* aNumber(workspace.id)
      const texts = [0, 1, 2, 3].map((later) => aText({ sentAt: era + later }))
      for (const [index, text] of texts.entries()) {
        const of = index % 2 === 0 ? number : another
        yield* receive(of, [unreadable(text)], era + index)
      }
      const { items } = yield* Store.use(({ chats }) =>
        Effect.gen(function* () {
          assert.strictEqual((yield* endWaits(end + hour, 0)).ended, 0)
          assert.strictEqual((yield* endWaits(end + hour, 3)).ended, 3)
          const filter = { numberId: null, chatId: null, kind: null, since: null, until: null }
          return yield* chats.listReceived(toScope(workspace.id), filter, {
            before: null,
            limit: 9,
          })
        }),
      )
      assert.deepStrictEqual(
        items.map(({ sentAt }) => sentAt - era),
        [2, 1, 0],
      )
      assert.strictEqual((yield* endWaits(end + hour, 3)).ended, 1)
    }),
  )

  it.effect("a wait stores nothing where nothing is kept any more", () =>
    Effect.gen(function* () {
      const { chats, numbers } = yield* Store
      const { end, era, number, workspace } = yield* aWaitingStage
      const removed = yield* aNumber(workspace.id)
      const group = { remoteId: `group ${fresh()}`, name: "Group" }
      yield* receive(number, [unreadable(aText({ group }))], era)
      yield* receive(removed, [unreadable(aText())], era)
      yield* turnOn(workspace.id, { groups: false })
      yield* numbers.remove(workspace.id, removed.id, era)
      assert.strictEqual((yield* endWaits(end)).ended, 2)
      yield* receive(number, [unreadable(aText())], era)
      yield* chats.deleteConversations(workspace.id, era)
      assert.strictEqual((yield* endWaits(end)).ended, 1)
      yield* turnOn(workspace.id, { since: era })
      yield* receive(number, [unreadable(aText())], era)
      yield* chats.deleteConversations(workspace.id, era)
      yield* turnOn(workspace.id, { since: era + 1 })
      assert.strictEqual((yield* endWaits(end)).ended, 1)
      assert.deepStrictEqual(yield* listIds(toScope(workspace.id)), [])
      assert.deepStrictEqual(yield* listIds(toScope(workspace.id), { numberId: removed.id }), [])
    }),
  )

  it.effect("waits are erased with all that was received", () =>
    Effect.gen(function* () {
      const { chats, numbers } = yield* Store
      const { era, end, number, workspace } = yield* aWaitingStage
      const another = yield* aNumber(workspace.id)
      const wait = receive(number, [unreadable(aText())], era)
      yield* wait
      yield* receive(another, [unreadable(aText())], era + 1)
      yield* erase(workspace.id, { now: era + 7 * day })
      assert.strictEqual(yield* readNextDue("copies", era), end)
      yield* erase(workspace.id, { now: era + 7 * day + 1 })
      assert.strictEqual(yield* readNextDue("copies", era), end + 1)
      yield* numbers.remove(workspace.id, another.id, era)
      yield* erase(workspace.id, { now: era })
      assert.isNull(yield* readNextDue("copies", era))
      yield* wait
      yield* chats.deleteConversations(workspace.id, era)
      yield* erase(workspace.id, { now: era })
      assert.isNull(yield* readNextDue("copies", era))
    }),
  )

  it.effect("what is erased stays a repeat, also when it comes unreadable", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { end, era, number, workspace } = yield* aWaitingStage
      const text = aText()
      const { id } = only(yield* received(number, [text], era))
      yield* chats.deleteReceived(toScope(workspace.id), id, era)
      const again = [{ id, became: "repeat" }] as const
      assert.deepStrictEqual(yield* receive(number, [unreadable(text)], era), again)
      assert.deepStrictEqual(yield* receive(number, [text], era), again)
      assert.isTrue(yield* needsNoCopy(number, text))
      assert.strictEqual((yield* endWaits(end)).ended, 0)
    }),
  )

  it.effect("no copy is needed of what is written in a group that is not kept", () =>
    Effect.gen(function* () {
      const { chats, numbers } = yield* Store
      const { era, number, workspace } = yield* aWaitingStage
      const text = aText({ group: { remoteId: `group ${fresh()}`, name: "Group" } })
      assert.isFalse(yield* needsNoCopy(number, text))
      yield* turnOn(workspace.id, { groups: false })
      assert.isTrue(yield* needsNoCopy(number, text))
      assert.isFalse(yield* needsNoCopy(number, aText()))
      assert.strictEqual(yield* becomes(number, unreadable(text), era), "dropped")
      yield* chats.deleteConversations(workspace.id, era)
      assert.isFalse(yield* needsNoCopy(number, text))
      assert.strictEqual(yield* becomes(number, unreadable(aText()), era), "dropped")
      yield* turnOn(workspace.id, { groups: false, since: era })
      yield* numbers.remove(workspace.id, number.id, era)
      assert.isFalse(yield* needsNoCopy(number, text))
    }),
  )

  it.effect("a session's write answers what became of what it received", () =>
    Effect.gen(function* () {
      const { sessions } = yield* Store
      const { end, era, number } = yield* aWaitingStage
      const worker = yield* Effect.acquireRelease(sessions.addWorker("a worker", 100), (id) =>
        Effect.orDie(sessions.removeWorker(id)),
      )
      const shard = toShard(number.id)
      let leases = yield* sessions.takeShards(worker, [shard])
      // Skipped while a write in flight locks it.
      while (leases.length === 0) leases = yield* sessions.takeShards(worker, [shard])
      const { term } = only(leases)
      const write = (as: number, ...incoming: ReadonlyArray<Incoming>) =>
        sessions.receive(number.id, null, [], era, { shard, term: as }, withEvents(incoming))
      const [text, other] = [aText(), aText()]
      assert.isNull(yield* write(term - 1, unreadable(text)))
      const outcomes = present(yield* write(term, unreadable(text), other, aGap(era)))
      assert.deepStrictEqual(
        outcomes.map(({ became }) => became),
        ["waiting", "stored", "told"],
      )
      assert.deepStrictEqual(yield* write(term), [])
      assert.isNull(yield* write(term - 1))
      assert.strictEqual((yield* endWaits(end)).ended, 1)
    }),
  )

  it.effect("a gap is announced where conversations are on", () =>
    Effect.gen(function* () {
      const { chats, numbers } = yield* Store
      const follow = yield* followOutbox
      const { era, number, workspace } = yield* aWaitingStage
      const gaps = withEvents([aGap(era - hour), aGap(era + hour)])
      const outcomes = yield* chats.receive(number.id, gaps, era)
      const outcome = { id: null, became: "told" } as const
      assert.deepStrictEqual(outcomes, [outcome, outcome])
      assert.deepStrictEqual(
        yield* shownEvents(follow, workspace.id),
        gaps.map(({ eventId, incoming }) => {
          const event = gapEvent(eventId, incoming as IncomingGap, number, era)
          const { id, type, workspaceId, mode, messageId, createdAt, body } = event
          return { id, type, workspaceId, mode, messageId, createdAt, body }
        }),
      )
      yield* chats.deleteConversations(workspace.id, era)
      assert.strictEqual(yield* becomes(number, aGap(era), era), "dropped")
      yield* turnOn(workspace.id, { since: era })
      yield* numbers.remove(workspace.id, number.id, era)
      assert.strictEqual(yield* becomes(number, aGap(era), era), "dropped")
      assert.lengthOf(yield* follow(workspace.id), 2)
    }),
  )

  it.effect("a number that is linked again tells since when it was away", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const follow = yield* followOutbox
      const era = anEra()
      const { id } = yield* aWorkspace()
      yield* turnOn(id, { since: era })
      const { attempt, number } = yield* aLinking(id, era)
      const readGaps = Effect.map(follow(id), (events) =>
        events.filter(({ type }) => type === "number.gap").map(({ body }) => JSON.parse(body)),
      )
      const phone = digits()
      // Linked for the first time, nothing is missing.
      yield* numbers.linked(attempt.id, phone, era + oneSecond, null, someIds())
      assert.deepStrictEqual(yield* readGaps, [])
      const relink = Effect.fnUntraced(function* (now: number) {
        const again = anAttempt(now)
        yield* numbers.reconnect(id, number.id, again, null)
        const events = someIds()
        yield* numbers.linked(again.id, phone, now + oneSecond, null, events)
        return events
      })
      const become = (status: "connected" | "disconnected", now: number) =>
        numbers.setStatus(number.id, status, undefined, now, null, null, someIds())
      yield* become("disconnected", era + minute)
      yield* become("disconnected", era + 2 * minute)
      const events = yield* relink(era + hour)
      const expected = gapEvent(
        events.gap,
        { from: era + minute, reason: "relinked" },
        number,
        era + hour + oneSecond,
      )
      assert.deepStrictEqual(yield* readGaps, [JSON.parse(expected.body)])
      // Back by itself, it has what came meanwhile.
      yield* become("disconnected", era + 2 * hour)
      yield* become("connected", era + 3 * hour)
      assert.lengthOf(yield* readGaps, 1)
      yield* become("disconnected", era + 4 * hour)
      yield* relink(era + 5 * hour)
      const [, second, ...others] = yield* readGaps
      assert.strictEqual(second.data.gap.from, formatInstant(era + 4 * hour))
      assert.deepStrictEqual(others, [])
    }),
  )

  it.effect("a new login tells since when the number was away", () =>
    Effect.gen(function* () {
      const { numbers, sessions } = yield* Store
      const follow = yield* followOutbox
      const { era, number, workspace } = yield* aWaitingStage
      const login = (before: string | null, after: string, now: number) => {
        const events = someIds()
        const account = { phone: number.phone, events }
        return Effect.as(sessions.exchange(number.id, before, after, [], now, account), events)
      }
      const readGaps = Effect.map(shownEvents(follow, workspace.id), (events) =>
        events.filter(({ type }) => type === "number.gap"),
      )
      yield* login(null, "first", era)
      assert.deepStrictEqual(yield* readGaps, [])
      yield* numbers.setStatus(number.id, "disconnected", undefined, era + 1, null, null, someIds())
      const refused = yield* login("another", "never", era + minute)
      const events = yield* login("first", "second", era + minute)
      assert.notStrictEqual(refused.gap, events.gap)
      const { body, id } = gapEvent(
        events.gap,
        { from: era + 1, reason: "relinked" },
        number,
        era + minute,
      )
      const gap = only(yield* readGaps)
      assert.deepStrictEqual([gap.id, gap.body], [id, body])
    }),
  )

  it.effect("a copy that is a change of another message ends its wait, and is no message", () =>
    Effect.gen(function* () {
      const { end, era, number, workspace } = yield* aWaitingStage
      const text = aText()
      const edit = aText({ person: text.person })
      yield* receive(number, [text], era)
      for (const target of [text.remoteId, "never stored"]) {
        const remoteId = `edit ${fresh()}`
        yield* receive(number, [unreadable({ ...edit, remoteId })], era)
        const change: Incoming = {
          _tag: "Change",
          mode: edit.mode,
          fromMe: false,
          group: null,
          person: edit.person,
          target: { remoteId: target, fromMe: false },
          isVerified: false,
          change: { type: "edit", text: "Changed" },
          at: era,
          changeId: remoteId,
        }
        yield* receive(number, [change], era)
      }
      assert.strictEqual((yield* endWaits(end)).ended, 0)
      assert.lengthOf(yield* listIds(toScope(workspace.id)), 1)
    }),
  )

  it.effect("the gap of a new login wakes the deliveries of its process", () =>
    Effect.gen(function* () {
      const { numbers, sessions, webhooks } = yield* Store
      const { key, number, workspace } = yield* aStageWithKey()
      yield* turnOn(workspace.id)
      yield* anEndpoint(key, { events: ["number.gap"] })
      yield* sessions.exchange(number.id, null, "first", [], noon)
      yield* numbers.setStatus(number.id, "disconnected", undefined, noon, null, null, someIds())
      let notified = 0
      yield* webhooks.whenQueued(Effect.sync(() => void notified++))
      const account = { phone: number.phone, events: someIds() }
      yield* sessions.exchange(number.id, "first", "second", [], noon + minute, account)
      yield* Effect.yieldNow
      assert.strictEqual(notified, 1)
      assert.include((yield* claimTheOne()).body, '"type":"number.gap"')
    }),
  )
}
