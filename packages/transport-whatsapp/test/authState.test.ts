/** What is written of a device, and with what. */
import { assert, it } from "@effect/vitest"
import { StoreUnavailable } from "@messaging-service/core/ports"
import type { NumberId, SessionVault } from "@messaging-service/core/ports"
import { Curve, initAuthCreds } from "baileys"
import { Effect } from "effect"
import { credentialsText, openDevice } from "../src/authState.ts"

it.effect("pre-keys are kept in one commit with the credentials that count them", () =>
  Effect.gen(function* () {
    const written: Array<string | null> = []
    const vault: Pick<typeof SessionVault.Service, "credentials" | "write"> = {
      credentials: () => Effect.succeed(credentialsText(initAuthCreds())),
      write: (_, credentials) => Effect.sync(() => void written.push(credentials)),
    }
    const device = yield* openDevice(
      vault as typeof SessionVault.Service,
      1 as NumberId,
      Effect.runPromise,
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

it.effect("a key that the store cannot read now is read again, and not taken for missing", () =>
  Effect.gen(function* () {
    let tries = 0
    const vault: Pick<typeof SessionVault.Service, "credentials" | "keys"> = {
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
    )
    const found = yield* Effect.promise(async () => device?.auth.keys.get("session", ["2.0"]))
    assert.deepStrictEqual<unknown>(found, { "2.0": "kept" })
  }),
)
