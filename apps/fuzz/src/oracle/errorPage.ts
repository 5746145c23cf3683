/** The HTML page with status 500 that version 1's group send answers with (contract: Version 1: sends). */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Shot } from "../request/Shot.ts"
import { findHeader } from "../wire/AnswerReader.ts"
import type { WireAnswer } from "../wire/AnswerReader.ts"
import type { Route } from "./Route.ts"

/** Whether the request gets the page: a numeric group name, or a `msg_type` that is not whole. */
export const mayBeErrorPage = (shot: Shot, { operation }: Route, answer: WireAnswer): boolean => {
  const isPage = (findHeader(answer.headers, "content-type") ?? "").startsWith("text/html")
  if (operation?.id !== "v1SendMsgGroup" || !isPage) return false
  const text = (shot.body ?? Buffer.alloc(0)).toString()
  const value = toJson(text)
  if (!isJson(value)) return text.includes("msg_type")
  // Numbers may be strings of digits (contract: Version 1: requests), and have no other form.
  const type = value["msg_type"]
  const isWhole =
    type === undefined || Number.isInteger(type) || (typeof type === "string" && /^\d+$/.test(type))
  return typeof value["group_name"] === "number" || !isWhole
}

const toJson = (text: string): unknown => {
  try {
    return JSON.parse(text.replace(/^\ufeff/, "")) as unknown
  } catch {
    return undefined
  }
}
