/** What the end of a message is, for queues that are not the service's: the service's own event. */
import { endMessage } from "@messaging-service/core"
import type {
  EventId,
  Message,
  MessageChange,
  MessageId,
  NumberId,
  TransportId,
} from "@messaging-service/core"
import { randomBytes } from "node:crypto"
import type { ClientBase } from "pg"

export interface Job {
  readonly id: number
  readonly workspaceId: number
  readonly numberId: number
  readonly phone: string
  readonly transportId: string
  readonly createdAt: number
}

const toMessage = (job: Job): Message => ({
  id: job.id as MessageId,
  workspaceId: job.workspaceId as Message["workspaceId"],
  mode: "live",
  state: "waiting",
  from: { id: job.numberId as NumberId, phone: "15550000001", platform: "whatsapp" },
  phoneAtAcceptance: "15550000001",
  to: { kind: "phone", phone: job.phone as never, contactId: null },
  text: "Hello from the benchmark",
  media: null,
  foundMediaType: null,
  sendAt: null,
  expiresAt: null,
  createdAt: job.createdAt,
  dueAt: job.createdAt,
  sentAt: null,
  error: null,
  transportId: job.transportId as TransportId,
  callbackUrl: null,
  reference: null,
  campaign: null,
  replyTo: null,
})

// Not m.state = 'waiting': the service finds messages by their ids in these words too, since the planner
// would read all of a partial index with the others.
const markSent = `
update messages m
set state = s.state,
  sent_at = $3
from unnest($1::bigint[], $2::text[]) s (id, state)
where m.id = s.id
  and m.state between 'waiting' and 'waiting'`

const announce = `
insert into outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
select s.workspace_id, s.message_id, $1, s.event_id, s.type, 'live', s.body
from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[])
  s (workspace_id, message_id, event_id, type, body)`

/** What the service would make of that message: sent, and the event that says so. */
const sent = (job: Job, event: EventId, now: number): MessageChange | undefined =>
  endMessage(
    toMessage(job),
    { trigger: "send_succeeded" },
    event,
    now,
    (media) => `http://127.0.0.1/media/${media}`,
  )

/** The body of the event about a job's message, as the service makes it. */
export const bodyOfSent = (job: Job, event: EventId): string =>
  sent(job, event, job.createdAt)?.event.body ?? ""

/** Marks messages as sent and writes their events: two statements, in the caller's transaction. */
export const writeSent = async (client: ClientBase, jobs: ReadonlyArray<Job>): Promise<void> => {
  const now = Date.now()
  const changes = jobs.flatMap(
    (job) => sent(job, `evt_${randomBytes(12).toString("hex")}` as EventId, now) ?? [],
  )
  const at = new Date(now)
  await client.query({
    name: "mark_sent",
    text: markSent,
    values: [
      changes.map(({ message }) => message.id),
      changes.map(({ message }) => message.state),
      at,
    ],
  })
  await client.query({
    name: "announce",
    text: announce,
    values: [
      at,
      changes.map(({ message }) => message.workspaceId),
      changes.map(({ message }) => message.id),
      changes.map(({ event }) => event.id),
      changes.map(({ event }) => event.type),
      changes.map(({ event }) => event.body),
    ],
  })
}

/** The transport of the other queues: takes everything and sends nothing. */
export const sendNothing = async (): Promise<void> => undefined
