/** `FigureStore` in memory: entries are kept until they are counted. */
import { addedFigures, noFigures, statusAt } from "@messaging-service/core"
import type {
  FigureEntry,
  FigurePositions,
  FigureStore,
  FigureStream,
  HourlyFigures,
  WorkspaceId,
} from "@messaging-service/core"
import { turningPoint } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { findWorkspace } from "./tables.ts"
import type { Tables } from "./tables.ts"

/** Notes an entry behind all others of its stream. */
export const noteFigure = (
  tables: Tables,
  stream: FigureStream,
  entry: Omit<FigureEntry, "position">,
): void => {
  const uncounted = tables.uncounted[stream]
  uncounted.entries.push({ ...entry, position: ++uncounted.last })
}

/** Forgets a workspace's hours. */
export const eraseFigures = (tables: Tables, workspaceId: WorkspaceId): void => {
  for (const [key, one] of tables.hourlyFigures) {
    if (one.workspaceId === workspaceId) tables.hourlyFigures.delete(key)
  }
}

const toKey = ({ hour, mode, workspaceId }: HourlyFigures): string =>
  `${workspaceId} ${mode} ${hour}`

const addHour = (tables: Tables, added: HourlyFigures): void => {
  if (findWorkspace(tables, added.workspaceId) === undefined) return
  const { hour, mode, workspaceId } = added
  const before = tables.hourlyFigures.get(toKey(added)) ?? noFigures
  tables.hourlyFigures.set(toKey(added), {
    ...addedFigures(before, added),
    workspaceId,
    mode,
    hour,
  })
}

const toPositions = ({ uncounted }: Tables): FigurePositions => ({
  messages: uncounted.messages.place,
  events: uncounted.events.place,
  attempts: uncounted.attempts.place,
})

export const figureStore = (tables: Tables): Steps<FigureStore> => ({
  readUncounted: (stream, limit) => {
    const { entries: all, last, place: from } = tables.uncounted[stream]
    const entries = all.slice(0, limit)
    return {
      from,
      to: entries.length < all.length ? (entries.at(-1)?.position ?? from) : last,
      entries,
    }
  },

  count: (stream, { from, to }, hours) => {
    const uncounted = tables.uncounted[stream]
    if (uncounted.place !== from) return false
    uncounted.place = to
    const counted = turningPoint(uncounted.entries, ({ position }) => position <= to)
    uncounted.entries.splice(0, counted)
    for (const one of hours) addHour(tables, one)
    return true
  },

  hours: ({ from, mode, until, workspaceId }) => ({
    hours: [...tables.hourlyFigures.values()]
      .filter(
        (one) =>
          one.workspaceId === workspaceId &&
          one.mode === mode &&
          one.hour >= from &&
          one.hour < until,
      )
      .toSorted((a, b) => a.hour - b.hour),
    places: toPositions(tables),
  }),

  entriesAfter: (stream, { after, limit, mode, workspaceId }) =>
    tables.uncounted[stream].entries
      .filter(
        (entry) =>
          entry.workspaceId === workspaceId && entry.mode === mode && entry.position > after,
      )
      .slice(0, limit),

  presentFigures: ({ countAtMost, mode, now, workspaceId }) => {
    const owner = findWorkspace(tables, workspaceId)
    const counts = { queued: 0, scheduled: 0 }
    let oldestDueAt: number | null = null
    for (const { message } of owner?.messages[mode] ?? []) {
      if (message.state !== "waiting") continue
      const status = statusAt(message, now) === "queued" ? "queued" : "scheduled"
      counts[status]++
      if (status === "scheduled" || message.dueAt > now) continue
      oldestDueAt = Math.min(oldestDueAt ?? message.dueAt, message.dueAt)
    }
    return {
      queued: Math.min(counts.queued, countAtMost),
      scheduled: Math.min(counts.scheduled, countAtMost),
      oldestDueAt,
      usedBytes: owner?.usedBytes.directory ?? 0,
    }
  },

  forgetFigures: (before) => {
    for (const [key, { hour }] of tables.hourlyFigures) {
      if (hour < before) tables.hourlyFigures.delete(key)
    }
  },
})
