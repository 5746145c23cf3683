/**
 * The points at which something may fail, each with a name. A seed draws its own mix: most kinds
 * not at all, the others more or less often. Each process and kind has its own random stream, so a
 * fault that is left out changes no other draw, and shrinking keeps the rest.
 */
import { Chance } from "@messaging-service/emulator"
import type { Recorder } from "../History.ts"

/** Faults between two operations of a process, drawn as moments. */
export const strikeKinds = [
  "kill",
  "pause",
  "leap",
  /** It finishes its work and exits. */
  "stop",
  /** Its clock is wrong by more than a process tolerates, for some minutes. */
  "skew",
] as const

/** Faults of a call. */
export const callKinds = [
  /** A commit or an acknowledgement takes longer than a lease. */
  "stall",
  /** The store fails before it acts. */
  "store.before",
  /** The store fails after it acted. */
  "store.after",
  "store.slow",
  /** The message never reaches the remote server. */
  "wire.lost",
  /** It arrives late, also after its sender has died. */
  "wire.late",
  "wire.refused",
  /** Refused because of the sending number. */
  "wire.restricted",
  "wire.down",
  "wire.flood",
  "wire.ackLost",
  /** A receiver answers 503. */
  "hook.fails",
  /** A receiver got the call and does not answer, or was never reached. */
  "hook.unheard",
  /** A signal to another process gets lost. */
  "wake.lost",
  /** A process's clock is corrected right after it read the store, by a time server for instance. */
  "clock.set",
  /** A connection is not opened, or breaks during a handover. */
  "line.fails",
  "line.drops",
  /** The server reports a message over the connection of another number. */
  "tick.foreign",
] as const

/** The directory does not answer. A phone is given up after three consecutive look-ups of that kind. */
const lookKind = "look.unanswered"

/** The server behind a media link fails, or cuts its answer short. */
const siteKind = "site.fails"

/** A worker freezes with a commit of received messages under way, for longer than its numbers stay its own. */
const heldKind = "receive.held"

export type StrikeKind = (typeof strikeKinds)[number]
export type CallKind =
  | (typeof callKinds)[number]
  | typeof lookKind
  | typeof siteKind
  | typeof heldKind
export type FaultKind = StrikeKind | CallKind

export interface FaultOptions {
  readonly seed: string
  /** The possible faults, by id. Default: all. */
  readonly only?: ReadonlySet<string> | undefined
  readonly isCalm?: boolean | undefined
  /** Whether processes that share numbers receive for them. */
  readonly sharesReceiving?: boolean
}

/** Randomness of one call's fault, and of its size. */
export interface Fault {
  /** A whole number from 0 to below `bound`. */
  below(bound: number): number
}

/** Faults that make times inexact: some seeds have none, so times are exact to the millisecond. */
const untrue: ReadonlySet<FaultKind> = new Set(["pause", "leap", "stall", "clock.set", heldKind])

const callRates = [0, 0, 0.005, 0.02, 0.08]

/** Calls of other hosts are rarer than those of the store. */
const callRateFactor = (kind: CallKind): number => (kind.startsWith("store") ? 1 : 3)

const strikeCounts: Readonly<Record<StrikeKind, ReadonlyArray<number>>> = {
  kill: [0, 2, 8, 25],
  pause: [0, 0, 3, 10],
  leap: [0, 0, 3, 10],
  stop: [0, 0, 2, 8],
  skew: [0],
}

/** One of so many seeds has a store with its own clock, and processes with a clock that is far from it. */
const skewedOf = 8
const skewCount = 2

export class FaultPoints {
  /** Whether faults happen now. */
  isStormy = false
  /** Ids of faults that happened, in order. */
  readonly fired: Array<string> = []
  /** Counts by kind. */
  readonly counts: Record<string, number> = {}
  readonly #seed: string
  readonly #only: ReadonlySet<string> | undefined
  readonly #record: Recorder
  readonly #rates = new Map<CallKind, number>()
  readonly #strikes = new Map<StrikeKind, number>()
  readonly #streams = new Map<string, { readonly chance: Chance; drawn: number }>()

  constructor(
    { isCalm = false, only, seed, sharesReceiving = false }: FaultOptions,
    record: Recorder,
  ) {
    this.#seed = `${seed}/faults`
    this.#only = only
    this.#record = record
    const mix = new Chance(`${seed}/mix`)
    const isTimeTrue = mix.below(3) === 0
    const isLeftOut = (kind: FaultKind) => isCalm || (isTimeTrue && untrue.has(kind))
    for (const kind of callKinds) {
      const rate = (callRates[mix.below(callRates.length)] ?? 0) * callRateFactor(kind)
      this.#rates.set(kind, isLeftOut(kind) ? 0 : rate)
    }
    // From a separate stream: look-ups are rare, and only a high rate makes the service give up a phone.
    const isMute = !isCalm && new Chance(`${seed}/mix/${lookKind}`).below(2) === 0
    this.#rates.set(lookKind, isMute ? 0.6 : 0)
    const site = new Chance(`${seed}/mix/${siteKind}`)
    this.#rates.set(siteKind, isCalm ? 0 : ([0, 0.3, 0.8][site.below(3)] ?? 0))
    const freezing = new Chance(`${seed}/mix/${heldKind}`)
    const canBeHeld = sharesReceiving && !isLeftOut(heldKind)
    this.#rates.set(heldKind, canBeHeld ? ([0.02, 0.1, 0.3][freezing.below(3)] ?? 0) : 0)
    for (const kind of strikeKinds) {
      const counts = strikeCounts[kind]
      const count = counts[mix.below(counts.length)] ?? 0
      this.#strikes.set(kind, isLeftOut(kind) ? 0 : count)
    }
    const isSkewed = !isCalm && new Chance(`${seed}/mix/skew`).below(skewedOf) === 0
    this.#strikes.set("skew", isSkewed ? skewCount : 0)
  }

  /** Whether such a fault can happen at all in this seed. */
  mayHappen(kind: FaultKind): boolean {
    return (this.#rates.get(kind as CallKind) ?? this.#strikes.get(kind as StrikeKind) ?? 0) > 0
  }

  /** Whether clocks are true and no process pauses. */
  get isTimeTrue(): boolean {
    return this.isSteady && !this.mayHappen("skew")
  }

  /** The same except for clocks that are far from the store's. */
  get isSteady(): boolean {
    return !Array.from(untrue).some((kind) => this.mayHappen(kind))
  }

  /** Whether every clock shows the world's time. */
  get hasTrueClocks(): boolean {
    return !["leap", "clock.set", "skew"].some((kind) => this.mayHappen(kind as FaultKind))
  }

  /** How many faults of a kind this seed has. */
  strikes(kind: StrikeKind): number {
    return this.#strikes.get(kind) ?? 0
  }

  /** Randomness of a fault's place and time. */
  strike(kind: StrikeKind, index: number): Chance {
    return new Chance(`${this.#seed}/${kind}/${index}`)
  }

  /** Whether a drawn fault hits now. */
  isStruck(kind: StrikeKind, index: number): boolean {
    return this.isStormy && this.#fire(kind, `${kind}#${index}`)
  }

  #fire(kind: FaultKind, id: string): boolean {
    if (this.#only !== undefined && !this.#only.has(id)) return false
    this.fired.push(id)
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
    this.#record.note(`! ${id}`)
    return true
  }

  /** The fault of that kind that hits this call of that process; null for none. */
  hits(process: string, kind: CallKind): Fault | null {
    const rate = this.#rates.get(kind) ?? 0
    if (rate === 0) return null
    const key = `${process}/${kind}`
    let stream = this.#streams.get(key)
    if (stream === undefined) {
      stream = { chance: new Chance(`${this.#seed}/${key}`), drawn: 0 }
      this.#streams.set(key, stream)
    }
    const ordinal = stream.drawn++
    const isDrawn = stream.chance.next() < rate
    if (!isDrawn || !this.isStormy || !this.#fire(kind, `${key}#${ordinal}`)) return null
    return new Chance(`${this.#seed}/${key}/${ordinal}`)
  }
}
