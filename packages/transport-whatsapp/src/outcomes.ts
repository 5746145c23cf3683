/**
 * What the far side's words on a message, or on a question before it, mean: tables from its codes to
 * outcomes. Pure.
 */
import type { MessageErrorCode, SendOutcome } from "@messaging-service/core"
import { QuestionRefused } from "./recipients.ts"

export const refused = (
  code: MessageErrorCode,
  message: string,
  againstNumber = false,
): SendOutcome => ({ _tag: "Refused", error: { code, message }, againstNumber })

const postponed = (afterMillis: number): Postponed => ({ _tag: "Postponed", afterMillis })

type Postponed = Extract<SendOutcome, { readonly _tag: "Postponed" }>

/** When to look again after nothing was handed over. */
export const soon = postponed(5000)

/** Another worker has the number by now, and goes on. */
export const moved = postponed(500)

export const unknown = { _tag: "Unknown" } as const

/** What is known of the codes with which messages are refused. */
const refusals: Readonly<Record<string, string>> = {
  "429": "the account sends too much",
  "463": "the account may not write to people who have not written to it",
  "475": "the account is restricted for a time",
  "479": "the far side could not read it",
}

/** Those of them that tell of the account that sends. */
const restrictions: ReadonlySet<string> = new Set(["429", "463", "475"])

const refusedWith = (code: string): SendOutcome => {
  const known = refusals[code]
  return refused(
    "send_failed",
    `WhatsApp refused the message (${code})${known === undefined ? "" : `: ${known}`}.`,
    restrictions.has(code),
  )
}

/**
 * Codes that tell of the far side's load or state: nothing was shown, and the message is tried again
 * under the same id after a pause, which doubles each time. The pause after the first, in milliseconds.
 */
const putOff: Readonly<Record<string, number>> = { "421": 10_000, "429": 60_000, "503": 10_000 }

const longestPutOff = 5 * 60_000

/** So often in a row a message is put off, which takes about half an hour; then it is refused. */
export const mostPutOff = 10

/** A fault of the far side's own: the message may have been shown before it. */
const faultThere = "500"

/** The far side's word that it does not take a message, which it has put off `before` times in a row. */
export const afterNack = (code: string, before: number): SendOutcome => {
  const first = putOff[code]
  if (first !== undefined && before < mostPutOff) {
    return postponed(Math.min(longestPutOff, first * 2 ** before))
  }
  return code === faultThere ? unknown : refusedWith(code)
}

/** How long to stay away when the far side asked for a pause, and did not say for how long. */
const overlimitMillis = 60_000

/** No pause that the far side asks for is longer: then it is asked again. */
const longestPause = 60 * 60_000

/** The library puts the far side's code into its error's data. */
const codeOfQuestion = (cause: unknown): number | null => {
  if (cause instanceof QuestionRefused) return cause.code
  if (!(cause instanceof Error)) return null
  if (cause.message.includes("rate-overlimit")) return 429
  return "data" in cause && typeof cause.data === "number" ? cause.data : null
}

const isLoad = (code: number): boolean => code >= 500 || String(code) in putOff || code === 408

/** The pause after a question that the far side was too busy for; null when that was not why it failed. */
export const pauseAfter = (cause: unknown): Postponed | null => {
  const code = codeOfQuestion(cause)
  if (code === null || !isLoad(code)) return null
  const asked = cause instanceof QuestionRefused ? cause.pauseMillis : null
  const usual = code === 429 ? overlimitMillis : soon.afterMillis
  return postponed(Math.min(longestPause, asked ?? usual))
}

/** A question before a message failed: nothing of it has left. Null when the connection broke. */
export const afterQuestion = (cause: unknown): SendOutcome | null => {
  const code = codeOfQuestion(cause)
  return code === null ? null : (pauseAfter(cause) ?? refusedWith(String(code)))
}

/** Relaying threw: before the message left, unless the connection or the store broke. */
export const afterRelay = (cause: unknown): SendOutcome =>
  cause instanceof Error && cause.message === "All encryptions failed"
    ? refused("send_failed", "The message could not be encrypted for any device of the recipient.")
    : (afterQuestion(cause) ?? unknown)
