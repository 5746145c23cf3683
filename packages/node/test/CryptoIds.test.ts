import { assert, describe, it } from "@effect/vitest"
import { Ids, requestId } from "@messaging-service/core"
import { Effect } from "effect"
import { layerCryptoIds, uniformIndexes } from "../src/NodeServices.ts"

describe("layerCryptoIds", () => {
  it.effect("request ids are letters and digits only, and never repeat", () =>
    Effect.gen(function* () {
      const ids = yield* Ids
      const created = Array.from({ length: 10_000 }, () => requestId(ids))
      for (const id of created) assert.match(id, /^req_[0-9A-Za-z]{24}$/)
      assert.strictEqual(new Set(created).size, created.length)
    }).pipe(Effect.provide(layerCryptoIds)),
  )

  it.effect("hexadecimal digits are lower case", () =>
    Effect.gen(function* () {
      const ids = yield* Ids
      assert.match(ids.hex(4096), /^[0-9a-f]{4096}$/)
    }).pipe(Effect.provide(layerCryptoIds)),
  )
})

describe("uniformIndexes", () => {
  // Every byte value equally often: the output must then be exactly even.
  const evenBytes = () => {
    let next = 0
    return uniformIndexes((pool) => {
      for (let i = 0; i < pool.length; i++) pool[i] = next++ & 0xff
    })
  }

  for (const bound of [1, 2, 3, 10, 16, 62, 200, 255, 256]) {
    it(`no index below ${bound} is likelier than another`, () => {
      const index = evenBytes()
      const counts = Array.from({ length: bound }, () => 0)
      const rounds = Math.floor(256 / bound) * 32
      for (let i = 0; i < bound * rounds; i++) counts[index(bound)]!++
      for (const count of counts) assert.strictEqual(count, rounds)
    })
  }
})
