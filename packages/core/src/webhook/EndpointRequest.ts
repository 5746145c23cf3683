/** What may be asked of a webhook endpoint: the body that makes one (contract: Webhook endpoints). */
import { Result, Schema } from "effect"
import type { OutboundRule } from "../egress/Egress.ts"
import { outboundUrlMessage, parseOutboundUrl } from "../egress/PublicAddress.ts"
import { problem } from "../error/Refusal.ts"
import type { Problem, Refusal } from "../error/Refusal.ts"
import type { MessageEventType } from "../message/Message.ts"
import { described } from "../request/Described.ts"
import { inputDecoder, textBetween } from "../request/Input.ts"
import { codePointLength } from "../request/text.ts"
import { webhookEventTypes } from "./WebhookEndpoint.ts"

/** Code points. */
export const maximumWebhookUrlLength = 500

/** Members of `events`, doubles included. */
const maximumEvents = 100

/** The body of POST /webhooks. */
export const EndpointBody = Schema.Struct({
  url: described(textBetween(0, maximumWebhookUrlLength), "Public `https://` address."),
  events: described(
    Schema.optionalKey(
      Schema.Array(Schema.Literals(webhookEventTypes)).check(
        Schema.makeFilter((events) => (events.length > 0 ? undefined : "must name an event"), {
          toJsonSchema: () => ({ minItems: 1, maxItems: maximumEvents }),
        }),
      ),
    ),
    "All of them when left out.",
  ),
  description: described(Schema.optionalKey(textBetween(0, 100)), "A note."),
}).annotate({ identifier: "CreateWebhook" })

/** An endpoint to make: in the words of its body. */
export type CreateWebhook = typeof EndpointBody.Encoded

export interface EndpointRequest {
  readonly url: string
  /** As they were given, each once. */
  readonly events: ReadonlyArray<MessageEventType>
  readonly description: string
}

const urlProblems =
  ({ allowPrivate }: OutboundRule) =>
  ({ url }: Readonly<Record<string, unknown>>): ReadonlyArray<Problem> => {
    // Another type and too much of it are the schema's to report.
    if (typeof url !== "string" || codePointLength(url) > maximumWebhookUrlLength) return []
    const parsed = parseOutboundUrl(url, { allowHttp: false, allowPrivate })
    return Result.isSuccess(parsed)
      ? []
      : [problem("invalid_webhook_url", "url", outboundUrlMessage(url, parsed.failure))]
  }

/**
 * The parser under a rule for outgoing links. What is given is looked at whatever its type says.
 * Build once, use often.
 */
export const endpointRequestParser = (
  rule: OutboundRule,
): ((command: unknown) => Result.Result<EndpointRequest, Refusal>) => {
  const decode = inputDecoder(EndpointBody, {
    across: urlProblems(rule),
    lists: { events: { most: maximumEvents } },
  })
  return (command) =>
    Result.map(decode(command), ({ url, events, description }) => ({
      url,
      events: [...new Set(events ?? webhookEventTypes)],
      description: description ?? "",
    }))
}
