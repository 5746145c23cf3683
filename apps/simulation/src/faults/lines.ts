/**
 * The remote server's side of connections that processes keep open, one for each number. It knows which
 * sessions are valid, shuts accounts out, and repeats its reports until a process has taken them.
 */
import type {
  ClosedReason,
  LiveConnection,
  NumberId,
  TransportEvent,
} from "@messaging-service/core"
import { Chance } from "@messaging-service/emulator"
import type { Process, World } from "@messaging-service/emulator"
import { Deferred, Queue } from "effect"
import type { Coverage } from "../Coverage.ts"
import type { Recorder } from "../History.ts"

type Tick = Extract<TransportEvent, { readonly _tag: "Tick" }>

/** Why the server ends a connection. `restart`: it asks for a new one at once. */
export type LineEnd = ClosedReason | "restart"

/** The server's reports over a connection. */
export type LineEvent =
  | { readonly _tag: "Tick"; readonly tick: Tick; readonly claimed: () => void }
  | { readonly _tag: "Ended"; readonly end: LineEnd }

export interface Line extends LiveConnection {
  readonly id: number
  readonly numberId: NumberId
  readonly process: Process
  readonly events: Queue.Queue<LineEvent>
}

/** An account as the server knows it. */
interface Account {
  /** Digits with country code. */
  readonly phone: string
  /** The one valid session; 0 for none. */
  session: number
  shutOut: ClosedReason | null
  lines: ReadonlyArray<Line>
  /** Ticks that no process has taken. */
  untaken: ReadonlyArray<Tick>
}

export interface SwitchboardOptions {
  readonly world: World
  readonly seed: string
  readonly record: Recorder
  readonly coverage: Coverage
  /** Whether a connection ends its number's previous one. */
  readonly replaces: boolean
}

export class Switchboard {
  readonly #world: World
  readonly #record: Recorder
  readonly #coverage: Coverage
  readonly #replaces: boolean
  readonly #latency: Chance
  readonly #accounts = new Map<NumberId, Account>()
  #opened = 0

  constructor({ coverage, record, replaces, seed, world }: SwitchboardOptions) {
    this.#world = world
    this.#record = record
    this.#coverage = coverage
    this.#replaces = replaces
    this.#latency = new Chance(`${seed}/lines`)
  }

  add(numberId: NumberId, phone: string): void {
    this.#accounts.set(numberId, { phone, session: 0, shutOut: null, lines: [], untaken: [] })
  }

  /** Removes an account that has no session. */
  remove(numberId: NumberId): void {
    this.#accounts.delete(numberId)
  }

  /** Numbers with the count of live processes connected to each. */
  get open(): ReadonlyArray<readonly [NumberId, number]> {
    return Array.from(this.#accounts, ([numberId, { lines }]) => [numberId, lines.length] as const)
  }

  toPhone(numberId: NumberId): string {
    return this.#accounts.get(numberId)?.phone ?? ""
  }

  /** Whether that process has a connection of the number. */
  isConnected(numberId: NumberId, process: Process): boolean {
    const lines = this.#accounts.get(numberId)?.lines ?? []
    return lines.some((line) => line.process === process)
  }

  isShutOut(numberId: NumberId): boolean {
    const account = this.#accounts.get(numberId)
    return account !== undefined && (account.shutOut !== null || account.session === 0)
  }

  /** Links a device and returns its credentials. Earlier sessions become worthless. */
  link(numberId: NumberId): string {
    const account = this.#accounts.get(numberId)
    if (account === undefined) return ""
    account.session = ++this.#opened
    return String(account.session)
  }

  /** A process connects: returns its connection, or why it gets none. The server reports through `events`. */
  connect(
    process: Process,
    numberId: NumberId,
    credentials: string,
    events: Queue.Queue<LineEvent>,
  ): Line | ClosedReason {
    const account = this.#accounts.get(numberId)
    if (account === undefined) return "logged_out"
    const refusal =
      account.shutOut ?? (String(account.session) === credentials ? null : "logged_out")
    if (refusal !== null) {
      this.#coverage.hit(`turned away ${refusal}`)
      this.#record.add(
        { _tag: "TurnedAway", number: numberId, process: process.name, reason: refusal },
        `${process.name} is turned away from ${numberId}: ${refusal}`,
      )
      return refusal
    }
    const line: Line = {
      id: ++this.#opened,
      numberId,
      process,
      events,
      over: Deferred.makeUnsafe(),
      lastWordAt: () => this.#world.now,
    }
    this.#record.add(
      { _tag: "LineOpened", line: line.id, number: numberId, process: process.name },
      `${process.name} connects ${numberId}`,
    )
    const before = account.lines
    account.lines = [...before, line]
    process.whenDead(() => this.#forget(line))
    if (this.#replaces) for (const other of before) this.#end(other, "replaced")
    for (const tick of account.untaken) this.#emit(line, tick)
    return line
  }

  /** A process ends its connection. */
  hangUp(line: Line): void {
    this.#forget(line)
  }

  end(numberId: NumberId, end: LineEnd): void {
    const account = this.#accounts.get(numberId)
    if (account === undefined) return
    if (end === "logged_out") account.session = 0
    if (end === "banned" || end === "restricted" || end === "client_outdated") account.shutOut = end
    this.#record.note(`the server ends ${numberId}: ${end}`)
    for (const line of account.lines) this.#end(line, end)
  }

  /** The account may connect again. */
  letIn(numberId: NumberId): void {
    const account = this.#accounts.get(numberId)
    if (account !== undefined) account.shutOut = null
  }

  /** Reports over the number's connection, and over later ones until it was taken. */
  tick(tick: Tick): void {
    const account = this.#accounts.get(tick.numberId)
    if (account === undefined) return
    account.untaken = [...account.untaken, tick]
    const line = account.lines.at(-1)
    if (line !== undefined) this.#emit(line, tick)
  }

  #emit(line: Line, tick: Tick): void {
    const claimed = () => {
      const account = this.#accounts.get(tick.numberId)
      if (account === undefined) return
      account.untaken = account.untaken.filter((each) => each !== tick)
    }
    this.#hear(line, { _tag: "Tick", tick, claimed })
  }

  #hear({ events, process }: Line, event: LineEvent): void {
    this.#world.at(process, this.#world.now + this.#latency.below(30), () => {
      Queue.offerUnsafe(events, event)
    })
  }

  #end(line: Line, end: LineEnd): void {
    this.#coverage.hit(`line ${end}`)
    this.#forget(line)
    this.#hear(line, { _tag: "Ended", end })
  }

  #forget(line: Line): void {
    const account = this.#accounts.get(line.numberId)
    if (account?.lines.includes(line) !== true) return
    account.lines = account.lines.filter((each) => each !== line)
    this.#record.add(
      { _tag: "LineClosed", line: line.id },
      `${line.process.name} has no connection of ${line.numberId}`,
    )
  }
}
