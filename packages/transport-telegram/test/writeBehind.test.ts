/** An account's reads and writes of the vault, and what the library learns of its box. */
import { assert, describe, it } from "@effect/vitest"
import type { Incoming, IncomingMessage, TransportId } from "@messaging-service/core"
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { Effect, Fiber } from "effect"
import { makeOwnChanges, makeSentMessages } from "../src/Account.ts"
import { keysInMemory, writeBehind, sentType } from "../src/storage.ts"
import type { WriteBehind } from "../src/storage.ts"
import { until, untilSo } from "./LiveWorld.ts"

/** A vault that records its reads. */
const aPosition = (pauses = { soon: 1, later: 10 }) => {
  const inner = keysInMemory([{ type: "peer", id: "7", value: "seven" }])
  const reads: Array<string> = []
  const writes: Array<string> = []
  const place = writeBehind(
    {
      ...inner,
      read: (type, id) => {
        reads.push(`${type} ${id}`)
        return inner.read(type, id)
      },
      write: (changes) => {
        writes.push(changes.map(({ id, value }) => `${id}=${value}`).join(" "))
        return inner.write(changes)
      },
    },
    pauses,
  )
  return { inner, place, reads, writes }
}

const set = (keyStorage: WriteBehind, type: string, id: string, value: string | null) =>
  Effect.promise(() => keyStorage.write([{ type, id, value }]))

const one: IncomingMessage = {
  _tag: "Message",
  remoteId: "5",
  mode: "live",
  fromMe: false,
  group: null,
  person: null,
  kind: "text",
  text: "Hello",
  content: null,
  file: null,
  quote: null,
  sentAt: 0,
}

/** The end of a turn of the library. */
const saveState = (place: WriteBehind, pts: string, received: ReadonlyArray<Incoming> = []) =>
  Effect.promise(() => {
    place.setState({ type: "state", id: "updates_pts", value: pts })
    return place.save(() => Promise.resolve(received))
  })

const get = (keyStorage: WriteBehind, type: string, id: string) =>
  Effect.promise(() => keyStorage.read(type, id))

describe("an account's stored state", () => {
  it.effect("is read once, and not at all after it was written", () =>
    Effect.gen(function* () {
      const { place, reads, writes } = aPosition()
      for (let time = 0; time < 3; time++) {
        assert.strictEqual(yield* get(place, "peer", "7"), "seven")
        assert.isNull(yield* get(place, "peer", "8"))
      }
      yield* set(place, "sent", "7", "one")
      assert.strictEqual(yield* get(place, "sent", "7"), "one")
      yield* set(place, "sent", "7", null)
      assert.isNull(yield* get(place, "sent", "7"))
      assert.deepStrictEqual(reads, ["peer 7", "peer 8"])
      assert.deepStrictEqual(writes, ["7=one", "7=null"])
      yield* Effect.promise(() => place.clear("peer"))
      assert.isNull(yield* get(place, "peer", "7"))
    }),
  )

  it.effect("first writes the read position of its box at once, and then the latest one", () =>
    Effect.gen(function* () {
      const { place, writes } = aPosition()
      for (const value of ["1", "2", "3"]) yield* saveState(place, value)
      yield* set(place, "state", "future_salts", "now")
      assert.deepStrictEqual(writes, ["updates_pts=1", "future_salts=now"])
      assert.strictEqual(yield* get(place, "state", "updates_pts"), "3")
      yield* until(() => writes.length > 2)
      assert.deepStrictEqual(writes.slice(2), ["updates_pts=3"])
    }),
  )

  it.effect("never overtakes the updates before it, whatever else is written", () =>
    Effect.gen(function* () {
      const inner = keysInMemory([])
      const blocked = Promise.withResolvers<void>()
      const writes: Array<string> = []
      const keyStorage = writeBehind(
        {
          ...inner,
          write: async (changes, received = []) => {
            const ids = received.flatMap((each) => (each._tag === "Message" ? each.remoteId : []))
            writes.push([...changes.map(({ id, value }) => `${id}=${value}`), ...ids].join(" "))
            if (ids.length > 0) await blocked.promise
            return inner.write(changes)
          },
        },
        { soon: 1, later: 1 },
      )
      const stored = Effect.promise(() => inner.read("state", "updates_pts"))
      yield* saveState(keyStorage, "1")
      yield* saveState(keyStorage, "2")
      const saving = yield* Effect.forkChild(saveState(keyStorage, "3", [one]))
      yield* until(() => writes.length === 2)
      // Others write meanwhile, and the library saves in the middle of its next turn.
      keyStorage.later("sent", "7", () => "sent")
      const next = yield* Effect.forkChild(saveState(keyStorage, "4"))
      const middle = yield* Effect.forkChild(
        Effect.promise(() => keyStorage.save(() => Promise.resolve([one]))),
      )
      yield* until(() => true)
      assert.deepStrictEqual(
        [saving, next, middle].map((each) => each.pollUnsafe()),
        [undefined, undefined, undefined],
      )
      assert.strictEqual(yield* stored, "1")
      assert.strictEqual(yield* get(keyStorage, "state", "updates_pts"), "4")
      blocked.resolve()
      yield* Fiber.join(middle)
      yield* untilSo(Effect.map(stored, (pts) => pts === "4"))
      assert.deepStrictEqual(writes.slice(0, 2), ["updates_pts=1", "updates_pts=3 5"])
    }),
  )

  it.effect("is not counted as stored when its commit fails", () =>
    Effect.gen(function* () {
      const inner = keysInMemory([])
      const keyStorage = writeBehind({
        ...inner,
        write: (changes, received = []) =>
          received.length > 0 ? Promise.reject(new Error("no commit")) : inner.write(changes),
      })
      yield* saveState(keyStorage, "1")
      const saving = yield* Effect.forkChild(saveState(keyStorage, "2", [one]))
      const next = yield* Effect.forkChild(saveState(keyStorage, "3"))
      yield* until(() => true)
      yield* until(() => true)
      assert.deepStrictEqual([saving.pollUnsafe(), next.pollUnsafe()], [undefined, undefined])
      assert.strictEqual(yield* Effect.promise(() => inner.read("state", "updates_pts")), "1")
    }),
  )

  it.effect("is not written any more once the account was released", () =>
    Effect.gen(function* () {
      const { place, writes } = aPosition()
      const other = aPosition()
      for (const value of ["1", "2"]) yield* saveState(place, value)
      yield* Effect.promise(() => place.end(false))
      // Begun later, and so due later.
      for (const value of ["1", "2"]) yield* saveState(other.place, value)
      yield* until(() => other.writes.length === 2)
      assert.deepStrictEqual(writes, ["updates_pts=1"])
    }),
  )

  it.effect("writes sent messages soon, and then once for all of a second", () =>
    Effect.gen(function* () {
      const { inner, place, writes } = aPosition({ soon: 1, later: 10 })
      const sent = makeSentMessages(place, () => undefined)
      const of = (peer: number) => Effect.promise(() => inner.read(sentType, String(peer)))
      sent.add(7, 1, "A" as TransportId)
      yield* until(() => writes.length === 1)
      for (const [at, id] of ["B", "C", "D"].entries()) sent.add(7, at + 2, id as TransportId)
      sent.add(8, 5, "E" as TransportId)
      yield* until(() => writes.length === 2)
      assert.strictEqual(yield* of(7), '[[1,"A"],[2,"B"],[3,"C"],[4,"D"]]')
      assert.strictEqual(yield* of(8), '[[5,"E"]]')
      assert.deepStrictEqual(yield* Effect.promise(() => sent.readUpTo(7, 3)), [
        "A",
        "B",
        "C",
      ] as Array<TransportId>)
      assert.deepStrictEqual(yield* Effect.promise(() => sent.readUpTo(7, 3)), [])
      yield* until(() => writes.length === 3)
      // Read ones may still be quoted.
      assert.strictEqual(yield* of(7), '[[1,"A",1],[2,"B",1],[3,"C",1],[4,"D"]]')
      assert.strictEqual(yield* Effect.promise(() => sent.find(7, 2)), "B" as TransportId)
      assert.isNull(yield* Effect.promise(() => sent.find(8, 2)))
      // Like the process that has the account next.
      const next = makeSentMessages(writeBehind(inner), () => undefined)
      assert.deepStrictEqual(yield* Effect.promise(() => next.readUpTo(7, 9)), [
        "D",
      ] as Array<TransportId>)
    }),
  )

  it.effect("can be read during a write, and later changes are written after it", () =>
    Effect.gen(function* () {
      const inner = keysInMemory([])
      const blocked = Promise.withResolvers<void>()
      const writes: Array<number> = []
      const keyStorage = writeBehind(
        {
          ...inner,
          write: async (changes) => {
            writes.push(changes.length)
            await blocked.promise
            return inner.write(changes)
          },
        },
        { soon: 1, later: 1 },
      )
      keyStorage.later("sent", "7", () => "one")
      yield* until(() => writes.length === 1)
      for (let id = 0; id < 200; id++) {
        keyStorage.later("other", String(id), () => "full")
        // More than the cache holds.
        yield* get(keyStorage, "peer", String(id))
      }
      assert.strictEqual(yield* get(keyStorage, "sent", "7"), "one")
      const other = writeBehind(inner, { soon: 5, later: 5 })
      other.later("sent", "8", () => "two")
      yield* untilSo(
        Effect.map(
          Effect.promise(() => inner.read("sent", "8")),
          (it) => it !== null,
        ),
      )
      assert.lengthOf(writes, 1)
      blocked.resolve()
      yield* until(() => writes.length === 2)
      assert.deepStrictEqual(writes, [1, 200])
    }),
  )

  it.effect("is written completely when the account is released cleanly", () =>
    Effect.gen(function* () {
      const { inner, place, writes } = aPosition({ soon: 60_000, later: 60_000 })
      place.later("sent", "7", () => "one")
      yield* Effect.promise(() => place.end(true))
      assert.strictEqual(yield* Effect.promise(() => inner.read("sent", "7")), "one")
      place.later("sent", "7", () => "two")
      yield* Effect.promise(() => place.end(true))
      yield* Effect.promise(() => place.end(true))
      assert.lengthOf(writes, 2)
    }),
  )
})

describe("an account's own changes of its box", () => {
  const shortAnswer = (pts: number): tl.RawUpdateShortSentMessage => ({
    _: "updateShortSentMessage",
    out: true,
    id: pts,
    pts,
    ptsCount: 1,
    date: pts,
  })

  /** The library's steps: each with its end and its number of changes. */
  const aLibrary = (laterMillis: number) => {
    const heard: Array<ReadonlyArray<number> | string> = []
    const changes = makeOwnChanges(
      {
        handleClientUpdate: (reported) => {
          const steps = reported._ === "updates" ? reported.updates : []
          for (const step of steps) {
            heard.push(step._ === "mtcute.dummyUpdate" ? [step.pts, step.ptsCount] : step._)
          }
        },
      },
      laterMillis,
    )
    return { changes, heard }
  }

  it.effect("are one step when consecutive, and handed over by themselves in time", () =>
    Effect.gen(function* () {
      const { changes, heard } = aLibrary(1)
      for (const pts of [11, 12, 13]) changes.add(shortAnswer(pts))
      assert.deepStrictEqual(heard, [])
      yield* until(() => heard.length > 0)
      assert.deepStrictEqual(heard, [[13, 3]])
    }),
  )

  it("are handed over before later changes, and never across changes in between", () => {
    const { changes, heard } = aLibrary(60_000)
    changes.add(shortAnswer(11))
    changes.add(shortAnswer(13))
    assert.deepStrictEqual(heard, [[11, 1]])
    changes.handOver()
    changes.handOver()
    assert.deepStrictEqual(heard, [
      [11, 1],
      [13, 1],
    ])
    changes.add(shortAnswer(14))
    const file: tl.RawUpdateMessageID = { _: "updateMessageID", id: 1, randomId: Long.ONE }
    changes.add({ _: "updates", updates: [file], users: [], chats: [], date: 0, seq: 0 })
    assert.deepStrictEqual(heard.slice(2), [[14, 1], "updateMessageID"])
  })
})
