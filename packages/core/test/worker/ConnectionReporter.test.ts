import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/model/Refusal.ts"
import type { ConnectionReport } from "../../src/store/NumberStore.ts"
import { TelegramTransport, WhatsAppTransport } from "../../src/store/Transport.ts"
import { makeConnectionReporter } from "../../src/worker/Linker.ts"
import { claim, noon } from "./claimedMessage.ts"
import { storeWith } from "@messaging-service/testkit"

const first: ConnectionReport = {
  numberId: claim().number.id,
  state: "connected",
  reason: null,
  since: noon,
  lastSeenAt: noon,
  reconnects: 0,
}

describe("connection states", () => {
  it.effect(
    "are stored on change, every ten seconds, after the clock was set back, and after a store failure",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(noon)
        const stored: Array<ReadonlyArray<ConnectionReport>> = []
        let now: ReadonlyArray<ConnectionReport> = [first]
        let fails = false
        const transport = {
          dropsCopies: true,
          send: () => Effect.never,
          listen: () => Effect.never,
        }
        const { runOnce } = yield* makeConnectionReporter.pipe(
          Effect.provide(
            Layer.mergeAll(
              storeWith({
                numbers: {
                  reportConnections: (reports) =>
                    Effect.suspend(() => {
                      if (fails) {
                        return Effect.fail(
                          new StoreUnavailable({ operation: "report", cause: null }),
                        )
                      }
                      stored.push(reports)
                      return Effect.void
                    }),
                },
              }),
              Layer.succeed(WhatsAppTransport, {
                ...transport,
                connections: Effect.sync(() => now),
              }),
              Layer.succeed(TelegramTransport, transport),
            ),
          ),
        )
        const round = Effect.as(Effect.ignore(runOnce), undefined)
        yield* round
        yield* round
        assert.deepStrictEqual(stored, [[first], []])
        const lost = { ...first, state: "waiting", reason: "connection_lost" } as const
        now = [lost]
        fails = true
        yield* round
        fails = false
        yield* round
        assert.deepStrictEqual(stored.at(-1), [lost])
        yield* TestClock.adjust(10_000)
        yield* round
        assert.deepStrictEqual(stored.at(-1), [lost])
        // After the clock was set back.
        yield* TestClock.setTime(noon - 3_600_000)
        yield* round
        assert.deepStrictEqual(stored.at(-1), [lost])
        yield* round
        assert.deepStrictEqual(stored.at(-1), [])
        // What left this process is new when it returns.
        now = []
        yield* round
        now = [lost]
        yield* round
        assert.deepStrictEqual(stored.at(-1), [lost])
      }),
  )
})
