import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { waitsFor } from "../../src/message/waitsFor.ts"
import { claim, noon } from "../worker/claimedMessage.ts"

const facts = {
  number: { ...claim().number, status: "disconnected" as const },
  changed: null,
  report: null,
  waiting: 1,
  sent: 0,
  lastSentAt: null,
  pause: null,
  isSending: false,
  firstDueAt: noon,
  restsUntil: null,
  limitedUntil: null,
}

const reasons = (given: Partial<Parameters<typeof waitsFor>[0]>) =>
  waitsFor(
    { state: "waiting", mode: "live", dueAt: noon, expiresAt: null, ...given },
    facts,
    noon,
    false,
  )?.map(({ reason }) => reason) ?? null

it.effect("a live message waits for its number, and one in test mode does not", () =>
  Effect.sync(() => {
    assert.deepStrictEqual(reasons({}), ["not_connected"])
    assert.deepStrictEqual(reasons({ mode: "test" }), [])
  }),
)

it.effect("a message that is past its expiry waits for nothing any more", () =>
  Effect.sync(() => {
    assert.isNull(reasons({ expiresAt: noon }))
    assert.deepStrictEqual(reasons({ expiresAt: noon + 1 }), ["not_connected"])
  }),
)
