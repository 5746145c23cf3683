/** The service's promises, each as a judge of a whole history. None of them knows how the service works. */
import { nameOf } from "../History.ts"
import type { Answer, Ask, Control, Entry, FinalMessage, History, State } from "../History.ts"

/** A promise and its violations in a history; an empty list where it was kept. */
export interface JudgedPromise {
  readonly name: string
  check(history: History): ReadonlyArray<string>
}

type Send = Extract<Ask, { readonly _tag: "Send" }>

/** A call of a caller with its answer. */
export interface Call {
  readonly call: number
  readonly ask: Ask
  readonly askedAt: number
  /** Index of the entry of the call. */
  readonly asked: number
  /** Null without an answer. */
  readonly answer: Answer | null
  /** Index of the entry of the answer, and its time. */
  readonly answered: number
  readonly answeredAt: number
}

/** Every call, in order. */
export const callsOf = ({ entries }: History): ReadonlyArray<Call> => {
  const calls = new Map<number, Call>()
  for (const [index, entry] of entries.entries()) {
    if (entry._tag === "Asked") {
      calls.set(entry.call, {
        call: entry.call,
        ask: entry.ask,
        askedAt: entry.at,
        asked: index,
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
export const sendsOf = (history: History): ReadonlyArray<Call & { readonly ask: Send }> =>
  callsOf(history).filter((call): call is Call & { readonly ask: Send } => call.ask._tag === "Send")

/** Operators' settings, in order. */
export const controlsOf = (history: History): ReadonlyArray<Call & { readonly ask: Control }> =>
  callsOf(history).filter(
    (call): call is Call & { readonly ask: Control } => call.ask._tag === "Control",
  )

/** Whether an operator said in the storm that the store went back in time. */
export const wasRestored = (history: History): boolean =>
  controlsOf(history).some(({ ask }) => ask.value._tag === "Held" && !ask.isProbe)

/** Handovers to a transport, with the index of the entry. */
export const handedOf = ({ entries }: History): ReadonlyArray<Handed> =>
  entries.flatMap((entry, index) => (entry._tag === "HandedOver" ? [{ ...entry, index }] : []))

export type Handed = Extract<Entry, { readonly _tag: "HandedOver" }> & { readonly index: number }

export const textOf = (name: string): string => name.slice(0, name.lastIndexOf(">"))

/**
 * Whether times after that entry are exact to the millisecond: in calm they always are. With a slow
 * store a worker may hold a message for a while before it is handed over.
 */
export const isTrueBehind = ({ entries, setting }: History, index: number): boolean =>
  setting.isPunctual || index > entries.findIndex(({ _tag }) => _tag === "Calm")

/** An operator's setting, while it certainly applied. */
export interface Held {
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
export const heldOf = (history: History): ReadonlyArray<Held> => {
  const held: Array<Held> = []
  for (const calls of Map.groupBy(controlsOf(history), ({ ask }) => ask.key).values()) {
    for (const { answer, answered, ask, asked } of calls) {
      if (answer?._tag !== "Done") continue
      const others = calls.filter((other) => !isSame(other.ask, ask))
      if (others.some((other) => other.asked < answered && other.answered > asked)) continue
      const later = others.filter((other) => other.asked > answered)
      const to = Math.min(...later.map((other) => other.asked), Infinity)
      held.push({ control: ask, from: answered, to })
    }
  }
  return held
}

/** A message's state in an answer to a caller, and when. */
export interface ToldState {
  readonly name: string
  readonly state: State
  /** Indexes of the entries of call and answer. */
  readonly asked: number
  readonly answered: number
}

/** Reported states: in reads, cancels, and refusals that name the status. */
export const toldStates = (history: History): ReadonlyArray<ToldState> =>
  callsOf(history).flatMap(({ answer, answered, ask, asked }) => {
    if ((ask._tag !== "Read" && ask._tag !== "Cancel") || answer === null) return []
    const { name } = ask
    if (answer._tag === "State") return [{ name, state: answer.state, asked, answered }]
    return answer._tag === "Refused" && answer.status !== null && !answer.isSending
      ? [{ name, state: answer.status, asked, answered }]
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
export const toldMessages = (history: History): ReadonlyArray<ToldMessage> => {
  const sends = new Map(sendsOf(history).map(({ ask }) => [ask.text, ask] as const))
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
    const name = send === undefined ? null : nameOf(message.text, phone)
    return [{ eventId, type, name, media, createdAt, isDoomed: send?.fate === "deleted", index }]
  })
}

/** Names of test messages, which no recipient sees. */
export const testNames = (history: History): ReadonlySet<string> =>
  new Set(
    sendsOf(history)
      .filter(({ ask }) => ask.mode === "test")
      .flatMap(({ ask }) => ask.phones.map((phone) => nameOf(ask.text, phone))),
  )

/** Copies that recipients saw, by name, with the index of the entry. */
export const shownByName = ({
  entries,
}: History): ReadonlyMap<
  string,
  ReadonlyArray<{ readonly entry: Extract<Entry, { _tag: "Shown" }>; readonly index: number }>
> => {
  const shown = new Map<
    string,
    Array<{ entry: Extract<Entry, { _tag: "Shown" }>; index: number }>
  >()
  for (const [index, entry] of entries.entries()) {
    if (entry._tag !== "Shown") continue
    const list = shown.get(entry.name) ?? []
    list.push({ entry, index })
    shown.set(entry.name, list)
  }
  return shown
}

/** The final messages, by name. Runs of a reminder share one. */
export const messagesByName = ({
  final,
}: History): ReadonlyMap<string, ReadonlyArray<FinalMessage>> =>
  Map.groupBy(final.messages, ({ name }) => name)

export const hasLeft = (state: State): boolean =>
  state === "sent" || state === "delivered" || state === "read"

/** States that refund a message. */
export const isGivenBack = (state: State): boolean => state === "cancelled" || state === "expired"
