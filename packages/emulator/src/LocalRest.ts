/** Whether anything is runnable in this process: what the scheduler knows, so that no caller has to guess. */
import { Context, Effect, Scheduler } from "effect"

/**
 * Returns once nothing is runnable in this process before a timer, a socket or a caller wakes it. Null where
 * that says too little: a store that answers over a socket may owe an answer while nothing is runnable.
 */
export const LocalRest = Context.Reference<Effect.Effect<void> | null>("emulator/LocalRest", {
  defaultValue: () => null,
})

/** A scheduler as Effect's own that counts what it has still to run, and the rest of what it runs. */
export const makeCountingScheduler = () => {
  let scheduled = 0
  const scheduler = new Scheduler.MixedScheduler("async", (run) => {
    scheduled++
    const immediate = setImmediate(() => {
      scheduled--
      run()
    })
    return () => {
      scheduled--
      clearImmediate(immediate)
    }
  })
  const rest = Effect.callback<void>((resume) => {
    const look = () => {
      if (scheduled === 0) resume(Effect.void)
      else setImmediate(look)
    }
    // Promises that have settled go on before this turn.
    setImmediate(look)
  })
  return { scheduler, rest }
}
