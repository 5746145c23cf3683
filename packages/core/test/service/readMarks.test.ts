/** Chats that are marked as read, and what the worker tells the remote of it. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import {
  Chats,
  Conversations,
  makeNewReceived,
  Numbers,
  Store,
  unknownPerson,
} from "../../src/index.ts"
import type {
  NumberId,
  ReadMark,
  ReadMarkOutcome,
  Transport,
  WorkspaceId,
} from "../../src/index.ts"
import { code, logOut, reconnect } from "./Operations.ts"
import {
  aKey,
  aSender,
  day,
  inAService,
  layerTransports,
  minute,
  noon,
  pass,
  second,
  settled,
} from "./Service.ts"

const marked: ReadMarkOutcome = { _tag: "Marked" }

/** A transport that answers marks in this order, and then that it marked them. */
const scripted = (...answers: ReadonlyArray<Effect.Effect<ReadMarkOutcome>>) => {
  const calls: Array<{ readonly at: number; readonly mark: ReadMark }> = []
  const transport: Transport = {
    dropsCopies: true,
    send: () => Effect.succeed({ _tag: "Accepted" }),
    listen: () => Effect.never,
    markRead: (mark) =>
      Effect.gen(function* () {
        calls.push({ at: (yield* Clock.currentTimeMillis) - noon, mark })
        return yield* answers[calls.length - 1] ?? Effect.succeed(marked)
      }),
  }
  return { calls, transport: layerTransports(transport) }
}

const turnOn = (workspaceId: WorkspaceId) =>
  Conversations.use((all) => all.put("owner", workspaceId, {}))

/** A person writes so many messages. */
const written = (number: NumberId, count: number) =>
  Effect.gen(function* () {
    const { chats } = yield* Store
    const newReceived = yield* makeNewReceived
    const now = yield* Clock.currentTimeMillis
    const texts = Array.from({ length: count }, (_, index) => ({
      _tag: "Message" as const,
      remoteId: `R${index} ${now}`,
      mode: "live" as const,
      fromMe: false,
      group: null,
      person: { ...unknownPerson, phone: "+15550001234" },
      kind: "text" as const,
      text: "Hello",
      content: null,
      file: null,
      quote: null,
      sentAt: now,
    }))
    const outcomes = yield* chats.receive(number, newReceived(number, texts, now), now)
    return outcomes.map(({ id }) => id!)
  })

const aReader = Effect.gen(function* () {
  const { number, workspace } = yield* aSender()
  yield* turnOn(workspace)
  const key = yield* aKey(workspace)
  const ids = yield* written(number, 3)
  const { items } = yield* Chats.use((all) => all.list(key, {}))
  const chat = items[0]!.id
  const read = (upTo: number, idempotency: Parameters<typeof mark>[3] = null) =>
    mark(key, chat, upTo, idempotency)
  return { number, workspace, key, ids, chat, read }
})

const mark = (
  key: Parameters<(typeof Chats.Service)["markRead"]>[0],
  chat: Parameters<(typeof Chats.Service)["markRead"]>[1],
  upTo: number,
  idempotency: Parameters<(typeof Chats.Service)["markRead"]>[3],
) => Chats.use((all) => all.markRead(key, chat, { upTo }, idempotency))

const getMarks = (calls: ReadonlyArray<{ readonly mark: ReadMark }>) =>
  calls.map(({ mark: { upTo } }) => upTo)

describe("a chat that is marked as read", () => {
  it.effect("reaches the remote at once while its number is connected", () => {
    const { calls, transport } = scripted()
    return inAService(
      Effect.gen(function* () {
        const { chat, ids, number, read } = yield* aReader
        assert.deepStrictEqual((yield* read(ids[1]!)).answer, { chatId: chat, upTo: ids[1] })
        yield* settled
        assert.deepStrictEqual(getMarks(calls), [ids[1]])
        assert.deepStrictEqual(
          calls[0]!.mark.messages.map(({ remoteId }) => remoteId.slice(0, 2)),
          ["R1", "R0"],
        )
        // It never goes back, and nothing is repeated.
        assert.deepStrictEqual((yield* read(ids[0]!)).answer.upTo, ids[1])
        yield* pass(day)
        assert.lengthOf(calls, 1)
        assert.deepStrictEqual(yield* Store.use(({ chats }) => chats.settledReadMarks(number)), [
          { chatId: chat, upTo: ids[1]!, at: noon },
        ])
      }),
      { transport },
    )
  })

  it.effect("reaches the remote once, for the furthest mark, when its number is back", () => {
    const { calls, transport } = scripted()
    return inAService(
      Effect.gen(function* () {
        const { ids, number, read } = yield* aReader
        yield* logOut(number)
        for (const id of ids) yield* read(id)
        yield* pass(day)
        assert.deepStrictEqual(calls, [])
        yield* reconnect(number)
        yield* settled
        assert.deepStrictEqual(getMarks(calls), [ids[2]])
      }),
      { transport },
    )
  })

  const troubles: ReadonlyArray<
    readonly [what: string, answer: Effect.Effect<ReadMarkOutcome>, again: number]
  > = [
    ["cannot tell", Effect.succeed({ _tag: "Unknown" }), 15 * second],
    ["breaks", Effect.die(new Error("a bug")), 15 * second],
    ["does not answer", Effect.never, 35 * second],
    ["asks for a pause", Effect.succeed({ _tag: "Postponed", afterMillis: minute }), minute],
  ]
  it.effect.each(troubles)("is marked again when the remote %s", ([, answer, again]) => {
    const { calls, transport } = scripted(answer)
    return inAService(
      Effect.gen(function* () {
        const { ids, read } = yield* aReader
        yield* read(ids[2]!)
        yield* pass(day)
        assert.deepStrictEqual(getMarks(calls), [ids[2], ids[2]])
        assert.deepStrictEqual(
          calls.map(({ at }) => at),
          [0, again],
        )
      }),
      { transport },
    )
  })

  it.effect("waits for the connection that the remote says is lost", () => {
    const { calls, transport } = scripted(Effect.succeed({ _tag: "NotConnected" }))
    return inAService(
      Effect.gen(function* () {
        const { ids, number, read, workspace } = yield* aReader
        yield* read(ids[0]!)
        yield* pass(day)
        assert.lengthOf(calls, 1)
        const [only] = yield* Numbers.use((numbers) => numbers.list("owner", workspace))
        assert.strictEqual(only?.status, "disconnected")
        yield* reconnect(number)
        yield* settled
        assert.lengthOf(calls, 2)
      }),
      { transport },
    )
  })

  it.effect("refuses a chat or a message that is none of it, and repeats its first answer", () => {
    const { transport } = scripted()
    return inAService(
      Effect.gen(function* () {
        const { chat, ids, key, read } = yield* aReader
        const unknown = 999_999
        const wrong = mark(key, unknown as typeof chat, ids[0]!, null)
        assert.strictEqual(yield* code(wrong), "chat_not_found")
        assert.strictEqual(yield* code(read(unknown)), "received_message_not_found")
        assert.strictEqual(yield* code(read(1.5)), "validation_failed")
        const idempotency = { key: "once", fingerprint: "a" }
        const first = yield* read(ids[0]!, idempotency)
        yield* read(ids[2]!)
        assert.deepStrictEqual(yield* read(ids[0]!, idempotency), { ...first, replayed: true })
        const other = read(ids[1]!, { ...idempotency, fingerprint: "b" })
        assert.strictEqual(yield* code(other), "idempotency_key_reused")
      }),
      { transport },
    )
  })

  it.effect("is marked without a remote that knows no marks", () => {
    const rest: Transport = {
      dropsCopies: true,
      send: () => Effect.succeed({ _tag: "Accepted" }),
      listen: () => Effect.never,
    }
    return inAService(
      Effect.gen(function* () {
        const { ids, number, read } = yield* aReader
        yield* read(ids[2]!)
        yield* settled
        const marks = yield* Store.use(({ chats }) => chats.settledReadMarks(number))
        assert.lengthOf(marks, 1)
      }),
      { transport: layerTransports(rest) },
    )
  })
})
