/** Loads what decides about a campaign's rows, as POST /messages loads what decides about a send. */
import { Effect } from "effect"
import type { Sender } from "../model/Auth.ts"
import { hoursAt } from "../model/hours.ts"
import type { CampaignRow, CampaignSettings } from "../model/Campaign.ts"
import type { SendRequest } from "../model/SendRequest.ts"
import type { CampaignCheck } from "../store/CampaignStore.ts"
import type { makeAcceptor } from "./Messages.ts"
import { campaignQuota, requestedRecipient } from "./takeRows.ts"
import type { TakeFacts } from "./takeRows.ts"

type Acceptor = Effect.Success<typeof makeAcceptor>

const load = Effect.fnUntraced(function* load(
  acceptor: Acceptor,
  { campaign }: CampaignCheck,
  rows: ReadonlyArray<CampaignRow>,
  media: CampaignSettings["media"],
  now: number,
) {
  const sender: Sender = {
    workspaceId: campaign.workspaceId,
    mode: campaign.mode,
    numberIds: null,
  }
  const request: SendRequest = {
    recipients: rows.flatMap(({ to }) => (to === null ? [] : (requestedRecipient(to) ?? []))),
    batch: false,
    from: null,
    text: "",
    media,
    sendAt: null,
    expiresAt: null,
    callbackUrl: null,
    replyTo: null,
    reference: null,
  }
  const planned = campaignQuota(campaign, acceptor.dailyLimit, now)
  const facts = yield* acceptor.loadConnected(sender, request, now, planned)
  const context = yield* acceptor.contextWith(planned.limit, sender, request, now)
  return { facts, context }
})

export const loadTakeFacts = Effect.fnUntraced(function* loadTakeFacts(
  acceptor: Acceptor,
  check: CampaignCheck,
  now: number,
) {
  const { campaign, rows } = check
  const loaded = yield* load(acceptor, check, rows, campaign.media, now)
  const facts: TakeFacts = { check, ...loaded, hours: hoursAt(campaign, now) }
  return facts
})

/**
 * The same of campaigns of one workspace and mode, for what is ahead of them, which no file decides:
 * one read for all that leave others as much room.
 */
export const loadOutlookFacts = Effect.fnUntraced(function* loadOutlookFacts(
  acceptor: Acceptor,
  checks: ReadonlyArray<CampaignCheck>,
  now: number,
) {
  const all: Array<TakeFacts> = []
  for (const alike of Map.groupBy(checks, (one) => one.campaign.quotaReserve).values()) {
    const [first] = alike
    if (first === undefined) continue
    const rows = alike.flatMap((one) => one.rows)
    const loaded = yield* load(acceptor, first, rows, null, now)
    for (const check of alike) all.push({ check, ...loaded, hours: hoursAt(check.campaign, now) })
  }
  return all
})
