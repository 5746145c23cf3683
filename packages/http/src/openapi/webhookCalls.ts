/**
 * The calls that the service makes: to webhook endpoints (contract: Events), and to addresses of
 * single requests of version 1.
 */
import {
  MessageJson,
  TimeJson,
  callbackContentType,
  described,
  webhookEventTypes,
} from "@messaging-service/core"
import { Schema } from "effect"
import { examples } from "./examples.ts"
import { jsonContent } from "./Operation.ts"
import type { Call, Header, JsonObject } from "./Operation.ts"

/** `secret`: whose it is. */
const callHeaders = (secret: string): ReadonlyArray<Header> => [
  {
    name: "Service-Event-Id",
    description: "The event's id, the same on every repeat: drop what you have had.",
    schema: { type: "string", pattern: "^evt_[A-Za-z0-9]{24}$" },
  },
  {
    name: "Service-Timestamp",
    description: "Unix seconds of this attempt; reject what is more than 5 minutes away.",
    schema: { type: "string", pattern: "^[0-9]+$" },
  },
  {
    name: "Service-Signature",
    description: `\`v1=\` and the hexadecimal HMAC-SHA256 of \`<timestamp>.<raw body>\` with ${secret}. Compute it over the unparsed body and compare in constant time.`,
    schema: { type: "string", pattern: "^v1=[0-9a-f]{64}$" },
  },
  {
    name: "User-Agent",
    description: "Who calls.",
    schema: { type: "string", const: "Service-Webhooks/2" },
  },
]

const headers = callHeaders("the endpoint's secret")

const about = (occasion: string): string =>
  `${occasion}\n\nAn event can arrive more than once, and in any order. It is repeated for about 23 hours until it is answered with a 2xx within 15 seconds; redirects are not followed.`

const when = {
  "message.sent": "A message left the number.",
  "message.failed": "A message could not be sent; `error.message` says why.",
  "message.cancelled":
    "A waiting message was cancelled, by the API or because its number was removed.",
  "message.expired": "A message was not sent before its `expires_at`.",
} as const

const shown = {
  "message.sent": examples.sent,
  "message.failed": examples.failed,
  "message.cancelled": examples.cancelled,
  "message.expired": examples.expired,
} as const

const eventId = described(Schema.String, "`evt_` and 24 characters, the same on every repeat.")

const envelope = <Type extends string, Data extends Schema.Top>(type: Type, data: Data) =>
  Schema.Struct({ id: eventId, type: Schema.Literal(type), created_at: TimeJson, data })

const event = (type: string, data: unknown) => ({
  id: "evt_0123456789abcdefghijABCD",
  type,
  created_at: "2030-01-31T07:00:02Z",
  data,
})

const receiverAnswers: Call["answers"] = [
  { status: 200, description: "Delivered; any 2xx will do.", headers: [], content: null },
]

const idOf = (type: string): string =>
  `on${type.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}`

const messageCalls = webhookEventTypes.map((type): Call => ({
  name: type,
  id: idOf(type),
  tag: "Webhooks",
  summary: type,
  about: about(when[type]),
  headers,
  content: jsonContent(
    envelope(type, Schema.Struct({ message: MessageJson })),
    event(type, { message: shown[type] }),
  ),
  answers: receiverAnswers,
}))

const ping: Call = {
  name: "ping",
  id: idOf("ping"),
  tag: "Webhooks",
  summary: "ping",
  about: about("A test of the endpoint was asked for."),
  headers,
  content: jsonContent(
    envelope("ping", Schema.Struct({ webhook_id: Schema.Int })),
    event("ping", { webhook_id: 3 }),
  ),
  answers: receiverAnswers,
}

export const webhookCalls: ReadonlyArray<Call> = [...messageCalls, ping]

const callbackHeaders = callHeaders("the workspace's callback secret")

const aboutCallback = (occasion: string): string =>
  `${occasion}\n\nA call can arrive more than once, and in any order. It is made four times over a few minutes until it is answered with a 2xx within 15 seconds; redirects are not followed.`

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
  about: aboutCallback("A message was sent, or will not be."),
  headers: callbackHeaders,
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
  about: aboutCallback("A QR code can be shown, the number is connected, or it no longer is."),
  headers: callbackHeaders,
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
