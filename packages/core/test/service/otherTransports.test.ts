import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { OutgoingMessage, SendOutcome, Transport } from "../../src/index.ts"
import { get, reconnect, send, sendBatch, status, statuses } from "./Operations.ts"
import {
  aContact,
  aKey,
  aNumber,
  aSender,
  day,
  hour,
  inAService,
  minute,
  pass,
  settled,
  layerTransports,
} from "./Service.ts"

describe("other transports", () => {
  /** Transports with scripted answers that record their calls. */
  const scripted = (answers: ReadonlyArray<Effect.Effect<SendOutcome>>, dropsCopies: boolean) => {
    const input: Array<OutgoingMessage> = []
    const transport: Transport = {
      dropsCopies,
      send: (message) =>
        Effect.suspend(() => {
          input.push(message)
          return answers[input.length - 1] ?? Effect.succeed({ _tag: "Accepted" as const })
        }),
      listen: () => Effect.never,
    }
    const layer = layerTransports(transport)
    return { input, layer }
  }

  it.effect("a flood wait rests the number's lane, then sends", () => {
    const wait: SendOutcome = { _tag: "Postponed", afterMillis: 5 * minute }
    const { input, layer } = scripted([Effect.succeed(wait)], true)
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const telegram = yield* aNumber(workspace, { platform: "telegram" })
        const contact = yield* aContact(workspace, { username: "@jane_doe" })
        const first = yield* send(key, { from: telegram, to: { contactId: contact } })
        const second_ = yield* send(key, { from: telegram })
        yield* pass(5 * minute - 1)
        assert.lengthOf(input, 1)
        assert.deepStrictEqual(yield* statuses(key, [first, second_]), ["queued", "queued"])
        yield* pass(1)
        assert.deepStrictEqual(yield* statuses(key, [first, second_]), ["sent", "sent"])
        // The same message again, under the same id, before the one behind it.
        assert.strictEqual(input[1]?.transportId, input[0]?.transportId)
        assert.lengthOf(input, 3)
        assert.strictEqual((yield* get(key, first)).sent_at, "2026-03-02T12:05:00Z")
      }),
      { transport: layer },
    )
  })

  it.effect("a flood wait delays no other number", () => {
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
    "never repeats on one that cannot drop copies and %s: outcome_unknown",
    ([, answer]) => {
      const { input, layer } = scripted([answer], false)
      return inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const [first, second_] = yield* sendBatch(key, 2)
          yield* pass(day)
          assert.strictEqual((yield* get(key, first!)).error?.code, "outcome_unknown")
          assert.strictEqual(yield* status(key, second_!), "sent")
          assert.lengthOf(input, 2)
          assert.notStrictEqual(input[1]?.transportId, input[0]?.transportId)
        }),
        { transport: layer },
      )
    },
  )

  it.effect("one that answers not connected logs the number out, without a loop", () => {
    const { input, layer } = scripted([Effect.succeed({ _tag: "NotConnected" })], true)
    return inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const message = yield* send(key)
        yield* pass(day)
        assert.strictEqual(yield* status(key, message), "queued")
        assert.lengthOf(input, 1)
        yield* reconnect(number)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
        assert.lengthOf(input, 2)
      }),
      { transport: layer },
    )
  })
})
