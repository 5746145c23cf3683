/** Calls that the service makes itself: events of version 2, callbacks of version 1. */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Checker } from "@messaging-service/testkit/openapi"
import { finding } from "./Finding.ts"
import type { Finding } from "./Finding.ts"

/** A call as the fuzzer's listener received it. */
export interface ReceivedCall {
  readonly method: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

const events = ["message.sent", "message.failed", "message.cancelled", "message.expired", "ping"]

const headers: ReadonlyArray<readonly [name: string, form: RegExp]> = [
  ["service-event-id", /^evt_[A-Za-z0-9]{24}$/],
  ["service-timestamp", /^\d+$/],
  ["service-signature", /^v1=[0-9a-f]{64}$/],
  ["user-agent", /^Service-Webhooks\/2$/],
]

const inPost = ["post", "requestBody", "content"]

/** The path of version 1's callbacks, by a field that only they have. */
const callbacks: ReadonlyArray<readonly [field: string, place: ReadonlyArray<string>]> = [
  ["msg_id", ["/api/v1/send_msg", "post", "callbacks", "message", "{$request.body#/webhook}"]],
  [
    "event",
    ["/api/v1/whatsapp/connect", "post", "callbacks", "connection", "{$request.body#/webhook_url}"],
  ],
]

const formType = "application/x-www-form-urlencoded"

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Forms have no numbers: digits count as one where the document describes an id. */
const valueOfForm = (body: string) =>
  Object.fromEntries(
    [...new URLSearchParams(body)].map(([name, value]) => [
      name,
      (name === "msg_id" || name === "whatsapp_client") && /^\d+$/.test(value)
        ? Number(value)
        : value,
    ]),
  )

/** How a call deviates from the document. */
export const makeCallJudge =
  (checker: Checker) =>
  (call: ReceivedCall): ReadonlyArray<Finding> => {
    const isForm = call.headers["content-type"] === formType
    const value = isForm ? valueOfForm(call.body) : parsed(call.body)
    const name = isForm ? "callback" : "event"
    if (!isJson(value)) return [finding(`${name}: no object`, call.body.slice(0, 200))]
    const wrongHeaders = headers
      .filter(([header, form]) => !form.test(String(call.headers[header])))
      .map(([header]) => finding(`${name}: ${header} is not as described`))
    const wrong = isForm ? wrongForm(checker, value) : wrongEvent(checker, value)
    return wrong === undefined
      ? wrongHeaders
      : [...wrongHeaders, finding(`${name}: ${wrong}`, call.body.slice(0, 300))]
  }

const wrongEvent = (checker: Checker, value: Readonly<Record<string, unknown>>) => {
  const type = String(value["type"])
  if (!events.includes(type)) return `the type ${type} is unknown`
  return checker.answer("webhooks", type, ...inPost, "application/json", "schema")(value)
}

const wrongForm = (checker: Checker, value: Readonly<Record<string, unknown>>) => {
  const path = callbacks.find(([field]) => field in value)?.[1]
  if (path === undefined) return "neither of a message nor of a connection"
  return checker.answer("paths", ...path, ...inPost, formType, "schema")(value)
}
