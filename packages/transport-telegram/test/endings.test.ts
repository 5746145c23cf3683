/** Clients whose scope ends. */
import { assert, it } from "@effect/vitest"
import { MemoryStorage } from "@mtcute/node"
import { Effect, Redacted } from "effect"
import { makeClient } from "../src/Client.ts"
import { defaultSettings } from "../src/settings.ts"

it.live("a client that waits for a write of its own is gone none the less", () =>
  Effect.gen(function* () {
    const storage = new MemoryStorage()
    let isAsked = false
    Object.assign(storage.driver, {
      destroy: () => {
        isAsked = true
        return new Promise<never>(() => undefined)
      },
    })
    const application = { id: 1, hash: Redacted.make("0123456789abcdef0123456789abcdef") }
    const settings = {
      ...defaultSettings,
      application,
      server: { host: "127.0.0.1", port: 1 },
    }
    yield* Effect.scoped(
      Effect.gen(function* () {
        const client = yield* makeClient(settings, { application, storage, proxy: null, drawn: 0 })
        yield* Effect.promise(() => client.prepare())
      }),
    )
    assert.isTrue(isAsked)
  }),
)
