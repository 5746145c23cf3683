/** What a service answered and called, byte for byte, but for what each run draws. */
import { createHash } from "node:crypto"
import type { ReceivedCall } from "../src/oracle/calls.ts"
import type { Watcher } from "../src/run.ts"
import { findHeader } from "../src/wire/AnswerReader.ts"
import type { WireAnswer } from "../src/wire/AnswerReader.ts"

const drawn: ReadonlyArray<readonly [pattern: RegExp, replacement: string]> = [
  [/(?:127\.0\.0\.1|\[::1\]|localhost):\d+/g, "HOST"],
  [/\b(req|evt)_[A-Za-z0-9]{24}/g, "$1_"],
  [/\bv1=[0-9a-f]{64}/g, "v1="],
  [/("(?:secret|key|secret_last4|last4|transport_id|next_cursor|worker)"):"[^"]*"/g, "$1:"],
  // Of the machine and the process.
  [/("processes":\[\{"name"|"seen_at"):"[^"]*"/g, "$1:"],
  [/("free_bytes"):\d+/g, "$1:"],
  // The phone that scanned a code, and the addresses of codes and files.
  [/\b1555[1-9]\d{6}\b/g, "PHONE"],
  [/-[0-9a-z]{8}-[0-9a-f]{16}-[0-9a-f]{32}(?=\.)/g, ""],
  // The pauses between attempts. Of events that are due at one moment either is delivered first.
  [/("next_attempt_at"):"[^"]*"/g, "$1:"],
  [/"id":\d+,(?="event_id")/g, ""],
  [/("event_id":"evt_","type"):"(?:ping|message\.(?:sent|failed|cancelled|expired))"/g, "$1:"],
]

const withoutDrawn = (text: string): string =>
  drawn.reduce((known, [pattern, replacement]) => known.replaceAll(pattern, replacement), text)

/** Names with their types and labels: values show the work of all workspaces, `received` of those that receive. */
const toMetrics = (exposition: string): string => {
  const lines = exposition
    .split("\n")
    .filter((line) => !line.startsWith("# HELP") && !line.includes("messaging_received_"))
    .map((line) =>
      line.startsWith("#") ? line : line.replaceAll(/"[^"]*"/g, '""').replace(/ \S+$/, ""),
    )
  return [...new Set(lines)].join("\n")
}

const toText = (id: string, { body, headers }: WireAnswer): string => {
  const type = findHeader(headers, "content-type") ?? ""
  // A picture of a drawn code, and what is compressed with the drawn port in it.
  if (id === "readQrCode" && type === "image/png") return "a code"
  if (findHeader(headers, "content-encoding") !== undefined) return "compressed"
  if (id === "readMetrics") return toMetrics(body.toString())
  if (type !== "" && !/json|text/.test(type)) return createHash("sha256").update(body).digest("hex")
  return withoutDrawn(body.toString())
}

/** Lengths follow from bodies, which are compared; tags of documents from the drawn port. */
const drawnHeaders = new Set(["date", "content-length", "etag", "host"])

const toHeaders = (headers: Iterable<readonly [name: string, value: unknown]>): string =>
  withoutDrawn(JSON.stringify([...headers].filter(([name]) => !drawnHeaders.has(name))))

const toAnswer = ([index, shot, outcome]: Parameters<Watcher["onOutcome"]>): string => {
  const request = `${index} ${shot.method} ${shot.aim.id}`
  if (outcome?.kind !== "answer") return `${request}: ${outcome?.kind ?? "hung up"}`
  const { answer } = outcome
  return `${request}: ${answer.status} ${toHeaders(answer.headers)} ${toText(shot.aim.id, answer)}`
}

const toCall = ({ body, headers, method }: ReceivedCall): string =>
  `${method} ${toHeaders(Object.entries(headers))} ${withoutDrawn(body)}`

export interface Recording {
  /** In the order of the requests. */
  readonly answers: ReadonlyArray<string>
  /** Events and callbacks. They overtake each other, so sorted. */
  readonly calls: ReadonlyArray<string>
}

export const makeRecorder = () => {
  const answers: Array<string> = []
  const calls: Array<string> = []
  return {
    onOutcome: (...outcome: Parameters<Watcher["onOutcome"]>) =>
      void answers.push(toAnswer(outcome)),
    onCall: (call: ReceivedCall) => void calls.push(toCall(call)),
    end: (): Recording => ({ answers, calls: calls.toSorted() }),
  }
}
