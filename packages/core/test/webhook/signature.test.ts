import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { createHmac } from "node:crypto"
import { readFile } from "node:fs/promises"
import { HmacSha256, secretOfSalt, signature } from "../../src/model/WebhookEndpoint.ts"

const encode = (text: string) => new TextEncoder().encode(text)

describe("the signature", () => {
  it.effect("is v1= and the hexadecimal HMAC-SHA256 of <timestamp>.<raw body>", () =>
    Effect.map(HmacSha256, (hmac) => {
      // By `printf '1772452800.{"id":"evt_1"}' | openssl dgst -sha256 -hmac <64 times "a">`.
      assert.strictEqual(
        signature(hmac, "a".repeat(64), 1_772_452_800, '{"id":"evt_1"}'),
        "v1=ae7f221d11853c471d71ef217be08c7d7459da0a9ce7ffb7f0383c8f784768db",
      )
    }),
  )

  it.effect("matches the documentation's test vectors", () =>
    Effect.gen(function* () {
      const hmac = yield* HmacSha256
      const file = new URL("../../../../docs/webhook-vectors.json", import.meta.url)
      const text = yield* Effect.promise(() => readFile(file, "utf8"))
      const vectors = JSON.parse(text) as ReadonlyArray<Readonly<Record<string, string>>>
      assert.isNotEmpty(vectors)
      for (const {
        body = "",
        computed,
        secret = "",
        signature: sent,
        timestamp,
        valid,
        what,
      } of vectors) {
        assert.strictEqual(`v1=${hmac(secret, `${timestamp}.${body}`)}`, computed, what)
        if (!valid) continue
        assert.strictEqual(signature(hmac, secret, Number(timestamp), body), sent, what)
      }
    }),
  )

  it.effect.prop(
    "matches any other implementation, whatever the text",
    [Schema.String, Schema.String, Schema.Int],
    ([secret, body, timestamp]) =>
      Effect.map(HmacSha256, (hmac) => {
        const expected = createHmac("sha256", encode(secret))
          .update(`${timestamp}.`)
          .update(encode(body))
          .digest("hex")
        assert.strictEqual(signature(hmac, secret, timestamp, body), `v1=${expected}`)
        // With the stored form of the secret.
        assert.strictEqual(signature(hmac, secret, timestamp, body), `v1=${expected}`)
      }),
  )
})

describe("the secret of a salt", () => {
  it.effect("is 64 hexadecimal characters, fixed for each salt and key", () =>
    Effect.sync(() => {
      const secret = secretOfSalt("key", "salt")
      assert.match(secret, /^[0-9a-f]{64}$/)
      assert.strictEqual(secretOfSalt("key", "salt"), secret)
      assert.notStrictEqual(secretOfSalt("key", "another"), secret)
      assert.notStrictEqual(secretOfSalt("another", "salt"), secret)
    }),
  )
})
