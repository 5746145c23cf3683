/** Looks at campaigns, for the suites of what they decide. */
import { aStoredWorkspace } from "@messaging-service/testkit"
import type {
  AcceptanceFacts,
  Campaign,
  CampaignCheck,
  CampaignNumber,
  CampaignRow,
  Plan,
  Platform,
  RowNeeds,
  RowRecipient,
} from "../../src/index.ts"
import type { HoursNow } from "../../src/model/hours.ts"
import { unpaced } from "../../src/model/Pacing.ts"
import type { Phone } from "../../src/model/Recipient.ts"
import { unlimitedPlan } from "../../src/model/Workspace.ts"
import type { Workspace } from "../../src/model/Workspace.ts"
import { campaignLimit } from "../../src/service/takeRows.ts"
import type { TakeFacts } from "../../src/service/takeRows.ts"
import { dailyQuota } from "../../src/model/Message.ts"
import { aNumber, aSender, countingIds, now, withPhone, workspaceId } from "../message/Accepting.ts"
import { aCampaign } from "./aCampaign.ts"

const running = { state: "running", startedAt: now - 1, runningSince: now - 1 } as const

export const aRow = (row: number, more: Partial<CampaignRow> = {}): CampaignRow => {
  const phone = `+1555${String(row).padStart(7, "0")}` as Phone
  return {
    row,
    line: null,
    to: { phone },
    needs: "either",
    recipientKey: `phone:${phone}`,
    phone,
    values: { name: `Row ${row}` },
    sendAt: null,
    expiresAt: null,
    state: "pending",
    refusal: null,
    status: "pending",
    messageId: null,
    sentText: null,
    numberId: null,
    takenOnAt: null,
    sentAt: null,
    deliveredAt: null,
    readAt: null,
    error: null,
    ...more,
  }
}

export const rowTo = (row: number, to: RowRecipient, needs: RowNeeds = "either") =>
  aRow(row, { to, needs, phone: null })

/** Planned messages in the fullest of a number's windows, and when there is room for one more. */
interface Planned {
  readonly planned: number
  readonly roomAt: number | null
}

export interface Standing extends Partial<Omit<CampaignNumber, "number">> {
  readonly platform?: Platform
  readonly isConnected?: boolean
  readonly quota?: Planned
}

/** Numbers with ids from 1. */
const numbersFrom = (standings: ReadonlyArray<Standing>) =>
  standings.map(({ isConnected = true, platform = "whatsapp", quota, ...more }, index) => {
    const number = aNumber(index + 1, platform, isConnected ? "connected" : "disconnected")
    const known: CampaignNumber = {
      number,
      pausedUntil: null,
      waiting: 0,
      restrictedSince: null,
      pacing: unpaced,
      givenBack: 0,
      ...more,
    }
    return { known, planned: quota ?? { planned: 0, roomAt: now } }
  })

const workspace = aStoredWorkspace({ id: workspaceId })

interface Situation extends Partial<Omit<CampaignCheck, "campaign" | "numbers" | "workspace">> {
  readonly campaign?: Partial<Campaign>
  readonly numbers?: ReadonlyArray<Standing>
  readonly workspace?: Partial<Workspace>
  readonly plan?: Plan | null
  readonly facts?: Partial<AcceptanceFacts>
  readonly hours?: HoursNow
}

const alwaysOpen: HoursNow = { isOpen: true, changesAt: null }

export const aTake = ({
  campaign: changes,
  facts,
  hours = alwaysOpen,
  numbers: standings = [{}],
  plan = unlimitedPlan,
  rows = [],
  workspace: changed,
  ...more
}: Situation): TakeFacts => {
  const campaign = aCampaign({ ...running, ...changes })
  const numbers = numbersFrom(standings)
  return {
    check: {
      campaign,
      pending: rows.length,
      workspace: { ...workspace, ...changed },
      numbers: numbers.map(({ known }) => known),
      rows,
      nextRowAt: null,
      nextExpiryAt: null,
      hasWaiting: false,
      ...more,
    },
    facts: {
      claim: null,
      plan,
      named: null,
      connected: numbers.flatMap(({ known, planned }) =>
        known.number.status === "connected"
          ? { number: known.number, quota: { bound: 1000, fullUntil: now + 1, exact: planned } }
          : [],
      ),
      contactIdByPhone: new Map(),
      contacts: new Map([[withPhone.id, withPhone]]),
      chats: new Map(),
      quoted: null,
      media: null,
      ...facts,
    },
    context: {
      sender: aSender({ mode: campaign.mode }),
      now,
      ids: countingIds(),
      idempotency: null,
      linkAllowed: true,
      dailyLimit: campaignLimit(campaign, dailyQuota),
    },
    hours,
  }
}
