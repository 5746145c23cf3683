/** Why a message waits: what a user has to do stands in words at each reason. */
import { assert, it } from "vitest"
import { sentences } from "../pages/messages/waiting.ts"
import type { WaitsFor } from "../pages/messages/timeline.ts"
import {
  disconnectedTexts,
  linkRemedies,
  pausedTexts,
  resumeRemedies,
  waitingTexts,
  whyLabels,
} from "../pages/messages/words.ts"

const first = (reason: WaitsFor["reason"], because: string) =>
  sentences({
    for: [{ reason, because: because as WaitsFor["because"], until: null }],
    ahead: 0,
  })[0]

it("names the remedy of every reason that a user must end", () => {
  const { connection_lost: _, ...needUser } = disconnectedTexts
  for (const [because, message] of Object.entries(needUser)) {
    const ends = linkRemedies[because] ?? null
    assert.isNotNull(ends, because)
    assert.deepEqual(first("not_connected", because), {
      message,
      remedy: "link",
      ends,
      until: null,
    })
  }
  for (const [because, message] of Object.entries(pausedTexts)) {
    const ends = resumeRemedies[because] ?? null
    assert.isNotNull(ends, because)
    assert.deepEqual(first("paused", because), { message, remedy: "resume", ends, until: null })
  }
})

it("names none where the number connects by itself", () => {
  assert.strictEqual(first("not_connected", "connection_lost")?.ends, null)
})

it("tells a message that is being sent from one behind it", () => {
  const waits = (ahead: number) =>
    sentences({ for: [{ reason: "sending", because: null, until: null }], ahead })[0]?.message
  assert.strictEqual(waits(0), whyLabels.beingSent)
  assert.strictEqual(waits(1), waitingTexts.sending)
})
