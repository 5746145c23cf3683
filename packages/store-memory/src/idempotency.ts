/** Claims on `Idempotency-Key`s: who holds a key, and what its first request made. */
import { claimOutcome, isClaimVoid, isRecordVoid } from "@messaging-service/core"
import type {
  ClaimOutcome,
  FirstShown,
  IdempotencyClaim,
  IdempotencyStore,
  KeyStanding,
} from "@messaging-service/core"
import type { Effect } from "effect"
import { visitInSteps } from "./collections.ts"
import type { Steps } from "./collections.ts"
import type { IdempotencyRow, Tables } from "./tables.ts"

const identity = (claim: IdempotencyClaim) => `${claim.keyId} ${claim.key}`

/** What the row is, unless there is none: a claim until its request has finished, then its record. */
const standingOf = (row: IdempotencyRow | undefined): KeyStanding => {
  if (row === undefined) return { claim: null, record: null }
  const { claimedAt, fingerprint, madeIds, shown } = row
  if (madeIds === null) return { claim: row, record: null }
  const record = { fingerprint, madeIds, createdAt: claimedAt }
  return { claim: null, record: shown === null ? record : { ...record, shown } }
}

const isVoid = ({ claimedAt, madeIds }: IdempotencyRow, now: number): boolean =>
  madeIds === null ? isClaimVoid(claimedAt, now) : isRecordVoid(claimedAt, now)

/** Claims the key, unless another request holds it or has finished. */
export const claim = (tables: Tables, request: IdempotencyClaim, now: number): ClaimOutcome => {
  forgetVoid(tables, now)
  const key = identity(request)
  const outcome = claimOutcome(standingOf(tables.idempotency.get(key)), request.token, now)
  if (outcome._tag !== "Claimed") return outcome
  // Behind all others, because the collection is kept in the order of claims.
  tables.idempotency.delete(key)
  tables.idempotency.set(key, {
    fingerprint: request.fingerprint,
    token: request.token,
    claimedAt: now,
    madeIds: null,
    shown: null,
  })
  return outcome
}

/** The unfinished claim, if no other request took it over meanwhile. */
const held = (tables: Tables, request: IdempotencyClaim): IdempotencyRow | undefined => {
  const row = tables.idempotency.get(identity(request))
  return row?.token === request.token && row.madeIds === null ? row : undefined
}

/** Whether another request took the claim over; a request without a key has none to lose. */
export const isLost = (tables: Tables, request: IdempotencyClaim | null): boolean =>
  request !== null && held(tables, request) === undefined

export const finishClaim = (
  tables: Tables,
  request: IdempotencyClaim | null,
  madeIds: ReadonlyArray<number>,
  shown: FirstShown | null = null,
): void => {
  const row = request === null ? undefined : held(tables, request)
  if (row !== undefined) Object.assign(row, { madeIds, shown })
}

/** First answers show nothing more of those numbers. */
export const forgetShown = (tables: Tables, numbers: ReadonlySet<number>): Effect.Effect<void> =>
  visitInSteps(tables.idempotency.values(), (row) => {
    if (row.shown !== null && numbers.has(row.madeIds?.[0] ?? 0)) row.shown = null
  })

export const releaseClaim = (tables: Tables, request: IdempotencyClaim): void => {
  if (!isLost(tables, request)) tables.idempotency.delete(identity(request))
}

/** Drops what is void from the front, so that a long run does not keep every key it ever saw. */
const forgetVoid = (tables: Tables, now: number): void => {
  for (const [key, row] of tables.idempotency) {
    if (!isRecordVoid(row.claimedAt, now)) return
    tables.idempotency.delete(key)
  }
}

/** `IdempotencyStore` in memory. */
export const idempotencyStore = (tables: Tables): Steps<typeof IdempotencyStore.Service> => ({
  claim: (request, now) => claim(tables, request, now),
  release: (request) => releaseClaim(tables, request),
  forgetVoid: (now) =>
    visitInSteps(tables.idempotency, ([key, row]) => {
      if (isVoid(row, now)) tables.idempotency.delete(key)
    }),
})
