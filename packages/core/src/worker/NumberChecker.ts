/**
 * The loop of number checks: claims checks chunk by chunk, asks WhatsApp, and records what it said.
 * A chunk is held by a lease; when the process dies it is asked for again, which harms nothing.
 * Checks of test keys reach no transport (contract: Test mode).
 */
import { Clock, Context, Effect, Layer } from "effect"
import { sharedResources } from "../limit/sharedResources.ts"
import { Numbers } from "../number/Numbers.ts"
import { NumberCheckStore, isRegisteredInTestMode } from "../numberCheck/NumberCheck.ts"
import type { CheckSettlement, ClaimedCheck } from "../numberCheck/NumberCheck.ts"
import type { Phone } from "../recipient/Phone.ts"
import { NumberOwnership } from "../transport/NumberOwnership.ts"
import { PhoneDirectory } from "../transport/Transport.ts"
import type { PhonesOutcome } from "../transport/Transport.ts"
import { makeLeasedLoop } from "./LeasedWork.ts"
import type { LeasedLoop } from "./LeasedWork.ts"

/** Phones that one call asks for. */
export const checkChunk = 50

/** A transport that does not answer for this long has found nothing out, in service time. */
export const checkTimeoutMillis = 60_000

/** Longer than a call may take, so that a lease never runs out under it. In service time. */
export const checkLeaseMillis = 90_000

/** The pauses after tries that found nothing out; after one more try the chunk is `failed`. */
export const checkRetryMillis: ReadonlyArray<number> = [5000, 30_000]

/** The outcome of one claimed check. */
type Look = PhonesOutcome | { readonly _tag: "Removed" }

/** What that outcome means for the chunk. Pure. */
export const judgeCheck = (
  claimed: Pick<ClaimedCheck, "id" | "lease" | "phones" | "tries">,
  look: Look,
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
  switch (look._tag) {
    case "Checked":
      return {
        _tag: "Answered",
        id,
        lease,
        answers: phones.map((phone) => ({
          phone,
          status: look.registered.has(phone) ? "registered" : "not_registered",
        })),
      }
    case "Removed":
      return failed()
    case "NotConnected":
      return again(null, false)
    case "Postponed":
      return again(now + look.afterMillis, false)
    case "Unknown": {
      const pause = checkRetryMillis[tries]
      return pause === undefined ? failed() : again(now + pause, true)
    }
  }
}

export class NumberChecker extends Context.Service<NumberChecker, LeasedLoop>()(
  "core/NumberChecker",
) {
  static readonly layer = Layer.effect(
    NumberChecker,
    Effect.gen(function* () {
      const store = yield* NumberCheckStore
      const directory = yield* PhoneDirectory
      const numbers = yield* Numbers
      const ownership = yield* NumberOwnership

      const ask = ({ mode, numberId, phones, removed }: ClaimedCheck): Effect.Effect<Look> => {
        if (mode === "test") return Effect.succeed(byTheRule(phones))
        if (removed) return Effect.succeed({ _tag: "Removed" })
        return directory.checkPhones(numberId, phones).pipe(
          Effect.timeoutOrElse({
            duration: checkTimeoutMillis,
            orElse: () => Effect.succeed<Look>({ _tag: "Unknown" }),
          }),
          Effect.catchDefect((defect) =>
            Effect.as(Effect.logError("a look-up of phones broke off", defect), {
              _tag: "Unknown",
            } as const),
          ),
        )
      }

      const look = Effect.fn("NumberChecker.look")(function* (claimed: ClaimedCheck) {
        const found = yield* ask(claimed)
        if (found._tag === "NotConnected") {
          yield* Effect.ignore(numbers.connectionChanged(claimed.numberId, "disconnected", null))
        }
        return judgeCheck(claimed, found, yield* Clock.currentTimeMillis)
      })

      const settle = (settlements: ReadonlyArray<CheckSettlement>) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.forEach(settlements, (settlement) => store.settle(settlement, now), {
            concurrency: "unbounded",
            discard: true,
          }),
        )

      return yield* makeLeasedLoop({
        work: "number_checks",
        capacity: sharedResources.numberChecks,
        batch: sharedResources.numberChecks.whole,
        leaseMillis: checkLeaseMillis,
        workspaceOf: ({ workspaceId }) => workspaceId,
        claim: (query) =>
          Effect.flatMap(ownership.owned, (owned) =>
            store.claim({ ...query, chunk: checkChunk, owned }),
          ),
        perform: look,
        settle,
        giveBack: (held) =>
          settle(
            held.map(({ id, lease }) => ({
              _tag: "Again",
              id,
              lease,
              notBefore: null,
              tried: false,
            })),
          ),
      })
    }),
  )
}

/** What a test key is told, whatever phones the emulator was told exist (contract: Test mode). */
const byTheRule = (phones: ReadonlyArray<Phone>): Look => ({
  _tag: "Checked",
  registered: new Set(phones.filter(isRegisteredInTestMode)),
})
