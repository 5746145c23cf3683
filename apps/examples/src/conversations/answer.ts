import { MessagingError } from "@messaging-service/client"
import type { MessagingClient } from "@messaging-service/client"
import type { WebhookEvent } from "@messaging-service/client/webhook"

/** `toAnswer` is yours: the answer to a text, or undefined for none. */
export const answerCustomers =
  (client: MessagingClient, toAnswer: (text: string) => string | undefined) =>
  async (event: WebhookEvent): Promise<void> => {
    if (event.type !== "message.received") return
    const { chat, id, text } = event.data.received_message
    const answer = toAnswer(text)
    if (answer === undefined) return
    try {
      await client.messages.send(
        { to: { chat_id: chat.id }, text: answer, reply_to: { received_message_id: id } },
        // A delivery that comes again sends nothing more.
        { idempotencyKey: event.id },
      )
    } catch (error) {
      // The person took the question back, so it needs no answer.
      if (!(error instanceof MessagingError) || error.code !== "reply_not_possible") throw error
    }
  }
