/** How a number is, in a word and a sentence, and what a user can do about it. */
import { useQuery } from "@tanstack/react-query"
import type { ListedConnection, SendingNumber } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import {
  disconnectedSentences,
  numbersWords,
  standingSentences as sentences,
  standingWords as words,
} from "./words.ts"

/** Which number, in paths of the operator API. */
export interface NumberPath {
  readonly id: number
  readonly number_id: number
}

/** A number as people call it. */
export const nameOf = ({ id, label, phone }: SendingNumber): string =>
  label || (phone === null ? numbersWords.newNumber(id) : `+${phone}`)

export interface Standing {
  readonly word: string
  readonly look: string
  readonly dot: string
  /** Null when all is well. */
  readonly says: string | null
  readonly remedy: "link" | "code" | "resume" | null
}

const good = { look: "text-accent bg-accent-wash", dot: "bg-mark" }
const busy = { look: "text-amber bg-amber-wash", dot: "bg-amber" }
const bad = { look: "text-red bg-red-wash", dot: "bg-mark-red" }
const still = { look: "text-violet bg-violet-wash", dot: "bg-violet" }

/** Reasons after which resuming connects the number again. */
const resumable = ["replaced", "restricted", "banned", "client_outdated"]

const connected: Standing = { ...good, word: words.connected, says: null, remedy: null }

export const standingOf = (
  number: SendingNumber,
  state: ListedConnection | undefined,
): Standing => {
  if (number.status === "connecting")
    return { ...busy, word: words.linking, says: sentences.linking, remedy: "code" }
  if (state === undefined)
    return number.status === "connected"
      ? connected
      : { ...bad, word: words.disconnected, says: null, remedy: "link" }
  const { reason } = state
  if (reason === "paused") {
    const says = state.paused_until === null ? sentences.pausedOpen : sentences.pausedUntil
    return { ...still, word: words.paused, says, remedy: "resume" }
  }
  if (state.state === "connected" && reason === null) return connected
  const says = reason === null ? sentences.connecting : (disconnectedSentences[reason] ?? null)
  if (state.state === "waiting" || state.state === "connecting")
    return { ...busy, word: words.reconnecting, says, remedy: null }
  return {
    ...bad,
    word: reason?.replaceAll("_", " ") ?? words.disconnected,
    says,
    remedy: reason !== null && resumable.includes(reason) ? "resume" : "link",
  }
}

/** Undefined until they arrive; asks for none when it is not enabled. */
export const useConnections = (
  id: number,
  enabled = true,
): ReadonlyArray<ListedConnection> | undefined =>
  useQuery({ ...asked("GET /admin/v1/workspaces/{id}/connections", { path: { id } }), enabled })
    .data?.data
