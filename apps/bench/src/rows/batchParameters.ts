/**
 * The parameters of a batch's statements, as texts that need no more work: what remains is the
 * database's time.
 */
import { answerKeptMillis, claimKeptMillis, modesSeenBy } from "@messaging-service/core"
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
): { readonly load: ReadonlyArray<unknown>; readonly accept: ReadonlyArray<unknown> } => {
  const now = new Date().toISOString()
  const count = phones.length
  // As the service sends a list of nulls.
  const same = (value: string | number | null) =>
    array(value === null ? [] : phones.map(() => value))
  const one = (value: string | number | boolean | null) => array([value])
  const query = {
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
    load: [JSON.stringify([query]), claimKeptMillis, answerKeptMillis],
    accept: [
      [one(now), one(workspace), one(number), one(true), one(count), one(now), one(count)],
      [one(now), one(count), one(limit.messages), one(limit.windowMillis)],
      [one(null), one(null), one(null), one(null)],
      [same(1), same(now), same(now), same(null), same(null), same(null), same(null)],
      [same("whatsapp"), same("15550000001"), same("phone"), array(phones), same(null)],
      [same("Hello"), same(null), same(null), same(null)],
      [array(freshIds(count)), same(null), same(null)],
    ].flat(),
  }
}
