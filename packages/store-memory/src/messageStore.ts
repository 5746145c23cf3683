/** `MessageStore` in memory. */
import { hasExpired, movedByTick, statusAt } from "@messaging-service/core"
import type {
  Message,
  MessageFilter,
  MessageId,
  CallerScope,
  MessageStore,
} from "@messaging-service/core"
import { accept, insertRefused, loadAcceptance } from "./acceptance.ts"
import { releaseClaim } from "./idempotency.ts"
import { finish, isInFlight } from "./Lane.ts"
import { newestFirst } from "./collections.ts"
import { messageOf, transportKey } from "./tables.ts"
import type { Steps } from "./collections.ts"
import type { MessageRow, Tables } from "./tables.ts"

const isSeen = ({ workspaceId, mode, restriction }: CallerScope, message: Message): boolean =>
  message.workspaceId === workspaceId &&
  message.mode === mode &&
  (restriction === null || restriction.includes(message.from.id))

const passes = (filter: MessageFilter, message: Message, now: number): boolean =>
  (filter.from === null || message.from.id === filter.from) &&
  (filter.phone === null || ("phone" in message.to && message.to.phone === filter.phone)) &&
  (filter.since === null || message.createdAt >= filter.since) &&
  (filter.until === null || message.createdAt < filter.until) &&
  (filter.statuses === null || filter.statuses.includes(statusAt(message, now)))

/** The first messages of a collection, as far as they are due. */
const firstOf = (
  rows: Iterable<MessageRow>,
  limit: number,
  go: (message: Message) => "take" | "skip" | "stop",
): ReadonlyArray<Message> => {
  const found: Array<Message> = []
  for (const row of rows) {
    if (found.length >= limit) break
    const step = go(row.message)
    if (step === "stop") break
    if (step === "take") found.push(messageOf(row))
  }
  return found
}

export const messageStore = (tables: Tables): Steps<typeof MessageStore.Service> => ({
  loadAcceptance: (query) => loadAcceptance(tables, query),

  accept: (acceptance) => accept(tables, acceptance),

  insertRefused: (refused) => insertRefused(tables, refused),

  releaseClaim: (claim) => releaseClaim(tables, claim),

  get: (scope, id) => {
    const row = tables.messages.get(id)
    if (row === undefined || !isSeen(scope, row.message)) return null
    return {
      message: messageOf(row),
      inFlight: row.message.state === "waiting" && isInFlight(row),
    }
  },

  byIds: (ids) =>
    ids.flatMap((id) => {
      const row = tables.messages.get(id)
      return row === undefined ? [] : messageOf(row)
    }),

  list: (scope, filter, page, now) =>
    newestFirst(
      tables.workspaces.get(scope.workspaceId)?.messages[scope.mode] ?? [],
      page,
      messageOf,
      ({ message }) => isSeen(scope, message) && passes(filter, message, now),
    ),

  end: (changes) => {
    const ended = new Set<MessageId>()
    for (const change of changes) {
      const row = tables.messages.get(change.message.id)
      if (row === undefined || row.message.state !== "waiting" || isInFlight(row)) continue
      finish(tables, row, change)
      ended.add(row.message.id)
    }
    return ended
  },

  expired: (now, limit) =>
    firstOf(tables.expiring, limit, (message) => (hasExpired(message, now) ? "take" : "stop")),

  dueTest: (now, limit, perWorkspace) =>
    [...tables.dueTestOf.values()]
      .flatMap((own) =>
        firstOf(own, Math.min(limit, perWorkspace), (message) => {
          if (message.dueAt > now) return "stop"
          return hasExpired(message, now) ? "skip" : "take"
        }),
      )
      .toSorted((a, b) => a.dueAt - b.dueAt || a.id - b.id)
      .slice(0, limit),

  stranded: (limit) => firstOf(tables.stranded, limit, () => "take"),

  tick: (numberId, transportId, state) => {
    const row = tables.messagesByTransportId.get(transportKey(numberId, transportId))
    if (row === undefined) return null
    if (movedByTick[state].includes(row.message.state)) row.message = { ...row.message, state }
    return messageOf(row)
  },

  byTransportId: (numberId, transportId) => {
    const row = tables.messagesByTransportId.get(transportKey(numberId, transportId))
    return row === undefined ? null : messageOf(row)
  },
})
