import { assert, describe, it } from "@effect/vitest"
import { Effect, Random, Schema } from "effect"
import { Ids } from "../../src/model/Ids.ts"
import { isKeyV1, isKeyV2, makeKeyV1, makeKeyV2 } from "../../src/model/Auth.ts"
import { hashSecret, sameSecret } from "../../src/model/Secrets.ts"

describe("the text of a key", () => {
  const body = "a1B2c3".repeat(7).slice(0, 38)

  it.effect("a version 2 key is svc_live_ or svc_test_ and 38 letters and digits", () =>
    Effect.sync(() => {
      for (const key of [`svc_live_${body}`, `svc_test_${body}`]) assert.isTrue(isKeyV2(key), key)
      for (const key of [
        "",
        body,
        `svc_${body}`,
        `svc_prod_${body}`,
        `SVC_LIVE_${body}`,
        `svc_live_${body.slice(1)}`,
        `svc_live_${body}x`,
        `svc_live_${body.slice(1)}-`,
        `svc_live_${body.slice(1)}\u00e9`,
        `svc_live_${body}\n`,
        ` svc_live_${body}`,
      ]) {
        assert.isFalse(isKeyV2(key), key)
      }
    }),
  )

  it.effect("a version 1 key is 40 characters, digits and letters a to f", () =>
    Effect.sync(() => {
      const key = "0123456789abcdef".repeat(3).slice(0, 40)
      assert.isTrue(isKeyV1(key))
      for (const other of ["", key.slice(1), `${key}0`, key.toUpperCase(), `g${key.slice(1)}`]) {
        assert.isFalse(isKeyV1(other), other)
      }
    }),
  )

  it.effect("generated keys have these forms and never repeat", () =>
    Effect.gen(function* () {
      const ids = yield* Ids
      const live = Array.from({ length: 50 }, () => makeKeyV2(ids, "live"))
      const test = Array.from({ length: 50 }, () => makeKeyV2(ids, "test"))
      const first = Array.from({ length: 50 }, () => makeKeyV1(ids))
      for (const key of live) assert.isTrue(isKeyV2(key) && key.startsWith("svc_live_"), key)
      for (const key of test) assert.isTrue(isKeyV2(key) && key.startsWith("svc_test_"), key)
      for (const key of first) assert.isTrue(isKeyV1(key), key)
      assert.strictEqual(new Set([...live, ...test, ...first]).size, 150)
    }).pipe(Effect.provide(Ids.layerRandom), Random.withSeed("keys")),
  )
})

describe("secrets", () => {
  it.effect("are kept as SHA-256 in hexadecimal", () =>
    Effect.sync(() =>
      assert.strictEqual(
        hashSecret("abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      ),
    ),
  )

  it.effect.prop(
    "compare equal only when they are equal",
    [Schema.String, Schema.String],
    ([a, b]) =>
      Effect.sync(() => {
        assert.strictEqual(sameSecret(a, b), a === b)
        assert.isTrue(sameSecret(a, a))
        assert.isFalse(sameSecret(a, `${a}x`))
      }),
  )
})
