import { assert, describe, it } from "@effect/vitest"
import { Emulator } from "@messaging-service/emulator"
import { Clock, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Numbers } from "../../src/index.ts"
import { LaneQueue, dailyQuota } from "../../src/ports.ts"
import type { OutgoingMessage, SendOutcome, Transport } from "../../src/ports.ts"
import {
  arrived,
  behave,
  copies,
  events,
  get,
  logOut,
  reconnect,
  send,
  sendBatch,
  status,
  statuses,
} from "./Operations.ts"
import {
  aContact,
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
  transportOf,
} from "./Service.ts"

describe("what the far side refuses", () => {
  it.effect("fails with the reason that the phone gives", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "fail", error_message: "The battery is empty." })
        const message = yield* send(key)
        yield* settled
        const failed = yield* get(key, message)
        assert.deepStrictEqual(
          [failed.status, failed.sent_at, failed.error],
          ["failed", null, { code: "send_failed", message: "The battery is empty." }],
        )
        assert.deepStrictEqual(yield* events(message), ["message.failed"])
        assert.deepStrictEqual(yield* arrived(), [])
      }),
    ),
  )

  it.effect("a phone that is not registered is recipient_not_found", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const unregistered = yield* send(key, { to: { phone: "+15550010000" } })
        const registered = yield* send(key, { to: { phone: "+15550010001" } })
        yield* settled
        assert.deepStrictEqual(yield* statuses(key, [unregistered, registered]), ["failed", "sent"])
        assert.strictEqual((yield* get(key, unregistered)).error?.code, "recipient_not_found")
        yield* Emulator.use((emulator) => emulator.setRegistered({ phones: ["+15550010000"] }))
        const again = yield* send(key, { to: { phone: "+15550010000" } })
        yield* settled
        assert.strictEqual(yield* status(key, again), "sent")
      }),
    ),
  )

  it.effect("a group is matched exactly when the message is sent; none is group_not_found", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { groups: ["Team", "Twice", "Twice"] })
        const known = yield* send(key, { to: { group: "Team" } })
        const others = yield* Effect.forEach(["team", " Team", "Nobody", "Twice"], (group) =>
          send(key, { to: { group } }),
        )
        yield* settled
        assert.strictEqual(yield* status(key, known), "sent")
        for (const message of others) {
          const failed = yield* get(key, message)
          assert.deepStrictEqual([failed.status, failed.error?.code], ["failed", "group_not_found"])
        }
        assert.deepStrictEqual<unknown>(yield* arrived(), [known.id])
      }),
    ),
  )

  it.effect("a failed message does not hold up those behind it", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* send(key, { to: { phone: "+15550010000" } })
        const behind = yield* send(key)
        yield* settled
        assert.strictEqual(yield* status(key, behind), "sent")
      }),
    ),
  )

  it.effect("media that cannot be had is media_unavailable", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { media: { url: "https://example.com/a.png" } })
        yield* settled
        const failed = yield* get(key, message)
        assert.deepStrictEqual([failed.status, failed.error?.code], ["failed", "media_unavailable"])
      }),
    ),
  )
})

describe("a transport that does not answer", () => {
  it.effect("for 60 s three times ends in outcome_unknown, and the message is not sent again", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const message = yield* send(key)
        yield* pass(3 * minute - 1)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* pass(1)
        const failed = yield* get(key, message)
        assert.deepStrictEqual([failed.status, failed.error?.code], ["failed", "outcome_unknown"])
        yield* behave(number, {})
        yield* pass(day)
        assert.isAtMost((yield* copies()).length, 1)
        assert.deepStrictEqual(yield* events(message), ["message.failed"])
      }),
    ),
  )

  it.effect("and then answers, gets the same message once", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const message = yield* send(key)
        yield* pass(90 * second)
        yield* behave(number, {})
        yield* pass(minute)
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual<unknown>(yield* arrived(), [message.id])
        assert.deepStrictEqual(yield* events(message), ["message.sent"])
      }),
    ),
  )

  it.effect("holds what is behind it, and no other number", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        const key = yield* aKey(workspace)
        yield* behave(number, { send: "hang" })
        const behind = yield* sendBatch(key, 2, { from: number })
        const beside = yield* send(key, { from: other })
        yield* pass(2 * minute)
        assert.deepStrictEqual(yield* statuses(key, [...behind, beside]), [
          "queued",
          "queued",
          "sent",
        ])
        yield* pass(hour)
        assert.deepStrictEqual(yield* statuses(key, behind), ["failed", "failed"])
      }),
    ),
  )

  it.effect("keeps its lane while it takes longer than a lease", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latency_ms: 59 * second })
        const messages = yield* sendBatch(key, 3)
        yield* pass(10 * minute)
        assert.deepStrictEqual(
          (yield* copies()).map(({ at }) => at - noon),
          [59, 118, 177].map((seconds) => seconds * second),
        )
        assert.deepStrictEqual(yield* statuses(key, messages), ["sent", "sent", "sent"])
      }),
    ),
  )
})

describe("a connection that breaks before the ack", () => {
  it.effect("is repeated with the same id, and the recipient sees one copy", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "drop" })
        const message = yield* send(key)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual<unknown>(yield* arrived(), [message.id])
        assert.deepStrictEqual(yield* events(message), ["message.sent"])
      }),
    ),
  )

  it.effect("and a message that expires meanwhile end in outcome_unknown, not sent again", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const message = yield* send(key, { expires_at: yield* ahead(30 * second) })
        yield* pass(30 * second)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* behave(number, {})
        yield* pass(hour)
        const failed = yield* get(key, message)
        assert.deepStrictEqual([failed.status, failed.error?.code], ["failed", "outcome_unknown"])
        assert.deepStrictEqual(yield* arrived(), [])
        assert.deepStrictEqual(yield* events(message), ["message.failed"])
      }),
    ),
  )
})

describe("a worker that died with a message in its hands", () => {
  /** Claims as a worker would that is never heard of again. */
  const claimAndDie = Effect.gen(function* () {
    const lanes = yield* LaneQueue
    const now = yield* Clock.currentTimeMillis
    return yield* lanes.claim({
      now,
      leaseUntil: now + 30 * second,
      limit: 100,
      owned: "all",
      sendCap: dailyQuota,
      perWorkspace: 100,
      held: new Map(),
    })
  })

  it.effect("is followed by another that repeats the attempt once the lease ran out", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const [first, second_] = yield* sendBatch(key, 2)
        yield* claimAndDie
        yield* startWorker
        yield* pass(30 * second - 1)
        assert.deepStrictEqual(yield* arrived(), [])
        yield* pass(1)
        assert.deepStrictEqual<unknown>(yield* arrived(), [first?.id, second_?.id])
      }),
      { worker: false },
    ),
  )

  it.effect("three times ends in outcome_unknown", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key)
        for (let death = 0; death < 3; death++) {
          assert.lengthOf(yield* claimAndDie, 1)
          yield* TestClock.adjust(30 * second)
        }
        yield* startWorker
        assert.strictEqual((yield* get(key, message)).error?.code, "outcome_unknown")
        assert.deepStrictEqual(yield* arrived(), [])
      }),
      { worker: false },
    ),
  )

  it.effect("leaves an expired message as outcome_unknown: it may have left in time", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { expires_at: yield* ahead(10 * second) })
        yield* claimAndDie
        yield* startWorker
        yield* pass(hour)
        assert.strictEqual((yield* get(key, message)).error?.code, "outcome_unknown")
        assert.deepStrictEqual(yield* arrived(), [])
      }),
      { worker: false },
    ),
  )

  it.effect("leaves a removed number's message as outcome_unknown: cancelled may not be true", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const [begun, behind] = yield* sendBatch(key, 2)
        yield* claimAndDie
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        assert.deepStrictEqual(yield* statuses(key, [begun!, behind!]), ["queued", "cancelled"])
        yield* startWorker
        yield* pass(hour)
        assert.strictEqual((yield* get(key, begun!)).error?.code, "outcome_unknown")
        assert.deepStrictEqual(yield* arrived(), [])
      }),
      { worker: false },
    ),
  )

  it.effect("leaves a logged-out number's message waiting until it is back", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const message = yield* send(key)
        yield* claimAndDie
        yield* logOut(number)
        yield* startWorker
        yield* pass(hour)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* reconnect(number)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual<unknown>(yield* arrived(), [message.id])
      }),
      { worker: false },
    ),
  )
})

describe("other transports", () => {
  /** Transports that answer as told, and note what they were given. */
  const scripted = (answers: ReadonlyArray<Effect.Effect<SendOutcome>>, dropsCopies: boolean) => {
    const given: Array<OutgoingMessage> = []
    const transport: Transport = {
      dropsCopies,
      send: (message) =>
        Effect.suspend(() => {
          given.push(message)
          return answers[given.length - 1] ?? Effect.succeed({ _tag: "Accepted" as const })
        }),
      events: Stream.never,
    }
    const layer = transportOf(transport)
    return { given, layer }
  }

  it.effect("a flood wait lets the number's lane rest, and sends then", () => {
    const wait: SendOutcome = { _tag: "Postponed", afterMillis: 5 * minute }
    const { given, layer } = scripted([Effect.succeed(wait)], true)
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const telegram = yield* aNumber(workspace, { platform: "telegram" })
        const contact = yield* aContact(workspace, { username: "@jane_doe" })
        const first = yield* send(key, { from: telegram, to: { contact_id: contact } })
        const second_ = yield* send(key, { from: telegram })
        yield* pass(5 * minute - 1)
        assert.lengthOf(given, 1)
        assert.deepStrictEqual(yield* statuses(key, [first, second_]), ["queued", "queued"])
        yield* pass(1)
        assert.deepStrictEqual(yield* statuses(key, [first, second_]), ["sent", "sent"])
        // The same message again, under the same id, before the one behind it.
        assert.strictEqual(given[1]?.transportId, given[0]?.transportId)
        assert.lengthOf(given, 3)
        assert.strictEqual((yield* get(key, first)).sent_at, "2026-03-02T12:05:00Z")
      }),
      { transport: layer },
    )
  })

  it.effect("a flood wait holds up no other number", () => {
    const wait: SendOutcome = { _tag: "Postponed", afterMillis: hour }
    const { layer } = scripted([Effect.succeed(wait)], true)
    return inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        const key = yield* aKey(workspace)
        const flooded = yield* send(key, { from: number })
        yield* settled
        const free = yield* send(key, { from: other })
        yield* settled
        assert.deepStrictEqual(yield* statuses(key, [flooded, free]), ["queued", "sent"])
      }),
      { transport: layer },
    )
  })

  const notKnowing: ReadonlyArray<readonly [what: string, answer: Effect.Effect<SendOutcome>]> = [
    ["says so", Effect.succeed({ _tag: "Unknown" })],
    ["does not answer", Effect.never],
    ["breaks", Effect.die(new Error("a bug"))],
  ]
  it.effect.each(notKnowing)(
    "one that cannot drop copies and %s is never asked again: outcome_unknown",
    ([, answer]) => {
      const { given, layer } = scripted([answer], false)
      return inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const [first, second_] = yield* sendBatch(key, 2)
          yield* pass(day)
          assert.strictEqual((yield* get(key, first!)).error?.code, "outcome_unknown")
          assert.strictEqual(yield* status(key, second_!), "sent")
          assert.lengthOf(given, 2)
          assert.notStrictEqual(given[1]?.transportId, given[0]?.transportId)
        }),
        { transport: layer },
      )
    },
  )

  it.effect(
    "one that says it is not connected logs the number out, and is not asked in a circle",
    () => {
      const { given, layer } = scripted([Effect.succeed({ _tag: "NotConnected" })], true)
      return inAService(
        Effect.gen(function* () {
          const { key, number } = yield* aSender()
          const message = yield* send(key)
          yield* pass(day)
          assert.strictEqual(yield* status(key, message), "queued")
          assert.lengthOf(given, 1)
          yield* reconnect(number)
          yield* settled
          assert.strictEqual(yield* status(key, message), "sent")
          assert.lengthOf(given, 2)
        }),
        { transport: layer },
      )
    },
  )
})
