/** How a version 1 request fails, and the answers that say so (contract: Version 1: requests). */
import type { Refusal } from "@messaging-service/core"
import { Data, Stream } from "effect"
import type { Exchange, Reply } from "../answer/Exchange.ts"
import { textOfCode, texts } from "./texts.ts"
import type { OtherTexts, TextName } from "./texts.ts"

/** A failure that version 1 alone knows; what the core refuses comes as its `Refusal`. */
export class FailureV1 extends Data.TaggedError("FailureV1")<{ readonly name: TextName }> {
  override get message() {
    return texts[this.name].message
  }
}

export const failV1 = (name: TextName): FailureV1 => new FailureV1({ name })

/**
 * A group send answers a JSON-number `group_name`, or a `msg_type` that is not a whole number, with
 * an HTML page and status 500 (contract: Version 1: sends).
 */
export class ErrorPageV1 extends Data.TaggedError("ErrorPageV1")<Record<never, never>> {
  override get message() {
    return "answered with an HTML error page"
  }
}

const pageBytes = new TextEncoder().encode(
  '<!doctype html>\n<html lang="en"><head><title>Server Error (500)</title></head><body><h1>Server Error (500)</h1></body></html>\n',
)

export const errorPageReply = ({ headers }: Exchange): Reply => {
  headers["content-security-policy"] = "default-src 'none'"
  headers["x-content-type-options"] = "nosniff"
  return {
    status: 500,
    content: {
      contentType: "text/html; charset=utf-8",
      length: pageBytes.length,
      bytes: Stream.make(pageBytes),
    },
  }
}

const reply = (
  name: TextName,
  others: OtherTexts,
  more: Readonly<Record<string, unknown>>,
): Reply => {
  const { message, status = 400 } = texts[others[name] ?? name]
  return { status, body: { status: 0, ...more, message } }
}

export const failureReply = ({ name }: FailureV1, others: OtherTexts = {}): Reply =>
  reply(name, others, {})

/**
 * A single send that is stored although it is refused shows its id (contract: Version 1: sends).
 */
const dailyLimitFields = ({ details }: Refusal): Readonly<Record<string, unknown>> => ({
  ...(details["message_id"] === undefined ? {} : { msg_id: details["message_id"] }),
  code: "daily_limit_reached",
})

/** Writes `Retry-After` where it belongs and returns the answer. */
export const refusalReplyV1 = (
  { headers }: Exchange,
  refusal: Refusal,
  others: OtherTexts = {},
): Reply => {
  const { code, message, retryAfter } = refusal
  if (retryAfter !== null) headers["retry-after"] = String(retryAfter)
  const name = textOfCode[code]
  if (name === undefined) return { status: 400, body: { status: 0, message } }
  return reply(name, others, name === "daily_limit" ? dailyLimitFields(refusal) : {})
}
