/** How a number is, in a word and a sentence, and what a user can do about it. */
import { useQuery } from "@tanstack/react-query"
import type { ListedConnection, SendingNumber } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import {
  disconnectedSentences,
  numbersLabels,
  standingSentences as sentences,
  standingLabels as labels,
} from "./words.ts"

/** Which number, in paths of the operator API. */
export interface NumberPath {
  readonly id: number
  readonly number_id: number
}

/** A number as people call it. */
export const toName = ({ id, label, phone }: SendingNumber): string =>
  label || (phone === null ? numbersLabels.newNumber(id) : `+${phone}`)

export interface Standing {
  readonly label: string
  readonly tone: string
  readonly dot: string
  /** Null when all is well. */
  readonly message: string | null
  readonly remedy: "link" | "code" | "resume" | null
}

const good = { tone: "text-accent bg-accent-wash", dot: "bg-mark" }
const busy = { tone: "text-amber bg-amber-wash", dot: "bg-amber" }
const bad = { tone: "text-red bg-red-wash", dot: "bg-mark-red" }
const still = { tone: "text-violet bg-violet-wash", dot: "bg-violet" }

/** Reasons after which resuming connects the number again. */
const resumable = ["replaced", "restricted", "banned", "client_outdated"]

const connected: Standing = { ...good, label: labels.connected, message: null, remedy: null }

export const getStanding = (
  number: SendingNumber,
  state: Pick<ListedConnection, "paused_until" | "reason" | "state"> | undefined,
): Standing => {
  if (number.status === "connecting")
    return { ...busy, label: labels.linking, message: sentences.linking, remedy: "code" }
  if (state === undefined)
    return number.status === "connected"
      ? connected
      : { ...bad, label: labels.disconnected, message: null, remedy: "link" }
  const { reason } = state
  if (reason === "paused") {
    const text = state.paused_until === null ? sentences.pausedOpen : sentences.pausedUntil
    return { ...still, label: labels.paused, message: text, remedy: "resume" }
  }
  if (state.state === "connected" && reason === null) return connected
  const message = reason === null ? sentences.connecting : (disconnectedSentences[reason] ?? null)
  if (state.state === "waiting" || state.state === "connecting")
    return { ...busy, label: labels.reconnecting, message, remedy: null }
  return {
    ...bad,
    label: reason?.replaceAll("_", " ") ?? labels.disconnected,
    message,
    remedy: reason !== null && resumable.includes(reason) ? "resume" : "link",
  }
}

/** Undefined until they arrive; asks for none when it is not enabled. */
export const useConnections = (
  id: number,
  enabled = true,
): ReadonlyArray<ListedConnection> | undefined =>
  useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/connections", { path: { id } }),
    enabled,
  }).data?.data
