/**
 * What operators do with a campaign once it has its rows (campaigns: 4, 6 and 8): start, pause,
 * resume, stop, remove, and look ahead. Each change loads, decides and commits, and begins again
 * when the campaign changed meanwhile.
 */
import { Clock, Effect, Result } from "effect"
import { hasCampaignEnded, rowsAtOnce } from "../model/Campaign.ts"
import type { Campaign } from "../model/Campaign.ts"
import { hoursAt } from "../model/hours.ts"
import type { CampaignId } from "../model/Ids.ts"
import { refuse } from "../model/Refusal.ts"
import type { Code, Failure, Refusal, StoreUnavailable } from "../model/Refusal.ts"
import type {
  CampaignCheck,
  CampaignMove,
  CampaignScope,
  CampaignStore,
} from "../store/CampaignStore.ts"
import { commitAndWake, sendingWork, WakeUp } from "../store/DueWork.ts"
import type { MessageStore } from "../store/MessageStore.ts"
import { Store } from "../store/Store.ts"
import type { CampaignForecast, CampaignView } from "./Campaigns.ts"
import { campaignForecast } from "./campaignOutlook.ts"
import { campaignMove, decideResume, decideStart, removal } from "./campaignStates.ts"
import type { CampaignStanding } from "./campaignStates.ts"
import { loadOutlookFacts, loadTakeFacts } from "./loadCampaign.ts"
import { isKnownExpired, makeEndings } from "./makeEndings.ts"
import type { Endings } from "./makeEndings.ts"
import { makeAcceptor } from "./Messages.ts"
import type { TakeFacts } from "./takeRows.ts"
import { WorkGate } from "./Readiness.ts"

/** Messages that one commit cancels at most, so that no lock is held for long. */
const cancelledAtOnce = 500

type Outlook = Pick<CampaignView, "waitsFor" | "finishesAt">

type Decide<C extends Code> = (
  standing: CampaignStanding & Pick<CampaignCheck, "pending" | "workspace">,
) => Result.Result<CampaignMove | null, Refusal<C>>

interface Work {
  readonly campaigns: CampaignStore
  readonly messages: MessageStore
  readonly wakeUp: WakeUp["Service"]
  readonly gate: WorkGate["Service"]
  readonly endings: Endings
  readonly acceptor: Effect.Success<typeof makeAcceptor>
}

const find = Effect.fnUntraced(function* find(
  { campaigns }: Work,
  { mode, workspaceId }: CampaignScope,
  id: CampaignId | undefined,
  rows: number,
): Effect.fn.Return<
  { readonly check: CampaignCheck; readonly now: number },
  Failure<"campaign_not_found">
> {
  const now = yield* Clock.currentTimeMillis
  const [check] = id === undefined ? [] : yield* campaigns.check([id], now, rows)
  const isIn = check?.campaign.workspaceId === workspaceId && check.campaign.mode === mode
  return check !== undefined && isIn ? { check, now } : yield* refuse("campaign_not_found")
})

const act = Effect.fnUntraced(function* act<C extends Code>(
  work: Work,
  scope: CampaignScope,
  id: CampaignId | undefined,
  decide: Decide<C>,
): Effect.fn.Return<CampaignMove | null, Failure<C | "campaign_not_found">> {
  const { campaigns, wakeUp } = work
  while (true) {
    const { check, now } = yield* find(work, scope, id, 0)
    const { campaign, numbers, pending, workspace } = check
    const { isOpen } = hoursAt(campaign, now)
    const standing = { campaign, now, isOpen, numbers, pending, workspace }
    const move = yield* Effect.fromResult(decide(standing))
    if (move === null) return null
    const wake = Effect.andThen(
      wakeUp.wake("campaigns"),
      move.messages === "release" ? wakeUp.wake(sendingWork(campaign.mode)) : Effect.void,
    )
    if (yield* commitAndWake(campaigns.move(move), wake)) return move
  }
})

/** What a transport has in hands ends as it ends. */
const cancelSome = Effect.fnUntraced(function* cancelSome(
  { campaigns, endings, gate, messages, wakeUp }: Work,
  id: CampaignId,
): Effect.fn.Return<number, StoreUnavailable> {
  const waiting = yield* campaigns.waiting(id, cancelledAtOnce)
  const now = yield* Clock.currentTimeMillis
  const changes = yield* endings(waiting, now, (message) => ({
    trigger: isKnownExpired(gate, message, now) ? "expire" : "cancel",
  }))
  if (changes.length === 0) return 0
  // The number's limits may hold back these messages but not the next ones.
  return (yield* commitAndWake(messages.end(changes), wakeUp.wake("lanes"))).size
})

/** Nothing is taken on from the first commit on; then what waits is cancelled. */
const ending = Effect.fnUntraced(function* ending<C extends Code>(
  work: Work,
  scope: CampaignScope,
  id: CampaignId | undefined,
  decide: Decide<C>,
): Effect.fn.Return<void, Failure<C | "campaign_not_found">> {
  const move = yield* act(work, scope, id, decide)
  if (move === null) return
  // The worker cancels what comes back from a transport, and what a killed process leaves.
  yield* Effect.ensuring(
    Effect.repeat(cancelSome(work, move.id), { while: (cancelled) => cancelled > 0 }),
    work.wakeUp.wake("orphaned"),
  )
})

const getForecast = (facts: TakeFacts): CampaignForecast =>
  campaignForecast({ ...facts, hoursAt: (instant) => hoursAt(facts.check.campaign, instant) })

export const makeCampaignActions = Effect.gen(function* makeCampaignActions() {
  const { campaigns, messages } = yield* Store
  const work: Work = {
    campaigns,
    messages,
    wakeUp: yield* WakeUp,
    gate: yield* WorkGate,
    endings: yield* makeEndings,
    acceptor: yield* makeAcceptor,
  }
  return {
    start: (scope: CampaignScope, id: CampaignId | undefined) =>
      Effect.asVoid(act(work, scope, id, decideStart)),
    pause: (scope: CampaignScope, id: CampaignId | undefined) =>
      Effect.asVoid(act(work, scope, id, (standing) => campaignMove(standing, "pause"))),
    resume: (scope: CampaignScope, id: CampaignId | undefined, fromRow: number | null) =>
      Effect.asVoid(act(work, scope, id, (standing) => decideResume(standing, fromRow))),
    stop: (scope: CampaignScope, id: CampaignId | undefined) =>
      ending(work, scope, id, (standing) => campaignMove(standing, "stop")),
    remove: (scope: CampaignScope, id: CampaignId | undefined) =>
      ending(work, scope, id, (standing) => Result.succeed(removal(standing))),
    /** Stores nothing. */
    forecast: Effect.fnUntraced(function* forecast(
      scope: CampaignScope,
      id: CampaignId | undefined,
    ): Effect.fn.Return<CampaignForecast, Failure<"campaign_not_found">> {
      const { check, now } = yield* find(work, scope, id, rowsAtOnce)
      return getForecast(yield* loadTakeFacts(work.acceptor, check, now))
    }),
    /** What answers report what is ahead of campaigns of a workspace and mode, in few reads for all. */
    outlooks: Effect.fnUntraced(function* outlooks(
      all: ReadonlyArray<Campaign>,
      now: number,
    ): Effect.fn.Return<ReadonlyArray<Outlook>, StoreUnavailable> {
      const open = all.flatMap((one) => (hasCampaignEnded(one) ? [] : one.id))
      const checks = open.length === 0 ? [] : yield* campaigns.check(open, now, rowsAtOnce)
      const facts = yield* loadOutlookFacts(work.acceptor, checks, now)
      const forecasts = new Map(facts.map((one) => [one.check.campaign.id, getForecast(one)]))
      return all.map(({ id }) => {
        const { finishesAt = null, waitsFor = null } = forecasts.get(id) ?? {}
        return { waitsFor, finishesAt }
      })
    }),
  }
})
