/**
 * Calls of the front door: who makes them, and how effects over the opened service are run as promises
 * that fail with one error.
 */
import type { Caller, Failure } from "@messaging-service/core"
import { Effect, Exit, Latch } from "effect"
import type { Context } from "effect"
import type { CannotStart, ComposedService } from "../compose/index.ts"
import { closed, errorOf } from "./failure.ts"

/** Runs an effect over the service. */
export type Run = <A>(
  effect: Effect.Effect<A, Failure | CannotStart, ComposedService>,
) => Promise<A>

/** Who calls, and how. */
export interface Calling {
  readonly run: Run
  /** Made anew for every call: what it holds of the workspace is of that moment. */
  readonly caller: Effect.Effect<Caller, Failure, ComposedService>
  /** Whether the caller is the program itself, not a key that is admitted. */
  readonly isTrusted: boolean
  /** Whether the store can take part in a transaction of the program's. */
  readonly joins: boolean
}

/** Makes a part of the interface for a caller. */
export type CallerApi<Part> = (calling: Calling) => Part

/** Of an effect that is known to end well, or badly, without a rejection in between. */
const settledAs = <A>(exit: Exit.Exit<A, Failure | CannotStart>): A => {
  if (Exit.isSuccess(exit)) return exit.value
  throw errorOf(exit.cause)
}

/** `after` runs after each call, and its answer waits for it. */
export const makeCalls = (
  context: Context.Context<ComposedService>,
  after: () => Promise<void> = () => Promise.resolve(),
) => {
  const runExit = Effect.runPromiseExitWith(context)
  const idle = Latch.makeUnsafe(true)
  /** What later calls wait for, such as a listener that is to hear of them. */
  let before: Promise<unknown> = Promise.resolve()
  let underWay = 0
  let isClosed = false

  const counted = async <A>(call: () => Promise<A>): Promise<A> => {
    underWay++
    idle.closeUnsafe()
    return call().finally(() => {
      if (--underWay === 0) idle.openUnsafe()
    })
  }

  const run: Run = async (effect) => {
    if (isClosed) throw closed()
    const exit = await counted(async () => {
      await before
      return runExit(effect)
    })
    await after()
    return settledAs(exit)
  }

  return {
    run,
    /** Counts a call that is made in another way as one that is under way. */
    counted,
    /** Lets later calls wait for it, however it ends. */
    holdUp: (until: Promise<unknown>) => {
      before = Promise.allSettled([before, until])
    },
    /** Refuses every later call, from this moment on. */
    refuseLater: () => {
      isClosed = true
    },
    isClosed: () => isClosed,
    /** Returns once no call is under way. */
    ended: idle.await,
  }
}
