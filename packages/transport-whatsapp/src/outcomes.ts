/** Tables from WhatsApp's codes, on a message or a query, to send outcomes. Pure. */
import type { MessageErrorCode, SendOutcome } from "@messaging-service/core"
import { QuestionRefused } from "./recipients.ts"

export const refused = (
  code: MessageErrorCode,
  message: string,
  againstNumber = false,
): Refused => ({ _tag: "Refused", error: { code, message }, againstNumber })

type Refused = Extract<SendOutcome, { readonly _tag: "Refused" }>

const postponed = (afterMillis: number): Postponed => ({ _tag: "Postponed", afterMillis })

type Postponed = Extract<SendOutcome, { readonly _tag: "Postponed" }>

/** Try again later; nothing was handed over. */
export const soon = postponed(5000)

/** Another worker owns the number and continues. */
export const moved = postponed(500)

export const unknown = { _tag: "Unknown" } as const

/** Known codes of refused messages. */
const refusals: Readonly<Record<string, string>> = {
  "429": "the account sends too much",
  "463": "the account may not write to people who have not written to it",
  "475": "the account is restricted for a time",
  "479": "the remote server could not read it",
}

/** Codes about the sending account. */
const restrictions: ReadonlySet<string> = new Set(["429", "463", "475"])

/** Codes that may mean that new chats are closed. */
const newChatRefusals: ReadonlySet<string> = new Set(["463", "475"])

export const refusesNewChat = (code: string): boolean => newChatRefusals.has(code)

/** Of a message to someone who never wrote to the account. */
const newChatRefused = "463"

const refusedWith = (code: string): SendOutcome => {
  const known = refusals[code]
  const outcome = refused(
    "send_failed",
    `WhatsApp refused the message (${code})${known === undefined ? "" : `: ${known}`}.`,
    restrictions.has(code),
  )
  return code === newChatRefused ? { ...outcome, refusesNewChat: true } : outcome
}

/**
 * Codes of WhatsApp's load or state: nothing was shown, so the same id is sent again. The first pause in
 * milliseconds; it doubles.
 */
const putOff: Readonly<Record<string, number>> = { "421": 10_000, "429": 60_000, "503": 10_000 }

const longestPutOff = 5 * 60_000

/** Postponements in a row, about half an hour, before the message is refused. */
export const maxPutOff = 10

/** WhatsApp's own fault: the message may have been shown. */
const faultThere = "500"

/** The outcome of a negative answer to a message that was postponed `before` times in a row. */
export const afterNack = (code: string, before: number): SendOutcome => {
  const first = putOff[code]
  if (first !== undefined && before < maxPutOff) {
    return postponed(Math.min(longestPutOff, first * 2 ** before))
  }
  return code === faultThere ? unknown : refusedWith(code)
}

/** The pause when WhatsApp asks for one without its length. */
const overlimitMillis = 60_000

const longestPause = 60 * 60_000

/** The library puts WhatsApp's code into its error's data. */
const codeOfQuestion = (cause: unknown): number | null => {
  if (cause instanceof QuestionRefused) return cause.code
  if (!(cause instanceof Error)) return null
  if (cause.message.includes("rate-overlimit")) return 429
  return "data" in cause && typeof cause.data === "number" ? cause.data : null
}

const isLoad = (code: number): boolean => code >= 500 || String(code) in putOff || code === 408

/** The pause after a query failed because WhatsApp was busy; null for other failures. */
export const pauseAfter = (cause: unknown): Postponed | null => {
  const code = codeOfQuestion(cause)
  if (code === null || !isLoad(code)) return null
  const requests = cause instanceof QuestionRefused ? cause.pauseMillis : null
  const usual = code === 429 ? overlimitMillis : soon.afterMillis
  return postponed(Math.min(longestPause, requests ?? usual))
}

/** The outcome of a failed query before the message left. Null when the connection broke. */
export const afterQuestion = (cause: unknown): SendOutcome | null => {
  const code = codeOfQuestion(cause)
  return code === null ? null : (pauseAfter(cause) ?? refusedWith(String(code)))
}

/** Relaying failed: before the message left, unless the connection or the store broke. */
export const afterRelay = (cause: unknown): SendOutcome =>
  cause instanceof Error && cause.message === "All encryptions failed"
    ? refused("send_failed", "The message could not be encrypted for any device of the recipient.")
    : (afterQuestion(cause) ?? unknown)
