/** Programs that reply to commands over IPC, each in a process for as long as a scope. */
import { Deferred, Effect } from "effect"
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { CheckFailed } from "./checks.ts"

/** What the measured programs are given before they begin. */
const measuring = ["--expose-gc", "--import", import.meta.resolve("../live/measured.ts")]

/** How long a process may take to stop before SIGKILL. Milliseconds. */
const goodbyeMillis = 15_000

export interface Program {
  /** The next thing that it says. */
  readonly next: Effect.Effect<unknown, CheckFailed>
  request(command: object): Effect.Effect<unknown, CheckFailed>
  /** SIGTERM, and waits for the end. */
  readonly stop: Effect.Effect<void>
}

export const startProgram = (
  url: string,
  environment: Readonly<Record<string, string>> = {},
  isMeasured = false,
) =>
  Effect.acquireRelease(
    Effect.sync((): Program => {
      const name = url.slice(url.lastIndexOf("/") + 1)
      const child = fork(fileURLToPath(url), {
        execArgv: isMeasured ? measuring : [],
        env: {
          PATH: process.env["PATH"],
          NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
          ...environment,
        },
        stdio: ["ignore", "ignore", "inherit", "ipc"],
      })
      const ended = Deferred.makeUnsafe<void>()
      /** What was said and not taken, or those who wait for it. */
      const said: Array<unknown> = []
      const waiting: Array<(reported: Effect.Effect<unknown, CheckFailed>) => void> = []
      child.on("message", (reported) => {
        const first = waiting.shift()
        if (first === undefined) said.push(reported)
        else first(Effect.succeed(reported))
      })
      child.on("exit", () => {
        Deferred.doneUnsafe(ended, Effect.void)
        const gone = Effect.fail(new CheckFailed({ message: `${name} ended before it answered` }))
        for (const one of waiting.splice(0)) one(gone)
      })
      const next = Effect.callback<unknown, CheckFailed>((resume) => {
        if (said.length > 0) resume(Effect.succeed(said.shift()))
        else if (child.connected) waiting.push(resume)
        else resume(Effect.fail(new CheckFailed({ message: `${name} has ended` })))
      })
      return {
        next,
        request: (command) =>
          Effect.andThen(
            Effect.sync(() => child.connected && child.send(command)),
            next,
          ),
        stop: Effect.sync(() => child.kill("SIGTERM")).pipe(
          Effect.andThen(
            Effect.timeoutOrElse(Deferred.await(ended), {
              duration: goodbyeMillis,
              orElse: () => Effect.sync(() => void child.kill("SIGKILL")),
            }),
          ),
        ),
      }
    }),
    ({ stop }) => stop,
  )
