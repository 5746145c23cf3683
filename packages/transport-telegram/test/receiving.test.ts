/** What people write to an account, and its owner in another app: stored once, with the state of the box. */
import { assert, layer } from "@effect/vitest"
import { Store, TelegramTransport } from "@messaging-service/core"
import type { OutgoingMedia } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import { bySize } from "@messaging-service/testkit"
import { Clock, Effect, Layer, Stream } from "effect"
import {
  accepted,
  aPerson,
  aText,
  awaitConnection,
  layerServer,
  layerStores,
  layerWorld,
  sendNow,
  toUser,
  until,
} from "./LiveWorld.ts"
import {
  aGate,
  aProcess,
  aReceiver,
  awaitTexts,
  getEvents,
  getGaps,
  getTexts,
  putPts,
  statePts,
} from "./Receiving.ts"

layer(layerWorld)("what a person writes", (it) => {
  it.effect("is stored with its author, and what the owner writes elsewhere as an echo", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const receiver = yield* aReceiver()
      const { digits, id } = yield* aPerson({ username: "writes_one" })
      const question = yield* server.write(digits, receiver.digits, "Open today?")
      yield* server.write(receiver.digits, digits, { text: "Yes", replyTo: question, date: 100 })
      yield* server.write(digits, receiver.digits, "Short", "short")
      yield* awaitTexts(receiver, 3)
      const [first, echo, short] = yield* receiver.received
      const person = {
        phone: `+${digits}`,
        lid: null,
        userId: String(id),
        username: "writes_one",
        name: `Person ${id}`,
      }
      const { chat, from, fromMe, kind, sequence, text } = first!
      assert.deepStrictEqual(
        { from, fromMe, kind, sequence, text },
        { from: person, fromMe: false, kind: "text", sequence: 1, text: "Open today?" },
      )
      assert.deepStrictEqual([chat.type, chat.name], ["person", `Person ${id}`])
      assert.deepStrictEqual(
        [echo?.fromMe, echo?.text, echo?.chat.id, echo?.sentAt, echo?.replyTo],
        [
          true,
          "Yes",
          chat.id,
          100_000,
          { receivedMessageId: first!.id, messageId: null, text: "" },
        ],
      )
      assert.deepStrictEqual([short?.from, short?.text, short?.sequence], [person, "Short", 3])
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )

  it.effect("is marked as read by the id of the latest message, of a group too", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const receiver = yield* aReceiver({ groups: true })
      const { digits, id } = yield* aPerson({ username: "read_one" })
      const { chats } = yield* Store
      yield* server.write(digits, receiver.digits, "One")
      yield* server.write(digits, receiver.digits, "Two")
      yield* awaitTexts(receiver, 2)
      const last = (yield* receiver.received).at(-1)!
      const scope = { workspaceId: last.workspaceId, mode: "live", restriction: null } as const
      yield* chats.markRead(scope, last.chat.id, last.id, 0, null)
      const due = yield* chats.claimReadMarks(0, 0, "all", 1000)
      const mark = due.find(({ chatId }) => chatId === last.chat.id)!
      const transport = yield* TelegramTransport
      assert.deepStrictEqual(yield* transport.markRead!(mark), { _tag: "Marked" })
      const maxId = Number(mark.messages[0]!.remoteId)
      assert.deepInclude(server.readMarks(receiver.digits).at(-1), { chatId: id, maxId })
      assert.deepStrictEqual(yield* transport.markRead!(mark), { _tag: "Marked" })
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )

  it.effect("in groups is stored where groups are, and in a news channel never", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const [withGroups, without] = [yield* aReceiver({ groups: true }), yield* aReceiver()]
      const { digits, id } = yield* aPerson()
      const members = [withGroups.digits, without.digits, digits]
      const small = yield* server.group("Friends", members)
      const crowd = yield* server.group("Crowd", members, "supergroup")
      const news = yield* server.group("News", members, "channel")
      for (const group of [news, crowd, small])
        yield* server.write(digits, group, `To ${group.title}`)
      for (const group of [small, crowd])
        yield* server.write(withGroups.digits, group, `From my phone to ${group.title}`)
      for (const receiver of [withGroups, without])
        yield* server.write(digits, receiver.digits, "End")
      assert.deepStrictEqual(yield* awaitTexts(without, 1), ["End"])
      yield* awaitTexts(withGroups, 5)
      const received = yield* withGroups.received
      const written = (title: string | null) =>
        received
          .filter(({ chat }) => chat.name === title)
          .map(({ chat, from, fromMe, text }) => [chat.type, fromMe ? "me" : from.userId, text])
      for (const { title } of [small, crowd]) {
        assert.deepStrictEqual(written(title), [
          ["group", String(id), `To ${title}`],
          ["group", "me", `From my phone to ${title}`],
        ])
      }
      assert.deepStrictEqual(written("News"), [])
      assert.strictEqual(received.length, 5)
      assert.strictEqual(new Set(received.map(({ chat }) => chat.id)).size, 3)
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )

  it.effect("is not stored while conversations are off", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { chats } = yield* Store
      const receiver = yield* aReceiver()
      const { digits } = yield* aPerson()
      yield* server.write(digits, receiver.digits, "On")
      yield* awaitTexts(receiver, 1)
      const [{ workspaceId } = { workspaceId: 0 as never }] = yield* receiver.received
      yield* chats.deleteConversations(workspaceId, yield* Clock.currentTimeMillis)
      yield* server.write(digits, receiver.digits, "Off")
      yield* server.drop(receiver.digits)
      yield* awaitConnection(receiver.id, "connected")
      assert.isNull(yield* chats.conversations(workspaceId))
    }),
  )

  it.effect("while the connection is away comes once, in order, in slices too", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const receiver = yield* aReceiver()
      const { digits } = yield* aPerson()
      yield* server.limitDifferences({ slice: 3 })
      const written: Array<string> = []
      for (const round of [1, 2, 3]) {
        yield* server.down
        for (let count = 1; count <= 8; count++) {
          written.push(`${round}.${count}`)
          yield* server.write(digits, receiver.digits, written.at(-1)!)
        }
        yield* round === 2 ? server.restart : server.up
        written.push(`${round} live`)
        yield* server.write(digits, receiver.digits, written.at(-1)!, "short")
        assert.deepStrictEqual(yield* awaitTexts(receiver, written.length), written)
      }
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("a process over a store", (it) => {
  it.effect("counts nothing as received before its commit, and stores all in order later", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const gate = aGate()
      yield* Effect.gen(function* () {
        const receiver = yield* aReceiver()
        const { digits } = yield* aPerson()
        // The state of a box that was never read is stored before any update.
        const before = yield* statePts(receiver)
        gate.state = "away"
        const written = ["One", "Two", "Three", "Four", "Five"]
        for (const text of written) {
          yield* server.write(digits, receiver.digits, text)
          if (text === "One") yield* until(() => gate.refusals > 0)
        }
        yield* server.drop(receiver.digits)
        yield* until(() => gate.refusals > 2)
        assert.strictEqual(yield* statePts(receiver), before)
        assert.deepStrictEqual(yield* getTexts(receiver), [])
        gate.state = "open"
        assert.deepStrictEqual(yield* awaitTexts(receiver, 5), written)
      }).pipe(Effect.provide(aProcess(gate)))
      assert.strictEqual(gate.turns, 5)
      // Each state came with all updates before it.
      const first = gate.commits.find(({ received }) =>
        received.some((each) => each._tag === "Message" && each.text === "One"),
      )
      assert.isTrue(first?.keys.some(({ id }) => id === "updates_pts"))
    }),
  )

  for (const [bound, size, most] of [
    ["1,000 messages", 1, 1000],
    // With what a message has in addition to its text.
    ["8 MiB", 16_000, 262],
  ] as const) {
    it.effect(
      `keeps ${bound} in memory while the store is away, and stores all in order later`,
      () =>
        Effect.gen(function* () {
          const server = yield* TelegramServer
          const gate = aGate()
          const written = Array.from({ length: 1500 }, (_, index) => String(index).padEnd(size))
          const receiver = yield* Effect.gen(function* () {
            const started = yield* aReceiver()
            const { digits } = yield* aPerson()
            const calls = (method: string) => server.calls(started.digits, `updates.${method}`)
            gate.state = "away"
            yield* server.write(digits, started.digits, "First")
            yield* until(() => gate.refusals > 0)
            const before = yield* statePts(started)
            for (const text of written) yield* server.write(digits, started.digits, text, "short")
            // The second one follows the answer of the first, which follows the messages.
            const [requests, differences] = [calls("getState"), calls("getDifference")]
            yield* until(() => calls("getState") >= requests + 3)
            assert.strictEqual(calls("getDifference"), differences)
            assert.strictEqual(yield* statePts(started), before)
            gate.state = "open"
            assert.deepStrictEqual(yield* awaitTexts(started, 1501), ["First", ...written])
            assert.isAtLeast(calls("getDifference") - differences, Math.ceil((1500 - most) / 100))
            return started
          }).pipe(Effect.provide(aProcess(gate, { keepAliveMillis: 50 })))
          assert.deepStrictEqual(yield* getGaps(receiver), [])
          assert.lengthOf(yield* getEvents(receiver, "message.received"), 1501)
          // A commit may have one answer of 100 in addition to what waited.
          const largest = Math.max(...gate.commits.map(({ received }) => received.length))
          assert.isAtMost(largest, most + 100)
          assert.isAtLeast(largest, most - 30)
        }),
    )
  }

  it.effect("reads no more of many groups at once than its bound, and misses nothing", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const gate = aGate()
      const { digits } = yield* aPerson()
      const receiver = yield* Effect.gen(function* () {
        const started = yield* aReceiver({ groups: true })
        const members = [digits, started.digits]
        const titles = Array.from({ length: 15 }, (_, index) => `Crowd ${index}`)
        const groups = yield* Effect.forEach(titles, (title) =>
          server.group(title, members, "supergroup"),
        )
        for (const group of groups) yield* server.write(digits, group, "0")
        yield* awaitTexts(started, groups.length)
        yield* server.down
        for (let count = 1; count <= 250; count++) {
          for (const group of groups) yield* server.write(digits, group, String(count))
        }
        yield* server.up
        yield* awaitTexts(started, groups.length * 251)
        return started
      }).pipe(Effect.provide(aProcess(gate)))
      const chats = Map.groupBy(yield* receiver.received, ({ chat }) => chat.name)
      assert.strictEqual(chats.size, 15)
      const inOrder = Array.from({ length: 251 }, (_, index) => String(index))
      for (const [, messages] of chats) {
        assert.deepStrictEqual(
          messages.map(({ text }) => text),
          inOrder,
        )
      }
      assert.deepStrictEqual(yield* getGaps(receiver), [])
      const sizes = gate.commits.map(({ received }) => received.length)
      // What was under way at the bound: one answer of 100 for each of four channels.
      assert.isAtMost(Math.max(...sizes), 1400)
    }),
  )

  it.effect("stores the updates before a failed turn of the library", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const gate = aGate()
      yield* Effect.gen(function* () {
        const receiver = yield* aReceiver()
        const { digits } = yield* aPerson()
        gate.state = "away"
        yield* server.write(digits, receiver.digits, "First")
        yield* until(() => gate.refusals > 0)
        yield* server.write(digits, receiver.digits, "Second")
        // The library knows no such channel, which ends its turn.
        const update = { _: "updateChannel", channelId: 4711 } as const
        yield* server.notify(receiver.digits, {
          _: "updates",
          updates: [update],
          users: [],
          chats: [],
          date: 0,
          seq: 0,
        })
        const requests = server.calls(receiver.digits, "updates.getState")
        yield* until(() => server.calls(receiver.digits, "updates.getState") >= requests + 3)
        gate.state = "open"
        assert.deepStrictEqual(yield* awaitTexts(receiver, 2), ["First", "Second"])
      }).pipe(Effect.provide(aProcess(gate, { keepAliveMillis: 50 })))
    }),
  )

  it.effect("stores nothing once another one has the number, which then stores it once", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const gate = aGate()
      const { digits } = yield* aPerson()
      const receiver = yield* Effect.gen(function* () {
        const started = yield* aReceiver()
        gate.state = "moved"
        yield* server.write(digits, started.digits, "Late")
        yield* until(() => gate.refusals > 1)
        assert.deepStrictEqual(yield* getTexts(started), [])
        return started
      }).pipe(Effect.provide(aProcess(gate)))
      assert.deepStrictEqual(yield* getTexts(receiver), [])
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* awaitTexts(receiver, 1), ["Late"])
        yield* server.write(digits, receiver.digits, "After")
        assert.deepStrictEqual(yield* awaitTexts(receiver, 2), ["Late", "After"])
      }).pipe(Effect.provide(aProcess(aGate())))
    }),
  )

  it.effect("with a state that is behind hears all again, and stores nothing twice", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson({ username: "again_two" })
      const written: Array<string> = []
      const receiver = yield* Effect.gen(function* () {
        const started = yield* aReceiver()
        for (let count = 0; count < 50; count++) {
          written.push(`${count}`)
          yield* server.write(
            count % 3 === 0 ? started.digits : digits,
            count % 3 === 0 ? digits : started.digits,
            `${count}`,
          )
          // This service's own, which are not echoes.
          const sent = aText(started, toUser("again_two"), `sent ${count}`)
          const media: OutgoingMedia = {
            type: "file",
            fileName: "a.txt",
            mimeType: "text/plain",
            size: 3,
            sha256: "",
            content: Stream.make(Buffer.from("abc")),
          }
          const outcome = yield* sendNow(count % 10 === 0 ? { ...sent, media } : sent)
          assert.deepStrictEqual(outcome, accepted)
        }
        yield* awaitTexts(started, written.length)
        return started
      }).pipe(Effect.provide(aProcess(aGate())))
      const before = yield* receiver.received
      assert.deepStrictEqual(
        before.map(({ text }) => text),
        written,
      )
      const end = yield* statePts(receiver)
      for (const behind of [1, 2, 7, 99, end - 1]) {
        yield* putPts(receiver, end - behind)
        yield* Effect.gen(function* () {
          written.push(`behind ${behind}`)
          yield* server.write(digits, receiver.digits, written.at(-1)!)
          assert.deepStrictEqual(yield* awaitTexts(receiver, written.length), written)
        }).pipe(Effect.provide(aProcess(aGate())))
      }
      assert.deepStrictEqual((yield* receiver.received).slice(0, before.length), before)
    }),
  )

  it.effect("does not take its message for an echo whose answer got lost", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson({ username: "unanswered_one" })
      const receiver = yield* Effect.gen(function* () {
        const started = yield* aReceiver()
        yield* server.nextCall({ phone: started.digits, outcome: "withhold" })
        yield* Effect.forkScoped(sendNow(aText(started, toUser("unanswered_one"))))
        yield* server.until(() => server.copies(digits) === 1)
        yield* server.drop(started.digits)
        yield* server.write(digits, started.digits, "An answer")
        assert.deepStrictEqual(yield* awaitTexts(started, 1), ["An answer"])
        return started
      }).pipe(Effect.scoped, Effect.provide(aProcess(aGate())))
      yield* putPts(receiver, 1)
      yield* Effect.gen(function* () {
        yield* server.write(receiver.digits, digits, "An echo")
        assert.deepStrictEqual(yield* awaitTexts(receiver, 2), ["An answer", "An echo"])
      }).pipe(Effect.provide(aProcess(aGate())))
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("a process that is killed at any moment", (it) => {
  it.effect("loses nothing and doubles nothing", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson({ username: "killed_one" })
      const receiver = yield* Effect.provide(aReceiver(), aProcess(aGate()))
      const written: Array<string> = []
      const kills = bySize({ change: 6, all: 30, night: 100 })
      for (let kill = 0; kill < kills; kill++) {
        const gate = aGate()
        yield* Effect.gen(function* () {
          const transport = yield* TelegramTransport
          // From before its connection opens until after its first commits.
          if (kill % 3 > 0) yield* awaitConnection(receiver.id, "connected")
          for (let count = 0; count < 6; count++) {
            written.push(`${kill}.${count}`)
            const isEcho = count % 3 === 2
            yield* server.write(
              isEcho ? receiver.digits : digits,
              isEcho ? digits : receiver.digits,
              written.at(-1)!,
            )
            if (count === kill % 6) gate.state = "dead"
            if (count === 3 && kill % 2 === 1) {
              yield* Effect.forkScoped(transport.send(aText(receiver, toUser("killed_one"))))
            }
          }
          if (kill % 3 > 0) yield* until(() => gate.refusals > 0)
        }).pipe(Effect.scoped, Effect.provide(aProcess(gate)))
      }
      yield* Effect.provide(awaitTexts(receiver, written.length), aProcess(aGate()))
      assert.deepStrictEqual(yield* getTexts(receiver), written)
    }),
  )
})
