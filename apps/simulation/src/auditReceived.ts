/** What the store has of people's messages at the end of a seed. */
import { Store } from "@messaging-service/core"
import { Effect } from "effect"
import { everything } from "./auditCampaigns.ts"
import { indexAt } from "./features/receiving.ts"
import type { Mailbox, Tenant } from "./features/Feature.ts"
import type { FinalState } from "./History.ts"

export const noneReceived: FinalState["received"] = { messages: [], chats: [], keyless: [] }

/** The id of the received message that an event reports; undefined for another event. */
const receivedId = (body: string): number | undefined =>
  (JSON.parse(body) as { readonly data: { readonly received_message?: { readonly id: number } } })
    .data.received_message?.id

export const auditReceived = Effect.fnUntraced(function* auditReceived(
  { numbers, workspace }: Tenant,
  mailboxes: ReadonlyArray<Mailbox>,
) {
  const { chats, webhooks } = yield* Store
  const scope = { workspaceId: workspace, mode: "live", restriction: null } as const
  const outbox = yield* webhooks.readEvents(0, everything)
  const events = Map.groupBy(outbox, ({ body }) => receivedId(body))
  const messages = yield* Effect.forEach([...numbers.entries()], ([number, numberId]) =>
    Effect.map(chats.receivedAfter(scope, numberId, 0, null, everything), (rows) =>
      rows.map(({ fromMe, id, kind, sentAt, sequence, text }) => ({
        id,
        index: indexAt(sentAt),
        kind,
        number,
        sequence,
        text,
        isEcho: fromMe,
        events: events.get(id) ?? [],
      })),
    ),
  )
  const { items } = yield* chats.listChats(
    scope,
    { numberId: null, phone: null, unread: null },
    { before: null, limit: everything },
  )
  const found: FinalState["received"] = {
    messages: messages.flat(),
    chats: items.map(({ numberId }) => ({ number: numbers.indexOf(numberId) })),
    keyless: mailboxes.flatMap((mailbox) => mailbox.keyless),
  }
  return found
})
