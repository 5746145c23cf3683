/** Sessions of live transports are sealed before the store sees them, and written in order. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import { WakeUp } from "../../src/store/DueWork.ts"
import { NumberMoved, NumberOwnership } from "../../src/service/NumberOwnership.ts"
import type { Fence, Shard } from "../../src/model/Shards.ts"
import { SessionVault } from "../../src/service/Sessions.ts"
import { Ids } from "../../src/model/Ids.ts"
import type { NumberId } from "../../src/model/Ids.ts"
import { aSecretsKey, layerSecrets } from "../secret/layerSecrets.ts"
import type { Stored } from "../secret/layerSecrets.ts"
import { storeWith } from "@messaging-service/testkit"

const number = 1 as NumberId

/** The epoch under which all shards are taken. */
const presentTerm = 5

/** A store of keys and credentials in one map; each write takes as many turns as scripted. */
const layerVault = (
  stored: Map<string, string>,
  options: {
    readonly secrets?: Stored
    readonly key?: string
    readonly older?: string
    readonly ownership?: Layer.Layer<NumberOwnership>
    /** Writes finish in the store when their fiber is interrupted. */
    readonly apart?: boolean
  } = {},
) => {
  const put = (
    numberId: NumberId,
    credentials: string | null,
    keys: ReadonlyArray<unknown>,
    _now: number,
    fence: Fence,
  ) =>
    Effect.gen(function* () {
      if (fence !== null && fence.term !== presentTerm) return false
      // A write with more keys takes longer, so writes could overtake one another.
      for (const _ of keys) yield* Effect.yieldNow
      if (credentials !== null) stored.set(`${numberId}`, credentials)
      for (const { id, type, value } of keys as ReadonlyArray<{
        readonly type: string
        readonly id: string
        readonly value: string | null
      }>) {
        if (value === null) stored.delete(`${numberId} ${type} ${id}`)
        else stored.set(`${numberId} ${type} ${id}`, value)
      }
      return true
    })
  return SessionVault.layer.pipe(
    Layer.provide([
      Ids.layerRandom,
      WakeUp.layerLocal,
      storeWith({
        sessions: {
          list: Effect.succeed([]),
          credentials: (numberId) => Effect.sync(() => stored.get(`${numberId}`) ?? null),
          keys: (numberId, type, ids) =>
            Effect.sync(
              () =>
                new Map(
                  ids.flatMap((id) => {
                    const value = stored.get(`${numberId} ${type} ${id}`)
                    return value === undefined ? [] : [[id, value]]
                  }),
                ),
            ),
          write: (numberId, credentials, keys, now, fence) => {
            const written = put(numberId, credentials, keys, now, fence)
            return options.apart === true
              ? Effect.flatMap(Effect.forkDetach(written), Fiber.join)
              : written
          },
          replace: put,
          exchange: (numberId, before, credentials, keys, now) =>
            (stored.get(`${numberId}`) ?? null) === before
              ? put(numberId, credentials, keys, now, null)
              : Effect.succeed(false),
          trim: () => Effect.succeed(true),
          markLeaving: () => Effect.succeed(true),
          wipe: () =>
            Effect.sync(() => {
              stored.clear()
              return true
            }),
        },
      }),
      options.ownership ?? NumberOwnership.layerAll,
      layerSecrets(
        options.secrets,
        options.key,
        options.older === undefined ? [] : [options.older],
      ),
    ]),
  )
}

describe("the vault", () => {
  it.effect("returns what it received, and the store can read none of it", () =>
    Effect.gen(function* () {
      const stored = new Map<string, string>()
      yield* Effect.gen(function* () {
        const vault = yield* SessionVault
        yield* vault.write(number, "hush", [{ type: "session", id: "1.0", value: "secret" }])
        assert.notMatch(JSON.stringify([...stored.values()]), /hush|secret/)
        assert.strictEqual(yield* vault.credentials(number), "hush")
        assert.deepStrictEqual(
          yield* vault.keys(number, "session", ["1.0", "2.0"]),
          new Map([["1.0", "secret"]]),
        )
      }).pipe(Effect.provide(layerVault(stored)))
    }),
  )

  it.effect("opens a key in no other place: another number's, type's or id's", () =>
    Effect.gen(function* () {
      const stored = new Map<string, string>()
      yield* Effect.gen(function* () {
        const vault = yield* SessionVault
        yield* vault.write(number, "hush", [{ type: "session", id: "1", value: "secret" }])
        const sealed = stored.get("1 session 1") ?? ""
        for (const [context, read] of [
          ["1 session 2", Effect.asVoid(vault.keys(number, "session", ["2"]))],
          ["1 sender-key 1", Effect.asVoid(vault.keys(number, "sender-key", ["1"]))],
          ["2 session 1", Effect.asVoid(vault.keys(2 as NumberId, "session", ["1"]))],
          ["1", Effect.asVoid(vault.credentials(number))],
        ] as const) {
          stored.set(context, sealed)
          const opened = yield* Effect.result(read)
          assert.isTrue(Result.isFailure(opened), context)
          if (Result.isFailure(opened)) assert.strictEqual(opened.failure._tag, "CannotOpen")
        }
      }).pipe(Effect.provide(layerVault(stored)))
    }),
  )

  it.effect("keeps the order of one number's writes", () =>
    Effect.gen(function* () {
      const stored = new Map<string, string>()
      yield* Effect.gen(function* () {
        const vault = yield* SessionVault
        const writes = [9, 5, 2, 0].map((others, index) =>
          vault.write(number, `write ${index}`, [
            ...Array.from({ length: others }, (_, id) => ({
              type: "other",
              id: `${id}`,
              value: "x",
            })),
            { type: "session", id: "1", value: `write ${index}` },
          ]),
        )
        yield* Effect.all(writes, { concurrency: "unbounded" })
        assert.strictEqual(yield* vault.credentials(number), "write 3")
        assert.strictEqual((yield* vault.keys(number, "session", ["1"])).get("1"), "write 3")
      }).pipe(Effect.provide(layerVault(stored)))
    }),
  )

  it.effect("replaces what it read, once; what does not open counts as missing", () =>
    Effect.gen(function* () {
      const stored = new Map<string, string>()
      yield* Effect.gen(function* () {
        const vault = yield* SessionVault
        assert.isTrue(yield* vault.exchange(number, null, "first", []))
        assert.isFalse(yield* vault.exchange(number, null, "other", []))
        assert.isTrue(
          yield* vault.exchange(number, "first", "second", [
            { type: "session", id: "1", value: "secret" },
          ]),
        )
        assert.isFalse(yield* vault.exchange(number, "first", "other", []))
        // The store had done it, and its answer was lost.
        assert.isTrue(yield* vault.exchange(number, "first", "second", []))
        assert.strictEqual(yield* vault.credentials(number), "second")
        assert.strictEqual((yield* vault.keys(number, "session", ["1"])).get("1"), "secret")
        assert.notMatch(JSON.stringify([...stored.values()]), /second|secret/)
        stored.set(`${number}`, "sealed by another key")
        assert.isFalse(yield* vault.exchange(number, "second", "third", []))
        assert.isTrue(yield* vault.exchange(number, null, "third", []))
        assert.strictEqual(yield* vault.credentials(number), "third")
      }).pipe(Effect.provide(layerVault(stored)))
    }),
  )

  it.effect("ends an abandoned write before the next one begins", () =>
    Effect.gen(function* () {
      const stored = new Map<string, string>()
      const others = Array.from({ length: 9 }, (_, id) => ({ type: "a", id: `${id}`, value: "x" }))
      const toWrite = (value: string) => ({ type: "session", id: "1", value })
      yield* Effect.gen(function* () {
        const vault = yield* SessionVault
        const first = yield* Effect.forkChild(
          vault.write(number, "first", [...others, toWrite("first")]),
          { startImmediately: true },
        )
        yield* Effect.forkChild(Fiber.interrupt(first), { startImmediately: true })
        assert.strictEqual(yield* vault.credentials(number), "first")
        yield* vault.write(number, "second", [toWrite("second")])
        for (const _ of others) yield* Effect.yieldNow
        assert.strictEqual(yield* vault.credentials(number), "second")
        assert.strictEqual((yield* vault.keys(number, "session", ["1"])).get("1"), "second")
      }).pipe(Effect.provide(layerVault(stored, { apart: true })))
    }),
  )

  it.effect("writes nothing of a number that another worker has, known or not", () =>
    Effect.gen(function* () {
      const stored = new Map<string, string>()
      const moved = new NumberMoved({ numberId: number })
      let fence: Fence | null = { shard: 1 as Shard, term: presentTerm }
      const ownership = Layer.effect(
        NumberOwnership,
        Effect.map(NumberOwnership, (all) => ({
          ...all,
          fence: () => (fence === null ? Effect.fail(moved) : Effect.succeed(fence)),
        })),
      ).pipe(Layer.provide(NumberOwnership.layerAll))
      yield* Effect.gen(function* () {
        const vault = yield* SessionVault
        yield* vault.write(number, "kept", [])
        const before = new Map(stored)
        for (const late of [{ shard: 1 as Shard, term: presentTerm - 1 }, null]) {
          fence = late
          assert.deepStrictEqual(yield* Effect.flip(vault.write(number, "late", [])), moved)
          assert.deepStrictEqual(yield* Effect.flip(vault.replace(number, "late", [])), moved)
        }
        assert.deepStrictEqual(stored, before)
      }).pipe(Effect.provide(layerVault(stored, { ownership })))
    }),
  )

  it.effect("reads what the previous secrets key sealed, and seals it with the new one", () =>
    Effect.gen(function* () {
      const stored = new Map<string, string>()
      const secrets: Stored = new Map()
      const [key, older] = [aSecretsKey("02"), aSecretsKey("01")]
      const value = { type: "session", id: "1", value: "secret" }
      yield* SessionVault.use((vault) => vault.write(number, "hush", [value])).pipe(
        Effect.provide(layerVault(stored, { secrets, key: older })),
      )
      yield* Effect.gen(function* () {
        const vault = yield* SessionVault
        assert.strictEqual(yield* vault.credentials(number), "hush")
        yield* vault.write(number, "hush", [value])
      }).pipe(Effect.provide(layerVault(stored, { secrets, key, older })))
      yield* Effect.gen(function* () {
        const vault = yield* SessionVault
        assert.strictEqual(yield* vault.credentials(number), "hush")
        assert.strictEqual((yield* vault.keys(number, "session", ["1"])).get("1"), "secret")
      }).pipe(Effect.provide(layerVault(stored, { secrets, key })))
    }),
  )
})
