/**
 * Running an app's process from its start to its end (contract: Configuration). SIGTERM and SIGINT
 * interrupt the app, which finishes what is in flight; work that still hangs then is left behind in
 * time. What goes wrong is said in one line on standard error.
 */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Cause, Exit } from "effect"
import type { Effect } from "effect"
import { CannotStart, briefly } from "./CannotStart.ts"

/** A stop takes 10 s at most; this leaves the process time to go. */
const longestStopMillis = 9500

/** Runs the app as the process's main program. The exit code is 0 after a stop or its end, else 1. */
export const runProcess = (app: Effect.Effect<void, CannotStart>): void => {
  // Every file that the process makes is for its own user alone.
  process.umask(0o077)
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, leaveInTime)
  // The reader of a pipe may go away; the service does not stop for it.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)
  runMain(app, {
    disableErrorReporting: true,
    teardown: (exit, onExit) => {
      if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
      process.stderr.write(`${complaint(exit.cause)}\n`)
      onExit(1)
    },
  })
}

const leaveInTime = () => {
  setTimeout(() => process.exit(0), longestStopMillis).unref()
}

const complaint = (cause: Cause.Cause<unknown>): string => {
  const failure = Cause.squash(cause)
  return failure instanceof CannotStart
    ? briefly(failure)
    : `Stopped by an unexpected fault: ${briefly(failure)}`
}
