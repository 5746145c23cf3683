/**
 * How a campaign's state changes (campaigns: 4): one table of what operators ask and what happens
 * by itself, and the moves that follow from it. Pure.
 */
import { Result } from "effect"
import type { Campaign, CampaignPauseReason, CampaignState } from "../model/Campaign.ts"
import { refuse } from "../model/Refusal.ts"
import type { Refusal } from "../model/Refusal.ts"
import { sendRefusal } from "../model/Workspace.ts"
import type { Workspace } from "../model/Workspace.ts"
import type { CampaignMove, CampaignNumber } from "../store/CampaignStore.ts"

/** What operators ask. */
export const campaignActions = ["start", "pause", "resume", "stop"] as const

export type CampaignAction = (typeof campaignActions)[number]

/** What happens by itself: it begins at `sendAt`, must pause, or has nothing left. */
export type CampaignTrigger = CampaignAction | "begin" | "restrict" | "lose_numbers" | "finish"

type StateCode = "campaign_not_started" | "campaign_started" | "campaign_ended"

/** `begun`: running, or scheduled while `sendAt` is ahead. `same`: it is so already. */
type Step = Exclude<CampaignState, "draft" | "scheduled"> | "begun" | "same" | StateCode

const transitions: Readonly<
  Record<
    CampaignState,
    Readonly<Record<CampaignAction, Step>> & Partial<Record<CampaignTrigger, Step>>
  >
> = {
  draft: {
    start: "begun",
    pause: "campaign_not_started",
    resume: "campaign_not_started",
    stop: "campaign_not_started",
  },
  scheduled: {
    start: "same",
    pause: "paused",
    resume: "same",
    stop: "stopped",
    begin: "running",
    lose_numbers: "paused",
  },
  running: {
    start: "same",
    pause: "paused",
    resume: "same",
    stop: "stopped",
    restrict: "paused",
    lose_numbers: "paused",
    finish: "done",
  },
  paused: { start: "campaign_started", pause: "same", resume: "begun", stop: "stopped" },
  done: {
    start: "campaign_ended",
    pause: "campaign_ended",
    resume: "campaign_ended",
    stop: "campaign_ended",
  },
  stopped: {
    start: "campaign_ended",
    pause: "campaign_ended",
    resume: "campaign_ended",
    stop: "same",
  },
}

/** Undefined where the trigger does nothing. */
const campaignStep = (state: CampaignState, trigger: CampaignTrigger): Step | undefined =>
  transitions[state][trigger]

const isCode = (step: Step): step is StateCode => step.startsWith("campaign_")

const pauseReason: Readonly<Partial<Record<CampaignTrigger, CampaignPauseReason>>> = {
  pause: "requested",
  restrict: "number_restricted",
  lose_numbers: "no_numbers",
}

export interface CampaignStanding {
  readonly campaign: Campaign
  readonly now: number
  /** Whether it is in its hours. */
  readonly isOpen: boolean
  /** That it may use; see `CampaignLook`. */
  readonly numbers: ReadonlyArray<Pick<CampaignNumber, "restrictedSince">>
}

/** A restriction that is there already does not pause it. */
const runsSince = ({ now, numbers }: CampaignStanding): number =>
  numbers.reduce(
    (since, { restrictedSince }) => Math.max(since, (restrictedSince ?? -Infinity) + 1),
    now,
  )

/** A number that it may use became restricted since it runs. */
export const isRestricted = ({ campaign, numbers }: Omit<CampaignStanding, "isOpen">): boolean =>
  numbers.some(
    ({ restrictedSince }) =>
      restrictedSince !== null && restrictedSince >= (campaign.runningSince ?? Infinity),
  )

/** None of the numbers that `from` names is left. */
export const hasNoNumbers = ({ campaign, numbers }: Omit<CampaignStanding, "isOpen">): boolean =>
  campaign.from !== null && numbers.length === 0

const moveTo = (
  { campaign, now }: CampaignStanding,
  to: Partial<CampaignMove["to"]>,
  messages: CampaignMove["messages"],
): CampaignMove => {
  const { asksFromRow, endedAt, isHolding, runningSince, startedAt, state } = campaign
  return {
    id: campaign.id,
    revision: campaign.revision,
    now,
    to: {
      state,
      stateReason: null,
      isHolding,
      asksFromRow,
      runningSince,
      // A look finds what comes next: the end of its hours, or rows that expire.
      lookAt: now,
      startedAt,
      endedAt,
      ...to,
    },
    messages,
    skipBefore: null,
    isRemoved: false,
  }
}

/** The end of hours holds what waits, their beginning releases it. */
export const hoursMove = (standing: CampaignStanding): CampaignMove | null => {
  const { campaign, isOpen } = standing
  if (campaign.state !== "running" || campaign.isHolding === !isOpen) return null
  return moveTo(standing, { isHolding: !isOpen }, isOpen ? "release" : "hold")
}

const started = (standing: CampaignStanding): CampaignMove => {
  const { campaign, isOpen, now } = standing
  const isAhead = campaign.startedAt === null && campaign.sendAt !== null && campaign.sendAt > now
  if (isAhead) {
    return moveTo(standing, { state: "scheduled", isHolding: false, runningSince: null }, "release")
  }
  return moveTo(
    standing,
    {
      state: "running",
      isHolding: !isOpen,
      runningSince: runsSince(standing),
      startedAt: campaign.startedAt ?? now,
    },
    isOpen ? "release" : null,
  )
}

/** Nothing of it leaves from then on. */
const ended = (standing: CampaignStanding, state: "done" | "stopped"): CampaignMove =>
  moveTo(
    standing,
    {
      state,
      isHolding: false,
      asksFromRow: false,
      runningSince: null,
      lookAt: null,
      endedAt: standing.now,
    },
    state === "stopped" ? "hold" : null,
  )

/** The move that the trigger causes; null when it is so already or does nothing. */
export const campaignMove = (
  standing: CampaignStanding,
  trigger: CampaignTrigger,
): Result.Result<CampaignMove | null, Refusal<StateCode>> => {
  const step = campaignStep(standing.campaign.state, trigger)
  if (step === undefined || step === "same") return Result.succeed(null)
  if (isCode(step)) return Result.fail(refuse(step))
  switch (step) {
    case "begun":
    case "running":
      return Result.succeed(started(standing))
    case "paused": {
      const stateReason = pauseReason[trigger] ?? null
      const to = { state: step, stateReason, isHolding: true, runningSince: null }
      return Result.succeed(moveTo(standing, to, "hold"))
    }
    case "done":
    case "stopped":
      return Result.succeed(ended(standing, step))
  }
}

type StartCode =
  | StateCode
  | "account_disabled"
  | "demo_account"
  | "no_rows"
  | "time_in_past"
  | "number_not_found"

/** As `campaignMove`, with what a draft is checked for once more. */
export const decideStart = (
  standing: CampaignStanding & { readonly pending: number; readonly workspace: Workspace },
): Result.Result<CampaignMove | null, Refusal<StartCode>> => {
  const { campaign, now, pending, workspace } = standing
  if (campaign.state !== "draft") return campaignMove(standing, "start")
  const barred = sendRefusal(workspace)
  if (barred !== undefined) return Result.fail(refuse(barred))
  if (pending === 0) return Result.fail(refuse("no_rows"))
  for (const field of ["sendAt", "expiresAt"] as const) {
    const time = campaign[field]
    if (time !== null && time <= now) return Result.fail(refuse("time_in_past", { field }))
  }
  if (hasNoNumbers(standing)) return Result.fail(refuse("number_not_found", { field: "from" }))
  return campaignMove(standing, "start")
}

/** `fromRow`: the first row that had not left, which only a restore asks for. */
export const decideResume = (
  standing: CampaignStanding,
  fromRow: number | null,
): Result.Result<
  CampaignMove | null,
  Refusal<StateCode | "validation_failed" | "from_row_required">
> =>
  Result.flatMap(
    campaignMove(standing, "resume"),
    (
      move,
    ): Result.Result<CampaignMove | null, Refusal<"validation_failed" | "from_row_required">> => {
      const requests = standing.campaign.asksFromRow && move !== null
      if (fromRow !== null && !requests) {
        const message = "is taken only after a restore of the store"
        return Result.fail(refuse("validation_failed", { field: "fromRow", message }))
      }
      if (!requests) return Result.succeed(move)
      if (fromRow === null) return Result.fail(refuse("from_row_required", { field: "fromRow" }))
      return Result.succeed({
        ...move,
        to: { ...move.to, asksFromRow: false },
        skipBefore: fromRow,
      })
    },
  )

/** As `stop` where it has not ended, and it is unknown from then on. */
export const removal = (standing: CampaignStanding): CampaignMove => {
  const step = campaignStep(standing.campaign.state, "stop")
  const move =
    step === "stopped"
      ? ended(standing, "stopped")
      : moveTo(standing, { lookAt: null, stateReason: standing.campaign.stateReason }, null)
  return { ...move, isRemoved: true }
}
