/** The port that tells what has changed of a workspace (contract: News), and how marks are compared. */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { MessageId, WorkspaceId } from "../model/Ids.ts"

export const newsTopics = ["messages", "numbers", "webhooks", "reminders", "number_checks"] as const

export type NewsTopic = (typeof newsTopics)[number]

/** A record of a viewed workspace. It has changed when its mark has. */
export interface NewsMark {
  readonly workspaceId: WorkspaceId
  readonly topic: NewsTopic
  readonly id: number
  readonly mark: string
}

export interface NewsMarkLimits {
  /** The newest messages and number checks of each mode; older messages have events. */
  readonly recent: number
  /** Numbers, endpoints, and reminders of each mode. */
  readonly most: number
}

/** Messages of a workspace that changed after a position of the outbox. */
export interface ChangedMessagesQuery {
  readonly workspaceId: WorkspaceId
  readonly position: number
  /** Earlier changes are left out. */
  readonly notBefore: number
  readonly limit: number
}

export interface NewsStore {
  /** The marks of these workspaces. */
  marks(
    workspaces: ReadonlyArray<WorkspaceId>,
    limits: NewsMarkLimits,
  ): Effect.Effect<ReadonlyArray<NewsMark>, StoreUnavailable>
  /**
   * Messages with an event after the position, and those accepted after the event at it; from each
   * kind the newest `limit`.
   */
  changedMessages(
    query: ChangedMessagesQuery,
  ): Effect.Effect<ReadonlyArray<MessageId>, StoreUnavailable>
}

export const markLimits: NewsMarkLimits = { recent: 50, most: 1000 }

/** The topics whose lists are whole: a record that is gone from them was deleted. */
const wholeTopics: ReadonlySet<NewsTopic> = new Set(["numbers", "webhooks", "reminders"])

/** Ids by topic that differ; null where too many records are new to name them. */
export const changedMarks = (
  before: ReadonlyMap<string, NewsMark>,
  after: ReadonlyMap<string, NewsMark>,
): ReadonlyMap<NewsTopic, ReadonlyArray<number> | null> => {
  const changed = new Map<NewsTopic, Array<number>>()
  const add = ({ id, topic }: NewsMark) => {
    const ids = changed.get(topic) ?? []
    changed.set(topic, ids)
    ids.push(id)
  }
  for (const [name, mark] of after) if (before.get(name)?.mark !== mark.mark) add(mark)
  for (const [name, mark] of before) {
    if (wholeTopics.has(mark.topic) && !after.has(name)) add(mark)
  }
  // Of so many recent records one may have come and gone from the list between two looks.
  const isOverrun = (topic: NewsTopic, count: number) =>
    !wholeTopics.has(topic) && count >= markLimits.recent
  return new Map(
    [...changed].map(([topic, ids]) => [topic, isOverrun(topic, ids.length) ? null : ids]),
  )
}
