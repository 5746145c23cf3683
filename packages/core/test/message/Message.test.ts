import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { statusAt, transition, transitions } from "../../src/model/Message.ts"
import type { MessageState, Transition, Trigger } from "../../src/model/Message.ts"

const states = [
  "waiting",
  "sent",
  "delivered",
  "read",
  "failed",
  "cancelled",
  "expired",
] as const satisfies ReadonlyArray<MessageState>

const triggers = [
  "send_succeeded",
  "send_failed",
  "cancel",
  "expire",
  "delivery_tick",
  "read_tick",
] as const satisfies ReadonlyArray<Trigger>

/** Every transition (contract: Message status). */
const table: ReadonlyArray<
  readonly [
    from: MessageState,
    trigger: Trigger,
    to: MessageState,
    event: Transition["event"],
    refunds: boolean,
  ]
> = [
  ["waiting", "send_succeeded", "sent", "message.sent", false],
  ["waiting", "send_failed", "failed", "message.failed", false],
  ["waiting", "cancel", "cancelled", "message.cancelled", true],
  ["waiting", "expire", "expired", "message.expired", true],
  ["sent", "delivery_tick", "delivered", null, false],
  ["sent", "read_tick", "read", null, false],
  ["delivered", "read_tick", "read", null, false],
]

/** Progress of a message: it never goes back or repeats. */
const progress: Readonly<Record<MessageState, number>> = {
  waiting: 0,
  sent: 1,
  delivered: 2,
  read: 3,
  failed: 3,
  cancelled: 3,
  expired: 3,
}

const final: ReadonlyArray<MessageState> = ["read", "failed", "cancelled", "expired"]

describe("the states of a message", () => {
  it.effect("change as the contract's table says, and in no other way", () =>
    Effect.sync(() => {
      assert.sameMembers(Object.keys(transitions), [...states])
      for (const from of states) {
        for (const trigger of triggers) {
          const row = table.find((each) => each[0] === from && each[1] === trigger)
          const expected =
            row === undefined ? undefined : { to: row[2], event: row[3], refunds: row[4] }
          assert.deepStrictEqual(transition(from, trigger), expected, `${from} ${trigger}`)
        }
      }
    }),
  )

  it.effect.prop(
    "no sequence of triggers leaves a final state or goes back",
    [Schema.Array(Schema.Literals(triggers))],
    ([sequence]) =>
      Effect.sync(() => {
        let state: MessageState = "waiting"
        let announced = 0
        for (const trigger of sequence) {
          const move: Transition | undefined = transition(state, trigger)
          if (move === undefined) continue
          assert.notInclude(final, state)
          assert.isAbove(progress[move.to], progress[state])
          if (move.event !== null) announced++
          state = move.to
        }
        // Exactly one event for the end of waiting.
        assert.strictEqual(announced, state === "waiting" ? 0 : 1)
      }),
    { arbitrary: { runs: 500 } },
  )

  it.effect("delivered and read send no event", () =>
    Effect.sync(() => {
      for (const from of states) {
        for (const trigger of ["delivery_tick", "read_tick"] as const) {
          assert.isNull(transition(from, trigger)?.event ?? null)
        }
      }
    }),
  )

  it.effect("cancelled and expired refund allowance and quota, failed and sent do not", () =>
    Effect.sync(() => {
      const giving = states.flatMap((from) =>
        triggers.filter((trigger) => transition(from, trigger)?.refunds === true),
      )
      assert.deepStrictEqual(giving, ["cancel", "expire"])
    }),
  )
})

describe("the public status", () => {
  const sendAt = 1000

  it.effect("a scheduled message becomes queued when due", () =>
    Effect.sync(() => {
      const status = (now: number) => statusAt({ state: "waiting", sendAt }, now)
      assert.strictEqual(status(sendAt - 1), "scheduled")
      assert.strictEqual(status(sendAt), "queued")
      assert.strictEqual(status(sendAt + 1), "queued")
      assert.strictEqual(statusAt({ state: "waiting", sendAt: null }, 0), "queued")
    }),
  )

  it.effect("a message that no longer waits shows its state, whatever its sendAt", () =>
    Effect.sync(() => {
      for (const state of states) {
        if (state === "waiting") continue
        assert.strictEqual(statusAt({ state, sendAt }, sendAt - 1), state)
        assert.strictEqual(statusAt({ state, sendAt: null }, sendAt), state)
      }
    }),
  )

  it.effect("the first answer's status is the status at acceptance", () =>
    Effect.sync(() => {
      const answered = (planned: number | null, createdAt: number) =>
        statusAt({ state: "waiting", sendAt: planned }, createdAt)
      assert.strictEqual(answered(null, 500), "queued")
      assert.strictEqual(answered(sendAt, 500), "scheduled")
      // In the future by less than the stored millisecond: it was due when it was answered.
      assert.strictEqual(answered(sendAt, sendAt), "queued")
    }),
  )
})
