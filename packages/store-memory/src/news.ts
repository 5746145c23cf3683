/** `NewsStore` in memory. */
import type {
  NewsMark,
  NewsMarkLimits,
  NewsStore,
  NewsTopic,
  WorkspaceId,
} from "@messaging-service/core"
import { workspaceOf } from "./tables.ts"
import type { Tables } from "./tables.ts"
import type { Steps } from "./collections.ts"

const modes = ["live", "test"] as const

/** Of each mode the newest so many, by id. */
const newestOfModes = <A extends { readonly id: number; readonly mode: string }>(
  rows: ReadonlyArray<A>,
  limit: number,
): ReadonlyArray<A> =>
  modes.flatMap((mode) =>
    rows
      .filter((row) => row.mode === mode)
      .toSorted((a, b) => b.id - a.id)
      .slice(0, limit),
  )

const marksOf = (
  tables: Tables,
  workspaceId: WorkspaceId,
  { most, recent }: NewsMarkLimits,
): ReadonlyArray<NewsMark> => {
  const row = workspaceOf(tables, workspaceId)
  if (row === undefined) return []
  const mark = (topic: NewsTopic, id: number, facts: unknown): NewsMark => ({
    workspaceId,
    topic,
    id,
    mark: JSON.stringify(facts),
  })
  const messages = modes.flatMap((mode) => row.messages[mode].slice(-recent))
  const numbers = row.lanes.filter(({ removed }) => !removed).slice(0, most)
  const endpoints = row.endpoints.filter(({ removed }) => !removed).slice(0, most)
  const reminders = row.reminders.filter(({ removedAt }) => removedAt === null)
  const checks = tables.checks.rows.filter(
    ({ check, forgotten }) => check.workspaceId === workspaceId && !forgotten,
  )
  return [
    ...messages.map(({ message }) => mark("messages", message.id, message.state)),
    ...numbers.map(({ changed, control, number, proxy, report }) => {
      const said = report && { ...report, lastSeenAt: null, reportedAt: null }
      const facts = [number, changed, control, proxy, said, tables.linkings.get(number.id)?.attempt]
      return mark("numbers", number.id, facts)
    }),
    ...endpoints.map(({ endpoint, id, log }) =>
      mark("webhooks", id, [endpoint, log.at(-1)?.attempt.id]),
    ),
    ...newestOfModes(
      reminders.map(({ reminder }) => reminder),
      most,
    ).map(({ id, revision }) => mark("reminders", id, revision)),
    ...newestOfModes(
      checks.map(({ check }) => check),
      recent,
    ).map(({ checked, id, status }) => mark("number_checks", id, [status, checked])),
  ]
}

export const newsStore = (tables: Tables): Steps<NewsStore> => ({
  marks: (workspaces, limits) => workspaces.flatMap((id) => marksOf(tables, id, limits)),

  changedMessages: ({ limit, notBefore, position, workspaceId }) => {
    const events = tables.outbox.filter((event) => event !== null)
    const since = Math.max(
      notBefore,
      events.findLast(({ id }) => id <= position)?.createdAt ?? notBefore,
    )
    const told = events
      .filter((event) => event.workspaceId === workspaceId && event.id > position)
      .slice(-limit)
      .filter(({ createdAt }) => createdAt >= notBefore)
    const row = workspaceOf(tables, workspaceId)
    const accepted = modes
      .flatMap((mode) => row?.messages[mode].slice(-limit) ?? [])
      .filter(({ message }) => message.createdAt >= since)
    return [
      ...new Set([
        ...told.map(({ messageId }) => messageId),
        ...accepted.map(({ message }) => message.id),
      ]),
    ]
  },
})
