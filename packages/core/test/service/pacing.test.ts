import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Numbers } from "../../src/index.ts"
import { liveWhatsAppPacing, StartingPacing } from "../../src/model/Pacing.ts"
import { behave, cancel, copies, send, sendBatch, status, statuses } from "./Operations.ts"
import {
  ahead,
  aKey,
  aNumber,
  aSender,
  day,
  hour,
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
  startWorker,
  stopWorker,
} from "./Service.ts"
import type { NumberId, WorkspaceId } from "../../src/index.ts"

const pace = (
  { number, workspace }: { readonly number: NumberId; readonly workspace: WorkspaceId },
  pacing: Readonly<Record<string, number | null>>,
) => Numbers.use((numbers) => numbers.update("owner", workspace, number, { pacing }))

/** When recipients saw the copies of a number, in milliseconds from noon. */
const arrivals = (number: NumberId) =>
  Effect.map(copies(number), (all) => all.map(({ at }) => at - noon))

const gaps = (instants: ReadonlyArray<number>) =>
  instants.slice(1).map((instant, index) => instant - (instants[index] ?? 0))

describe("the pacing of a number", () => {
  it.effect("rests between messages for a new random time each, and keeps their order", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        yield* pace(sender, { minIntervalMillis: 1000, jitterMillis: 2000 })
        const messages = yield* sendBatch(sender.key, 200)
        yield* pass(hour)
        const all = yield* copies(sender.number)
        assert.deepStrictEqual<unknown>(
          all.map(({ messageId }) => messageId),
          messages.map(({ id }) => id),
        )
        const rests = gaps(all.map(({ at }) => at))
        assert.isAtLeast(Math.min(...rests), 1000)
        assert.isAtMost(Math.max(...rests), 3000)
        assert.closeTo(rests.reduce((sum, rest) => sum + rest, 0) / rests.length, 2000, 120)
        assert.isAtLeast(new Set(rests).size, 150)
      }),
    ),
  )

  it.effect("sends no more in a minute and in an hour than configured", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        yield* pace(sender, { perMinute: 3, perHour: 5 })
        const messages = yield* sendBatch(sender.key, 5)
        yield* pass(minute / 2)
        const late = yield* send(sender.key)
        yield* pass(2 * hour)
        assert.deepStrictEqual(yield* arrivals(sender.number), [0, 0, 0, minute, minute, hour])
        assert.deepStrictEqual(
          new Set(yield* statuses(sender.key, [...messages, late])),
          new Set(["sent"]),
        )
      }),
    ),
  )

  it.effect("starts its rest when the remote server has answered", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        yield* pace(sender, { minIntervalMillis: 10 * second })
        yield* behave(sender.number, { latencyMillis: 4 * second })
        yield* sendBatch(sender.key, 3)
        yield* pass(hour)
        assert.deepStrictEqual(
          yield* arrivals(sender.number),
          [4, 18, 32].map((seconds) => seconds * second),
        )
      }),
    ),
  )

  it.effect("delays no other number", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        const other = yield* aNumber(sender.workspace, { phone: "+15550000102" })
        const key = yield* aKey(sender.workspace)
        yield* pace(sender, { perHour: 1 })
        yield* sendBatch(key, 3, { from: sender.number })
        yield* sendBatch(key, 3, { from: other })
        yield* settled
        assert.lengthOf(yield* copies(sender.number), 1)
        assert.lengthOf(yield* copies(other), 3)
      }),
    ),
  )

  it.effect("survives a change of worker", () =>
    inAService(
      Effect.gen(function* () {
        const first = yield* startWorker
        const sender = yield* aSender()
        yield* pace(sender, { minIntervalMillis: 40 * second, perHour: 2 })
        yield* sendBatch(sender.key, 3)
        yield* settled
        yield* stopWorker(first)
        yield* pass(10 * second)
        const next = yield* startWorker
        yield* pass(2 * hour)
        assert.deepStrictEqual(yield* arrivals(sender.number), [0, 40 * second, hour])
        yield* Fiber.interrupt(next).pipe(Effect.forkDetach)
      }),
      { worker: false },
    ),
  )

  it.effect("lets waiting messages expire and be cancelled, and continues with the rest", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        yield* pace(sender, { perHour: 1 })
        yield* send(sender.key)
        const expiring = yield* send(sender.key, { expiresAt: yield* ahead(minute) })
        const [gone, last] = yield* sendBatch(sender.key, 2)
        yield* pass(minute)
        assert.strictEqual(yield* status(sender.key, expiring), "expired")
        assert.strictEqual((yield* cancel(sender.key, gone!)).status, "cancelled")
        assert.strictEqual(yield* status(sender.key, last!), "queued")
        yield* pass(hour)
        assert.strictEqual(yield* status(sender.key, last!), "sent")
        assert.deepStrictEqual(yield* arrivals(sender.number), [0, hour])
      }),
    ),
  )

  it.effect("limits new recipients of a day, and remembers known ones", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        const to = (phone: string) => send(sender.key, { to: { phone } })
        yield* to("+15550100001")
        yield* settled
        yield* pace(sender, { newRecipientsPerDay: 1 })
        yield* pass(day)
        yield* to("+15550100002")
        const known = yield* to("+15550100001")
        yield* settled
        assert.strictEqual(yield* status(sender.key, known), "sent")
        const stranger = yield* to("+15550100003")
        const behind = yield* to("+15550100002")
        yield* pass(day - 1)
        assert.deepStrictEqual(yield* statuses(sender.key, [stranger, behind]), [
          "queued",
          "queued",
        ])
        yield* pass(1)
        assert.deepStrictEqual(yield* statuses(sender.key, [stranger, behind]), ["sent", "sent"])
      }),
    ),
  )

  it.effect("defaults to its platform's", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const telegram = yield* aNumber(workspace, { platform: "telegram", phone: "+15550000103" })
        const shown = (id: NumberId, change = {}) =>
          Effect.map(
            Numbers.use((numbers) => numbers.update("owner", workspace, id, change)),
            ({ pacing }) => pacing,
          )
        assert.deepStrictEqual(yield* shown(number), liveWhatsAppPacing)
        assert.deepStrictEqual(
          new Set(Object.values(yield* shown(telegram))),
          new Set<number | null>([null]),
        )
        const changed = { pacing: { jitterMillis: null, newRecipientsPerDay: 50 } }
        assert.deepStrictEqual(yield* shown(number, changed), {
          ...liveWhatsAppPacing,
          jitterMillis: null,
          newRecipientsPerDay: 50,
        })
      }),
    ).pipe(Effect.provideService(StartingPacing, { whatsapp: liveWhatsAppPacing, telegram: null })),
  )
})
