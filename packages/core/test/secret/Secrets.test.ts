import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import {
  parseSecretsKey,
  parseSecretsKeys,
  Secrets,
  WrongSecretsKey,
} from "../../src/model/Secrets.ts"
import { aSecretsKey, layerSecrets } from "./layerSecrets.ts"
import type { Stored } from "./layerSecrets.ts"

const start = (
  stored: Stored = new Map(),
  key = aSecretsKey("01"),
  older: ReadonlyArray<string> = [],
) => Effect.provide(Secrets, layerSecrets(stored, key, older))

describe("the keys of purposes", () => {
  it.effect("derive from the secrets key and all differ", () =>
    Effect.gen(function* () {
      const [one, again, other] = [
        yield* start(),
        yield* start(),
        yield* start(new Map(), aSecretsKey("02")),
      ]
      assert.deepStrictEqual(one.keys, again.keys)
      const all = [...Object.values(one.keys), ...Object.values(other.keys)]
      assert.strictEqual(new Set(all).size, all.length)
      for (const key of all) assert.match(key, /^[0-9a-f]{64}$/)
    }),
  )

  it.effect("never reach the store", () =>
    Effect.gen(function* () {
      const stored: Stored = new Map()
      const { keys } = yield* start(stored)
      const text = JSON.stringify([...stored])
      for (const key of [aSecretsKey("01"), ...Object.values(keys)]) assert.notInclude(text, key)
    }),
  )

  it.effect("are refused for a key other than the store's first one", () =>
    Effect.gen(function* () {
      const stored: Stored = new Map()
      yield* start(stored)
      const error = yield* Effect.flip(start(stored, aSecretsKey("02")))
      assert.instanceOf(error, WrongSecretsKey)
    }),
  )
})

describe("a sealed text", () => {
  it.effect("opens in its place with the key, and reveals nothing without it", () =>
    Effect.gen(function* () {
      const stored: Stored = new Map()
      const [one, other] = [yield* start(stored), yield* start(stored)]
      const sealed = one.seal("session of number 1", "hush \u{1f511}")
      assert.notInclude(sealed, "hush")
      assert.notStrictEqual(one.seal("session of number 1", "hush"), sealed)
      assert.deepStrictEqual(
        other.open("session of number 1", sealed),
        Result.succeed("hush \u{1f511}"),
      )
    }),
  )

  it.effect("opens nowhere else, with no other key, and not after alteration", () =>
    Effect.gen(function* () {
      const secrets = yield* start()
      const stranger = yield* start(new Map(), aSecretsKey("02"))
      const sealed = secrets.seal("session of number 1", "hush")
      assert.isTrue(Result.isFailure(secrets.open("session of number 2", sealed)))
      assert.isTrue(Result.isFailure(stranger.open("session of number 1", sealed)))
      for (const index of [...sealed].keys()) {
        const altered =
          sealed.slice(0, index) + (sealed[index] === "0" ? "1" : "0") + sealed.slice(index + 1)
        assert.isTrue(Result.isFailure(secrets.open("session of number 1", altered)), altered)
      }
      for (const text of ["", "..", sealed.slice(0, -2), `${sealed}00`]) {
        assert.isTrue(Result.isFailure(secrets.open("session of number 1", text)), text)
      }
    }),
  )
})

describe("a rotated secrets key", () => {
  const [first, second, third] = ["01", "02", "03"].map(aSecretsKey)

  it.effect("opens what its predecessor sealed, and seals what the predecessor cannot open", () =>
    Effect.gen(function* () {
      const stored: Stored = new Map()
      const before = yield* start(stored, first)
      const after = yield* start(stored, second, [first ?? ""])
      const old = before.seal("session of number 1", "hush")
      assert.deepStrictEqual(after.open("session of number 1", old), Result.succeed("hush"))
      const written = after.seal("session of number 1", "hush")
      assert.isTrue(Result.isFailure(before.open("session of number 1", written)))
      const alone = yield* start(stored, second)
      assert.deepStrictEqual(alone.open("session of number 1", written), Result.succeed("hush"))
      assert.isTrue(Result.isFailure(alone.open("session of number 1", old)))
    }),
  )

  it.effect("replaces its predecessor, which then starts nothing any more", () =>
    Effect.gen(function* () {
      const stored: Stored = new Map()
      yield* start(stored, first)
      yield* start(stored, second, [first ?? ""])
      yield* start(stored, second)
      assert.instanceOf(yield* Effect.flip(start(stored, first)), WrongSecretsKey)
    }),
  )

  it.effect("changes no signature, however often it is rotated", () =>
    Effect.gen(function* () {
      const stored: Stored = new Map()
      const { keys } = yield* start(stored, first)
      const again = yield* start(stored, second, [first ?? ""])
      assert.deepStrictEqual(again.keys, keys)
      yield* start(stored, third, [second ?? ""])
      assert.deepStrictEqual((yield* start(stored, third)).keys, keys)
      const text = JSON.stringify([...stored])
      for (const key of Object.values(keys)) assert.notInclude(text, key)
    }),
  )
})

it.effect("several secrets keys are comma-separated, the current one first", () =>
  Effect.sync(() => {
    const [first, second] = ["01", "02"].map(aSecretsKey)
    assert.deepStrictEqual(parseSecretsKeys(`${first},${second}`)?.older.length, 1)
    assert.deepStrictEqual(parseSecretsKeys(`${first}`)?.older, [])
    for (const text of ["", ",", `${first},`, `,${first}`, `${first},x`, `${first} ${second}`]) {
      assert.isUndefined(parseSecretsKeys(text), text)
    }
  }),
)

it.effect("a secrets key is 64 hexadecimal characters and nothing else", () =>
  Effect.sync(() => {
    assert.isDefined(parseSecretsKey("0aF".padEnd(64, "9")))
    for (const text of ["", "0".repeat(63), "0".repeat(65), "g".repeat(64), ` ${"0".repeat(63)}`]) {
      assert.isUndefined(parseSecretsKey(text))
    }
  }),
)
