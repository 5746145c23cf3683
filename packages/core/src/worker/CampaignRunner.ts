/**
 * The campaign loop: looks at due campaigns, moves their states, and takes rows on as POST /messages
 * would now (campaigns: 4 and 5). One commit accepts the messages of rows and marks these, so
 * several workers may decide about the same rows: one commit succeeds.
 *
 * Rows of a number that another transaction blocks wait until the others are done.
 */
import { Clock, Effect } from "effect"
import { fullQueue } from "../model/Campaign.ts"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { CampaignId, NumberId } from "../model/Ids.ts"
import { makeAcceptor } from "../service/Messages.ts"
import { hoursAt } from "../model/hours.ts"
import { loadTakeFacts } from "../service/loadCampaign.ts"
import { decideCheck, isExpiring, rowsLookedAt, takeRows } from "../service/takeRows.ts"
import { nextCheckAt } from "../store/CampaignStore.ts"
import type { CampaignCheck, CampaignStore } from "../store/CampaignStore.ts"
import { commitAndWake, sendingWork, WakeUp } from "../store/DueWork.ts"
import { makeDueRound } from "./DueRounds.ts"
import { runLoop } from "./LeaseLoop.ts"
import { Store } from "../store/Store.ts"

/** Campaigns per round. */
const batch = 100

/** Looks at a campaign in a round: it may begin, take rows, and be found to wait. */
const attempts = 5

/** Rows that one commit expires. */
const expiredAtOnce = 500

/** What remains of a look: look again, or wait for another transaction; null for nothing. */
type Left = "again" | "blockedByLock" | null

interface Runner {
  readonly store: CampaignStore
  readonly acceptor: Effect.Success<typeof makeAcceptor>
  readonly wakeUp: WakeUp["Service"]
}

const read = Effect.fnUntraced(function* read(
  { store }: Runner,
  id: CampaignId,
  now: number,
): Effect.fn.Return<CampaignCheck | null, StoreUnavailable> {
  const readOnce = Effect.map(store.check([id], now, rowsLookedAt), ([check = null]) => check)
  const check = yield* readOnce
  if (check === null || !isExpiring(check, now)) return check
  while ((yield* store.expireRows(id, now, expiredAtOnce)) === expiredAtOnce);
  return yield* readOnce
})

const take = Effect.fnUntraced(function* take(
  { acceptor, store }: Runner,
  check: CampaignCheck,
  now: number,
  blockedByLock: Set<NumberId>,
): Effect.fn.Return<Left, StoreUnavailable> {
  const { id, revision } = check.campaign
  const { next, portions } = takeRows(yield* loadTakeFacts(acceptor, check, now))
  if (portions.length === 0) return yield* Effect.as(store.putOff(id, revision, next, now), null)
  let left: Left = null
  for (const [index, portion] of portions.entries()) {
    const { acceptance } = portion
    if (acceptance !== null && blockedByLock.has(acceptance.numberId)) {
      left = "blockedByLock"
      continue
    }
    // A process that is killed before the last one leaves the campaign due.
    const isDone = left === null && index === portions.length - 1
    const outcome = yield* commitAndWake(
      store.take({
        id,
        revision,
        now,
        queueLimit: fullQueue,
        ...portion,
        // Still due: rows are left that this look could not take.
        next: isDone ? next : nextCheckAt(now),
      }),
      acceptance === null ? Effect.void : acceptor.wake(acceptance),
    )
    if (outcome._tag === "HeldUp" && acceptance !== null) blockedByLock.add(acceptance.numberId)
    if (outcome._tag === "HeldUp") left = "blockedByLock"
    if (outcome._tag === "Conflict") return "again"
  }
  return left
})

const lookOnce = Effect.fnUntraced(function* lookOnce(
  runner: Runner,
  id: CampaignId,
  blockedByLock: Set<NumberId>,
): Effect.fn.Return<Left, StoreUnavailable> {
  const { store, wakeUp } = runner
  const now = yield* Clock.currentTimeMillis
  const check = yield* read(runner, id, now)
  if (check === null) return null
  const { campaign } = check
  const found = decideCheck(check, hoursAt(campaign, now), now)
  if (found === null) return yield* take(runner, check, now, blockedByLock)
  if ("awaits" in found) {
    return yield* Effect.as(store.putOff(id, campaign.revision, found, now), null)
  }
  const release = wakeUp.wake(sendingWork(campaign.mode))
  yield* commitAndWake(store.move(found), found.messages === "release" ? release : Effect.void)
  return "again"
})

/** Whether it was blocked. A campaign that no attempt completes stays due for the next round. */
const lookAt = Effect.fnUntraced(function* lookAt(
  runner: Runner,
  id: CampaignId,
  blockedByLock: Set<NumberId>,
) {
  let left: Left = "again"
  for (let attempt = 0; attempt < attempts && left === "again"; attempt++) {
    left = yield* lookOnce(runner, id, blockedByLock)
  }
  return left === "blockedByLock"
})

/**
 * The loop; `runOnce` looks at due campaigns, one batch at most, and returns how many it completed.
 */
export const makeCampaignRunner = Effect.gen(function* makeCampaignRunner() {
  const runner: Runner = {
    store: (yield* Store).campaigns,
    acceptor: yield* makeAcceptor,
    wakeUp: yield* WakeUp,
  }
  const context = yield* Effect.context<WakeUp | Store>()
  const runOnce = makeDueRound<CampaignId, CampaignId, StoreUnavailable>({
    due: (limit) => Effect.flatMap(Clock.currentTimeMillis, (now) => runner.store.due(now, limit)),
    toId: (id) => id,
    run: (id, blockedByLock) => lookAt(runner, id, blockedByLock),
    batch,
    // Campaigns that share a number must not fill its queue twice.
    atOnce: 1,
  })
  return {
    runOnce,
    run: runLoop({
      work: "campaigns",
      runOnce: Effect.map(runOnce, (checked) => checked > 0),
    }).pipe(Effect.provideContext(context)),
  }
})
