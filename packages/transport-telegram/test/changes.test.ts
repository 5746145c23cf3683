/** What happens to messages on people's phones, and what Telegram skips: stored with the state of the box. */
import { assert, layer } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { MessageId } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import { accepted as acceptedBy, bySize } from "@messaging-service/testkit"
import { Effect, Fiber, Layer } from "effect"
import {
  accepted,
  aPerson,
  aText,
  awaitConnection,
  layerServer,
  layerStores,
  layerWorld,
  sendNow,
  toSupergroup,
  toUser,
  until,
  untilSo,
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
import type { Receiver } from "./Receiving.ts"

/** Waits for that many events of these types. */
const awaitEvents = (receiver: Receiver, count: number, ...types: ReadonlyArray<string>) =>
  Effect.andThen(
    untilSo(Effect.map(getEvents(receiver, ...types), ({ length }) => length >= count)),
    getEvents(receiver, ...types),
  )

const getReactions = ({ received }: Receiver, text: string) =>
  Effect.map(received, (messages) =>
    messages
      .filter((message) => message.text === text)
      .flatMap(({ reactions }) => reactions.map(({ emoji, from }) => [from.phone, emoji])),
  )

layer(layerWorld)("what becomes of a message", (it) => {
  for (const kind of ["private chat", "small", "supergroup"] as const) {
    it.effect(`its edit, deletion and reactions are stored: ${kind}`, () =>
      Effect.gen(function* () {
        const server = yield* TelegramServer
        const receiver = yield* aReceiver({ groups: true })
        const { digits } = yield* aPerson()
        const members = [receiver.digits, digits]
        const group =
          kind === "private chat" ? null : yield* server.group(`The ${kind}`, members, kind)
        const write = (by: string, text: string) =>
          server.write(by, group ?? (by === digits ? receiver.digits : digits), text)
        const [first, second, third] = [
          yield* write(digits, "First"),
          yield* write(digits, "Second"),
          yield* write(receiver.digits, "Third"),
        ]
        yield* awaitTexts(receiver, 3)
        for (const text of ["First?", "First!"]) yield* server.edit(first, text)
        yield* server.remove(second)
        // All within a second, which is as exact as Telegram's times are.
        for (const emoji of ["👍", "❤", null, "🎉"]) yield* server.react(digits, third, emoji)
        yield* server.react(receiver.digits, first, "👀")
        yield* awaitEvents(receiver, 2, "message.edited")
        yield* awaitEvents(receiver, 1, "message.revoked")
        yield* awaitEvents(receiver, 5, "message.reaction")
        assert.deepStrictEqual(
          (yield* receiver.received).map(({ editedAt, revokedAt, text }) => [
            text,
            editedAt !== null,
            revokedAt !== null,
          ]),
          [
            ["First!", true, false],
            ["", false, true],
            ["Third", false, false],
          ],
        )
        assert.deepStrictEqual(yield* getEvents(receiver, "message.edited"), [
          ["message.edited", "First?"],
          ["message.edited", "First!"],
        ])
        assert.deepStrictEqual(
          (yield* receiver.events).flatMap(({ data }) =>
            data.reaction === undefined
              ? []
              : [[data.reaction.from.phone, data.reaction.emoji, data.received_message?.text]],
          ),
          [
            ...["👍", "❤", null, "🎉"].map((emoji) => [`+${digits}`, emoji, "Third"]),
            [`+${receiver.digits}`, "👀", "First!"],
          ],
        )
        assert.deepStrictEqual(yield* getReactions(receiver, "Third"), [[`+${digits}`, "🎉"]])
        assert.deepStrictEqual(yield* getReactions(receiver, "First!"), [
          [`+${receiver.digits}`, "👀"],
        ])
        assert.deepStrictEqual(server.complaints(), [])
      }),
    )
  }

  it.effect("an id that a deletion names is no message of a supergroup", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const receiver = yield* aReceiver({ groups: true })
      const { digits } = yield* aPerson()
      const crowd = yield* server.group("Crowd", [receiver.digits, digits], "supergroup")
      const inCrowd = yield* server.write(digits, crowd, "In the crowd")
      const alone = yield* server.write(digits, receiver.digits, "Alone")
      yield* awaitTexts(receiver, 2)
      assert.strictEqual(
        server.messageId(inCrowd, receiver.digits),
        server.messageId(alone, receiver.digits),
      )
      yield* server.remove(alone)
      yield* awaitEvents(receiver, 1, "message.revoked")
      assert.deepStrictEqual((yield* getTexts(receiver)).toSorted(), ["", "In the crowd"])
      yield* server.remove(inCrowd)
      yield* awaitEvents(receiver, 2, "message.revoked")
      assert.deepStrictEqual(yield* getTexts(receiver), ["", ""])
    }),
  )

  it.effect("quotes of and reactions to what this service sent name its message", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const store = yield* Store
      const receiver = yield* aReceiver()
      const { digits } = yield* aPerson({ username: "quotes_one" })
      const number = yield* Effect.orDie(store.numbers.find(receiver.id))
      const [stored] = yield* acceptedBy(number!, { allowance: 0 })
      const { transportId } = stored!
      const message = { ...aText(receiver, toUser("quotes_one"), "Sent"), transportId }
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      const [sent] = server.messagesBy(receiver.digits)
      yield* server.write(digits, receiver.digits, { text: "Quote", replyTo: sent! })
      yield* awaitTexts(receiver, 1)
      yield* server.read(digits, receiver.digits)
      yield* server.write(digits, receiver.digits, { text: "Again", replyTo: sent! })
      yield* awaitTexts(receiver, 2)
      yield* server.react(digits, sent!, "👍")
      yield* awaitEvents(receiver, 1, "message.reaction")
      assert.deepStrictEqual(
        (yield* receiver.received).map(({ replyTo }) => replyTo?.messageId),
        [stored!.id, stored!.id],
      )
      assert.deepStrictEqual(
        (yield* receiver.events).flatMap(({ data }) => (data.reaction ? data.message?.id : [])),
        [stored!.id],
      )
    }),
  )
})

/** The state's date, to the second, before something was skipped. */
const isBetween = (text: string | undefined, start: number) => {
  const at = Date.parse(text ?? "")
  return at >= start - 1000 && at <= Date.now()
}

layer(Layer.merge(layerStores, layerServer))("a message of the service", (it) => {
  it.effect("is named by a quote and a reaction after any number of others, and a restart", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const store = yield* Store
      const { digits } = yield* aPerson({ username: "quotes_two" })
      const [receiver, groups] = yield* Effect.gen(function* () {
        const started = yield* aReceiver({ groups: true })
        const crowd = yield* server.group("Crowd", [started.digits, digits], "supergroup")
        yield* server.write(digits, crowd, "Hello")
        yield* awaitTexts(started, 1)
        return [started, [null, crowd]] as const
      }).pipe(Effect.provide(aProcess(aGate())))
      const number = yield* Effect.orDie(store.numbers.find(receiver.id))
      const expected: Array<MessageId> = []
      for (const group of groups) {
        const to = group === null ? toUser("quotes_two") : toSupergroup(group)
        const [stored] = yield* acceptedBy(number!, { allowance: 0 })
        yield* Effect.gen(function* () {
          yield* awaitConnection(receiver.id, "connected")
          const message = { ...aText(receiver, to, "Sent"), transportId: stored!.transportId }
          assert.deepStrictEqual(yield* sendNow(message), accepted)
          // Read ones, and then unread ones.
          for (let count = 0; count < 330; count++) {
            assert.deepStrictEqual(yield* sendNow(aText(receiver, to)), accepted)
            if (count === 80) yield* server.read(digits, group ?? receiver.digits)
          }
        }).pipe(Effect.provide(aProcess(aGate())))
        const sent = server
          .messagesBy(receiver.digits)
          .find(({ text, to: chat }) =>
            group === null ? text === "Sent" : text === "Sent" && chat === group,
          )
        yield* Effect.gen(function* () {
          yield* awaitConnection(receiver.id, "connected")
          const { length } = yield* receiver.received
          const quote = { text: "Quote", replyTo: sent! }
          yield* server.write(digits, group ?? receiver.digits, quote)
          yield* awaitTexts(receiver, length + 1)
          yield* server.react(digits, sent!, "👍")
          expected.push(stored!.id)
          yield* awaitEvents(receiver, expected.length, "message.reaction")
        }).pipe(Effect.provide(aProcess(aGate())))
      }
      assert.deepStrictEqual(
        (yield* receiver.received).flatMap(({ replyTo }) => replyTo?.messageId ?? []),
        expected,
      )
      assert.deepStrictEqual(
        (yield* receiver.events).flatMap(({ data }) => (data.reaction ? data.message?.id : [])),
        expected,
      )
    }),
  )

  it.effect("is named by a quote although the process died right after the send", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const store = yield* Store
      const { digits } = yield* aPerson({ username: "quotes_three" })
      const receiver = yield* Effect.provide(aReceiver(), aProcess(aGate()))
      const number = yield* Effect.orDie(store.numbers.find(receiver.id))
      const ids: Array<MessageId> = []
      for (let kill = 0; kill < 3; kill++) {
        const gate = aGate()
        const [stored] = yield* acceptedBy(number!, { allowance: 0 })
        ids.push(stored!.id)
        yield* Effect.gen(function* () {
          yield* awaitConnection(receiver.id, "connected")
          const to = toUser("quotes_three")
          // With a write right before it, the next delayed one would come a second later.
          assert.deepStrictEqual(yield* sendNow(aText(receiver, to)), accepted)
          const message = {
            ...aText(receiver, to, `Sent ${kill}`),
            transportId: stored!.transportId,
          }
          assert.deepStrictEqual(yield* sendNow(message), accepted)
          gate.state = "dead"
        }).pipe(Effect.provide(aProcess(gate)))
      }
      yield* Effect.gen(function* () {
        yield* awaitConnection(receiver.id, "connected")
        const sent = server
          .messagesBy(receiver.digits)
          .filter(({ text }) => text.startsWith("Sent"))
        for (const replyTo of sent)
          yield* server.write(digits, receiver.digits, { text: "Quote", replyTo })
        yield* awaitTexts(receiver, ids.length)
      }).pipe(Effect.provide(aProcess(aGate())))
      assert.deepStrictEqual(
        (yield* receiver.received).map(({ replyTo }) => replyTo?.messageId),
        ids,
      )
    }),
  )

  it.effect("is found by its text after a repeat, and never taken for what the owner wrote", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const store = yield* Store
      const { digits } = yield* aPerson({ username: "quotes_four" })
      yield* Effect.gen(function* () {
        const receiver = yield* aReceiver()
        const number = yield* Effect.orDie(store.numbers.find(receiver.id))
        const [stored] = yield* acceptedBy(number!, { allowance: 0 })
        const { transportId } = stored!
        const message = { ...aText(receiver, toUser("quotes_four"), "*Sent* "), transportId }
        // It arrives, and its answer does not.
        yield* server.nextCall({ phone: receiver.digits, outcome: "withhold" })
        const sending = yield* Effect.forkChild(sendNow(message))
        yield* server.until(() => server.copies(digits) === 1)
        yield* Fiber.interrupt(sending)
        const echo = yield* server.write(receiver.digits, digits, "By hand", "lost")
        assert.deepStrictEqual(yield* sendNow({ ...message, mayHaveLeft: true }), accepted)
        const [sent] = server.messagesBy(receiver.digits)
        for (const replyTo of [sent!, echo]) {
          yield* server.write(digits, receiver.digits, { text: "Quote", replyTo })
        }
        yield* awaitTexts(receiver, 3)
        const [hand, ...quotes] = yield* receiver.received
        assert.deepStrictEqual([hand?.text, hand?.fromMe], ["By hand", true])
        assert.deepStrictEqual(
          quotes.map(({ replyTo }) => [replyTo?.messageId, replyTo?.receivedMessageId]),
          [
            [stored!.id, null],
            [null, hand?.id],
          ],
        )
      }).pipe(Effect.provide(aProcess(aGate())))
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("what Telegram skips", (it) => {
  it.effect("is one gap for each skip of the box, with the new state", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson()
      const start = Date.now()
      const gate = aGate()
      const skips = bySize({ change: 2, all: 50, night: 50 })
      const written = ["Before"]
      const receiver = yield* Effect.gen(function* () {
        const started = yield* aReceiver()
        yield* server.write(digits, started.digits, "Before")
        yield* awaitTexts(started, 1)
        for (let skip = 0; skip < skips; skip += 2) {
          yield* server.down
          yield* server.limitDifferences({ tooLong: 4 })
          for (let count = 0; count < 5; count++) {
            yield* server.write(digits, started.digits, "Lost")
          }
          yield* server.up
          yield* untilSo(Effect.map(getGaps(started), ({ length }) => length > skip))
          yield* server.limitDifferences({ tooLong: Infinity })
          written.push(`After ${skip}`)
          yield* server.write(digits, started.digits, `After ${skip}`)
          assert.deepStrictEqual(yield* awaitTexts(started, written.length), written)
          yield* server.write(digits, started.digits, "Missed", "lost")
          yield* server.changePts(started.digits)
          yield* untilSo(Effect.map(getGaps(started), ({ length }) => length > skip + 1))
          written.push(`After ${skip + 1}`)
          yield* server.write(digits, started.digits, `After ${skip + 1}`)
          assert.deepStrictEqual(yield* awaitTexts(started, written.length), written)
        }
        return started
      }).pipe(Effect.provide(aProcess(gate)))
      const withGaps = gate.commits.filter(({ received }) =>
        received.some(({ _tag }) => _tag === "Gap"),
      )
      assert.deepStrictEqual(
        withGaps.map(({ keys }) => keys.some(({ id }) => id === "updates_pts")),
        Array.from({ length: skips }, () => true),
      )
      // The process that has the account next.
      yield* Effect.gen(function* () {
        yield* server.write(digits, receiver.digits, "Next")
        assert.deepStrictEqual(yield* awaitTexts(receiver, written.length + 1), [
          ...written,
          "Next",
        ])
      }).pipe(Effect.provide(aProcess(aGate())))
      const gaps = yield* getGaps(receiver)
      assert.deepStrictEqual(
        gaps.map(({ from, reason }) => [reason, isBetween(from, start)]),
        Array.from({ length: skips }, () => ["skipped", true]),
      )
    }),
  )

  it.effect("is one gap for each skip of a supergroup, and none of a news channel", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson()
      const start = Date.now()
      yield* Effect.gen(function* () {
        const receivers = [yield* aReceiver({ groups: true }), yield* aReceiver()] as const
        const [receiver, without] = receivers
        const members = [digits, ...receivers.map((each) => each.digits)]
        const groups = [
          yield* server.group("Crowd", members, "supergroup"),
          yield* server.group("Other crowd", members, "supergroup"),
          yield* server.group("News", members, "channel"),
        ]
        for (const group of groups) yield* server.write(digits, group, "Before")
        yield* awaitTexts(receiver, 2)
        for (const group of groups)
          yield* untilSo(Effect.map(statePts(receiver, group), (pts) => pts === 2))
        yield* server.down
        yield* server.limitDifferences({ tooLong: 4 })
        for (const group of groups) {
          for (let count = 0; count < 5; count++) yield* server.write(digits, group, "Lost")
        }
        yield* server.up
        yield* untilSo(Effect.map(getGaps(receiver), ({ length }) => length > 1))
        yield* server.limitDifferences({ tooLong: Infinity })
        for (const group of groups) yield* server.write(digits, group, "After")
        for (const each of receivers) yield* server.write(digits, each.digits, "End")
        assert.deepStrictEqual((yield* awaitTexts(receiver, 5)).toSorted(), [
          "After",
          "After",
          "Before",
          "Before",
          "End",
        ])
        assert.deepStrictEqual(yield* awaitTexts(without, 1), ["End"])
        const gaps = yield* getGaps(receiver)
        assert.deepStrictEqual(
          gaps.map(({ from, reason }) => [reason, isBetween(from, start)]),
          [
            ["skipped", true],
            ["skipped", true],
          ],
        )
        assert.deepStrictEqual(yield* getGaps(without), [])
      }).pipe(Effect.provide(aProcess(aGate())))
    }),
  )

  it.effect("of a supergroup that was silent until then is a gap above 99 events", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson()
      yield* Effect.gen(function* () {
        const receiver = yield* aReceiver({ groups: true })
        const members = [digits, receiver.digits]
        for (const [title, count] of [
          ["Few", 98],
          ["Many", 120],
        ] as const) {
          const crowd = yield* server.group(title, members, "supergroup")
          yield* server.down
          const written = Array.from({ length: count }, (_, index) => `${title} ${index}`)
          for (const text of written) yield* server.write(digits, crowd, text)
          yield* server.up
          written.push(`${title} live`)
          yield* server.write(digits, crowd, written.at(-1)!)
          const find = Effect.map(getTexts(receiver), (texts) =>
            texts.filter((text) => text.startsWith(title)),
          )
          yield* untilSo(Effect.map(find, (found) => found.at(-1) === written.at(-1)))
          const found = yield* find
          assert.isAtLeast(found.length, 99)
          assert.deepStrictEqual(found, written.slice(-found.length))
          assert.lengthOf(yield* getGaps(receiver), title === "Few" ? 0 : 1)
        }
      }).pipe(Effect.provide(aProcess(aGate())))
    }),
  )

  it.effect("is no history of a supergroup", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson()
      const account = yield* aPerson()
      const crowd = yield* server.group("Crowd", [digits, account.digits], "supergroup")
      const date = Math.floor(Date.now() / 1000) - 60
      for (const text of ["Old", "Older"]) yield* server.write(digits, crowd, { text, date })
      yield* Effect.gen(function* () {
        const receiver = yield* aReceiver({ groups: true, digits: account.digits })
        yield* server.down
        yield* server.write(digits, crowd, "New")
        yield* server.up
        assert.deepStrictEqual(yield* awaitTexts(receiver, 1), ["New"])
        assert.deepStrictEqual(yield* getGaps(receiver), [])
      }).pipe(Effect.provide(aProcess(aGate())))
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("a supergroup", (it) => {
  it.effect("is read on in slices after an absence, also after a failure and a kill", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson()
      const written = Array.from({ length: 8 }, (_, index) => `Away ${index}`)
      const receiver = yield* Effect.gen(function* () {
        const started = yield* aReceiver({ groups: true })
        const members = [digits, started.digits]
        const crowd = yield* server.group("Crowd", members, "supergroup")
        const first = yield* server.write(digits, crowd, "First")
        const second = yield* server.write(digits, crowd, "Second")
        yield* awaitTexts(started, 2)
        yield* server.limitDifferences({ slice: 3 })
        yield* server.down
        yield* server.edit(first, "First!")
        yield* server.remove(second)
        for (const text of written) yield* server.write(digits, crowd, text)
        const fault = { code: 400, error: "BUSY" }
        const method = "updates.getChannelDifference"
        yield* server.nextCall({ phone: started.digits, method, outcome: fault, times: 1000 })
        yield* server.up
        yield* server.until(() => server.ordersLeft(started.digits) < 997)
        yield* server.write(digits, started.digits, "Meanwhile")
        assert.deepStrictEqual(yield* awaitTexts(started, 3), ["First", "Second", "Meanwhile"])
        return started
      }).pipe(Effect.provide(aProcess(aGate(), { keepAliveMillis: 20 })))
      yield* server.forgetOrders(receiver.digits)
      const all = ["First!", "", "Meanwhile", ...written]
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* awaitTexts(receiver, all.length), all)
      }).pipe(Effect.provide(aProcess(aGate())))
      assert.deepStrictEqual(yield* getEvents(receiver, "message.edited", "message.revoked"), [
        ["message.edited", "First!"],
        ["message.revoked", ""],
      ])
      assert.deepStrictEqual(yield* getGaps(receiver), [])
    }),
  )

  it.effect("is asked for again once it can be read", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson()
      yield* Effect.gen(function* () {
        const receiver = yield* aReceiver({ groups: true })
        const crowd = yield* server.group("Crowd", [digits, receiver.digits], "supergroup")
        yield* server.write(digits, crowd, "First")
        yield* awaitTexts(receiver, 1)
        yield* server.write(digits, crowd, "Second", "lost")
        const outcome = { code: 400, error: "BUSY" }
        const method = "updates.getChannelDifference"
        yield* server.nextCall({ phone: receiver.digits, method, outcome, times: 3 })
        yield* server.write(digits, crowd, "Third")
        assert.deepStrictEqual(yield* awaitTexts(receiver, 3), ["First", "Second", "Third"])
        assert.deepStrictEqual(yield* getGaps(receiver), [])
      }).pipe(Effect.provide(aProcess(aGate(), { keepAliveMillis: 50 })))
    }),
  )
})

const upTo100 = Array.from({ length: 100 }, (_, index) => index + 1)

layer(Layer.merge(layerStores, layerServer))("a state that is behind", (it) => {
  it.effect("hears all again, and tells nothing twice", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson({ username: "behind_one" })
      const toCrowd = (receiver: Receiver) =>
        server.group("Crowd", [receiver.digits, digits], "supergroup")
      const [receiver, crowd] = yield* Effect.gen(function* () {
        const started = yield* aReceiver({ groups: true })
        const group = yield* toCrowd(started)
        for (let count = 0; count < 40; count++) {
          const to = count % 2 === 0 ? started.digits : group
          const message = yield* server.write(digits, to, `${count}`)
          yield* server.write(started.digits, count % 2 === 0 ? digits : group, `echo ${count}`)
          if (count % 4 < 2) yield* server.edit(message, `${count}!`)
          if (count % 8 > 5) yield* server.remove(message)
          if (count % 3 === 0) yield* server.react(digits, message, "👍")
          // This service's own, which are not echoes, read or not.
          yield* sendNow(aText(started, toUser("behind_one"), `sent ${count}`))
          yield* sendNow(aText(started, toSupergroup(group), `sent ${count}`))
          if (count === 20) yield* server.read(digits, started.digits)
        }
        yield* awaitTexts(started, 80)
        yield* awaitEvents(started, 20, "message.edited")
        yield* awaitEvents(started, 10, "message.revoked")
        return [started, group] as const
      }).pipe(Effect.provide(aProcess(aGate())))
      const [before, events] = [yield* receiver.received, yield* receiver.events]
      const behind = bySize({ change: [1, 2, 7, 50, 100], all: upTo100, night: upTo100 })
      const expected: Array<string> = []
      for (const [round, many] of behind.entries()) {
        for (const box of [null, crowd]) {
          yield* putPts(receiver, Math.max(1, (yield* statePts(receiver, box)) - many), box)
        }
        yield* server.limitDifferences({ slice: round % 2 === 0 ? 3 : 100 })
        yield* Effect.gen(function* () {
          yield* server.write(digits, crowd, `behind ${many}`)
          const message = yield* server.write(digits, receiver.digits, `behind ${many}`)
          for (const to of [toUser("behind_one"), toSupergroup(crowd)]) {
            assert.deepStrictEqual(yield* sendNow(aText(receiver, to, `sent ${many}`)), accepted)
          }
          yield* awaitTexts(receiver, 80 + 2 * (round + 1))
          yield* server.edit(message, `behind ${many}!`)
          expected.push(`behind ${many}`, `behind ${many}!`)
          yield* awaitEvents(receiver, 20 + round + 1, "message.edited")
        }).pipe(Effect.provide(aProcess(aGate())))
      }
      const after = yield* receiver.received
      assert.deepStrictEqual(after.slice(0, before.length), before)
      assert.deepStrictEqual(
        after
          .slice(before.length)
          .map(({ text }) => text)
          .toSorted(),
        expected.toSorted(),
      )
      const allEvents = yield* receiver.events
      assert.deepStrictEqual(allEvents.slice(0, events.length), events)
      // Each new message, and each edit of one, once: no echo of an own message, and no gap.
      assert.deepStrictEqual(
        allEvents
          .slice(events.length)
          .map(({ data, type }) => `${type} ${data.received_message?.text}`)
          .toSorted(),
        expected
          .flatMap((text) =>
            text.endsWith("!")
              ? [`message.edited ${text}`]
              : [`message.received ${text}`, `message.received ${text}`],
          )
          .toSorted(),
      )
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("edits within a second", (it) => {
  it.effect("all count, whichever process hears of them, and none twice", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson()
      const [receiver, message] = yield* Effect.gen(function* () {
        const started = yield* aReceiver()
        const written = yield* server.write(digits, started.digits, "First")
        yield* server.edit(written, "1")
        yield* awaitEvents(started, 1, "message.edited")
        return [started, written] as const
      }).pipe(Effect.provide(aProcess(aGate())))
      const second = message.editDate
      const texts = ["1", ...Array.from({ length: 10 }, (_, index) => `${index + 2}`)]
      for (const [round, text] of texts.slice(1).entries()) {
        yield* server.edit(message, text)
        message.editDate = second
        // Sometimes with a state before the former edits.
        if (round % 2 === 1)
          yield* putPts(receiver, Math.max(1, (yield* statePts(receiver)) - round))
        yield* awaitEvents(receiver, round + 2, "message.edited").pipe(
          Effect.provide(aProcess(aGate())),
        )
      }
      assert.deepStrictEqual(yield* getEvents(receiver, "message.received", "message.edited"), [
        ["message.received", "First"],
        ...texts.map((text) => ["message.edited", text] as const),
      ])
      assert.deepStrictEqual(yield* getTexts(receiver), [texts.at(-1)])
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("a process that is killed at any moment", (it) => {
  it.effect("stores every change once, in private chats and supergroups", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson({ username: "killed_two" })
      const [receiver, crowd] = yield* Effect.gen(function* () {
        const started = yield* aReceiver({ groups: true })
        const members = [started.digits, digits]
        return [started, yield* server.group("Crowd", members, "supergroup")] as const
      }).pipe(Effect.provide(aProcess(aGate())))
      const texts: Array<string> = []
      const kills = bySize({ change: 6, all: 30, night: 100 })
      for (let kill = 0; kill < kills; kill++) {
        const gate = aGate()
        yield* Effect.gen(function* () {
          // From before its connection opens until after its first commits.
          if (kill % 3 > 0) yield* awaitConnection(receiver.id, "connected")
          for (let count = 0; count < 4; count++) {
            const to = count % 2 === 0 ? receiver.digits : crowd
            const message = yield* server.write(digits, to, `${kill}.${count}`)
            if (count === kill % 4) gate.state = "dead"
            yield* server.edit(message, `${kill}.${count}!`)
            if (count > 1) yield* server.remove(message)
            else texts.push(`${kill}.${count}!`)
            if (count !== 1 || kill % 2 === 0) continue
            // This service's own, which are not echoes.
            for (const own of [toUser("killed_two"), toSupergroup(crowd)]) {
              yield* Effect.forkScoped(sendNow(aText(receiver, own)))
            }
          }
          if (kill % 3 > 0) yield* until(() => gate.refusals > 0)
        }).pipe(Effect.scoped, Effect.provide(aProcess(gate)))
      }
      yield* Effect.gen(function* () {
        for (const to of [receiver.digits, crowd]) yield* server.write(digits, to, "End")
        yield* untilSo(
          Effect.map(getTexts(receiver), (all) => all.filter((text) => text === "End").length > 1),
        )
      }).pipe(Effect.provide(aProcess(aGate())))
      const found = yield* getTexts(receiver)
      // Telegram leaves out a message that was removed before the account received it.
      const remaining = found.filter((text) => text !== "")
      assert.deepStrictEqual(remaining.toSorted(), [...texts, "End", "End"].toSorted())
      const revoked = yield* getEvents(receiver, "message.revoked")
      assert.lengthOf(revoked, found.length - remaining.length)
      assert.deepStrictEqual(yield* getGaps(receiver), [])
    }),
  )
})
