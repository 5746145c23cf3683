/** Campaigns at the end, read from the store. */
import { Store } from "@messaging-service/core"
import type { CampaignRow, CampaignScope, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { toName } from "./History.ts"
import type { FinalCampaign } from "./History.ts"

/** More than any page of a seed has. */
export const everything = 1_000_000_000

const everyRow = { statuses: null, code: null, phone: null }

/** The name of a row's message, also before there is one; null where its text is none. */
const nameOfRow = (campaign: string, { phone, sentText, values }: CampaignRow): string | null => {
  const label = values?.["n"]
  const text = sentText ?? (label === undefined ? null : `${campaign} ${label}`)
  return text === null || phone === null ? null : toName(text, phone)
}

const auditMode = Effect.fnUntraced(function* (scope: CampaignScope, now: number) {
  const { campaigns: store } = yield* Store
  const page = { before: null, limit: everything }
  const { items } = yield* store.list(scope, { states: null }, page, now)
  const audited: Array<FinalCampaign> = []
  for (const { campaign, rows: counts } of items) {
    const { id, name, state, stateReason: reason } = campaign
    const rows = yield* store.rows(id, everyRow, { after: null, limit: everything }, now)
    const [checked] = yield* store.check([id], now, 0)
    const usable = (checked?.numbers ?? []).filter(
      ({ number, pausedUntil }) =>
        scope.mode === "test" || (number.status === "connected" && pausedUntil === null),
    )
    const whatsapp = usable.filter(({ number }) => number.platform === "whatsapp")
    audited.push({
      id,
      name,
      state,
      reason,
      counts,
      rows: rows.map((row) => ({
        row: row.row,
        status: row.status,
        name: nameOfRow(name, row),
        messageId: row.messageId,
        code: row.refusal?.code ?? null,
      })),
      usable: (whatsapp.length > 0 ? whatsapp : usable).map(({ number }) => Number(number.id)),
    })
  }
  return audited
})

export const auditCampaigns = (workspaceId: WorkspaceId, now: number) =>
  Effect.map(
    Effect.forEach(["live", "test"] as const, (mode) => auditMode({ workspaceId, mode }, now)),
    (modes) => modes.flat(),
  )
