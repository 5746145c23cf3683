import type { MessagingClient, ReceivedMessage } from "@messaging-service/client"
import type { WebhookEvent } from "@messaging-service/client/webhook"
import { Hono } from "hono"

export interface Chatwoot {
  readonly url: string
  /** The identifier of the inbox, from its settings. */
  readonly inbox: string
}

/** A client of the inbox's public API, which answers JSON. */
const makeContacts =
  ({ inbox, url }: Chatwoot) =>
  async <A>(path: string, request: RequestInit = {}): Promise<A> => {
    const response = await fetch(`${url}/public/api/v1/inboxes/${inbox}/contacts${path}`, request)
    // The receiver then answers 500, and the service delivers the event again.
    if (!response.ok) throw new Error(`Chatwoot answered ${response.status}`)
    return (await response.json()) as A
  }

const post = (json: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(json),
})

/** Text and file; without the file where it does not come, with the reason in words. */
const toForm = async ({ kind, media, text }: ReceivedMessage): Promise<FormData> => {
  const form = new FormData()
  const file = media?.url ? await fetch(media.url) : undefined
  if (file?.ok) form.append("attachments[]", await file.blob(), media?.file_name ?? kind)
  const reason = media !== null && !file?.ok ? `(${kind}: ${media.state})` : ""
  form.append("content", [text, reason].filter((part) => part !== "").join(" ") || `(${kind})`)
  return form
}

/** Posts each received message to the inbox. */
export const forwardToChatwoot = (chatwoot: Chatwoot) => async (event: WebhookEvent) => {
  if (event.type !== "message.received") return
  const { received_message: message } = event.data
  const { chat, from } = message
  const contacts = makeContacts(chatwoot)
  // A contact that is there already is the answer too.
  const source_id = `chat-${chat.id}`
  await contacts("", post({ source_id, name: chat.name ?? from.phone ?? source_id }))
  const path = `/${source_id}/conversations`
  const open = await contacts<ReadonlyArray<{ readonly id: number }>>(path)
  const { id } = open.at(-1) ?? (await contacts<{ readonly id: number }>(path, post({})))
  await contacts(`${path}/${id}/messages`, { method: "POST", body: await toForm(message) })
}

/** What Chatwoot posts to the inbox's webhook URL, as far as it matters here. */
interface FromChatwoot {
  readonly event: string
  readonly id: number
  readonly message_type: string
  readonly private: boolean
  readonly content: string | null
  readonly conversation: { readonly contact_inbox: { readonly source_id: string } }
}

/** Sends what agents answer. Chatwoot's calls may be unsigned, so the path holds a secret. */
export const fromChatwoot = (client: MessagingClient, secret: string): Hono => {
  const app = new Hono()
  app.post(`/chatwoot/${secret}`, async (context) => {
    const { content, conversation, event, id, ...message } = await context.req.json<FromChatwoot>()
    const isAnswer =
      event === "message_created" && message.message_type === "outgoing" && !message.private
    const [, chat] = isAnswer ? conversation.contact_inbox.source_id.split("chat-") : []
    if (chat !== undefined && content !== null) {
      await client.messages.send(
        { to: { chat_id: Number(chat) }, text: content },
        { idempotencyKey: `chatwoot-${id}` },
      )
    }
    return context.body(null, 204)
  })
  return app
}
