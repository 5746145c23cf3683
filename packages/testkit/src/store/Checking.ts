/** Creates, claims and settles number checks for tests of a store. */
import { Store } from "@messaging-service/core"
import type {
  CheckClaimQuery,
  CheckSettlement,
  ClaimedCheck,
  IdempotencyClaim,
  NewNumberCheck,
  NumberCheck,
  NumberCheckId,
  CallerScope,
  Phone,
  SendingNumber,
} from "@messaging-service/core"
import { Effect } from "effect"
import { onlyThese } from "./Sending.ts"
import { only, present } from "./Expect.ts"
import { range } from "./Races.ts"
import { aPhone, minute, noon } from "./Records.ts"

export const anUnknownId = 999_999_999 as NumberCheckId

export const somePhones = (count: number): ReadonlyArray<Phone> => range(count).map(() => aPhone())

const aNewCheck = (
  number: SendingNumber,
  overrides: Partial<Omit<NewNumberCheck, "workspaceId" | "numberId">> = {},
): NewNumberCheck => ({
  workspaceId: number.workspaceId,
  mode: "live",
  numberId: number.id,
  name: null,
  createdAt: noon,
  phones: somePhones(2),
  ...overrides,
})

const insert = (check: NewNumberCheck, idempotency: IdempotencyClaim | null = null) =>
  Store.use(({ numberChecks: store }) => store.insert(check, idempotency))

export const getScope = (check: Pick<NumberCheck, "workspaceId" | "mode">): CallerScope => ({
  workspaceId: check.workspaceId,
  mode: check.mode,
  restriction: null,
})

/** A new check, as the store has it. */
export const aCheck = (
  number: SendingNumber,
  overrides: Partial<Omit<NewNumberCheck, "workspaceId" | "numberId">> = {},
) =>
  Effect.gen(function* () {
    const check = aNewCheck(number, overrides)
    const checkInsertion = yield* insert(check)
    const store = (yield* Store).numberChecks
    const id = checkInsertion._tag === "Made" ? checkInsertion.id : anUnknownId
    return present(yield* store.get(getScope(check), id))
  })

export const lookUp = (check: NumberCheck) =>
  Effect.map(
    Store.use(({ numberChecks: store }) => store.get(getScope(check), check.id)),
    present,
  )

/** All results, in the order of the list. */
export const readResults = (check: NumberCheck) =>
  Effect.map(
    Store.use(({ numberChecks: store }) =>
      store.results(check.id, null, { before: null, limit: 100_000 }),
    ),
    (page) => page.items.toReversed(),
  )

export const readStatuses = (check: NumberCheck) =>
  Effect.map(readResults(check), (results) => results.map(({ status }) => status))

/** Claims only from these numbers, so tests do not take each other's checks. */
export const claim = (
  numbers: ReadonlyArray<SendingNumber>,
  overrides: Partial<Omit<CheckClaimQuery, "owned">> = {},
) =>
  Effect.gen(function* () {
    const now = overrides.now ?? noon
    const claimed = yield* Store.use(({ numberChecks: store }) =>
      store.claim({
        now,
        leaseUntil: now + minute,
        limit: 1000,
        chunk: 50,
        perWorkspace: 1000,
        held: new Map(),
        ...overrides,
        owned: onlyThese(numbers),
      }),
    )
    return claimed.filter(({ numberId }) => numbers.some(({ id }) => id === numberId))
  })

export const claimOne = (
  number: SendingNumber,
  overrides: Partial<Omit<CheckClaimQuery, "owned">> = {},
) => Effect.map(claim([number], overrides), only)

export const settle = (settlement: CheckSettlement, now = noon) =>
  Store.use(({ numberChecks: store }) => store.settle(settlement, now))

export type Answer = "registered" | "not_registered" | "failed"

export const answered = (
  claimed: ClaimedCheck,
  answer: (phone: Phone) => Answer = () => "registered",
): CheckSettlement => ({
  _tag: "Answered",
  id: claimed.id,
  lease: claimed.lease,
  answers: claimed.phones.map((phone) => ({ phone, status: answer(phone) })),
})

export const again = (
  { id, lease }: ClaimedCheck,
  overrides: { readonly notBefore?: number; readonly tried?: boolean } = {},
): CheckSettlement => ({
  _tag: "Again",
  id,
  lease,
  notBefore: overrides.notBefore ?? null,
  tried: overrides.tried ?? false,
})

export const setStatus = (number: SendingNumber, status: "connected" | "disconnected") =>
  Store.use(({ numbers: store }) => store.setStatus(number.id, status, undefined, noon))
