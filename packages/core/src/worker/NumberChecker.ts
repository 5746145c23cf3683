/**
 * The loop of number checks: claims chunks, asks WhatsApp and records the answers. A lease holds
 * each chunk; after a crash it is asked again, which is harmless. Checks of test keys reach no
 * transport (contract: Test mode).
 */
import { Clock, Effect } from "effect"
import { sharedLimits } from "../model/Bulkhead.ts"
import { Numbers } from "../service/Numbers.ts"
import {
  checkChunk,
  checkLeaseMillis,
  checkTimeoutMillis,
  judgeCheck,
  testModeOutcome,
} from "../store/NumberCheckStore.ts"
import type { CheckOutcome, CheckSettlement, ClaimedCheck } from "../store/NumberCheckStore.ts"
import { NumberOwnership } from "../service/NumberOwnership.ts"
import { PhoneDirectory } from "../store/Transport.ts"
import { makeLeasedLoop } from "./LeaseLoop.ts"
import { Store } from "../store/Store.ts"

export const makeNumberChecker = Effect.gen(function* makeNumberChecker() {
  const store = (yield* Store).numberChecks
  const directory = yield* PhoneDirectory
  const numbers = yield* Numbers
  const ownership = yield* NumberOwnership

  const request = ({
    mode,
    numberId,
    phones,
    removed,
  }: ClaimedCheck): Effect.Effect<CheckOutcome> => {
    if (mode === "test") return Effect.succeed(testModeOutcome(phones))
    if (removed) return Effect.succeed({ _tag: "Removed" })
    return directory.checkPhones(numberId, phones).pipe(
      Effect.timeoutOrElse({
        duration: checkTimeoutMillis,
        orElse: () => Effect.succeed<CheckOutcome>({ _tag: "Unknown" }),
      }),
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("a look-up of phones broke off", defect), {
          _tag: "Unknown",
        } as const),
      ),
    )
  }

  const check = Effect.fn("NumberChecker.check")(function* check(claimed: ClaimedCheck) {
    const found = yield* request(claimed)
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
    capacity: sharedLimits.numberChecks,
    batch: sharedLimits.numberChecks.whole,
    leaseMillis: checkLeaseMillis,
    toWorkspaceId: ({ workspaceId }) => workspaceId,
    owned: ownership.owned,
    claim: (query) =>
      Effect.flatMap(ownership.owned, (owned) =>
        store.claim({ ...query, chunk: checkChunk, owned }),
      ),
    perform: check,
    settle,
    release: (claimedChecks) =>
      settle(
        claimedChecks.map(({ id, lease }) => ({
          _tag: "Again",
          id,
          lease,
          notBefore: null,
          tried: false,
        })),
      ),
  })
})
