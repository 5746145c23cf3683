/** The two steps of an acceptance: its facts, and its commit behind the guards. */
import {
  connectedShown,
  coversMessages,
  isLimited,
  isSeenBy,
  withMessages,
} from "@messaging-service/core/ports"
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
} from "@messaging-service/core/ports"
import { claim, finishClaim, isHeld } from "./idempotency.ts"
import { keptFile } from "./mediaStore.ts"
import { countAndRemember, enqueue, hasRoom, quotaFacts, tell } from "./Lane.ts"
import { contactOf, laneIn } from "./World.ts"
import type { Lane, MessageRow, WorkspaceRow, World } from "./World.ts"

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
export const loadAcceptance = (world: World, query: AcceptanceQuery): AcceptanceFacts => {
  const owner = world.workspaces.get(query.workspaceId)
  const asked = query.from === null ? undefined : laneIn(world, query.workspaceId, query.from)
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
    claim: query.idempotency === null ? null : claim(world, query.idempotency, query.now),
    plan: owner?.workspace.plan ?? null,
    named: named === undefined ? null : factsOf(named, query),
    connected:
      query.from === null && owner !== undefined
        ? connected(owner, query).map((lane) => factsOf(lane, query))
        : [],
    contactIdByPhone,
    contacts,
    media:
      query.mediaId === null ? null : keptFile(world, query.workspaceId, query.mode, query.mediaId),
  }
}

/** The first guard that does not hold, in the order in which they are to be named. */
const brokenGuard = (world: World, acceptance: Acceptance): BrokenGuard | null => {
  const { workspaceId, numberId, idempotency, allowance, quota, now } = acceptance
  if (idempotency !== null && !isHeld(world, idempotency)) return "idempotency"
  const lane = laneIn(world, workspaceId, numberId)
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
const enter = (world: World, row: MessageRow): void => {
  const { lane, message } = row
  world.messagesByTransportId.set(message.transportId, row)
  lane.workspace.messages[message.mode].push(row)
  const attachmentId = message.media?.attachmentId ?? null
  if (attachmentId === null) return
  const beside = world.messagesByAttachment.get(attachmentId)
  if (beside === undefined) world.messagesByAttachment.set(attachmentId, [row])
  else beside.push(row)
}

/** Writes the whole acceptance, or names the guard that forbids it. */
export const accept = (world: World, acceptance: Acceptance): AcceptanceOutcome => {
  const guard = brokenGuard(world, acceptance)
  const lane = laneIn(world, acceptance.workspaceId, acceptance.numberId)
  if (guard !== null || lane === undefined) return { _tag: "Broken", guard: guard ?? "number" }

  const tookAllowance = takeAllowance(lane.workspace, acceptance.allowance)
  const ids: Array<MessageId> = []
  for (const message of acceptance.messages) {
    const row = world.messages.insert((id): MessageRow => ({
      message: { ...message, id, state: "waiting", sentAt: null, error: null },
      lane,
      tookAllowance,
      interruptions: 0,
    }))
    const { id } = row.message
    ids.push(id)
    enter(world, row)
    enqueue(world, row)
  }
  if (acceptance.idempotency !== null) finishClaim(world, acceptance.idempotency, ids)
  return { _tag: "Accepted", ids }
}

/** Writes a refused message as it has ended: no lane ever held it, and nothing was taken for it. */
export const insertRefused = (world: World, refused: RefusedMessage): MessageChange | null => {
  const lane = laneIn(world, refused.workspaceId, refused.numberId)
  if (lane === undefined) return null
  const change = refused.ended(world.messages.nextId)
  const row = world.messages.insert((): MessageRow => ({
    message: change.message,
    lane,
    tookAllowance: false,
    interruptions: 0,
  }))
  enter(world, row)
  tell(world, lane.workspace, change)
  return change
}
