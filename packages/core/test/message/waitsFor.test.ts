import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ConnectionFacts } from "../../src/store/NumberStore.ts"
import { waitsFor } from "../../src/service/waitsFor.ts"
import { claim, noon } from "../worker/claimedMessage.ts"

const facts: ConnectionFacts = {
  number: { ...claim().number, status: "disconnected" },
  changed: null,
  report: null,
  waiting: 1,
  sent: 0,
  lastSentAt: null,
  pause: null,
  isDisabled: false,
  isSending: false,
  firstDueAt: noon,
  pacedUntil: null,
  limitedUntil: null,
  noRoomUntil: null,
}

const reasons = (overrides: Partial<Parameters<typeof waitsFor>[0]>, isHeld = false) =>
  waitsFor(
    { state: "waiting", mode: "live", dueAt: noon, expiresAt: null, ...overrides },
    facts,
    noon,
    false,
    isHeld,
  )?.map(({ reason }) => reason) ?? null

it.effect("a live message waits for its number, and one in test mode does not", () =>
  Effect.sync(() => {
    assert.deepStrictEqual(reasons({}), ["not_connected"])
    assert.deepStrictEqual(reasons({ mode: "test" }), [])
  }),
)

it.effect("an expired message waits for nothing", () =>
  Effect.sync(() => {
    assert.isNull(reasons({ expiresAt: noon }))
    assert.deepStrictEqual(reasons({ expiresAt: noon + 1 }), ["not_connected"])
  }),
)

const hour = 3_600_000

/** Every reason at once. */
const stopped: ConnectionFacts = {
  ...facts,
  changed: { at: noon - hour, reason: "logged_out" },
  pause: { until: noon + hour, reason: "restricted" },
  isDisabled: true,
  isSending: true,
  pacedUntil: noon + 3,
  limitedUntil: noon + 2,
  noRoomUntil: noon + 4,
}

const everything = (
  overrides: Partial<Parameters<typeof waitsFor>[0]>,
  known = stopped,
  isHeld = false,
) =>
  waitsFor(
    { state: "waiting", mode: "live", dueAt: noon + 1, expiresAt: null, ...overrides },
    known,
    noon,
    false,
    isHeld,
    null,
    noon + 5,
  )

it.effect("lists reasons in one order, each with its end and the messages behind it", () =>
  Effect.sync(() => {
    assert.deepStrictEqual(everything({}, stopped, true), [
      { reason: "disabled", until: null, because: "account_disabled" },
      { reason: "held", until: null, because: null },
      { reason: "paused", until: noon + hour, because: "restricted" },
      { reason: "not_connected", until: null, because: "logged_out" },
      { reason: "scheduled", until: noon + 1, because: null },
      { reason: "new_chats_closed", until: noon + 5, because: null },
      { reason: "limited", until: noon + 2, because: null },
      { reason: "no_room", until: noon + 4, because: null },
      { reason: "resting", until: noon + 3, because: null },
      { reason: "sending", until: null, because: null },
    ])
  }),
)

it.effect("its number holds up no message in test mode", () =>
  Effect.sync(() => {
    assert.deepStrictEqual(everything({ mode: "test" }), [
      { reason: "disabled", until: null, because: "account_disabled" },
      { reason: "scheduled", until: noon + 1, because: null },
    ])
  }),
)

it.effect("a disconnected number names its connection's reason, whatever else stops it", () =>
  Effect.sync(() => {
    const lost: ConnectionFacts = {
      ...stopped,
      changed: { at: noon - hour, reason: "connection_lost" },
    }
    const found = everything({}, lost)?.find(({ reason }) => reason === "not_connected")
    assert.strictEqual(found?.because, "connection_lost")
  }),
)

it.effect("a message held since a restore waits for an operator first", () =>
  Effect.sync(() => {
    assert.deepStrictEqual(reasons({}, true), ["held", "not_connected"])
    assert.deepStrictEqual(reasons({ mode: "test" }, true), ["held"])
  }),
)

it.effect("what its campaign holds waits for that, also after a restore", () =>
  Effect.sync(() => {
    const message = { state: "waiting", mode: "test", dueAt: noon, expiresAt: null } as const
    for (const until of [null, noon + hour]) {
      assert.deepStrictEqual(waitsFor(message, facts, noon, false, true, { until }), [
        { reason: "campaign", until, because: null },
      ])
    }
  }),
)
