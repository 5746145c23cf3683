/** The front door over a service that is already composed. */
import { Admission, Caller, Workspaces } from "@messaging-service/core"
import type { NumberId, WorkspaceId } from "@messaging-service/core/ports"
import { sleepInRealTime } from "@messaging-service/core/ports"
import { Effect, Exit, Fiber, Scope } from "effect"
import type { Context } from "effect"
import type { Messaging } from "../api/Messaging.ts"
import type { OpenOptions } from "../api/options.ts"
import type { ComposedService } from "../compose/index.ts"
import { makeApi } from "./Api.ts"
import { idOf } from "./asking.ts"
import { makeCalls } from "./Calls.ts"
import { makeListening } from "./events.ts"
import { closed } from "./failure.ts"
import { makeHandler } from "./handler.ts"
import { startWork } from "./work.ts"
import { operatorApi, workspacesApi } from "./workspaces.ts"

/** What the worker may take longer than it waits, to give back what did not end. */
const giveBackMillis = 1000

/** Wrong keys are counted by address: all of a program's own count as one. */
const ownAddress = "127.0.0.1"

interface Made {
  readonly context: Context.Context<ComposedService>
  /** Of everything that the service holds; closed with it. */
  readonly scope: Scope.Closeable
  readonly publicUrl: string
  readonly stopMillis: number
  /** Whether the store can take part in a transaction of the program's. */
  readonly joins: boolean
  /** Runs after each call, whose answer waits for it. */
  readonly afterCall?: () => Promise<void>
}

/** Makes the front door, and starts the worker unless the options say otherwise. */
export const makeMessaging = (
  options: OpenOptions,
  { afterCall, context, joins, publicUrl, scope, stopMillis }: Made,
): Effect.Effect<Messaging> =>
  Effect.gen(function* () {
    const calls = makeCalls(context, afterCall)
    const { run } = calls
    const listeners = yield* Scope.fork(scope)
    const { caughtUp, on } = yield* makeListening(calls.holdUp).pipe(Scope.provide(listeners))
    const work = yield* startWork(options.worker ?? true)
    const handler = makeHandler(context, options.http ?? {}, publicUrl)
    let isClosed = false

    /** As long as the worker may take, and no longer. */
    const within = (effect: Effect.Effect<void>) =>
      Effect.flatMap(Effect.forkDetach(effect), (fiber) =>
        Effect.raceFirst(Fiber.await(fiber), sleepInRealTime(stopMillis + giveBackMillis)),
      )

    /** Calls and attempts that are under way end, and listeners hear of them. */
    const ending = Effect.all([calls.close, work.stop], {
      concurrency: "unbounded",
      discard: true,
    }).pipe(Effect.andThen(Effect.ignore(caughtUp)))

    const close = within(ending).pipe(
      Effect.andThen(Scope.close(listeners, Exit.void)),
      Effect.andThen(Scope.close(scope, Exit.void)),
    )

    let closing: Promise<void> | undefined

    const messaging: Messaging = {
      workspaces: workspacesApi(run),
      as: (workspace, trust = {}) => {
        const id = idOf<WorkspaceId>(workspace)
        const { mode, numberIds, scopes } = trust
        return makeApi({
          run,
          joins,
          isTrusted: true,
          caller: Effect.map(
            Workspaces.use((workspaces) => workspaces.get(id)),
            (found) =>
              Caller.trusted(found, {
                ...(mode === undefined ? {} : { mode }),
                ...(scopes === undefined ? {} : { scopes }),
                ...(numberIds === undefined
                  ? {}
                  : { numberIds: numberIds as ReadonlyArray<NumberId> | null }),
              }),
          ),
        })
      },
      withKey: (key) =>
        makeApi({
          run,
          joins,
          isTrusted: false,
          caller: Effect.map(
            Admission.use((admission) => admission.admitV2(`Bearer ${key}`, ownAddress)),
            ({ caller }) => caller,
          ),
        }),
      operator: (workspace, { role = "owner" } = {}) => operatorApi(run, workspace, role),
      on: (type, handle, listening) => {
        if (isClosed) throw closed()
        return on(type, handle, listening)
      },
      drain: ({ atMostMillis } = {}) => run(work.drain(atMostMillis)),
      handler: (request) => (isClosed ? Promise.reject(closed()) : handler(request)),
      close: () => {
        isClosed = true
        return (closing ??= Effect.runPromiseWith(context)(close))
      },
    }
    return messaging
  }).pipe(Effect.provideContext(context))
