/** Interruption between two operations of a fiber, where nothing else in a test can come between. */
import { Effect, Fiber, Scheduler } from "effect"

/** Rounds in which a fiber that waits for nothing else ends. */
const rounds = 20

/**
 * Runs the effect, interrupts its fiber before that operation (the first is 1), and waits for its
 * end. A fiber that waits earlier is interrupted there. Answers whether it reached the operation.
 */
const interruptAt = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  operation: number,
): Effect.Effect<boolean, never, R> =>
  Effect.gen(function* () {
    const scheduler = yield* Scheduler.Scheduler
    let left = operation
    const fiber = yield* Effect.forkChild(
      Effect.provideService(effect, Scheduler.Scheduler, {
        executionMode: scheduler.executionMode,
        makeDispatcher: () => scheduler.makeDispatcher(),
        shouldYield: (running) => {
          if (running.id === fiber.id && --left === 0) running.interruptUnsafe()
          return scheduler.shouldYield(running)
        },
      }),
    )
    yield* Effect.repeat(Effect.yieldNow, { times: rounds })
    yield* Fiber.interrupt(fiber)
    return left <= 0
  })

/** Runs the check after the effect was interrupted before each of its operations in turn. */
export const interruptEverywhere = <A, E, R, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  check: (operation: number) => Effect.Effect<unknown, E2, R2>,
): Effect.Effect<void, E2, R | R2> =>
  Effect.gen(function* () {
    let operation = 0
    do yield* check(operation)
    while (yield* interruptAt(effect, ++operation))
    yield* check(operation)
  })
