/** The service's promises, each as a judge of a whole history. None of them knows how the service works. */
import { toName } from "../History.ts"
import type {
  Answer,
  CallRequest,
  Control,
  Entry,
  FinalMessage,
  History,
  State,
} from "../History.ts"

/** A promise and its violations in a history; an empty list where it was kept. */
export interface JudgedPromise {
  readonly name: string
  check(history: History): ReadonlyArray<string>
}

type Send = Extract<CallRequest, { readonly _tag: "Send" }>

/** A call of a caller with its answer. */
export interface Call {
  readonly call: number
  readonly request: CallRequest
  readonly requestedAt: number
  /** Index of the entry of the call. */
  readonly requestIndex: number
  /** Null without an answer. */
  readonly answer: Answer | null
  /** Index of the entry of the answer, and its time. */
  readonly answered: number
  readonly answeredAt: number
}

/** Every call, in order. */
export const getCalls = ({ entries }: History): ReadonlyArray<Call> => {
  const calls = new Map<number, Call>()
  for (const [index, entry] of entries.entries()) {
    if (entry._tag === "Asked") {
      calls.set(entry.call, {
        call: entry.call,
        request: entry.request,
        requestedAt: entry.at,
        requestIndex: index,
        answer: null,
        answered: Infinity,
        answeredAt: Infinity,
      })
    } else if (entry._tag === "Answered") {
      const call = calls.get(entry.call)
      if (call !== undefined) {
        calls.set(entry.call, {
          ...call,
          answer: entry.answer,
          answered: index,
          answeredAt: entry.at,
        })
      }
    }
  }
  return Array.from(calls.values())
}

/** Calls of one kind. */
export const getSends = (history: History): ReadonlyArray<Call & { readonly request: Send }> =>
  getCalls(history).filter(
    (call): call is Call & { readonly request: Send } => call.request._tag === "Send",
  )

/** Operators' settings, in order. */
export const getControls = (
  history: History,
): ReadonlyArray<Call & { readonly request: Control }> =>
  getCalls(history).filter(
    (call): call is Call & { readonly request: Control } => call.request._tag === "Control",
  )

/** Whether an operator said in the storm that the store went back in time. */
export const wasRestored = (history: History): boolean =>
  getControls(history).some(({ request }) => request.value._tag === "Held" && !request.isProbe)

/** Handovers to a transport, with the index of the entry. */
export const getHandovers = ({ entries }: History): ReadonlyArray<Handed> =>
  entries.flatMap((entry, index) => (entry._tag === "HandedOver" ? [{ ...entry, index }] : []))

export type Handed = Extract<Entry, { readonly _tag: "HandedOver" }> & { readonly index: number }

export const toText = (name: string): string => name.slice(0, name.lastIndexOf(">"))

/** The campaign that a message's text begins with. */
export const toCampaign = (name: string): string => name.slice(0, name.indexOf(" "))

/**
 * Whether times after that entry are exact to the millisecond: in calm they always are. With a slow
 * store a worker may hold a message for a while before it is handed over.
 */
export const isTrueBehind = ({ entries, setting }: History, index: number): boolean =>
  setting.isPunctual || index > entries.findIndex(({ _tag }) => _tag === "Calm")

/** An operator's setting, while it certainly applied. */
export interface HoldPeriod {
  readonly control: Control
  /** Indexes of the entries between which it applied; the first one is its answer. */
  readonly from: number
  readonly to: number
}

const isSame = (a: Control, b: Control): boolean =>
  JSON.stringify(a.value) === JSON.stringify(b.value)

/**
 * Settings that certainly applied, and when: from the answer until the next request under the same
 * key. An earlier unanswered request may still take effect, so nothing is certain after it.
 */
export const getHolds = (history: History): ReadonlyArray<HoldPeriod> => {
  const holdPeriods: Array<HoldPeriod> = []
  for (const calls of Map.groupBy(getControls(history), ({ request }) => request.key).values()) {
    for (const { answer, answered, request, requestIndex } of calls) {
      if (answer?._tag !== "Done") continue
      const others = calls.filter((other) => !isSame(other.request, request))
      if (others.some((other) => other.requestIndex < answered && other.answered > requestIndex))
        continue
      const later = others.filter((other) => other.requestIndex > answered)
      const to = Math.min(...later.map((other) => other.requestIndex), Infinity)
      holdPeriods.push({ control: request, from: answered, to })
    }
  }
  return holdPeriods
}

/** A message's state in an answer to a caller, and when. */
export interface ReportedState {
  readonly name: string
  readonly state: State
  /** Indexes of the entries of call and answer. */
  readonly requestIndex: number
  readonly answered: number
}

/** Reported states: in reads, cancels, and refusals that name the status. */
export const reportedStates = (history: History): ReadonlyArray<ReportedState> =>
  getCalls(history).flatMap(({ answer, answered, request, requestIndex }) => {
    if ((request._tag !== "Read" && request._tag !== "Cancel") || answer === null) return []
    const { name } = request
    if (answer._tag === "State") return [{ name, state: answer.state, requestIndex, answered }]
    return answer._tag === "Refused" && answer.status !== null && !answer.isSending
      ? [{ name, state: answer.status, requestIndex, answered }]
      : []
  })

/** A message in a receiver's report of its end. */
export interface ToldMessage {
  readonly eventId: string
  readonly type: string
  /** Null where several messages share the name: runs of a reminder do. */
  readonly name: string | null
  /** Null for a message without media. */
  readonly media: { readonly url: string | null } | null
  /** When it happened, as the event says. */
  readonly createdAt: number
  readonly isDoomed: boolean
  readonly index: number
}

interface ToldBody {
  readonly created_at: string
  readonly data: {
    readonly message?: {
      readonly text: string
      readonly to: { readonly phone?: string }
      readonly media: ToldMessage["media"]
    }
  }
}

/** Reports of messages to receivers, received or not. */
export const reportedMessages = (history: History): ReadonlyArray<ToldMessage> => {
  const sends = new Map(getSends(history).map(({ request }) => [request.text, request] as const))
  return history.entries.flatMap((entry, index) => {
    if (entry._tag !== "Told" || entry.kind !== "webhook") return []
    const { created_at, data } = JSON.parse(entry.body) as ToldBody
    const { message } = data
    if (message === undefined) return []
    const { media } = message
    const createdAt = Date.parse(created_at)
    const { eventId, type } = entry
    const send = sends.get(message.text)
    const { phone = send?.phones[0] ?? "" } = message.to
    const name = send === undefined ? null : toName(message.text, phone)
    return [{ eventId, type, name, media, createdAt, isDoomed: send?.fate === "deleted", index }]
  })
}

/** Names of test messages, which no recipient sees. */
export const testNames = (history: History): ReadonlySet<string> =>
  new Set(
    getSends(history)
      .filter(({ request }) => request.mode === "test")
      .flatMap(({ request }) => request.phones.map((phone) => toName(request.text, phone))),
  )

/** Copies that recipients saw, by name, with the index of the entry. */
export const visibleByName = ({
  entries,
}: History): ReadonlyMap<
  string,
  ReadonlyArray<{ readonly entry: Extract<Entry, { _tag: "Shown" }>; readonly index: number }>
> => {
  const visible = new Map<
    string,
    Array<{ entry: Extract<Entry, { _tag: "Shown" }>; index: number }>
  >()
  for (const [index, entry] of entries.entries()) {
    if (entry._tag !== "Shown") continue
    const list = visible.get(entry.name) ?? []
    list.push({ entry, index })
    visible.set(entry.name, list)
  }
  return visible
}

/** The final messages, by name. Runs of a reminder share one. */
export const messagesByName = ({
  final,
}: History): ReadonlyMap<string, ReadonlyArray<FinalMessage>> =>
  Map.groupBy(final.messages, ({ name }) => name)

export const hasLeft = (state: State): boolean =>
  state === "sent" || state === "delivered" || state === "read"

/** States that refund a message. */
export const isRefunded = (state: State): boolean => state === "cancelled" || state === "expired"

/** Whether the store is restored from here on: it does not know what was handed over meanwhile. */
export const isRestore = (entry: Entry): boolean =>
  entry._tag === "Asked" &&
  entry.request._tag === "Control" &&
  entry.request.key === "restored" &&
  entry.request.value._tag === "Held"
