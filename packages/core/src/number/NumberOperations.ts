/**
 * What an operator does with a number beside keeping it: looking at its connection, pausing and
 * resuming it, and logging it out (contract: Connection of a number, Pauses).
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId, WorkspaceId } from "../Ids.ts"
import { DailyQuota } from "../message/Quota.ts"
import { logThrottled } from "../monitoring/rareLog.ts"
import { LaneQueue } from "../queue/LaneQueue.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { described } from "../request/Described.ts"
import { InstantInput, inputDecoder } from "../request/Input.ts"
import { formatInstant } from "../time/Instant.ts"
import { sleep } from "../time/RealTime.ts"
import { NumberOwnership } from "../transport/NumberOwnership.ts"
import { SessionStore } from "../transport/SessionStore.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { connectionOf } from "./Connection.ts"
import type { Connection, ConnectionFacts } from "./Connection.ts"
import { ConnectedFromTheStart, Numbers } from "./Numbers.ts"
import { NumberStore } from "./NumberStore.ts"
import type { SendingNumber } from "./SendingNumber.ts"

export const PauseBody = Schema.Struct({
  until: described(
    Schema.optionalKey(Schema.NullOr(InstantInput)),
    "When it ends by itself; null: when it is resumed.",
    { default: null },
  ),
}).annotate({ identifier: "PauseNumber" })

/** Until when: in the words of its body. */
export type PauseNumber = typeof PauseBody.Encoded

const decodePause = inputDecoder(PauseBody)

/** How long a log-out waits for the worker that keeps the connection, and how often it looks; in real time. */
const logOutMillis = 10_000
const lookMillis = 100

export interface NumberConnection extends Connection {
  readonly id: NumberId
  /** The name of the process that has it; null when none does. */
  readonly worker: string | null
}

/** A number as the operator names it, before it is known that there is one. */
export type AddressedNumber = readonly [
  role: Role,
  workspaceId: WorkspaceId | undefined,
  id: NumberId | undefined,
]

export class NumberOperations extends Context.Service<
  NumberOperations,
  {
    /** GET …/connection. Each fails with `number_not_found`. */
    connection(...number: AddressedNumber): Effect.Effect<NumberConnection, Failure>
    /**
     * POST …/pause: nothing more is handed to the transport; what it has already may still leave. Fails
     * with `invalid_datetime` and `time_in_past`.
     */
    pause(
      ...command: readonly [...AddressedNumber, PauseNumber]
    ): Effect.Effect<NumberConnection, Failure>
    /** POST …/resume: ends every pause, whatever it was for. */
    resume(...number: AddressedNumber): Effect.Effect<NumberConnection, Failure>
    /**
     * POST …/logout: the number is disconnected, and its device logged out at the far side; what the
     * far side does not hear of within 10 s it is told later. Waiting messages wait.
     */
    logOut(...number: AddressedNumber): Effect.Effect<SendingNumber, Failure>
  }
>()("core/NumberOperations") {
  static readonly layer = Layer.effect(
    NumberOperations,
    Effect.gen(function* () {
      const store = yield* NumberStore
      const numbers = yield* Numbers
      const lanes = yield* LaneQueue
      const sessions = yield* SessionStore
      const workspaces = yield* Workspaces
      const wakeUp = yield* WakeUp
      const ownership = yield* NumberOwnership
      const simulated = yield* ConnectedFromTheStart
      const sendCap = yield* DailyQuota
      const notFound = refuse("number_not_found", { inPath: true })

      const factsOf = Effect.fnUntraced(function* (
        ...[role, workspaceId, id]: AddressedNumber
      ): Effect.fn.Return<ConnectionFacts, Failure> {
        const workspace = yield* workspaces.within(role, workspaceId, "numbers")
        const now = yield* Clock.currentTimeMillis
        const facts =
          id === undefined ? null : yield* store.connection(workspace.id, id, now, sendCap)
        return facts ?? (yield* notFound)
      })

      const connection = Effect.fnUntraced(function* (
        ...number: AddressedNumber
      ): Effect.fn.Return<NumberConnection, Failure> {
        const facts = yield* factsOf(...number)
        const { id, mode } = facts.number
        // No far side is behind a test number.
        const keepsConnections = !simulated && mode === "live"
        const worker = yield* ownership.holderOf(id)
        const now = yield* Clock.currentTimeMillis
        return { ...connectionOf(facts, now, keepsConnections), id, worker }
      })

      /** Until its worker has logged the device out and forgotten it. */
      const forgotten = (id: NumberId): Effect.Effect<void, StoreUnavailable> =>
        Effect.flatMap(sessions.credentials(id), (credentials) =>
          credentials === null
            ? Effect.void
            : Effect.andThen(
                sleep(lookMillis),
                Effect.suspend(() => forgotten(id)),
              ),
        )

      return NumberOperations.of({
        connection: Effect.fn("NumberOperations.connection")(connection),
        pause: Effect.fn("NumberOperations.pause")(function* (role, workspaceId, id, command) {
          const { id: found } = (yield* factsOf(role, workspaceId, id)).number
          const { until = null } = yield* Effect.fromResult(decodePause(command))
          const now = yield* Clock.currentTimeMillis
          if (until !== null && until.millis <= now) {
            return yield* refuse("time_in_past", { field: "until" })
          }
          yield* lanes.pause(found, { until: until?.millis ?? null, reason: "paused" }, now)
          yield* logThrottled("number paused", {
            number: found,
            reason: "paused",
            until: until === null ? null : formatInstant(until.millis),
          })
          // The new pause may end earlier than the one that it replaces.
          yield* wakeUp.wake("lanes")
          return yield* connection(role, workspaceId, found)
        }),
        resume: Effect.fn("NumberOperations.resume")(function* (role, workspaceId, id) {
          const { id: found } = (yield* factsOf(role, workspaceId, id)).number
          yield* lanes.resume(found, yield* Clock.currentTimeMillis)
          yield* logThrottled("number resumed", { number: found })
          yield* wakeUp.wake("lanes")
          return yield* connection(role, workspaceId, found)
        }),
        logOut: Effect.fn("NumberOperations.logOut")(function* (role, workspaceId, id) {
          const { changed, number: known } = yield* factsOf(role, workspaceId, id)
          // It was never linked: there is no device to log out, and why it is disconnected stays true.
          if (known.status === "disconnected" && changed === null) return known
          const found = known.id
          yield* sessions.leave(found, yield* Clock.currentTimeMillis, null)
          const number = yield* numbers.connectionChanged(found, "disconnected", null, "logged_out")
          yield* Effect.raceFirst(forgotten(found), sleep(logOutMillis))
          return number ?? (yield* notFound)
        }),
      })
    }),
  )
}
