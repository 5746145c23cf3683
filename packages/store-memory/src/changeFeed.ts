/** `ChangeFeedStore` in memory. */
import type {
  ChangeFeedMark,
  ChangeFeedMarkLimits,
  ChangeFeedStore,
  ChangeFeedTopic,
  WorkspaceId,
} from "@messaging-service/core"
import { isReadableChat } from "./chatRows.ts"
import { findWorkspace } from "./tables.ts"
import type { CampaignEntry, ChatRow, Tables, WorkspaceRow } from "./tables.ts"
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

const collectMarks = (
  tables: Tables,
  workspaceId: WorkspaceId,
  { most, recent }: ChangeFeedMarkLimits,
): ReadonlyArray<ChangeFeedMark> => {
  const row = findWorkspace(tables, workspaceId)
  if (row === undefined) return []
  const mark = (topic: ChangeFeedTopic, id: number, facts: unknown): ChangeFeedMark => ({
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
    ...newestOfModes(row.campaigns.filter(({ removed }) => !removed).map(toMarked), most).map(
      ({ id, revision, takenOn }) => mark("campaigns", id, [revision, takenOn]),
    ),
    ...newestOfModes(
      checks.map(({ check }) => check),
      recent,
    ).map(({ checked, id, status }) => mark("number_checks", id, [status, checked])),
    ...modes
      .flatMap((mode) => latestChats(row, mode).slice(0, recent))
      .map(({ chat, person }) => mark("chats", chat.id, [chat, person?.known])),
  ]
}

const latestChats = ({ chats }: WorkspaceRow, mode: string): ReadonlyArray<ChatRow> =>
  chats
    .filter((row) => row.mode === mode && isReadableChat(row) && row.chat.mergedInto === null)
    .toSorted((a, b) => b.chat.activity - a.chat.activity)

/** Taking rows on does not grow the revision. */
const toMarked = ({ campaign: { id, mode, revision }, takenOn }: CampaignEntry) => ({
  id,
  mode,
  revision,
  takenOn,
})

export const changeFeedStore = (tables: Tables): Steps<ChangeFeedStore> => ({
  marks: (workspaces, limits) => workspaces.flatMap((id) => collectMarks(tables, id, limits)),

  changedMessages: ({ limit, notBefore, position, workspaceId }) => {
    const events = tables.outbox.filter((event) => event !== null)
    const since = Math.max(
      notBefore,
      events.findLast(({ id }) => id <= position)?.createdAt ?? notBefore,
    )
    const changes = events
      .filter((event) => event.workspaceId === workspaceId && event.id > position)
      .slice(-limit)
      .filter(({ createdAt }) => createdAt >= notBefore)
    const row = findWorkspace(tables, workspaceId)
    const accepted = modes
      .flatMap((mode) => row?.messages[mode].slice(-limit) ?? [])
      .filter(({ message }) => message.createdAt >= since)
    return [
      ...new Set([
        ...changes.flatMap(({ messageId }) => messageId ?? []),
        ...accepted.map(({ message }) => message.id),
      ]),
    ]
  },
})
