/**
 * The calls that version 1 makes to addresses of single requests (contract: Version 1: callbacks).
 */
import { callbackContentType } from "@messaging-service/core"
import type { Call, JsonObject } from "./Operation.ts"
import { callHeaders, receiverAnswers } from "./webhookCalls.ts"

const headers = callHeaders("the workspace's callback secret")

const about = (when: string): string =>
  `${when}\n\nA call can arrive more than once, and in any order. It is made four times over a few minutes until it is answered with a 2xx within 15 seconds; redirects are not followed.`

const form = (properties: JsonObject, required: ReadonlyArray<string>, example: JsonObject) => ({
  [callbackContentType]: {
    schema: { json: { type: "object", properties, required } },
    examples: { example },
  },
})

/** What became of a message that was sent with a `webhook`. */
export const messageCallbackCall: Call = {
  name: "message",
  id: "onMessageV1",
  tag: "Messages (version 1)",
  summary: "The end of a message",
  about: about("A message was sent, or will not be."),
  headers,
  content: form(
    {
      msg_id: { type: "integer" },
      status: { type: "string", enum: ["SENT", "FAILED", "CANCELLED", "EXPIRED"] },
      error: { type: "string", description: "Why it failed; only beside `FAILED`." },
    },
    ["msg_id", "status"],
    { msg_id: 4711, status: "FAILED", error: "Group not found" },
  ),
  answers: receiverAnswers,
}

/** What becomes of the connection of a number that was asked for with a `webhook_url`. */
export const connectionCallbackCall: Call = {
  name: "connection",
  id: "onConnectionV1",
  tag: "WhatsApp numbers (version 1)",
  summary: "The connection of a number",
  about: about("A QR code can be shown, the number is connected, or it no longer is."),
  headers,
  content: form(
    {
      event: { type: "string", enum: ["qr-generated", "connected", "disconnected"] },
      whatsapp_client: { type: "integer" },
      whatsapp_number: { type: "string", description: "Empty while the phone is not known." },
    },
    ["event", "whatsapp_client", "whatsapp_number"],
    { event: "connected", whatsapp_client: 7, whatsapp_number: "15550100001" },
  ),
  answers: receiverAnswers,
}
