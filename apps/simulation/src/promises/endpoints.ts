/** Calls about each webhook endpoint and their answers, by URL. */
import type { ChangeEndpoint, Entry, History, MakeEndpoint } from "../History.ts"
import { callsOf } from "./Promise.ts"
import type { Call } from "./Promise.ts"

const minute = 60_000

/** Faults of time are over so long into calm; longer than any of them lasts. */
const longestFaultMillis = 4 * minute

/** The maximum total of a clock's jumps. */
const longestSkewMillis = 4 * minute

export type Told = Extract<Entry, { readonly _tag: "Told" }>

export interface EndpointHistory {
  readonly url: string
  readonly wanted: MakeEndpoint
  /** Answered first; null when no answer ever came. */
  readonly made: Call | null
  readonly makes: ReadonlyArray<Call>
  /** By kind, whatever the answer. */
  readonly changes: Readonly<Partial<Record<ChangeEndpoint["_tag"], ReadonlyArray<Call>>>>
  /** Revocations of the key that created it. */
  readonly revocations: ReadonlyArray<Call>
  readonly told: ReadonlyArray<Told>
}

export const toldOf = ({ entries }: History): ReadonlyArray<Told> =>
  entries.filter((entry): entry is Told => entry._tag === "Told")

/** Whether an answer is a success. */
export const isDone = ({ answer }: Call): boolean => answer !== null && answer._tag !== "Refused"

export const endpointsOf = (history: History): ReadonlyArray<EndpointHistory> => {
  const calls = callsOf(history)
  const told = Map.groupBy(toldOf(history), ({ url }) => url)
  const makes = Map.groupBy(
    calls.filter(({ ask }) => ask._tag === "MakeEndpoint"),
    ({ ask }) => (ask as MakeEndpoint).url,
  )
  return Array.from(makes, ([url, asked]) => {
    const [{ ask }] = asked as [Call]
    const wanted = ask as MakeEndpoint
    const changes = calls.filter((call) => "eventId" in call.ask && call.ask.url === url)
    return {
      url,
      wanted,
      made: asked.find(({ answer }) => answer?._tag === "Made") ?? null,
      makes: asked,
      changes: Object.groupBy(changes, (call) => call.ask._tag as ChangeEndpoint["_tag"]),
      revocations: calls.filter(
        (call) => call.ask._tag === "RevokeKey" && call.ask.key === wanted.key,
      ),
      told: told.get(url) ?? [],
    }
  })
}

/** How long after its commit a call may still follow the previous state, at a time of the world. */
export const graceOf = ({ entries, setting }: History): ((at: number) => number) => {
  const calm = entries.find(({ _tag }) => _tag === "Calm")?.at ?? 0
  return (at) => (setting.isPunctual || at > calm + longestFaultMillis ? 0 : longestFaultMillis)
}

/** How far a time that the service wrote may be from the world's. */
export const skewOf = ({ setting }: History): number =>
  setting.hasTrueClocks ? 0 : longestSkewMillis

/** The possible secrets at a time; `isKnown` is false where callers may not have received it. */
export const secretsAt = (
  setting: ReadonlyArray<Call>,
  at: number,
  graceMillis: number,
): { readonly secrets: ReadonlyArray<string>; readonly isKnown: boolean } => {
  const asked = setting.filter(({ askedAt }) => askedAt <= at)
  const isReplaced = (call: Call): boolean =>
    asked.some(
      (later) =>
        isDone(later) &&
        later.answeredAt + graceMillis < at &&
        (isDone(call)
          ? later.asked > call.answered
          : later.askedAt > call.askedAt + longestFaultMillis),
    )
  const possible = asked.filter((call) => call.answer?._tag !== "Refused" && !isReplaced(call))
  const secrets = possible.flatMap(({ answer }) =>
    answer !== null && "secret" in answer && answer.secret !== null ? [answer.secret] : [],
  )
  return { secrets, isKnown: secrets.length === possible.length }
}

/** Until when an unanswered call may still take effect. */
export const latestEffectAt = (call: Call): number =>
  call.answer === null ? call.askedAt + longestFaultMillis : call.answeredAt
