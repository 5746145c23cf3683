/**
 * The parameters of a batch's statements, as texts that need no more work: what remains is the
 * database's time.
 */
import { modesSeenBy } from "@messaging-service/core"
import type { QuotaLimit } from "@messaging-service/core"

const array = (values: ReadonlyArray<string | number | boolean | null>): string =>
  `{${values.map((value) => (value === null ? "null" : `"${String(value)}"`)).join(",")}}`

let drawn = 0

/** Transport ids that were never given out before, in the size that the service draws them. */
const freshIds = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, () => String(++drawn).padStart(20, "0"))

export const batchParameters = (
  workspace: number,
  number: number,
  phones: ReadonlyArray<string>,
  limit: QuotaLimit,
): { readonly load: ReadonlyArray<unknown>; readonly accept: Readonly<Record<string, string>> } => {
  const now = new Date().toISOString()
  const count = phones.length
  const same = (value: string | number) => array(phones.map(() => value))
  const one = (value: string | number | boolean | null) => array([value])
  const query = {
    patience: 250,
    workspaceId: workspace,
    mode: "live",
    seen: modesSeenBy("live"),
    now,
    from: number,
    phones,
    contactIds: [],
    mediaId: null,
    exactQuota: null,
    idempotency: null,
  }
  return {
    load: [JSON.stringify([query])],
    accept: {
      p_now: one(now),
      p_workspace: one(workspace),
      p_number: one(number),
      p_live: one(true),
      p_count: one(count),
      p_due_at: one(now),
      p_allowance: one(count),
      p_quota_at: one(now),
      p_quota_count: one(count),
      p_quota_limit: one(limit.messages),
      p_quota_window_millis: one(limit.windowMillis),
      m_acceptance: same(1),
      m_created_at: same(now),
      m_due_at: same(now),
      m_platform: same("whatsapp"),
      m_from_phone: same("15550000001"),
      m_to_kind: same("phone"),
      m_to_phone: array(phones),
      m_text: same("Hello"),
      m_transport_id: array(freshIds(count)),
    },
  }
}
