/** Clients that missed something ask for it, and get it in order, in parts, or hear that it is skipped. */
import { assert, it } from "@effect/vitest"
import { Long } from "@mtcute/node"
import { Effect } from "effect"
import {
  calling,
  comeBack,
  leave,
  listen,
  next,
  recipient,
  send,
  sender,
  sending,
  takeTexts,
} from "./Client.ts"

/** An account that has met the other person, and its group with a box of its own. */
const met = Effect.gen(function* () {
  const { client, server, storage } = yield* sending
  const supergroup = yield* server.group("Crowd", [sender, recipient], "supergroup")
  const updates = yield* listen(client)
  yield* server.write(recipient, sender, "Hello")
  yield* server.write(recipient, supergroup, "Hello all")
  yield* next(updates, "updateNewChannelMessage")
  // By the answer the library has stored its state.
  yield* calling(() => client.call({ _: "updates.getState" }))
  return { client, server, storage, supergroup, updates }
})

const write = (
  server: Effect.Success<typeof met>["server"],
  to: Parameters<typeof server.write>[1],
  texts: ReadonlyArray<string>,
) => Effect.forEach(texts, (text) => server.write(recipient, to, text))

const many = ["One", "Two", "Three", "Four", "Five"]
const numbered = (first: number) => many.map((text, index) => [first + index, text] as const)

it.effect("what came during an absence comes in parts, each message once and in order", () =>
  Effect.gen(function* () {
    const { client, server, storage } = yield* met
    yield* leave(client)
    yield* server.limitDifferences({ slice: 2 })
    yield* write(server, sender, many)
    const { updates } = yield* comeBack(server, storage)
    assert.deepStrictEqual(yield* takeTexts(updates, many.length), numbered(2))
    yield* server.write(recipient, sender, "Live")
    assert.deepStrictEqual(yield* takeTexts(updates, 1), [[7, "Live"]])
    assert.deepStrictEqual(server.complaints(), [])
  }),
)

it.effect("too much is skipped, and the account hears what comes after it", () =>
  Effect.gen(function* () {
    const { client, server, storage } = yield* met
    yield* leave(client)
    yield* server.limitDifferences({ tooLong: 4 })
    yield* write(server, sender, many)
    const before = server.calls(sender, "updates.getDifference")
    const again = yield* comeBack(server, storage)
    yield* server.until(() => server.calls(sender, "updates.getDifference") > before)
    yield* server.write(recipient, sender, "Live")
    assert.deepStrictEqual(yield* takeTexts(again.updates, 1), [[7, "Live"]])
  }),
)

it.effect("a channel's own difference comes in parts", () =>
  Effect.gen(function* () {
    const { client, server, storage, supergroup } = yield* met
    yield* leave(client)
    yield* server.limitDifferences({ slice: 2 })
    const [first, second] = yield* write(server, supergroup, many)
    yield* server.edit(first!, "First")
    yield* server.remove(second!)
    const { updates } = yield* comeBack(server, storage)
    // Messages are as they are now; of what was removed there is the id.
    const found = yield* takeTexts(updates, 4, "updateNewChannelMessage")
    assert.deepStrictEqual(found, [
      [2, "First"],
      [4, "Three"],
      [5, "Four"],
      [6, "Five"],
    ])
    const removed = yield* next(updates, "updateDeleteChannelMessages")
    assert.deepStrictEqual(removed.messages, [3])
    yield* server.write(recipient, supergroup, "Live")
    assert.deepStrictEqual(yield* takeTexts(updates, 1, "updateNewChannelMessage"), [[7, "Live"]])
    assert.deepStrictEqual(server.complaints(), [])
  }),
)

it.effect("too much of a channel is skipped, up to its latest messages", () =>
  Effect.gen(function* () {
    const { client, server, supergroup } = yield* met
    const channel = yield* calling(() => client.resolveChannel(-1_000_000_000_000 - supergroup.id))
    yield* write(server, supergroup, many)
    yield* server.limitDifferences({ tooLong: 4 })
    const request = (pts: number) =>
      calling(() =>
        client.call({
          _: "updates.getChannelDifference",
          channel,
          filter: { _: "channelMessagesFilterEmpty" },
          pts,
          limit: 3,
        }),
      )
    const skipped = yield* request(1)
    assert.strictEqual(skipped._, "updates.channelDifferenceTooLong")
    if (skipped._ !== "updates.channelDifferenceTooLong") return
    assert.deepStrictEqual(
      skipped.messages.map(({ id }) => id),
      [6, 5, 4],
    )
    assert.isTrue(skipped.dialog._ === "dialog" && skipped.dialog.pts === 7)
    assert.strictEqual((yield* request(7))._, "updates.channelDifferenceEmpty")
    assert.strictEqual((yield* Effect.flip(request(8))).text, "PERSISTENT_TIMESTAMP_INVALID")
  }),
)

it.effect("a client asks for an update that never arrived, in a box and in a channel", () =>
  Effect.gen(function* () {
    const { server, supergroup, updates } = yield* met
    for (const [to, kind] of [
      [sender, "updateNewMessage"],
      [supergroup, "updateNewChannelMessage"],
    ] as const) {
      const lost = yield* server.write(recipient, to, "Frist", "lost")
      yield* server.edit(lost, "First", "lost")
      for (const text of ["Second", "Third"]) yield* server.write(recipient, to, text)
      const found = yield* takeTexts(updates, 3, kind)
      assert.deepStrictEqual(found, [
        [2, "First"],
        [3, "Second"],
        [4, "Third"],
      ])
    }
    assert.deepStrictEqual(server.complaints(), [])
  }),
)

it.effect("a reaction that was lost leaves a gap that the client closes", () =>
  Effect.gen(function* () {
    const { client, server, updates } = yield* met
    yield* send(client, Long.fromNumber(1))
    const [message] = server.messagesBy(sender)
    yield* server.react(recipient, message!, "👍", "lost")
    yield* server.react(recipient, message!, "❤")
    const { reactions } = yield* next(updates, "updateMessageReactions")
    assert.deepStrictEqual(
      reactions.results.map(({ reaction }) => reaction),
      [{ _: "reactionEmoji", emoticon: "❤" }],
    )
    const { seq } = yield* calling(() => client.call({ _: "updates.getState" }))
    assert.strictEqual(seq, 2)
  }),
)

it.effect(
  "a state that is behind gets all again, the account's own sends with the ids it drew",
  () =>
    Effect.gen(function* () {
      const { client, server, storage } = yield* met
      const before = yield* calling(() => client.call({ _: "updates.getState" }))
      yield* server.write(recipient, sender, "Question")
      yield* send(client, Long.fromNumber(77), "Answer")
      const { pts } = yield* calling(() => client.call({ _: "updates.getState" }))
      yield* leave(client)
      const bytes = (value: number) => {
        const buffer = Buffer.alloc(4)
        buffer.writeInt32LE(value)
        return new Uint8Array(buffer)
      }
      yield* Effect.promise(async () => storage.kv.set("updates_pts", bytes(before.pts)))
      const { updates } = yield* comeBack(server, storage)
      assert.deepStrictEqual(yield* takeTexts(updates, 2), [
        [2, "Question"],
        [3, "Answer"],
      ])
      const { id, randomId } = yield* next(updates, "updateMessageID")
      assert.deepStrictEqual([id, randomId.toNumber(), pts - before.pts], [3, 77, 2])
    }),
)

it.effect("a box that counts from its start again forgets what was missed", () =>
  Effect.gen(function* () {
    const { server, updates } = yield* met
    yield* write(server, sender, many)
    yield* takeTexts(updates, many.length)
    yield* server.write(recipient, sender, "Missed", "lost")
    const calls = () => server.calls(sender, "updates.getDifference")
    const before = calls()
    yield* server.changePts(sender)
    // The client asks for the new state, and for what came meanwhile, which the library drops.
    yield* server.until(() => calls() > before)
    yield* server.write(recipient, sender, "Live")
    assert.deepStrictEqual(yield* takeTexts(updates, 1), [[8, "Live"]])
  }),
)

it.effect("an account that is no member of a channel may not ask for its difference", () =>
  Effect.gen(function* () {
    const { client, server, supergroup } = yield* met
    const channel = yield* calling(() => client.resolveChannel(-1_000_000_000_000 - supergroup.id))
    const request = calling(() =>
      client.call({
        _: "updates.getChannelDifference",
        channel,
        filter: { _: "channelMessagesFilterEmpty" },
        pts: 1,
        limit: 100,
      }),
    )
    assert.strictEqual((yield* request)._, "updates.channelDifference")
    yield* server.leave(sender, supergroup)
    assert.strictEqual((yield* Effect.flip(request)).text, "CHANNEL_PRIVATE")
  }),
)
