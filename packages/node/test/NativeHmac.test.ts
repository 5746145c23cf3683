import { assert, describe, it } from "@effect/vitest"
import { HmacSha256 } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { layerNativeHmac } from "../src/NodeServices.ts"

describe("layerNativeHmac", () => {
  it.effect.prop(
    "equals the portable one, whatever the key and the text",
    [Schema.String, Schema.String],
    ([key, text]) =>
      Effect.gen(function* () {
        const portable = yield* HmacSha256
        const native = yield* Effect.provide(HmacSha256, layerNativeHmac)
        assert.notStrictEqual(native, portable)
        assert.strictEqual(native(key, text), portable(key, text))
      }),
  )
})
