/**
 * The parameters of a batch's statements, as texts that need no more work: what remains is the
 * database's time.
 */
import { visibleModes } from "@messaging-service/core"
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
    lockTimeout: 250,
    workspaceId: workspace,
    mode: "live",
    received: visibleModes("live"),
    now,
    from: number,
    phones,
    contactIds: [],
    chatIds: [],
    replyTo: null,
    mediaId: null,
    exactQuota: null,
    idempotency: null,
  }
  return {
    load: [JSON.stringify([query])],
    accept: {
      now: one(now),
      workspace: one(workspace),
      number: one(number),
      live: one(true),
      count: one(count),
      dueAt: one(now),
      allowance: one(count),
      quotaAt: one(now),
      quotaCount: one(count),
      quotaLimit: one(limit.messages),
      quotaWindowMillis: one(limit.windowMillis),
      mAcceptance: same(1),
      mCreatedAt: same(now),
      mDueAt: same(now),
      mPlatform: same("whatsapp"),
      mFromPhone: same("15550000001"),
      mToKind: same("phone"),
      mToPhone: array(phones),
      mText: same("Hello"),
      mTransportId: array(freshIds(count)),
    },
  }
}
