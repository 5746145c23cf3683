import { assert, describe, it } from "@effect/vitest"
import { Ids, NumberLinking } from "@messaging-service/core"
import type { LinkingEvent, LinkingRequest, NumberId } from "@messaging-service/core"
import { Clock, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { layerLinking } from "../src/index.ts"

const layerTested = layerLinking.pipe(Layer.provide(Ids.layerRandom))

const byQr: LinkingRequest = { numberId: 1 as NumberId, method: "qr", phone: null }
const byCode: LinkingRequest = { ...byQr, method: "phone_code", phone: "15550001111" }

/** One connection's events and times, in seconds from its start, and its end. */
const said = (request: LinkingRequest) =>
  Effect.gen(function* () {
    const linking = yield* NumberLinking
    const started = yield* Clock.currentTimeMillis
    const since = Effect.map(Clock.currentTimeMillis, (now) => (now - started) / 1000)
    const events: Array<readonly [at: number, event: LinkingEvent]> = []
    const running = yield* Stream.runForEach(linking.link(request), (event) =>
      Effect.map(since, (at) => events.push([at, event])),
    ).pipe(Effect.andThen(since), Effect.forkChild)
    yield* TestClock.adjust("10 minutes")
    return { events, ended: yield* Fiber.join(running) }
  }).pipe(Effect.provide(layerTested))

describe("linking a simulated phone", () => {
  it.effect("shows six QR codes, the first for 60 s, the others for 20 s each, and ends", () =>
    Effect.gen(function* () {
      const { ended, events } = yield* said(byQr)
      assert.deepStrictEqual(
        events.map(([at]) => at),
        [0, 60, 80, 100, 120, 140],
      )
      assert.strictEqual(ended, 160)
      const texts = events.map(([, event]) => (event._tag === "QrShown" ? event.text : ""))
      for (const text of texts) assert.match(text, /^2@\w{100}(,\w{44}){3}$/)
      assert.strictEqual(new Set(texts).size, 6)
    }),
  )

  it.effect("shows a pairing code of 8 characters while it can be typed", () =>
    Effect.gen(function* () {
      const { ended, events } = yield* said(byCode)
      assert.lengthOf(events, 1)
      const [at, event] = events[0]!
      assert.strictEqual(at, 0)
      assert.strictEqual(ended, 180)
      const visible = event._tag === "PairingCodeShown" ? event.pairingCode : undefined
      assert.match(String(visible?.code), /^[0-9A-Z]{8}$/)
      assert.strictEqual(visible?.expiresAt, 180_000)
    }),
  )
})
