import { MessagingError } from "@messaging-service/service"
import type { Messaging } from "@messaging-service/service"

/** Answers what people write to any workspace with conversations. `toAnswer` is yours; undefined: no answer. */
export const answerPeople = (
  messaging: Messaging,
  toAnswer: (text: string) => string | undefined,
) =>
  messaging.subscribe("answers", "message.received", async (event) => {
    const { chat, fromMe, id, number, text } = event.receivedMessage
    // The owner's own messages, written on the phone, arrive too.
    const answer = fromMe ? undefined : toAnswer(text)
    if (answer === undefined) return
    try {
      await messaging.as(event.workspaceId).messages.send(
        {
          from: number.id,
          to: { chatId: chat.id },
          text: answer,
          replyTo: { receivedMessageId: id },
        },
        // An event that comes again sends nothing more.
        { idempotencyKey: event.id },
      )
    } catch (error) {
      // The person took the question back, so it needs no answer.
      if (!(error instanceof MessagingError) || error.code !== "reply_not_possible") throw error
    }
  })
