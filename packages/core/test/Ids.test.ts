import { assert, describe, it } from "@effect/vitest"
import { Effect, Random, Schema } from "effect"
import { Ids, eventId, fromIndexes, parseId, requestId, transportId } from "../src/model/Ids.ts"

describe("ids", () => {
  const drawn = (seed: string) =>
    Effect.gen(function* () {
      const ids = yield* Ids
      return [requestId(ids), eventId(ids, 0), transportId(ids), ids.hex(40), ids.alphanumeric(38)]
    }).pipe(Effect.provide(Ids.layerRandom), Random.withSeed(seed))

  it.effect("start with req_ or evt_, then 24 letters and digits or 20 hexadecimal capitals", () =>
    Effect.gen(function* () {
      const [request, event, transport, hex, alphanumeric] = yield* drawn("ids")
      assert.match(request ?? "", /^req_[0-9A-Za-z]{24}$/)
      assert.match(event ?? "", /^evt_[0-9A-Za-z]{24}$/)
      assert.match(transport ?? "", /^[0-9A-F]{20}$/)
      assert.match(hex ?? "", /^[0-9a-f]{40}$/)
      assert.match(alphanumeric ?? "", /^[0-9A-Za-z]{38}$/)
    }),
  )

  it.effect("are the same for the same seed, and differ for another", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* drawn("one"), yield* drawn("one"))
      assert.notDeepEqual(yield* drawn("one"), yield* drawn("two"))
    }),
  )

  it.effect("of events sort by time", () =>
    Effect.sync(() => {
      const ids = fromIndexes(() => 61)
      const times = [0, 61, 62, 3_843, 3_844, 1_772_452_800_000, 1_772_452_800_001, 8.64e13]
      const eventIds = times.map((time) => eventId(ids, time))
      for (const id of eventIds) assert.match(id, /^evt_[0-9A-Za-z]{8}z{16}$/)
      const byBytes = eventIds.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      assert.deepStrictEqual(byBytes, eventIds)
      assert.strictEqual(new Set(eventIds).size, eventIds.length)
    }),
  )

  it.effect("use every symbol of their alphabet", () =>
    Effect.sync(() => {
      let next = 0
      const ids = fromIndexes((bound) => next++ % bound)
      assert.strictEqual(new Set(ids.alphanumeric(62)).size, 62)
      next = 0
      assert.strictEqual(new Set(ids.hex(16)).size, 16)
    }),
  )
})

describe("an id in a path", () => {
  it.effect("is a positive safe integer in plain digits", () =>
    Effect.sync(() => {
      assert.strictEqual(parseId<number>("1"), 1)
      assert.strictEqual(parseId<number>("9007199254740991"), Number.MAX_SAFE_INTEGER)
      for (const text of [
        "",
        "0",
        "-1",
        "+1",
        "01",
        "1.0",
        "1e3",
        "0x1",
        " 1",
        "1 ",
        "1\n",
        "\u0661",
        "abc",
        "9007199254740992",
        "9".repeat(400),
      ]) {
        assert.isUndefined(parseId<number>(text), JSON.stringify(text))
      }
    }),
  )

  it.effect.prop(
    "survives a round trip",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))],
    ([id]) => Effect.sync(() => assert.strictEqual(parseId<number>(String(id)), id)),
  )
})
