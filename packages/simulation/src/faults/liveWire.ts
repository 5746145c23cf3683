/** A transport that keeps connections of its numbers, as its port and the core's live numbers have it. */
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

/** How long a send waits for a connection that is being opened. */
const openMillis = 15 * second

const postponed = (afterMillis: number): SendOutcome => ({ _tag: "Postponed", afterMillis })

/** When to look again after nothing was handed over. */
const soon = postponed(5 * second)

/** Another process has the number by now. */
const moved = postponed(500)

/** The type and the id of the key that names a number's latest connection. */
export const lineKey = "line"

const again: AfterClose = { _tag: "Again" }

/** What follows from the end of a connection. */
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
  /** Hands a message over, and gives the server's word. */
  readonly attempt: (message: OutgoingMessage, givenAt: number) => Effect.Effect<SendOutcome>
}

/** Hears one connection until it is over. */
const hear = Effect.fnUntraced(function* (line: Line, { take }: Pick<Connecting<Line>, "take">) {
  for (;;) {
    const event = yield* Queue.take(line.events)
    if (event._tag === "Ended") return event.end
    yield* Effect.forkScoped(Effect.andThen(take(event.tick), Effect.sync(event.taken)))
  }
})

export const makeLiveWire = Effect.fnUntraced(function* (
  options: LiveWireOptions,
): Effect.fn.Return<
  Transport,
  never,
  SessionVault | NumberOwnership | NumberProxies | Scope.Scope
> {
  const { attempt, board, dropsCopies, faults, platform, process, seed } = options
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const scope = yield* Effect.scope
  const latency = new Chance(`${seed}/lines/${process.name}/${platform}`)

  /**
   * Writes down which connection is the latest, as a device writes its keys: beside the connection, which
   * ends without waiting for the store.
   */
  const remember = ({ id, numberId }: Line) =>
    retryUntilStoreAnswers(
      vault.write(numberId, null, [{ type: lineKey, id: lineKey, value: String(id) }]),
    ).pipe(Effect.ignore)

  const connect = Effect.fnUntraced(function* (
    { numberId }: LiveNumber<Line>,
    connecting: Connecting<Line>,
  ) {
    const credentials = yield* vault.credentials(numberId)
    if (credentials === null) return null
    yield* connecting.ready
    yield* Effect.sleep(latency.below(50))
    if (faults.hits(process.name, "line.fails") !== null) return again
    // A process that was frozen goes on here, and speaks over no connection of a number that it may not have.
    if (!ownership.owns(numberId)) return again
    const events = yield* Queue.unbounded<LineEvent>()
    const line = yield* Effect.acquireRelease(
      Effect.sync(() => board.connect(process, numberId, credentials, events)),
      (opened) => Effect.sync(() => typeof opened !== "string" && board.hangUp(opened)),
    )
    if (typeof line === "string") return afterEnd[line]
    yield* connecting.opened(line, board.phoneOf(numberId))
    yield* Effect.forkIn(remember(line), scope)
    return afterEnd[yield* hear(line, connecting)]
  })

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
    connect,
    remembersWiped: false,
    meansLoggedOut: ["logged_out"],
    logOut: ({ numberId }) =>
      Effect.as(
        Effect.sync(() => board.end(numberId, "logged_out")),
        true,
      ),
  })

  /** Ends with the connection. */
  const until = <A>({ over }: Line, work: Effect.Effect<A>, closed: A): Effect.Effect<A> =>
    Effect.raceFirst(work, Effect.as(Deferred.await(over), closed))

  const handOver = (
    line: Line,
    message: OutgoingMessage,
    givenAt: number,
  ): Effect.Effect<SendOutcome> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // It waited for the connection.
      const late = outcomeOnceExpired(message, now)
      if (late !== null) return Effect.succeed(late)
      // A process that was frozen goes on here, and another one has the number by then.
      if (!numbers.owns(message.numberId)) return Effect.succeed(moved)
      const drops = faults.hits(process.name, "line.drops")
      if (drops !== null) {
        process.world.at(process.world.outside, process.world.now + drops.below(100), () => {
          board.end(message.numberId, "connection_lost")
        })
      }
      return until(line, attempt(message, givenAt), { _tag: "Unknown" })
    })

  const send = (message: OutgoingMessage, givenAt: number): Effect.Effect<SendOutcome> =>
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
        const prepared = until(line, Effect.as(Effect.sleep(latency.below(20)), true), false)
        return Effect.flatMap(prepared, (isOpen) =>
          isOpen ? handOver(line, message, givenAt) : Effect.succeed(soon),
        )
      }),
    )

  return {
    dropsCopies,
    send: (message) => Effect.suspend(() => send(message, process.world.now)),
    listen: numbers.listen,
    connections: numbers.reports,
  }
})
