/**
 * The remote server with the recipients' phones behind it, and the wire between it and a process.
 * The remote server survives every process: it continues with what it received.
 */
import type {
  NumberId,
  OutgoingMessage,
  SendOutcome,
  TakeEvent,
  Transport,
  TransportEvent,
  TransportId,
} from "@messaging-service/core"
import { Chance } from "@messaging-service/emulator"
import type { Process, World } from "@messaging-service/emulator"
import { Effect, Stream } from "effect"
import type { Context } from "effect"
import { callIn, spawn } from "../calls.ts"
import type { Coverage } from "../Coverage.ts"
import { toName } from "../History.ts"
import type { Recorder } from "../History.ts"
import type { CallKind, Fault, FaultPoints } from "./FaultPoints.ts"
import type { Switchboard } from "./lines.ts"

const second = 1000

/** No service waits longer than this for an answer. */
const longestDelayMillis = 90 * second

export interface RemoteOptions {
  readonly world: World
  readonly seed: string
  readonly record: Recorder
  readonly faults: FaultPoints
  /** Null when processes keep no connections. */
  readonly board: Switchboard | null
  /** Whether it shows one copy for one transport id. */
  readonly dropsCopies: boolean
}

const nameOfMessage = ({ text, to }: OutgoingMessage): string =>
  toName(text, to.kind === "phone" ? to.phone : to.kind)

/** The messages that the remote server showed, and the listeners for its ticks. */
export class Remote {
  readonly process: Process
  readonly dropsCopies: boolean
  readonly board: Switchboard | null
  readonly #world: World
  readonly #record: Recorder
  readonly #faults: FaultPoints
  readonly #ticks: Chance
  readonly #restricted = new Map<NumberId, number>()
  /** Transport ids, each with the number that sent it. */
  readonly #visible = new Map<TransportId, NumberId>()
  readonly #listeners = new Map<Process, TakeEvent>()
  /** Whether ticks travel over the connections of numbers only, and not to every listener. */
  #usesLines: boolean

  constructor({ board, dropsCopies, faults, record, seed, world }: RemoteOptions) {
    this.process = world.process("remote")
    this.dropsCopies = dropsCopies
    this.board = board
    this.#usesLines = board !== null
    this.#faults = faults
    this.#world = world
    this.#record = record
    this.#ticks = new Chance(`${seed}/ticks`)
  }

  /** Refuses that number's sends because of the number, until then. */
  restrict(number: NumberId, until: number): void {
    this.#restricted.set(number, until)
  }

  restricts(number: NumberId): boolean {
    return (this.#restricted.get(number) ?? 0) > this.#world.now
  }

  /** Takes a message: recipients see it unless it is a copy that the server drops. */
  receive(message: OutgoingMessage, media: string | null): void {
    const { numberId, transportId } = message
    const name = nameOfMessage(message)
    const isCopy = this.#visible.has(transportId)
    if (isCopy && this.dropsCopies) {
      this.#record.note(`dropped ${name}`)
      return
    }
    this.#visible.set(transportId, numberId)
    this.#record.add({ _tag: "Shown", name, transportId, media }, `shown ${name}`)
    for (const status of ["delivered", "read"] as const) {
      // Early, late, twice, out of order, or never.
      for (let ticks = this.#ticks.below(3); ticks > 0; ticks--) {
        const at =
          this.#world.now + this.#ticks.below(this.#ticks.below(2) === 0 ? 50 : 20 * second)
        this.#world.at(this.process, at, () => this.#tick(numberId, transportId, status))
      }
    }
  }

  /** Breaks a number's connection and restores it after a while. */
  break({ numberId }: OutgoingMessage, millis: number): void {
    if (this.board !== null) {
      this.board.end(numberId, "connection_lost")
      return
    }
    const change = { _tag: "ConnectionChanged", numberId, phone: null, reason: null } as const
    this.#record.note(`the connection of ${numberId} breaks for ${millis} ms`)
    this.#emit({ ...change, status: "disconnected" })
    this.#world.at(this.process, this.#world.now + millis, () =>
      this.#emit({ ...change, status: "connected" }),
    )
  }

  /** Repeats, for every shown message, that it was read. */
  readEverything(): void {
    for (const [transportId, numberId] of this.#visible) this.#tick(numberId, transportId, "read")
  }

  /** No process keeps connections any more. */
  leaveLines(): void {
    this.#usesLines = false
  }

  #tick(numberId: NumberId, transportId: TransportId, status: "delivered" | "read"): void {
    this.#record.add(
      { _tag: "Ticked", number: numberId, transportId, status },
      `${status} ${transportId}`,
    )
    this.#emit({ _tag: "Tick", numberId, transportId, status })
    const foreign = this.#faults.hits(this.process.name, "tick.foreign")
    if (foreign === null) return
    const numbers = Array.from(new Set(this.#visible.values())).filter(
      (other) => other !== numberId,
    )
    const other = numbers[foreign.below(Math.max(1, numbers.length))]
    if (other !== undefined) {
      this.#emit({ _tag: "Tick", numberId: other, transportId, status: "read" })
    }
  }

  #emit(tick: TransportEvent): void {
    if (this.#usesLines && tick._tag === "Tick") {
      this.board?.tick(tick)
      return
    }
    const alive = Array.from(this.#listeners).filter(([process]) => process.state === "alive")
    const heard = alive[this.#ticks.below(Math.max(1, alive.length))]
    if (heard === undefined) {
      // The replacement process has not started yet.
      if (this.board !== null) {
        this.#world.at(this.process, this.#world.now + second, () => this.#emit(tick))
      }
      return
    }
    const [process, take] = heard
    spawn(process, take(tick))
  }

  /** Hands over the server's own events until interrupted. */
  listen(process: Process, take: TakeEvent): Effect.Effect<never> {
    // The listener's own clock, chance and logs apply to the events that it takes.
    return Effect.contextWith((context: Context.Context<never>) =>
      Effect.callback<never>(() => {
        this.#listeners.set(process, (event) => Effect.provideContext(take(event), context))
        return Effect.sync(() => {
          this.#listeners.delete(process)
        })
      }),
    )
  }
}

/** A process's wire to the remote server. */
interface Wire {
  readonly process: Process
  readonly remote: Remote
  readonly faults: FaultPoints
  readonly record: Recorder
  /** Milliseconds of one way. */
  readonly drawLatency: () => number
}

type Answer = (outcome: SendOutcome) => Effect.Effect<SendOutcome>

const refused = { code: "send_failed", message: "The remote server refused it." } as const

/** Ends a send before its message leaves: no connection, a wait or a refusal. Null: it leaves. */
const stopSend = (
  { faults, process, record, remote }: Wire,
  number: NumberId,
  answer: Answer,
): Effect.Effect<SendOutcome> | null => {
  const hits = (kind: CallKind) => faults.hits(process.name, kind)
  // A process that keeps connections knows that one is down before it hands anything over.
  if (remote.board === null && hits("wire.down") !== null) {
    return Effect.succeed({ _tag: "NotConnected" })
  }
  const flood = hits("wire.flood")
  if (flood !== null) {
    const afterMillis = flood.below(20 * second)
    const until = process.world.now + afterMillis
    // Only a wait that the process received binds it: the answer may be lost with the connection.
    return Effect.tap(answer({ _tag: "Postponed", afterMillis }), () =>
      Effect.sync(() =>
        record.add(
          { _tag: "Flooded", number, process: process.name, until },
          `${number} is to wait ${afterMillis} ms`,
        ),
      ),
    )
  }
  const isRefused = hits("wire.refused") !== null
  const isRestricted = hits("wire.restricted") !== null
  return isRefused || isRestricted
    ? answer({ _tag: "Refused", error: refused, againstNumber: isRestricted })
    : null
}

/** Brings a message to the server and its answer back, unless one of them is lost. */
const deliver = (
  { drawLatency, faults, process, remote }: Wire,
  message: OutgoingMessage,
  media: string | null,
  answer: Answer,
): Effect.Effect<SendOutcome> => {
  /** A loss often breaks the connection too. */
  const unknown = (fault: Fault): SendOutcome => {
    if (fault.below(2) === 0) remote.break(message, fault.below(20 * second))
    return { _tag: "Unknown" }
  }
  const lost = faults.hits(process.name, "wire.lost")
  if (lost !== null) {
    return Effect.map(Effect.sleep(lost.below(3 * second)), () => unknown(lost))
  }
  const late = faults.hits(process.name, "wire.late")
  const delay =
    late === null
      ? drawLatency()
      : late.below(late.below(2) === 0 ? 5 * second : longestDelayMillis)
  const ackLost = faults.hits(process.name, "wire.ackLost")
  const arriving = Effect.andThen(
    Effect.sleep(delay),
    Effect.sync(() => remote.receive(message, media)),
  )
  return callIn(remote.process, process, arriving).pipe(
    Effect.andThen(
      Effect.suspend(() => answer(ackLost === null ? { _tag: "Accepted" } : unknown(ackLost))),
    ),
    Effect.orDie,
  )
}

const attempt = (
  wire: Wire,
  message: OutgoingMessage,
  issuedAt: number,
  media: string | null,
): Effect.Effect<SendOutcome> =>
  Effect.suspend((): Effect.Effect<SendOutcome> => {
    const { drawLatency, faults, process, record } = wire
    const { numberId: number, transportId } = message
    const name = nameOfMessage(message)
    record.add(
      { _tag: "HandedOver", name, transportId, number, process: process.name, issuedAt },
      `${process.name} hands over ${name}`,
    )
    const back = drawLatency()
    const answer: Answer = (outcome) =>
      Effect.andThen(Effect.sleep(back), Effect.as(stall(process, faults, record), outcome))
    return stopSend(wire, number, answer) ?? deliver(wire, message, media, answer)
  })

/**
 * Reads media to their end first, as transports do, and sends nothing when that fails. The connection
 * may end at that moment.
 */
const handOver = (
  wire: Wire,
  message: OutgoingMessage,
  issuedAt: number,
): Effect.Effect<SendOutcome> =>
  message.media === null
    ? attempt(wire, message, issuedAt, null)
    : Stream.mkString(Stream.decodeText(message.media.content)).pipe(
        Effect.flatMap((media) => attempt(wire, message, issuedAt, media)),
        Effect.catch(() =>
          Effect.sync((): SendOutcome => {
            const fault = wire.faults.hits(wire.process.name, "line.drops")
            if (fault !== null) wire.remote.break(message, fault.below(20 * second))
            return { _tag: "Postponed", afterMillis: second }
          }),
        ),
      )

/** Hands messages of a process over to the remote server, with every fault of a wire. */
export const makeAttempt = (
  process: Process,
  remote: Remote,
  faults: FaultPoints,
  record: Recorder,
  coverage: Coverage,
  seed: string,
): ((message: OutgoingMessage, issuedAt: number) => Effect.Effect<SendOutcome>) => {
  const latency = new Chance(`${seed}/latency/${process.name}`)
  // In some seeds every server is slow, so more is in flight when something else happens.
  const slowest = new Chance(`${seed}/latency`).below(3) === 0 ? 1500 : 50
  const drawLatency = () => latency.below(faults.isStormy ? slowest : 50)
  const wire: Wire = { process, remote, faults, record, drawLatency }
  const said = (message: OutgoingMessage, outcome: string, againstNumber: boolean) =>
    Effect.sync(() => {
      const name = nameOfMessage(message)
      record.add(
        { _tag: "Said", name, number: Number(message.numberId), outcome, againstNumber },
        `${process.name} heard ${outcome} of ${name}`,
      )
    })
  return (message, issuedAt) =>
    handOver(wire, message, issuedAt).pipe(
      Effect.tap((outcome) => {
        const againstNumber = outcome._tag === "Refused" && outcome.againstNumber
        coverage.hit(`transport ${outcome._tag}${againstNumber ? " against the number" : ""}`)
        return said(message, outcome._tag, againstNumber)
      }),
      Effect.onInterrupt(() => said(message, "nothing", false)),
    )
}

/** A transport without connections of its own, as its port describes it. */
export const makeWire = (
  process: Process,
  remote: Remote,
  send: ReturnType<typeof makeAttempt>,
): Transport => ({
  dropsCopies: remote.dropsCopies,
  listen: (take) => remote.listen(process, take),
  send: (message) => Effect.suspend(() => send(message, process.world.now)),
})

/** Stops a process for a while. Its clock continues. */
export const freeze = (process: Process, millis: number, record: Recorder): void => {
  const { name, world } = process
  if (process.state !== "alive") return
  record.add({ _tag: "Frozen", process: name }, `${name} stops for ${millis} ms`)
  process.pause()
  // The outside resumes it: its own timers have stopped.
  world.at(world.outside, world.now + millis, () => thaw(process, record))
}

/** Resumes a stopped process. */
export const thaw = (process: Process, record: Recorder): void => {
  const { name } = process
  if (process.state !== "paused") return
  record.add({ _tag: "Thawed", process: name }, `${name} goes on`)
  process.resume()
}

/** Pauses a process for longer than a lease, right after a commit or an acknowledgement. */
export const stall = (
  process: Process,
  faults: FaultPoints,
  record: Recorder,
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const fault = faults.hits(process.name, "stall")
    if (fault === null) return Effect.void
    // It often resumes just after the lease ended, while another process holds the message.
    const millis =
      fault.below(2) === 0 ? 29_900 + fault.below(400) : 25 * second + fault.below(40 * second)
    freeze(process, millis, record)
    return Effect.yieldNow
  })

/**
 * Freezes a process with a commit of received messages under way. Others count it as dead and take its numbers
 * meanwhile; it continues before its caller gives up.
 */
export const holdReceiving = (
  process: Process,
  faults: FaultPoints,
  record: Recorder,
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const fault = faults.hits(process.name, "receive.held")
    if (fault === null) return Effect.void
    freeze(process, 10 * second + fault.below(9 * second), record)
    return Effect.yieldNow
  })
