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
import { header } from "./headers.ts"
import { jsonContent } from "./Operation.ts"
import type { Call, Header, JsonObject } from "./Operation.ts"

/** `secret`: whose it is. */
const callHeaders = (secret: string): ReadonlyArray<Header> => [
  header("Service-Event-Id", "The event's id, the same on every repeat: drop what you have had.", {
    type: "string",
    pattern: "^evt_[A-Za-z0-9]{24}$",
  }),
  header(
    "Service-Timestamp",
    "Unix seconds of this attempt; reject what is more than 5 minutes away.",
    { type: "string", pattern: "^[0-9]+$" },
  ),
  header(
    "Service-Signature",
    `\`v1=\` and the hexadecimal HMAC-SHA256 of \`<timestamp>.<raw body>\` with ${secret}. Compute it over the unparsed body and compare in constant time.`,
    { type: "string", pattern: "^v1=[0-9a-f]{64}$" },
  ),
  header("User-Agent", "Who calls.", { type: "string", const: "Service-Webhooks/2" }),
]

const eventHeaders = callHeaders("the endpoint's secret")

const eventId = described(Schema.String, "`evt_` and 24 characters, the same on every repeat.")

/** An event, on the occasion that is told, with an example of its data. */
const eventCall = (type: string, occasion: string, data: Schema.Top, example: unknown): Call => ({
  name: type,
  id: `on${type.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
  tag: "Webhooks",
  summary: type,
  about: `${occasion}\n\nAn event can arrive more than once, and in any order. It is repeated for about 23 hours until it is answered with a 2xx within 15 seconds; redirects are not followed.`,
  headers: eventHeaders,
  content: jsonContent(
    Schema.Struct({ id: eventId, type: Schema.Literal(type), created_at: TimeJson, data }),
    { id: "evt_0123456789abcdefghijABCD", type, created_at: "2030-01-31T07:00:02Z", data: example },
  ),
})

const messageEvents = {
  "message.sent": { occasion: "A message left the number.", message: examples.sent },
  "message.failed": {
    occasion: "A message could not be sent; `error.message` says why.",
    message: examples.failed,
  },
  "message.cancelled": {
    occasion: "A waiting message was cancelled, by the API or because its number was removed.",
    message: examples.cancelled,
  },
  "message.expired": {
    occasion: "A message was not sent before its `expires_at`.",
    message: examples.expired,
  },
} as const

export const webhookCalls: ReadonlyArray<Call> = [
  ...webhookEventTypes.map((type) => {
    const { message, occasion } = messageEvents[type]
    return eventCall(type, occasion, Schema.Struct({ message: MessageJson }), { message })
  }),
  eventCall(
    "ping",
    "A test of the endpoint was asked for.",
    Schema.Struct({ webhook_id: Schema.Int }),
    { webhook_id: 3 },
  ),
]

const callbackHeaders = callHeaders("the workspace's callback secret")

/** A call of version 1 on the occasion that is told, whose body is a form. */
const callbackCall = (
  call: Pick<Call, "name" | "id" | "tag" | "summary">,
  occasion: string,
  form: { readonly properties: JsonObject; readonly required: ReadonlyArray<string> },
  example: JsonObject,
): Call => ({
  ...call,
  about: `${occasion}\n\nA call can arrive more than once, and in any order. It is made four times over a few minutes until it is answered with a 2xx within 15 seconds; redirects are not followed.`,
  headers: callbackHeaders,
  content: {
    [callbackContentType]: {
      schema: { json: { type: "object", ...form } },
      examples: { example },
    },
  },
})

/** What became of a message that was sent with a `webhook`. */
export const messageCallbackCall = callbackCall(
  {
    name: "message",
    id: "onMessageV1",
    tag: "Messages (version 1)",
    summary: "The end of a message",
  },
  "A message was sent, or will not be.",
  {
    properties: {
      msg_id: { type: "integer" },
      status: { type: "string", enum: ["SENT", "FAILED", "CANCELLED", "EXPIRED"] },
      error: { type: "string", description: "Why it failed; only beside `FAILED`." },
    },
    required: ["msg_id", "status"],
  },
  { msg_id: 4711, status: "FAILED", error: "Group not found" },
)

/** What becomes of the connection of a number that was asked for with a `webhook_url`. */
export const connectionCallbackCall = callbackCall(
  {
    name: "connection",
    id: "onConnectionV1",
    tag: "WhatsApp numbers (version 1)",
    summary: "The connection of a number",
  },
  "A QR code can be shown, the number is connected, or it no longer is.",
  {
    properties: {
      event: { type: "string", enum: ["qr-generated", "connected", "disconnected"] },
      whatsapp_client: { type: "integer" },
      whatsapp_number: { type: "string", description: "Empty while the phone is not known." },
    },
    required: ["event", "whatsapp_client", "whatsapp_number"],
  },
  { event: "connected", whatsapp_client: 7, whatsapp_number: "15550100001" },
)
