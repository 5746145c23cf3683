/** The writes of a device's state, and their grouping. */
import { assert, it } from "@effect/vitest"
import { NumberMoved, StoreUnavailable } from "@messaging-service/core"
import type { NumberId, SessionVault } from "@messaging-service/core"
import { Curve, initAuthCreds } from "baileys"
import type { SignalDataSet } from "baileys"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { credentialsText, fromText, openDevice } from "../src/authState.ts"

it.effect("pre-keys are stored in one commit with the credentials that count them", () =>
  Effect.gen(function* () {
    const written: Array<string | null> = []
    const vault: Pick<typeof SessionVault.Service, "credentials" | "write" | "takeReceived"> = {
      takeReceived: () => Effect.void,
      credentials: () => Effect.succeed(credentialsText(initAuthCreds())),
      write: (_, credentials) => Effect.sync(() => void written.push(credentials)),
    }
    const device = yield* openDevice(
      vault as typeof SessionVault.Service,
      1 as NumberId,
      Effect.runPromise,
      () => true,
    )
    assert.isNotNull(device)
    if (device === null) return
    const { creds, keys } = device.auth
    creds.nextPreKeyId = 31
    yield* Effect.promise(async () => keys.set({ "pre-key": { 30: Curve.generateKeyPair() } }))
    yield* Effect.promise(async () => keys.set({ session: { "1.0": new Uint8Array(1) } }))
    assert.deepStrictEqual(written, [credentialsText(creds), null])
  }),
)

it.effect("a received message is written once, with the keys that opened it", () =>
  Effect.gen(function* () {
    const written: Array<unknown> = []
    const vault: Pick<typeof SessionVault.Service, "credentials" | "write" | "takeReceived"> = {
      takeReceived: () => Effect.void,
      credentials: () => Effect.succeed(credentialsText(initAuthCreds())),
      write: (_, __, changes, received) =>
        Effect.sync(() => void written.push([changes.map(({ type }) => type), received])),
    }
    const device = yield* openDevice(
      vault as typeof SessionVault.Service,
      1 as NumberId,
      Effect.runPromise,
      () => true,
    )
    const message = { remoteId: "3A01" }
    const keys = { session: { "1.0": new Uint8Array(1) }, "received-message": { "3A01": message } }
    yield* Effect.promise(async () => device?.auth.keys.set(keys as SignalDataSet))
    yield* Effect.promise(async () => device?.auth.keys.set({ session: { "1.0": null } }))
    assert.deepStrictEqual(written, [
      [["session"], [message]],
      [["session"], []],
    ])
  }),
)

it("read credentials keep nothing alive but themselves", () => {
  const creds = initAuthCreds()
  const read = fromText(credentialsText(creds))
  assert.deepStrictEqual(credentialsText(read), credentialsText(creds))
  for (const key of [read.noiseKey.private, read.signedIdentityKey.public]) {
    assert.strictEqual(key.buffer.byteLength, key.length)
  }
})

const aTick = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

it.effect("a write for a number that another worker has blocks later ones", () =>
  Effect.gen(function* () {
    const numberId = 1 as NumberId
    let written = 0
    let isOwned = true
    let isRefused = false
    const vault: Pick<typeof SessionVault.Service, "credentials" | "write" | "takeReceived"> = {
      takeReceived: () => Effect.void,
      credentials: () => Effect.succeed(credentialsText(initAuthCreds())),
      write: () =>
        isRefused ? Effect.fail(new NumberMoved({ numberId })) : Effect.sync(() => void written++),
    }
    const device = yield* openDevice(
      vault as typeof SessionVault.Service,
      numberId,
      Effect.runPromise,
      () => isOwned,
    )
    const write = Effect.promise(async () => {
      await device?.auth.keys.set({ session: { "1.0": new Uint8Array(1) } })
      await device?.saveCredentials()
      return "went on"
    })
    const orHeldUp = Effect.raceFirst(
      write,
      Effect.as(Effect.repeat(aTick, { times: 5 }), "held up"),
    )
    assert.strictEqual(yield* write, "went on")
    assert.strictEqual(written, 2)
    // The store knows it before the worker does.
    isRefused = true
    assert.strictEqual(yield* orHeldUp, "held up")
    isOwned = false
    assert.strictEqual(yield* orHeldUp, "held up")
    assert.strictEqual(written, 2)
    // Its connection is over, and its library's later calls have no effect.
    device?.letGo()
    assert.strictEqual(yield* write, "went on")
    assert.strictEqual(written, 2)
  }),
)

it.effect("delayed credentials are written in their present state, not their earlier one", () =>
  Effect.gen(function* () {
    const numberId = 1 as NumberId
    const written: Array<string | null> = []
    let isInDoubt = true
    const vault: Pick<typeof SessionVault.Service, "credentials" | "write" | "takeReceived"> = {
      takeReceived: () => Effect.void,
      credentials: () => Effect.succeed(credentialsText(initAuthCreds())),
      write: (_, credentials) =>
        Effect.suspend(() =>
          isInDoubt
            ? Effect.fail(new NumberMoved({ numberId }))
            : Effect.sync(() => void written.push(credentials)),
        ),
    }
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    const device = yield* openDevice(
      vault as typeof SessionVault.Service,
      numberId,
      run,
      () => true,
    )
    if (device === null) return assert.fail("it is not linked")
    const { creds, keys } = device.auth
    const saving = yield* Effect.forkChild(Effect.promise(device.saveCredentials))
    yield* aTick
    isInDoubt = false
    creds.nextPreKeyId = 31
    yield* Effect.promise(async () => keys.set({ "pre-key": { 30: Curve.generateKeyPair() } }))
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(saving)
    assert.deepStrictEqual(written, [credentialsText(creds), credentialsText(creds)])
  }),
)

it.effect("a key that the store cannot read is read again, and does not count as missing", () =>
  Effect.gen(function* () {
    let tries = 0
    const vault: Pick<typeof SessionVault.Service, "credentials" | "keys" | "takeReceived"> = {
      takeReceived: () => Effect.void,
      credentials: () => Effect.succeed(credentialsText(initAuthCreds())),
      keys: (_, type, [id = ""]) =>
        Effect.suspend(() => {
          tries++
          return tries === 1
            ? Effect.fail(new StoreUnavailable({ operation: "sessions", cause: type }))
            : Effect.succeed(new Map([[id, JSON.stringify("kept")]]))
        }),
    }
    const device = yield* openDevice(
      vault as typeof SessionVault.Service,
      1 as NumberId,
      Effect.runPromise,
      () => true,
    )
    const found = yield* Effect.promise(async () => device?.auth.keys.get("session", ["2.0"]))
    assert.deepStrictEqual<unknown>(found, { "2.0": "kept" })
  }),
)

/** A device over a vault in memory; which of its keys were read, and a read that can be delayed. */
const aDevice = Effect.gen(function* () {
  const stored = new Map<string, string>()
  const requests: Array<string> = []
  const hold = { until: Promise.resolve() }
  const vault: Pick<
    typeof SessionVault.Service,
    "credentials" | "keys" | "write" | "takeReceived"
  > = {
    takeReceived: () => Effect.void,
    credentials: () => Effect.succeed(credentialsText(initAuthCreds())),
    keys: (_, type, ids) =>
      Effect.promise(async () => {
        const found = ids.flatMap((id) => {
          requests.push(id)
          const text = stored.get(`${type} ${id}`)
          return text === undefined ? [] : [[id, text] as const]
        })
        await hold.until
        return new Map(found)
      }),
    write: (_, __, changes) =>
      Effect.sync(() => {
        for (const { id, type, value } of changes) {
          if (value === null) stored.delete(`${type} ${id}`)
          else stored.set(`${type} ${id}`, value)
        }
      }),
  }
  const device = yield* openDevice(
    vault as typeof SessionVault.Service,
    1 as NumberId,
    Effect.runPromise,
    () => true,
  )
  if (device === null) return assert.fail("it is not linked")
  const { keys } = device.auth
  return {
    requests,
    hold,
    get: (...ids: Array<string>) =>
      Effect.promise(async (): Promise<unknown> => keys.get("session", ids)),
    set: (id: string, byte: number | null) =>
      Effect.promise(async () =>
        keys.set({ session: { [id]: byte === null ? null : new Uint8Array([byte]) } }),
      ),
  }
})

const session = (byte: number) => Buffer.from([byte])

it.effect("read or written keys are not read from the store again, missing ones too", () =>
  Effect.gen(function* () {
    const { requests, get, set } = yield* aDevice
    yield* set("1.0", 1)
    assert.deepStrictEqual(yield* get("1.0", "2.0"), { "1.0": session(1) })
    assert.deepStrictEqual(yield* get("2.0", "1.0"), { "1.0": session(1) })
    yield* set("1.0", 2)
    yield* set("2.0", 3)
    assert.deepStrictEqual(yield* get("1.0", "2.0"), { "1.0": session(2), "2.0": session(3) })
    yield* set("2.0", null)
    assert.deepStrictEqual(yield* get("2.0"), {})
    assert.deepStrictEqual(requests, ["2.0"])
  }),
)

it.effect("a read during a write of the key does not replace it in the cache", () =>
  Effect.gen(function* () {
    const { requests, get, hold, set } = yield* aDevice
    const late = Promise.withResolvers<void>()
    hold.until = late.promise
    const reading = yield* Effect.forkChild(get("1.0"), { startImmediately: true })
    while (requests.length === 0) yield* aTick
    yield* set("1.0", 1)
    late.resolve()
    assert.deepStrictEqual(yield* Fiber.join(reading), {})
    assert.deepStrictEqual(yield* get("1.0"), { "1.0": session(1) })
  }),
)

it.effect("caches as many keys as a busy number needs at once, the latest ones", () =>
  Effect.gen(function* () {
    const { requests, get, set } = yield* aDevice
    for (let id = 0; id < 200; id++) yield* set(String(id), 1)
    yield* get("199", "101", "100")
    assert.deepStrictEqual(requests, [])
    yield* get("0")
    assert.deepStrictEqual(requests, ["0"])
  }),
)
