/** Calls about each webhook endpoint and their answers, by URL. */
import type { ChangeEndpoint, Entry, History, MakeEndpoint } from "../History.ts"
import { getCalls } from "./Promise.ts"
import type { Call } from "./Promise.ts"

const minute = 60_000

/** Faults of time are over so long into calm; longer than any of them lasts. */
const longestFaultMillis = 4 * minute

/** The maximum total of a clock's jumps. */
const longestSkewMillis = 4 * minute

export type Notification = Extract<Entry, { readonly _tag: "Told" }>

export interface EndpointHistory {
  readonly url: string
  readonly requested: MakeEndpoint
  /** Answered first; null when no answer ever came. */
  readonly created: Call | null
  readonly makes: ReadonlyArray<Call>
  /** By kind, whatever the answer. */
  readonly changes: Readonly<Partial<Record<ChangeEndpoint["_tag"], ReadonlyArray<Call>>>>
  /** Revocations of the key that created it. */
  readonly revocations: ReadonlyArray<Call>
  readonly notifications: ReadonlyArray<Notification>
}

export const getNotifications = ({ entries }: History): ReadonlyArray<Notification> =>
  entries.filter((entry): entry is Notification => entry._tag === "Told")

/** Whether an answer is a success. */
export const isDone = ({ answer }: Call): boolean => answer !== null && answer._tag !== "Refused"

export const getEndpoints = (history: History): ReadonlyArray<EndpointHistory> => {
  const calls = getCalls(history)
  const received = Map.groupBy(getNotifications(history), ({ url }) => url)
  const creations = Map.groupBy(
    calls.filter(({ request }) => request._tag === "MakeEndpoint"),
    ({ request }) => (request as MakeEndpoint).url,
  )
  return Array.from(creations, ([url, requests]) => {
    const [{ request }] = requests as [Call]
    const requested = request as MakeEndpoint
    const changes = calls.filter((call) => "eventId" in call.request && call.request.url === url)
    return {
      url,
      requested,
      created: requests.find(({ answer }) => answer?._tag === "Made") ?? null,
      makes: requests,
      changes: Object.groupBy(changes, (call) => call.request._tag as ChangeEndpoint["_tag"]),
      revocations: calls.filter(
        (call) => call.request._tag === "RevokeKey" && call.request.key === requested.key,
      ),
      notifications: received.get(url) ?? [],
    }
  })
}

/** How long after its commit a call may still follow the previous state, at a time of the world. */
export const graceBy = ({ entries, setting }: History): ((at: number) => number) => {
  const calm = entries.find(({ _tag }) => _tag === "Calm")?.at ?? 0
  return (at) => (setting.isPunctual || at > calm + longestFaultMillis ? 0 : longestFaultMillis)
}

/** How far a time that the service wrote may be from the world's. */
export const clockSkew = ({ setting }: History): number =>
  setting.hasTrueClocks ? 0 : longestSkewMillis

/** The possible secrets at a time; `isKnown` is false where callers may not have received it. */
export const secretsAt = (
  setting: ReadonlyArray<Call>,
  at: number,
  graceMillis: number,
): { readonly secrets: ReadonlyArray<string>; readonly isKnown: boolean } => {
  const requests = setting.filter(({ requestedAt }) => requestedAt <= at)
  const isReplaced = (call: Call): boolean =>
    requests.some(
      (later) =>
        isDone(later) &&
        later.answeredAt + graceMillis < at &&
        (isDone(call)
          ? later.requestIndex > call.answered
          : later.requestedAt > call.requestedAt + longestFaultMillis),
    )
  const possible = requests.filter((call) => call.answer?._tag !== "Refused" && !isReplaced(call))
  const secrets = possible.flatMap(({ answer }) =>
    answer !== null && "secret" in answer && answer.secret !== null ? [answer.secret] : [],
  )
  return { secrets, isKnown: secrets.length === possible.length }
}

/** Until when an unanswered call may still take effect. */
export const latestEffectAt = (call: Call): number =>
  call.answer === null ? call.requestedAt + longestFaultMillis : call.answeredAt
