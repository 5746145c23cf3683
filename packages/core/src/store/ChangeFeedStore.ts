/** The port that tells what has changed of a workspace (contract: News), and how marks are compared. */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { MessageId, WorkspaceId } from "../model/Ids.ts"

export const changeFeedTopics = [
  "messages",
  "numbers",
  "webhooks",
  "reminders",
  "number_checks",
  "campaigns",
  // Only told where conversations are on.
  "chats",
] as const

export type ChangeFeedTopic = (typeof changeFeedTopics)[number]

/** A record of a viewed workspace. It has changed when its mark has. */
export interface ChangeFeedMark {
  readonly workspaceId: WorkspaceId
  readonly topic: ChangeFeedTopic
  readonly id: number
  readonly mark: string
}

export interface ChangeFeedMarkLimits {
  /**
   * The newest messages and number checks of each mode, and its chats with the latest activity; older messages
   * have events.
   */
  readonly recent: number
  /** Numbers, endpoints, and reminders and campaigns of each mode. */
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

export interface ChangeFeedStore {
  /** The marks of these workspaces. */
  marks(
    workspaces: ReadonlyArray<WorkspaceId>,
    limits: ChangeFeedMarkLimits,
  ): Effect.Effect<ReadonlyArray<ChangeFeedMark>, StoreUnavailable>
  /**
   * Messages with an event after the position, and those accepted after the event at it; from each
   * kind the newest `limit`.
   */
  changedMessages(
    query: ChangedMessagesQuery,
  ): Effect.Effect<ReadonlyArray<MessageId>, StoreUnavailable>
}

export const markLimits: ChangeFeedMarkLimits = { recent: 50, most: 1000 }

/** The topics with whole lists. */
const wholeTopics: ReadonlySet<ChangeFeedTopic> = new Set([
  "numbers",
  "webhooks",
  "reminders",
  "campaigns",
])

/** A record that is gone from its list was deleted, or may have been: others became newer. */
const isToldOnceGone = (topic: ChangeFeedTopic): boolean =>
  wholeTopics.has(topic) || topic === "chats"

/** Ids by topic that differ; null where too many records are new to name them. */
export const changedMarks = (
  before: ReadonlyMap<string, ChangeFeedMark>,
  after: ReadonlyMap<string, ChangeFeedMark>,
): ReadonlyMap<ChangeFeedTopic, ReadonlyArray<number> | null> => {
  const changed = new Map<ChangeFeedTopic, Array<number>>()
  const add = ({ id, topic }: ChangeFeedMark) => {
    const ids = changed.get(topic) ?? []
    changed.set(topic, ids)
    ids.push(id)
  }
  for (const [name, mark] of after) if (before.get(name)?.mark !== mark.mark) add(mark)
  for (const [name, mark] of before) {
    if (isToldOnceGone(mark.topic) && !after.has(name)) add(mark)
  }
  // Of so many recent records one may have come and gone from the list between two looks.
  const isOverrun = (topic: ChangeFeedTopic, count: number) =>
    !wholeTopics.has(topic) && count >= markLimits.recent
  return new Map(
    [...changed].map(([topic, ids]) => [topic, isOverrun(topic, ids.length) ? null : ids]),
  )
}
