/** `Version1ListStore` in memory. */
import type { OffsetPage, OffsetQuery, Version1ListStore } from "@messaging-service/core/ports"
import { messageOf } from "./tables.ts"
import type { Steps } from "./collections.ts"
import type { Tables } from "./tables.ts"

/** The newest first, of records that stand oldest first. */
const page = <A>(oldestFirst: ReadonlyArray<A>, { limit, offset }: OffsetQuery): OffsetPage<A> => ({
  total: oldestFirst.length,
  items: oldestFirst.toReversed().slice(offset, offset + limit),
})

export const version1ListStore = (tables: Tables): Steps<typeof Version1ListStore.Service> => ({
  messages: ({ mode, workspaceId }, { since, until }, query) => {
    const rows = tables.workspaces.get(workspaceId)?.messages[mode] ?? []
    const messages = rows
      .filter(({ message }) => message.createdAt >= since && message.createdAt < until)
      .map(messageOf)
    return page(messages, query)
  },

  media: ({ mode, workspaceId }, type, query) => {
    const files = (tables.workspaces.get(workspaceId)?.media ?? []).flatMap(({ file, state }) =>
      state === "kept" && file.mode === mode && (type === null || file.type === type) ? file : [],
    )
    return page(files, query)
  },

  reminders: ({ mode, workspaceId }, query) => {
    const rows = tables.workspaces.get(workspaceId)?.reminders ?? []
    const reminders = rows.flatMap(({ reminder, removedAt }) =>
      removedAt === null && reminder.mode === mode ? reminder : [],
    )
    return page(reminders, query)
  },

  checkResults: (id, status, query) => {
    const results = tables.checks.get(id)?.results ?? []
    return page(
      results.filter((result) => status === null || result.status === status),
      query,
    )
  },
})
