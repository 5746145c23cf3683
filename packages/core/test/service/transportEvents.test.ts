import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Queue } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/index.ts"
import type { SendOutcome, TransportEvent } from "../../src/index.ts"
import { events, send, status, statuses, sendBatch, stored } from "./Operations.ts"
import { aSender, inAService, settled, layerTransports } from "./Service.ts"
import { storeWithin } from "./Watched.ts"

/** Transports that accept everything, and emit scripted events. */
const reporting = Effect.gen(function* () {
  const reports = yield* Queue.unbounded<TransportEvent>()
  const layer = layerTransports({
    dropsCopies: true,
    send: () => Effect.succeed<SendOutcome>({ _tag: "Accepted" }),
    listen: (take) => Effect.forever(Effect.flatMap(Queue.take(reports), take)),
  })
  return { layer, report: (event: TransportEvent) => Queue.offer(reports, event) }
})

describe("an unprompted transport event", () => {
  it.effect("ticks move the message on, without an event", () =>
    Effect.gen(function* () {
      const { layer, report } = yield* reporting
      yield* inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const message = yield* send(key)
          yield* settled
          const { from, transportId } = yield* stored(message)
          yield* report({ _tag: "Tick", numberId: from.id, transportId, status: "read" })
          yield* report({ _tag: "Tick", numberId: from.id, transportId, status: "delivered" })
          yield* settled
          assert.strictEqual(yield* status(key, message), "read")
          assert.deepStrictEqual(yield* events(message), ["message.sent"])
        }),
        { transport: layer },
      )
    }),
  )

  it.effect("keeps a tick that arrives before the send is written as sent", () =>
    Effect.gen(function* () {
      const reports = yield* Queue.unbounded<TransportEvent>()
      const isClaimed = yield* Deferred.make<void>()
      const layer = layerTransports({
        dropsCopies: true,
        send: ({ numberId, transportId }) =>
          Queue.offer(reports, { _tag: "Tick", numberId, transportId, status: "delivered" }).pipe(
            Effect.andThen(Deferred.await(isClaimed)),
            Effect.as<SendOutcome>({ _tag: "Accepted" }),
          ),
        listen: (take) => Effect.forever(Effect.flatMap(Queue.take(reports), take)),
      })
      const store = storeWithin((operation, effect) =>
        operation === "messages.tick"
          ? Effect.tap(effect, () => Deferred.succeed(isClaimed, undefined))
          : effect,
      )
      yield* inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const message = yield* send(key)
          yield* settled
          assert.strictEqual(yield* status(key, message), "sent")
          yield* TestClock.adjust(1000)
          yield* settled
          assert.strictEqual(yield* status(key, message), "delivered")
        }),
        { transport: layer, store },
      )
    }),
  )

  it.effect("drains the lane when a connection opens, and blocks it when one drops", () =>
    Effect.gen(function* () {
      const { layer, report } = yield* reporting
      yield* inAService(
        Effect.gen(function* () {
          const { key, number } = yield* aSender()
          const change = (to: "connected" | "disconnected", phone: string | null = null) =>
            report({
              _tag: "ConnectionChanged",
              numberId: number,
              status: to,
              phone,
              reason: null,
            })
          yield* change("disconnected")
          yield* settled
          const messages = yield* sendBatch(key, 3, { from: number })
          yield* settled
          assert.deepStrictEqual(yield* statuses(key, messages), ["queued", "queued", "queued"])
          yield* change("connected", "15550000999")
          yield* settled
          assert.deepStrictEqual(yield* statuses(key, messages), ["sent", "sent", "sent"])
          assert.strictEqual((yield* send(key)).from.phone, "15550000999")
        }),
        { transport: layer },
      )
    }),
  )

  it.effect("is acknowledged once the store has it, however long that takes", () =>
    Effect.gen(function* () {
      const taken: Array<string> = []
      const reports = yield* Queue.unbounded<TransportEvent>()
      const layer = layerTransports({
        dropsCopies: true,
        send: () => Effect.succeed<SendOutcome>({ _tag: "Accepted" }),
        listen: (take) =>
          Effect.forever(
            Effect.gen(function* () {
              const event = yield* Queue.take(reports)
              yield* take(event)
              taken.push(event._tag)
            }),
          ),
      })
      let failing = false
      const store = storeWithin((operation, effect) =>
        Effect.gen(function* () {
          if (failing && ["messages.tick", "numbers.setStatus"].includes(operation)) {
            return yield* new StoreUnavailable({ operation, cause: "down" })
          }
          return yield* effect
        }),
      )
      yield* inAService(
        Effect.gen(function* () {
          const { key, number } = yield* aSender()
          const message = yield* send(key)
          yield* settled
          const { from, transportId } = yield* stored(message)
          failing = true
          yield* Queue.offer(reports, {
            _tag: "Tick",
            numberId: from.id,
            transportId,
            status: "delivered",
          })
          yield* Queue.offer(reports, {
            _tag: "ConnectionChanged",
            numberId: number,
            status: "disconnected",
            phone: null,
            reason: null,
          })
          yield* TestClock.adjust(10_000)
          assert.deepStrictEqual(taken, [])
          failing = false
          yield* TestClock.adjust(1000)
          yield* settled
          assert.sameMembers(taken, ["Tick", "ConnectionChanged"])
          assert.strictEqual(yield* status(key, message), "delivered")
          const waiting = yield* send(key, { from: number })
          yield* settled
          assert.strictEqual(yield* status(key, waiting), "queued")
        }),
        { transport: layer, store },
      )
    }),
  )

  it.effect("stops no worker when storing it fails or is interrupted", () =>
    Effect.gen(function* () {
      const { layer, report } = yield* reporting
      let breaking: Effect.Effect<never> | null = null
      const store = storeWithin((operation, effect) =>
        Effect.suspend(() =>
          operation === "messages.tick" && breaking !== null ? breaking : effect,
        ),
      )
      yield* inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const message = yield* send(key)
          yield* settled
          const { from, transportId } = yield* stored(message)
          for (breaking of [Effect.die(new Error("a bug")), Effect.interrupt]) {
            yield* report({ _tag: "Tick", numberId: from.id, transportId, status: "delivered" })
            yield* settled
          }
          breaking = null
          yield* report({ _tag: "Tick", numberId: from.id, transportId, status: "read" })
          const next = yield* send(key)
          yield* settled
          assert.deepStrictEqual(yield* statuses(key, [message, next]), ["read", "sent"])
        }),
        { transport: layer, store },
      )
    }),
  )
})
