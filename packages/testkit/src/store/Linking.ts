/** Creates, claims and reads linking attempts for tests of a store. */
import { assert } from "@effect/vitest"
import { linkingMillis, emptyLinkingView, Store } from "@messaging-service/core"
import type {
  LinkingStore,
  IdempotencyClaim,
  LinkingId,
  LinkingOutcome,
  NewAttempt,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "./Expect.ts"
import { aPhone, fresh, abandoned, minute } from "./Records.ts"

export const digits = (): string => aPhone().slice(1)

export const anAttempt = (now: number, overrides: Partial<NewAttempt> = {}): NewAttempt => ({
  id: `attempt${fresh()}` as LinkingId,
  mode: "live",
  method: "qr",
  phone: null,
  requestedAt: now,
  endsAt: now + linkingMillis,
  linksAt: null,
  ...emptyLinkingView,
  callbackUrl: null,
  pacing: null,
  ...overrides,
})

const aNewNumber = (
  workspaceId: WorkspaceId,
  now: number,
  overrides: Partial<SendingNumber> = {},
): Omit<SendingNumber, "id" | "status"> => ({
  workspaceId,
  mode: "live",
  phone: null,
  label: "",
  platform: "whatsapp",
  loginMethod: "qr",
  createdAt: now,
  ...overrides,
})

interface Adding {
  readonly number?: Partial<SendingNumber>
  readonly attempt?: Partial<NewAttempt>
  readonly limit?: number | null
  readonly claim?: IdempotencyClaim | null
}

export const add = (workspaceId: WorkspaceId, now: number, options: Adding = {}) =>
  Store.use(({ numbers: store }) =>
    store.addLinking(
      aNewNumber(workspaceId, now, options.number),
      anAttempt(now, options.attempt),
      options.limit ?? null,
      options.claim ?? null,
    ),
  )

export const started = (outcome: LinkingOutcome): SendingNumber =>
  outcome._tag === "Begun" ? outcome.number : assert.fail(`broken: ${outcome.guard}`)

export const findGuard = (outcome: LinkingOutcome): string | null =>
  outcome._tag === "Conflict" ? outcome.guard : null

/** A connecting number with its attempt. */
export const aLinking = (workspaceId: WorkspaceId, now: number, options: Adding = {}) =>
  Effect.gen(function* () {
    const number = started(yield* add(workspaceId, now, options))
    const attempt = present(yield* Store.use(({ numbers: store }) => store.getLinking(number.id)))
    return { number, attempt }
  })

export type One = Effect.Success<ReturnType<typeof aLinking>>

/** Claims everything of an era; later attempts are other tests', earlier ones are gone. */
export const claimAll = (
  now: number,
  leaseUntil = now + minute,
  overrides: Partial<Parameters<LinkingStore["claimLinkings"]>[0]> = {},
) =>
  Store.use(({ numbers: store }) =>
    store.claimLinkings({
      now,
      leaseUntil,
      limit: 1000,
      perWorkspace: 1000,
      held: new Map(),
      owned: "all",
      ...overrides,
    }),
  )

export const abandon = (id: LinkingId) =>
  Store.use(({ numbers: store }) => store.abandonLinking(id, abandoned))
