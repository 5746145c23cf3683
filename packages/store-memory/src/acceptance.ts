/** The two steps of an acceptance: its facts, and its commit behind the guards. */
import {
  connectedShown,
  coversMessages,
  isLimited,
  isSeenBy,
  withMessages,
} from "@messaging-service/core"
import type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
  BrokenGuard,
  Contact,
  ContactId,
  MessageChange,
  MessageId,
  NumberFacts,
  Phone,
  Platform,
  RefusedMessage,
} from "@messaging-service/core"
import { claim, finishClaim, isLost } from "./idempotency.ts"
import { keptFile } from "./mediaStore.ts"
import { countAndRemember, enqueue, hasRoom, quotaFacts, tell } from "./Lane.ts"
import { contactOf, laneIn, transportKey } from "./tables.ts"
import type { Lane, MessageRow, WorkspaceRow, Tables } from "./tables.ts"

const factsOf = (lane: Lane, query: AcceptanceQuery): NumberFacts => {
  const asked = query.exactQuota
  const exact =
    asked !== null && (asked.numberId === null || asked.numberId === lane.number.id)
      ? countAndRemember(lane, asked.planned, query.now)
      : null
  return { number: lane.number, quota: quotaFacts(lane, query.now, exact) }
}

const connected = (
  owner: WorkspaceRow,
  { exactQuota, mode }: AcceptanceQuery,
): ReadonlyArray<Lane> => {
  const most =
    exactQuota !== null && exactQuota.numberId === null ? Number.POSITIVE_INFINITY : connectedShown
  const shown: Record<Platform, number> = { whatsapp: 0, telegram: 0 }
  return owner.lanes.filter(
    ({ number, removed }) =>
      !removed &&
      isSeenBy(mode, number) &&
      number.status === "connected" &&
      ++shown[number.platform] <= most,
  )
}

/** Reads everything that the rules of acceptance ask for, and claims the `Idempotency-Key`. */
export const loadAcceptance = (tables: Tables, query: AcceptanceQuery): AcceptanceFacts => {
  const owner = tables.workspaces.get(query.workspaceId)
  const asked = query.from === null ? undefined : laneIn(tables, query.workspaceId, query.from)
  const named = asked !== undefined && isSeenBy(query.mode, asked.number) ? asked : undefined

  const contactIdByPhone = new Map<Phone, ContactId>()
  for (const phone of query.phones) {
    const [oldest] = owner?.contactsByPhone.get(phone) ?? []
    if (oldest !== undefined) contactIdByPhone.set(phone, oldest)
  }
  const contacts = new Map<ContactId, Contact>()
  for (const id of query.contactIds) {
    const contact = owner === undefined ? undefined : contactOf(owner, id)
    if (contact !== undefined) contacts.set(id, contact)
  }

  return {
    claim: query.idempotency === null ? null : claim(tables, query.idempotency, query.now),
    plan: owner?.workspace.plan ?? null,
    named: named === undefined ? null : factsOf(named, query),
    connected:
      query.from === null && owner !== undefined
        ? connected(owner, query).map((lane) => factsOf(lane, query))
        : [],
    contactIdByPhone,
    contacts,
    media:
      query.mediaId === null
        ? null
        : keptFile(tables, query.workspaceId, query.mode, query.mediaId),
  }
}

/** The first guard that does not hold, in the order in which they are to be named. */
const brokenGuard = (tables: Tables, acceptance: Acceptance): BrokenGuard | null => {
  const { workspaceId, numberId, idempotency, allowance, quota, now } = acceptance
  if (isLost(tables, idempotency)) return "idempotency"
  const lane = laneIn(tables, workspaceId, numberId)
  if (lane === undefined) return "number"
  if (!coversMessages(lane.workspace.workspace.plan, allowance)) return "allowance"
  if (quota !== null && !hasRoom(lane, quota, now)) return "quota"
  return null
}

/** Takes from the allowance; false when the plan is unlimited and nothing was to take. */
const takeAllowance = (owner: WorkspaceRow, allowance: number): boolean => {
  const { plan } = owner.workspace
  owner.workspace = { ...owner.workspace, plan: withMessages(plan, -allowance) }
  return allowance > 0 && isLimited(plan)
}

/** Makes a new message known to those who look for it. */
const enter = (tables: Tables, row: MessageRow): void => {
  const { lane, message } = row
  tables.messagesByTransportId.set(transportKey(lane.number.id, message.transportId), row)
  lane.workspace.messages[message.mode].push(row)
  const attachmentId = message.media?.attachmentId ?? null
  if (attachmentId === null) return
  const beside = tables.messagesByAttachment.get(attachmentId)
  if (beside === undefined) tables.messagesByAttachment.set(attachmentId, [row])
  else beside.push(row)
}

/** Writes the whole acceptance, or names the guard that forbids it. */
export const accept = (tables: Tables, acceptance: Acceptance): AcceptanceOutcome => {
  const guard = brokenGuard(tables, acceptance)
  const lane = laneIn(tables, acceptance.workspaceId, acceptance.numberId)
  if (guard !== null || lane === undefined) return { _tag: "Broken", guard: guard ?? "number" }

  const tookAllowance = takeAllowance(lane.workspace, acceptance.allowance)
  const ids: Array<MessageId> = []
  for (const message of acceptance.messages) {
    const row = tables.messages.insert((id): MessageRow => ({
      message: { ...message, id, state: "waiting", sentAt: null, error: null },
      lane,
      tookAllowance,
      interruptions: 0,
      endedAt: null,
    }))
    const { id } = row.message
    ids.push(id)
    enter(tables, row)
    enqueue(tables, row)
  }
  finishClaim(tables, acceptance.idempotency, ids)
  return { _tag: "Accepted", ids }
}

/** Writes a refused message as it has ended: no lane ever held it, and nothing was taken for it. */
export const insertRefused = (tables: Tables, refused: RefusedMessage): MessageChange | null => {
  const lane = laneIn(tables, refused.workspaceId, refused.numberId)
  if (lane === undefined) return null
  const change = refused.ended(tables.messages.nextId)
  const row = tables.messages.insert((): MessageRow => ({
    message: change.message,
    lane,
    tookAllowance: false,
    interruptions: 0,
    endedAt: change.event.createdAt,
  }))
  enter(tables, row)
  tell(tables, lane.workspace, change)
  return change
}
