/**
 * What a batch of acceptances is told as parameters of one call, and what each of them is answered.
 */
import type { Acceptance, BrokenGuard, MessageId, NewMessage } from "@messaging-service/core"
import {
  bigint,
  boolean,
  columnsOf,
  instant,
  integer,
  integers,
  within,
  without,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { each, joined, part, single } from "../database/Statement.ts"
import type { Parameters } from "../database/Statement.ts"
import { claimColumns } from "../PostgresIdempotency.ts"
import { acceptedColumns } from "./messageRow.ts"

/** What a batch of acceptances is told, and their messages, in the same order. */
export interface Batch {
  /** Ordered by number. */
  readonly acceptances: ReadonlyArray<Acceptance>
  readonly messages: ReadonlyArray<NewMessage>
  /** How long it may wait for a row, in milliseconds; null in a caller's transaction, which says so itself. */
  readonly patience: number | null
}

const acceptanceColumns = columnsOf({
  now: { p_now: instant((one) => one.now) },
  workspaceId: { p_workspace: bigint((one) => one.workspaceId) },
  numberId: { p_number: bigint((one) => one.numberId) },
  mode: { p_live: boolean((one) => one.mode === "live") },
  messages: {
    p_count: integer((one) => one.messages.length),
    p_due_at: instant((one) => one.messages[0]?.dueAt ?? null),
  },
  allowance: { p_allowance: integer((one) => one.allowance) },
  quota: {
    p_quota_at: instant(({ quota }) => quota?.plannedAt ?? null),
    p_quota_count: integer(({ quota }) => quota?.count ?? null),
    p_quota_limit: integer(({ quota }) => quota?.limit.messages ?? null),
    p_quota_window_millis: bigint(({ quota }) => quota?.limit.windowMillis ?? null),
  },
  idempotency: within((one: Pick<Acceptance, "idempotency">) => one.idempotency, claimColumns),
} satisfies FieldsOf<Acceptance>)

/** The rest of a message its acceptance says. */
const messageColumns = without(acceptedColumns, "workspace_id", "number_id", "mode")

export const acceptParameters: Parameters<Batch> = joined(
  part("acceptances", each(acceptanceColumns)),
  single({
    m_acceptance: integers(({ acceptances }: Pick<Batch, "acceptances">) =>
      acceptances.flatMap(({ messages }, index) => messages.map(() => index + 1)),
    ),
  }),
  part("messages", each(messageColumns, "m_")),
  single({ p_patience: integer(({ patience }: Pick<Batch, "patience">) => patience) }),
)

export const batchOf = (
  acceptances: ReadonlyArray<Acceptance>,
  patience: number | null,
): Batch => ({
  acceptances,
  messages: acceptances.flatMap(({ messages }) => messages),
  patience,
})

export interface OutcomeRow<Guard = BrokenGuard> {
  readonly guard: BrokenGuard | Guard | null
  readonly ids: ReadonlyArray<bigint> | null
}

export const toOutcome = <Guard = BrokenGuard>({ guard, ids }: OutcomeRow<Guard>) =>
  guard === null
    ? ({ _tag: "Accepted", ids: (ids ?? []).map((id) => Number(id) as MessageId) } as const)
    : ({ _tag: "Broken", guard } as const)
