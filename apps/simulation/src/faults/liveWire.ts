/** A transport that keeps connections of its numbers by the core's live numbers. */
import {
  makeLiveNumbers,
  NumberOwnership,
  NumberProxies,
  SessionVault,
  outcomeOnceExpired,
  retryUntilStoreAnswers,
} from "@messaging-service/core"
import type {
  AfterClose,
  Connecting,
  LiveNumber,
  LiveNumbers,
  NumberId,
  OutgoingMessage,
  Platform,
  SendOutcome,
  Transport,
} from "@messaging-service/core"
import { Chance } from "@messaging-service/emulator"
import type { Process } from "@messaging-service/emulator"
import { Clock, Deferred, Effect, Queue } from "effect"
import type { Scope } from "effect"
import type { FaultPoints } from "./FaultPoints.ts"
import type { Line, LineEnd, LineEvent, Switchboard } from "./lines.ts"

const second = 1000

/** How long a send waits for a connection to open. */
const openMillis = 15 * second

const postponed = (afterMillis: number): SendOutcome => ({ _tag: "Postponed", afterMillis })

/** When to try again after nothing was handed over. */
const soon = postponed(5 * second)

/** Another process owns the number now. */
const moved = postponed(500)

/** The type and the id of the key that names a number's latest connection. */
export const lineKey = "line"

const again: AfterClose = { _tag: "Again" }

/** What to do after the end of a connection. */
const afterEnd: Readonly<Record<LineEnd, AfterClose>> = {
  connection_lost: again,
  restart: { _tag: "Restart" },
  logged_out: { _tag: "Stop", reason: "logged_out", wipe: true },
  replaced: { _tag: "Stop", reason: "replaced", wipe: false },
  restricted: { _tag: "Stop", reason: "restricted", wipe: false },
  banned: { _tag: "Stop", reason: "banned", wipe: false },
  client_outdated: { _tag: "Stop", reason: "client_outdated", wipe: false },
}

export interface LiveWireOptions {
  readonly platform: Platform
  readonly process: Process
  readonly board: Switchboard
  readonly faults: FaultPoints
  readonly seed: string
  readonly dropsCopies: boolean
  /** Hands a message over and returns the server's answer. */
  readonly attempt: (message: OutgoingMessage, issuedAt: number) => Effect.Effect<SendOutcome>
}

/** A live transport of one process on the simulated platform. */
interface LiveWire extends LiveWireOptions {
  readonly vault: SessionVault["Service"]
  readonly ownership: NumberOwnership["Service"]
  readonly scope: Scope.Scope
  readonly latency: Chance
}

/**
 * Stores which connection is the latest, as a device stores its keys. The connection ends without
 * waiting for the store.
 */
const storeLine = ({ vault }: LiveWire, { id, numberId }: Line) =>
  retryUntilStoreAnswers(
    vault.write(numberId, null, [{ type: lineKey, id: lineKey, value: String(id) }]),
  ).pipe(Effect.ignore)

/** Takes the events of one connection until it is over. */
const hear = Effect.fnUntraced(function* hear(
  line: Line,
  { take }: Pick<Connecting<Line>, "take">,
) {
  for (;;) {
    const event = yield* Queue.take(line.events)
    if (event._tag === "Ended") return event.end
    yield* Effect.forkScoped(Effect.andThen(take(event.tick), Effect.sync(event.claimed)))
  }
})

const connect = Effect.fnUntraced(function* connect(
  wire: LiveWire,
  { numberId }: LiveNumber<Line>,
  connecting: Connecting<Line>,
) {
  const { board, faults, latency, ownership, process, scope, vault } = wire
  const credentials = yield* vault.credentials(numberId)
  if (credentials === null) return null
  yield* connecting.ready
  yield* Effect.sleep(latency.below(50))
  if (faults.hits(process.name, "line.fails") !== null) return again
  // A frozen process resumes here. It must not speak over a number that it may no longer own.
  if (!ownership.owns(numberId)) return again
  const events = yield* Queue.unbounded<LineEvent>()
  const line = yield* Effect.acquireRelease(
    Effect.sync(() => board.connect(process, numberId, credentials, events)),
    (opened) => Effect.sync(() => typeof opened !== "string" && board.hangUp(opened)),
  )
  if (typeof line === "string") return afterEnd[line]
  yield* connecting.opened(line, board.toPhone(numberId))
  yield* Effect.forkIn(storeLine(wire, line), scope)
  return afterEnd[yield* hear(line, connecting)]
})

/** Ends with the connection. */
const untilOver = <A>({ over }: Line, work: Effect.Effect<A>, closed: A): Effect.Effect<A> =>
  Effect.raceFirst(work, Effect.as(Deferred.await(over), closed))

/** Hands a message over on an open connection, which may drop meanwhile. */
const handOver = (
  { attempt, board, faults, process }: LiveWire,
  owns: (numberId: NumberId) => boolean,
  line: Line,
  message: OutgoingMessage,
  issuedAt: number,
): Effect.Effect<SendOutcome> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    // The message waited for the connection.
    const late = outcomeOnceExpired(message, now)
    if (late !== null) return Effect.succeed(late)
    // A frozen process resumes here, when another one may own the number.
    if (!owns(message.numberId)) return Effect.succeed(moved)
    const drops = faults.hits(process.name, "line.drops")
    if (drops !== null) {
      process.world.at(process.world.outside, process.world.now + drops.below(100), () => {
        board.end(message.numberId, "connection_lost")
      })
    }
    return untilOver(line, attempt(message, issuedAt), { _tag: "Unknown" })
  })

const send = (
  wire: LiveWire,
  numbers: Pick<LiveNumbers<Line>, "open" | "owns">,
  message: OutgoingMessage,
  issuedAt: number,
): Effect.Effect<SendOutcome> =>
  Effect.raceFirst(
    numbers.open(message.numberId),
    Effect.as(Effect.sleep(openMillis), "connection_lost" as const),
  ).pipe(
    Effect.flatMap((line): Effect.Effect<SendOutcome> => {
      if (line === "connection_lost") return Effect.succeed(soon)
      if (line === "elsewhere") return Effect.succeed(moved)
      if (line === null || typeof line === "string") {
        return Effect.succeed({ _tag: "NotConnected" })
      }
      const pause = Effect.sleep(wire.latency.below(20))
      return Effect.flatMap(untilOver(line, Effect.as(pause, true), false), (isOpen) =>
        isOpen ? handOver(wire, numbers.owns, line, message, issuedAt) : Effect.succeed(soon),
      )
    }),
  )

export const makeLiveWire = Effect.fnUntraced(function* makeLiveWire(
  options: LiveWireOptions,
): Effect.fn.Return<
  Transport,
  never,
  SessionVault | NumberOwnership | NumberProxies | Scope.Scope
> {
  const { board, dropsCopies, platform, process, seed } = options
  const wire: LiveWire = {
    ...options,
    vault: yield* SessionVault,
    ownership: yield* NumberOwnership,
    scope: yield* Effect.scope,
    latency: new Chance(`${seed}/lines/${process.name}/${platform}`),
  }
  const numbers = yield* makeLiveNumbers<Line, Effect.Error<ReturnType<typeof connect>>>({
    platform,
    settings: {
      firstPauseMillis: second,
      longestPauseMillis: 10 * second,
      lostMillis: 20 * second,
      lookMillis: 3 * second,
      startsAtOnce: 8,
    },
    keptKeys: {},
    connect: (live, connecting) => connect(wire, live, connecting),
    remembersWiped: false,
    meansLoggedOut: ["logged_out"],
    logOut: ({ numberId }) =>
      Effect.as(
        Effect.sync(() => board.end(numberId, "logged_out")),
        true,
      ),
  })
  return {
    dropsCopies,
    send: (message) => Effect.suspend(() => send(wire, numbers, message, process.world.now)),
    listen: numbers.listen,
    connections: numbers.reports,
  }
})
