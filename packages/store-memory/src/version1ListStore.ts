/** `Version1ListStore` in memory. */
import type { OffsetPage, OffsetQuery, Version1ListStore } from "@messaging-service/core"
import { Effect } from "effect"
import { collectInSteps } from "./collections.ts"
import { messageOf } from "./tables.ts"
import type { Steps } from "./collections.ts"
import type { Tables } from "./tables.ts"

/** The newest first, of what is made of records that stand oldest first; null leaves one out. */
const page = <Row, A>(
  oldestFirst: ReadonlyArray<Row>,
  make: (row: Row) => A | null,
  { limit, offset }: OffsetQuery,
): Effect.Effect<OffsetPage<A>> =>
  Effect.map(collectInSteps(oldestFirst, make), (found) => {
    const end = Math.max(0, found.length - offset)
    return {
      total: found.length,
      items: found.slice(Math.max(0, end - limit), end).toReversed(),
    }
  })

export const version1ListStore = (tables: Tables): Steps<typeof Version1ListStore.Service> => ({
  messages: ({ mode, workspaceId }, { since, until }, query) =>
    page(
      tables.workspaces.get(workspaceId)?.messages[mode] ?? [],
      (row) =>
        row.message.createdAt >= since && row.message.createdAt < until ? messageOf(row) : null,
      query,
    ),

  media: ({ mode, workspaceId }, type, query) =>
    page(
      tables.workspaces.get(workspaceId)?.media ?? [],
      ({ file, state }) =>
        state === "kept" && file.mode === mode && (type === null || file.type === type)
          ? file
          : null,
      query,
    ),

  reminders: ({ mode, workspaceId }, query) =>
    page(
      tables.workspaces.get(workspaceId)?.reminders ?? [],
      ({ reminder, removedAt }) => (removedAt === null && reminder.mode === mode ? reminder : null),
      query,
    ),

  checkResults: (id, status, query) =>
    page(
      tables.checks.get(id)?.results ?? [],
      (result) => (status === null || result.status === status ? result : null),
      query,
    ),
})
