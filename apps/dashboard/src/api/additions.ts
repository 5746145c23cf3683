/**
 * Operations that the dashboard calls and the service does not answer yet. An operation leaves this file when it
 * comes into the service's document; the file goes with the last one.
 */
import type { Connection, Message, SendingNumber } from "@messaging-service/client"

interface Operation<Answer, Body = undefined> {
  readonly answer: Answer
  readonly body: Body
}

/** One thing that has to end before a message leaves, from stored facts. */
export interface WaitsFor {
  readonly reason:
    | "disabled"
    | "held"
    | "scheduled"
    | "not_connected"
    | "paused"
    | "sending"
    | "resting"
    | "limited"
    | "no_room"
  /** When it ends by itself; null where that is not known. */
  readonly until: string | null
  /** Why its number is not connected, or paused. */
  readonly because: Connection["reason"]
}

export interface Waiting {
  /** Empty when nothing holds it up but those before it. */
  readonly for: ReadonlyArray<WaitsFor>
  /** Messages of its number that leave before it; 1,000 means at least so many. */
  readonly ahead: number
}

export interface TimelineEntry {
  readonly at: string
  readonly type:
    | "accepted"
    | "due"
    | "postponed"
    | "attempt_refused"
    | "attempt_interrupted"
    | "sent"
    | "delivered"
    | "read"
    | "failed"
    | "expired"
    | "cancelled"
    | "event"
    | "delivery"
  readonly attempt: number | null
  readonly event_id: string | null
  readonly webhook_id: number | null
  readonly url: string | null
  readonly response_status: number | null
  readonly duration_ms: number | null
  readonly next_attempt_at: string | null
  /** A code, and and the remote's words where it gave some. */
  readonly error: { readonly code: string; readonly message: string | null } | null
}

export interface Timeline {
  readonly message: Message
  readonly waiting: Waiting | null
  readonly data: ReadonlyArray<TimelineEntry>
}

export interface Additions {
  /** The query parameter `text` of the list. */
  "GET /admin/v1/workspaces/{id}/messages?text": Operation<never>
  "POST /admin/v1/workspaces/{id}/messages/cancel": Operation<
    { readonly cancelled: number; readonly not_cancellable: number; readonly more: boolean },
    { readonly ids: ReadonlyArray<number> }
  >
  "GET /admin/v1/workspaces/{id}/messages/{message_id}/timeline": Operation<Timeline>
}

/** What the document has already, under the names that pages use. */
export type { Message, SendingNumber }
