/** Queries of a store for tests: one each, about the present state. */
import { everyMessage, Store } from "@messaging-service/core"
import type {
  Acceptance,
  AcceptanceQuery,
  FoundMessage,
  IdempotencyClaim,
  Message,
  CallerScope,
  Mode,
  Capacity,
  QuotaFacts,
  QuotaLimit,
  SendingNumber,
  Workspace,
  WorkspaceId,
  Work,
  SaturatedTenants,
} from "@messaging-service/core"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { present } from "./Expect.ts"
import { accept, aQuery, day, noon } from "./Records.ts"

/** The guard that an acceptance broke; null when it went through. */
export const brokenBy = (acceptance: Acceptance) =>
  Effect.map(accept(acceptance), (outcome) => (outcome._tag === "Conflict" ? outcome.guard : null))

/**
 * When that work is next due within 50 days after `era`, else null: later work is another test's.
 * Without `saturated` the query for all kinds of work has the same answer.
 */
export const readNextDue = (work: Work, era: number, saturated?: SaturatedTenants) =>
  Effect.gen(function* () {
    const status = (yield* Store).queue
    const due = yield* status.nextDue(work, saturated)
    if (saturated === undefined) {
      const { [work]: earliest } = yield* status.earliestDue()
      assert.strictEqual(earliest, due)
    }
    return due !== null && due < era + 50 * day ? due : null
  })

/** The facts of an acceptance. */
export const facts = (
  workspaceId: WorkspaceId,
  overrides: Partial<Omit<AcceptanceQuery, "workspaceId">> = {},
) => Store.use(({ messages: store }) => store.loadAcceptance(aQuery(workspaceId, overrides)))

/** What the store finds for an `Idempotency-Key` at `now`. */
export const claimKey = (workspaceId: WorkspaceId, idempotency: IdempotencyClaim, now = noon) =>
  Effect.map(facts(workspaceId, { idempotency, now }), (found) => present(found.claim))

/** The store's quota facts of a number at `now`. */
export const readQuota = (number: SendingNumber, now = noon) =>
  Effect.map(
    facts(number.workspaceId, { from: number.id, now }),
    (found): QuotaFacts => present(found.named).quota,
  )

/** The number's messages in the window that ends at `plannedAt`, counted exactly. */
export const readExactQuota = (
  number: SendingNumber,
  options: {
    readonly plannedAt: number
    readonly limit: QuotaLimit
    readonly count?: number
    readonly now?: number
  },
) =>
  Effect.map(
    facts(number.workspaceId, {
      from: number.id,
      now: options.now ?? noon,
      exactQuota: {
        numberId: number.id,
        planned: {
          plannedAt: options.plannedAt,
          count: options.count ?? 1,
          limit: options.limit,
        },
      },
    }),
    (found) => present(present(found.named).quota.exact),
  )

/** The workspace's remaining allowance, by its own record. */
export const remaining = (workspace: Workspace) =>
  Effect.map(
    Store.use(({ workspaces: store }) => store.get(workspace.id)),
    (found) => present(found).plan?.messagesRemaining,
  )

/** Everything of the workspace in that mode. */
export const toScope = (workspaceId: WorkspaceId, mode: Mode = "live"): CallerScope => ({
  workspaceId,
  mode,
  restriction: null,
})

/** Every message of a workspace, as a page of its list newest first. */
export const listMessages = (workspaceId: WorkspaceId, mode: Mode = "live", now = noon) =>
  Effect.map(
    Store.use(({ messages: store }) =>
      store.list(toScope(workspaceId, mode), everyMessage, { before: null, limit: 100 }, now),
    ),
    ({ items }) => items,
  )

/** A message as the store has it now. */
export const lookUp = (message: Message) =>
  Effect.map(
    Store.use(({ messages: store }) =>
      store.get(toScope(message.workspaceId, message.mode), message.id),
    ),
    (found): FoundMessage => present(found),
  )

/** More permits of each kind than any test takes. */
const ampleCapacity: Capacity = { whole: 1000, share: { most: 1000 } }
export const plenty = {
  lanes: ampleCapacity,
  deliveries: ampleCapacity,
  number_checks: ampleCapacity,
  linking: ampleCapacity,
  files: ampleCapacity,
}

/** The number's work in flight at `now`: messages, and chunks of its checks. */
export const attemptsInHands = (number: SendingNumber, now: number) =>
  Effect.map(
    Store.use(({ queue: status }) => status.workload(now)),
    ({ inFlight }) => inFlight.filter(({ numberId }) => numberId === number.id),
  )

/** A message's state as the store has it now. */
export const readState = (message: Message) =>
  Effect.map(lookUp(message), (found) => found.message.state)
