/** Loads what decides about a campaign's rows, as POST /messages loads what decides about a send. */
import { Effect } from "effect"
import type { Sender } from "../model/Auth.ts"
import { hoursAt } from "../model/hours.ts"
import type { SendRequest } from "../model/SendRequest.ts"
import type { CampaignCheck } from "../store/CampaignStore.ts"
import type { makeAcceptor } from "./Messages.ts"
import { campaignQuota, requestedRecipient } from "./takeRows.ts"
import type { TakeFacts } from "./takeRows.ts"

type Acceptor = Effect.Success<typeof makeAcceptor>

export const loadTakeFacts = Effect.fnUntraced(function* loadTakeFacts(
  acceptor: Acceptor,
  check: CampaignCheck,
  now: number,
) {
  const { campaign, rows } = check
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
    media: campaign.media,
    sendAt: null,
    expiresAt: null,
    callbackUrl: null,
    reference: null,
  }
  const planned = campaignQuota(campaign, acceptor.quotaLimit, now)
  const facts = yield* acceptor.loadConnected(sender, request, now, planned)
  const context = yield* acceptor.contextWith(planned.limit, sender, request, now)
  const loaded: TakeFacts = { check, facts, context, hours: hoursAt(campaign, now) }
  return loaded
})
