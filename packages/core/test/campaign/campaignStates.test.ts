/** How a campaign's state changes (campaigns: 4). */
import { assert, describe, it } from "@effect/vitest"
import { aStoredWorkspace } from "@messaging-service/testkit"
import { Effect, Result } from "effect"
import type { Campaign, CampaignMove, CampaignState, NumberId, Refusal } from "../../src/index.ts"
import {
  campaignActions,
  campaignMove,
  decideResume,
  decideStart,
  hoursMove,
  isRestricted,
  removal,
} from "../../src/service/campaignStates.ts"
import type { CampaignTrigger } from "../../src/service/campaignStates.ts"
import { aCampaign } from "./aCampaign.ts"

const now = 1_000_000

const workspace = aStoredWorkspace()

const standing = (campaign: Partial<Campaign>, isOpen = true) => ({
  campaign: aCampaign(campaign),
  now,
  isOpen,
  numbers: [{ restrictedSince: null }],
})

const draft = (campaign: Partial<Campaign> = {}) => ({
  ...standing(campaign),
  pending: 1,
  workspace,
})

/** The state that it leads to, or the code of its refusal; null for no change. */
const readOutcome = (decided: Result.Result<CampaignMove | null, Refusal>) =>
  Result.match(decided, {
    onFailure: ({ code, field }) => (field === null ? code : `${code} ${field}`),
    onSuccess: (move) => move?.to.state ?? null,
  })

const running = { state: "running", startedAt: 10, runningSince: 10 } as const

describe("the table of states", () => {
  const states: ReadonlyArray<CampaignState> = [
    "draft",
    "scheduled",
    "running",
    "paused",
    "done",
    "stopped",
  ]
  const table = (triggers: ReadonlyArray<CampaignTrigger>) =>
    Object.fromEntries(
      states.map((state) => [
        state,
        triggers.map((trigger) => readOutcome(campaignMove(standing({ state }), trigger))),
      ]),
    )

  it.effect("answers what operators ask", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(table(campaignActions), {
        draft: ["running", "campaign_not_started", "campaign_not_started", "campaign_not_started"],
        scheduled: [null, "paused", null, "stopped"],
        running: [null, "paused", null, "stopped"],
        paused: ["campaign_started", null, "running", "stopped"],
        done: ["campaign_ended", "campaign_ended", "campaign_ended", "campaign_ended"],
        stopped: ["campaign_ended", "campaign_ended", "campaign_ended", null],
      })
    }),
  )

  it.effect("moves by itself where it says so", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(table(["begin", "restrict", "lose_numbers", "finish"]), {
        draft: [null, null, null, null],
        scheduled: ["running", null, "paused", null],
        running: [null, "paused", "paused", "done"],
        paused: [null, null, null, null],
        done: [null, null, null, null],
        stopped: [null, null, null, null],
      })
    }),
  )
})

describe("start", () => {
  it.effect("runs at once, or is scheduled while its time is ahead", () =>
    Effect.sync(() => {
      const at = Result.getOrThrow(decideStart(draft()))
      assert.deepInclude(at?.to, { state: "running", startedAt: now, lookAt: now })
      const later = Result.getOrThrow(decideStart(draft({ sendAt: now + 1 })))
      assert.deepInclude(later?.to, { state: "scheduled", startedAt: null, runningSince: null })
    }),
  )

  it.effect("checks again what a draft was checked for", () =>
    Effect.sync(() => {
      const disabled = { ...workspace, accountDisabled: true }
      const demo = { ...workspace, demo: true }
      const from = [1 as NumberId]
      assert.deepStrictEqual(
        [
          { ...draft(), workspace: disabled },
          { ...draft(), workspace: demo },
          { ...draft(), pending: 0 },
          draft({ sendAt: now }),
          draft({ expiresAt: now }),
          { ...draft({ from }), numbers: [] },
          { ...draft(), numbers: [] },
          { ...draft({ state: "running" }), workspace: disabled },
        ].map((one) => readOutcome(decideStart(one))),
        [
          "account_disabled",
          "demo_account",
          "no_rows",
          "time_in_past sendAt",
          "time_in_past expiresAt",
          "number_not_found from",
          "running",
          null,
        ],
      )
    }),
  )
})

describe("holding", () => {
  it.effect("a pause holds what waits, and resuming releases it in its hours alone", () =>
    Effect.sync(() => {
      const pause = Result.getOrThrow(campaignMove(standing(running), "pause"))
      assert.strictEqual(pause?.messages, "hold")
      assert.deepInclude(pause?.to, { isHolding: true, stateReason: "requested" })
      const paused = { state: "paused", startedAt: 10, isHolding: true } as const
      const open = Result.getOrThrow(decideResume(standing(paused), null))
      assert.strictEqual(open?.messages, "release")
      assert.deepInclude(open?.to, { isHolding: false, stateReason: null, startedAt: 10 })
      const closed = Result.getOrThrow(decideResume(standing(paused, false), null))
      assert.strictEqual(closed?.messages, null)
      assert.strictEqual(closed?.to.isHolding, true)
    }),
  )

  it.effect("the end of hours holds, and their beginning releases", () =>
    Effect.sync(() => {
      const holding = { ...running, isHolding: true }
      assert.strictEqual(hoursMove(standing(running, false))?.messages, "hold")
      assert.strictEqual(hoursMove(standing(holding, true))?.messages, "release")
      assert.isNull(hoursMove(standing(holding, false)))
      assert.isNull(hoursMove(standing(running, true)))
      assert.isNull(hoursMove(standing({ state: "paused", isHolding: true }, true)))
    }),
  )
})

describe("resume", () => {
  const restored = {
    state: "paused",
    stateReason: "restored",
    asksFromRow: true,
    isHolding: true,
  } as const

  it.effect("after a restore needs the row to go on from, and only then takes it", () =>
    Effect.sync(() => {
      assert.strictEqual(
        readOutcome(decideResume(standing(restored), null)),
        "from_row_required fromRow",
      )
      const move = Result.getOrThrow(decideResume(standing(restored), 12))
      assert.strictEqual(move?.skipBefore, 12)
      assert.deepInclude(move?.to, { state: "running", asksFromRow: false })
      const others = [{ state: "paused" }, running, { ...restored, state: "running" }] as const
      for (const other of others) {
        assert.strictEqual(
          readOutcome(decideResume(standing(other), 12)),
          "validation_failed fromRow",
        )
      }
      assert.strictEqual(readOutcome(decideResume(standing({}), 12)), "campaign_not_started")
    }),
  )

  it.effect("waits for its time again where it had not begun", () =>
    Effect.sync(() => {
      const paused = { state: "paused", sendAt: now + 5 } as const
      assert.strictEqual(readOutcome(decideResume(standing(paused), null)), "scheduled")
      assert.strictEqual(
        readOutcome(decideResume(standing({ ...paused, startedAt: 1 }), null)),
        "running",
      )
    }),
  )

  it.effect("a restriction that is there already does not pause it again", () =>
    Effect.sync(() => {
      const numbers = [{ restrictedSince: now }]
      const paused = { ...standing({ state: "paused", startedAt: 10 }), numbers }
      const move = Result.getOrThrow(decideResume(paused, null))
      const resumed = aCampaign({ state: "running", ...move?.to })
      assert.isFalse(isRestricted({ campaign: resumed, now, numbers }))
      const again = [{ restrictedSince: now + 1 }]
      assert.isTrue(isRestricted({ campaign: resumed, now, numbers: again }))
    }),
  )
})

describe("the end", () => {
  it.effect("stop and removal let nothing leave; removal needs no state", () =>
    Effect.sync(() => {
      const stop = Result.getOrThrow(campaignMove(standing(running), "stop"))
      assert.strictEqual(stop?.messages, "hold")
      assert.deepInclude(stop?.to, { state: "stopped", endedAt: now, lookAt: null })
      assert.deepInclude(removal(standing(running)).to, { state: "stopped", endedAt: now })
      assert.deepInclude(removal(standing({})).to, { state: "draft", endedAt: null })
      assert.deepInclude(removal(standing({ state: "done", endedAt: 5 })).to, {
        state: "done",
        endedAt: 5,
      })
      assert.isTrue(removal(standing({})).isRemoved)
    }),
  )
})
