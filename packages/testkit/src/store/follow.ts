/** Reads the outbox of a store that other tests write to as well. */
import { Store } from "@messaging-service/core"
import type { Outbox, EventType, OutboxEvent, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"

const pageSize = 1000

/** Everything after a position. */
export const readOutbox = (after: number) =>
  Effect.gen(function* () {
    const outbox = (yield* Store).webhooks
    const events: Array<OutboxEvent> = []
    let position = after
    for (;;) {
      const page = yield* outbox.readEvents(position, pageSize)
      events.push(...page)
      position = page.at(-1)?.id ?? position
      if (page.length < pageSize) return events
    }
  })

/** The end of each store's outbox when a test last read it: earlier events are others'. */
const read = new WeakMap<Outbox, number>()

/** Starts to follow the outbox; returns a reader of a workspace's events since, oldest first. */
export const followOutbox = Effect.gen(function* () {
  const outbox = (yield* Store).webhooks
  const seen = read.get(outbox) ?? 0
  const start = (yield* readOutbox(seen)).at(-1)?.id ?? seen
  read.set(outbox, start)
  return (workspaceId: WorkspaceId) =>
    Effect.map(readOutbox(start), (events) =>
      events.filter((event) => event.workspaceId === workspaceId),
    )
})

/** The events of each message, in order. */
export const scenario = (events: ReadonlyArray<OutboxEvent>) =>
  events.flatMap(({ messageId, type }): ReadonlyArray<readonly [number, EventType]> =>
    messageId === null ? [] : [[messageId, type]],
  )
