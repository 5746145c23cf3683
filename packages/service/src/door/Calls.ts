/**
 * Calls of the front door: who makes them, and how effects over the opened service are run as promises
 * that fail with one error.
 */
import type { Caller, Failure } from "@messaging-service/core"
import { Cause, Effect, Exit, Latch } from "effect"
import type { Context, Fiber } from "effect"
import type { CannotStart } from "@messaging-service/node"
import type { ComposedService } from "../compose/index.ts"
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

/** A promise of how it ends, which is never rejected. */
const exitOf = <A, E>(fiber: Fiber.Fiber<A, E>): Promise<Exit.Exit<A, E>> =>
  new Promise((resolve) => void fiber.addObserver(resolve))

/** `after` runs after each call, and its answer waits for it. */
export const makeCalls = (
  context: Context.Context<ComposedService>,
  after: () => Promise<void> = () => Promise.resolve(),
) => {
  const runFork = Effect.runForkWith(context)
  const idle = Latch.makeUnsafe(true)
  const cutOff = Latch.makeUnsafe(false)
  const fibers = new Set<Fiber.Fiber<unknown, unknown>>()
  /** For each call that is under way: what settles its promise without waiting for it. */
  const underWay = new Set<() => void>()
  /** What later calls wait for, such as a listener that is to hear of them. */
  let before: Promise<unknown> | null = null
  let isClosed = false

  const counted = <A>(call: () => Promise<A>, abandoned: () => A): Promise<A> =>
    new Promise((resolve, reject) => {
      const abandon = () => resolve(abandoned())
      underWay.add(abandon)
      idle.closeUnsafe()
      const ended = call().finally(() => {
        underWay.delete(abandon)
        if (underWay.size === 0) idle.openUnsafe()
      })
      ended.then(resolve, reject)
    })

  const run: Run = async (effect) => {
    if (isClosed) throw closed()
    const earlier = before
    const fiber = runFork(
      earlier === null
        ? effect
        : Effect.andThen(
            Effect.promise(() => earlier),
            effect,
          ),
    )
    fibers.add(fiber)
    fiber.addObserver(() => fibers.delete(fiber))
    const exit = await counted(() => exitOf(fiber), Exit.interrupt)
    await after()
    if (Exit.isSuccess(exit)) return exit.value
    // What releases its resources may fail beside that.
    if (cutOff.isOpen() && exit.cause.reasons.some(Cause.isInterruptReason)) throw closed()
    throw errorOf(exit.cause)
  }

  return {
    run,
    /**
     * Counts a call that is made in another way as one that is under way. It may end by itself once
     * `cutOff` returns; after that `abandoned` answers in its place.
     */
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
    /** Ends what is under way: promises fail with `closed`, unless what they are of is done by now. */
    interrupt: Effect.sync(() => {
      cutOff.openUnsafe()
      for (const fiber of fibers) fiber.interruptUnsafe()
    }),
    /** Returns once what is under way has been interrupted. */
    cutOff: cutOff.await,
    /** Settles the promises of calls that do not end although they were interrupted. */
    abandon: Effect.sync(() => {
      for (const abandon of underWay) abandon()
    }),
  }
}
