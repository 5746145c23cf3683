/** The rules of asking for a chunk of a number check: how long it may take, and what comes of it. Pure. */
import type { Phone } from "../recipient/Phone.ts"
import type { PhonesOutcome } from "../transport/Transport.ts"
import { isRegisteredInTestMode } from "./NumberCheck.ts"
import type { CheckSettlement, ClaimedCheck } from "./NumberCheck.ts"

/** Phones that one call asks for. */
export const checkChunk = 50

/** A transport that does not answer for this long has found nothing out, in service time. */
export const checkTimeoutMillis = 60_000

/** Longer than a call may take, so that a lease never runs out under it. In service time. */
export const checkLeaseMillis = 90_000

/** The pauses after tries that found nothing out; after one more try the chunk is `failed`. */
export const checkRetryMillis: ReadonlyArray<number> = [5000, 30_000]

/** The outcome of one claimed check. */
export type CheckOutcome = PhonesOutcome | { readonly _tag: "Removed" }

/** What that outcome means for the chunk. */
export const judgeCheck = (
  claimed: Pick<ClaimedCheck, "id" | "lease" | "phones" | "tries">,
  outcome: CheckOutcome,
  now: number,
): CheckSettlement => {
  const { id, lease, phones, tries } = claimed
  const again = (notBefore: number | null, tried: boolean) =>
    ({ _tag: "Again", id, lease, notBefore, tried }) as const
  const failed = () =>
    ({
      _tag: "Answered",
      id,
      lease,
      answers: phones.map((phone) => ({ phone, status: "failed" as const })),
    }) as const
  switch (outcome._tag) {
    case "Checked":
      return {
        _tag: "Answered",
        id,
        lease,
        answers: phones.map((phone) => ({
          phone,
          status: outcome.registered.has(phone) ? "registered" : "not_registered",
        })),
      }
    case "Removed":
      return failed()
    case "NotConnected":
      return again(null, false)
    case "Postponed":
      return again(now + outcome.afterMillis, false)
    case "Unknown": {
      const pause = checkRetryMillis[tries]
      return pause === undefined ? failed() : again(now + pause, true)
    }
  }
}

/** What a test key is told, whatever phones the emulator was told exist (contract: Test mode). */
export const testModeOutcome = (phones: ReadonlyArray<Phone>): CheckOutcome => ({
  _tag: "Checked",
  registered: new Set(phones.filter(isRegisteredInTestMode)),
})
