/** `ErasureStore` in memory. */
import type { EndedBefore, ErasureStore } from "@messaging-service/core/ports"
import type { Steps } from "./collections.ts"
import { transportKey } from "./tables.ts"
import type { MessageRow, Tables, WorkspaceRow } from "./tables.ts"

const modes = ["live", "test"] as const

/** Takes a message out of everything that knows it. */
const eraseMessage = (tables: Tables, row: MessageRow): void => {
  const { lane, message } = row
  tables.messages.erase(message.id)
  tables.messagesByTransportId.delete(transportKey(lane.number.id, message.transportId))
  lane.counting.delete(row)
  const attachmentId = message.media?.attachmentId ?? null
  if (attachmentId === null) return
  const left = (tables.messagesByAttachment.get(attachmentId) ?? []).filter((one) => one !== row)
  if (left.length > 0) tables.messagesByAttachment.set(attachmentId, left)
  else tables.messagesByAttachment.delete(attachmentId)
}

/** Erases the messages that `isErased`, and leaves the others in their order. */
const eraseMessages = (
  tables: Tables,
  owner: WorkspaceRow,
  isErased: (row: MessageRow) => boolean,
): void => {
  for (const mode of modes) {
    const kept: Array<MessageRow> = []
    for (const row of owner.messages[mode]) {
      if (isErased(row)) eraseMessage(tables, row)
      else kept.push(row)
    }
    owner.messages[mode] = kept
  }
}

const hasEndedBefore =
  (before: number) =>
  ({ endedAt }: MessageRow): boolean =>
    endedAt !== null && endedAt < before

const eraseEnded = (tables: Tables, { endedBefore, workspaceId }: EndedBefore): void => {
  const owner = tables.workspaces.get(workspaceId)
  if (owner === undefined) return
  eraseMessages(tables, owner, hasEndedBefore(endedBefore))
  const pending = new Set(
    owner.endpoints.flatMap((row) => Array.from(row.pending, ({ event }) => event.id)),
  )
  for (const [index, event] of tables.outbox.entries()) {
    if (event?.workspaceId !== workspaceId || event.createdAt >= endedBefore) continue
    if (!pending.has(event.eventId)) tables.outbox[index] = null
  }
  for (const row of owner.endpoints) {
    row.log = row.log.filter(({ attempt }) => attempt.attemptedAt >= endedBefore)
  }
  owner.callbackLog = owner.callbackLog.filter(({ attempt }) => attempt.attemptedAt >= endedBefore)
}

export const erasureStore = (tables: Tables): Steps<typeof ErasureStore.Service> => ({
  workspaces: (after, limit) =>
    tables.workspaces.rows
      .slice(after, after + limit)
      .map(({ workspace: { deletedAt, id, retentionDays } }) => ({ deletedAt, id, retentionDays })),

  eraseEnded: (workspaces) => {
    for (const one of workspaces) eraseEnded(tables, one)
  },
})
