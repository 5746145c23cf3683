/**
 * The stream of a workspace's news. It connects again by itself and continues after the last event, so
 * that a loop over it misses nothing of the last hour.
 */
import { rejectedLocally, toJson } from "./MessagingError.ts"
import type { OpenEvents } from "./request.ts"

/** What has changed; read it again. */
export interface NewsEvent {
  /** `clock` tells the service's time. */
  readonly topic:
    | "messages"
    | "numbers"
    | "webhooks"
    | "reminders"
    | "number_checks"
    | "campaigns"
    | "chats"
    | "simulator"
    | "clock"
  /** Position of the event, for `lastEventId`. */
  readonly id: string
  /** The records that changed; empty when anything of the topic may have changed. */
  readonly ids: ReadonlyArray<number>
  /** With `clock`, the service's time; else null. */
  readonly now: string | null
}

/** How to follow. */
export interface FollowOptions {
  /** Ends the loop; it then throws the signal's reason. */
  readonly signal?: AbortSignal
  /** Continues after that event, of the last hour at most. Default: from now on. */
  readonly lastEventId?: string
}

/** Milliseconds before it connects again. */
const reconnectMillis = 2000

const toEvent = (block: string): NewsEvent | undefined => {
  const fields = new Map<string, string>()
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":")
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart())
  }
  const topic = fields.get("event") as NewsEvent["topic"] | undefined
  if (topic === undefined) return undefined
  const data = toJson(fields.get("data") ?? "{}") as
    | Partial<Pick<NewsEvent, "ids" | "now">>
    | undefined
  // As if the connection had broken: the event comes again.
  if (typeof data !== "object" || data === null) throw new TypeError("an event that is not JSON")
  return { topic, id: fields.get("id") ?? "", ids: data.ids ?? [], now: data.now ?? null }
}

/** Events of one connection, until it ends. */
const read = async function* read(body: ReadableStream<Uint8Array>): AsyncGenerator<NewsEvent> {
  let rest = ""
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n")
      rest = blocks.pop() ?? ""
      for (const block of blocks) {
        const event = toEvent(block)
        if (event !== undefined) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

const rest = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end)
      resolve()
    }, reconnectMillis)
    signal?.addEventListener("abort", end, { once: true })
  })

export const makeFollow = (open: OpenEvents) =>
  async function* follow(
    workspaceId: number,
    { lastEventId, signal }: FollowOptions = {},
  ): AsyncGenerator<NewsEvent> {
    if (!Number.isSafeInteger(workspaceId) || workspaceId < 1) {
      throw rejectedLocally("workspace_id is a positive integer", "workspace_id")
    }
    let last = lastEventId
    for (;;) {
      signal?.throwIfAborted()
      const body = await open(`/admin/v1/events?workspace_id=${workspaceId}`, last, signal)
      try {
        if (body !== null) {
          for await (const event of read(body)) {
            last = event.id
            yield event
          }
        }
      } catch (error) {
        signal?.throwIfAborted()
        // A connection that broke; what it was about to tell comes again.
        if (!(error instanceof TypeError)) throw error
      }
      await rest(signal)
    }
  }
