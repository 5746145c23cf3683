/**
 * One long-lived bash, as a reader has it: state of one command remains for the next. It and
 * everything that it started end with the scope.
 */
import { processes } from "@messaging-service/testkit"
import { Clock, Data, Deferred, Effect } from "effect"
import { spawn } from "node:child_process"
import type { Writable } from "node:stream"

/** Installing and starting takes time; only a hang takes so long. Milliseconds. */
const patienceMillis = 120_000

/** The time limit for ending a started program. Milliseconds. */
const endMillis = 10_000

export class ShellFailed extends Data.TaggedError("ShellFailed")<{ readonly message: string }> {}

/** A command's output, and its exit status. */
export interface Printed {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

export interface Shell {
  run(command: string): Effect.Effect<Printed, ShellFailed>
}

/**
 * Reads commands from a separate descriptor, so no command reads the next one as its input. A NUL
 * ends a command on the way in. On the way out it ends the output on each pipe, since one may
 * arrive later than the other, and the status.
 */
const loop = `
while IFS= read -r -d '' command <&3; do
  eval "$command" 3<&- </dev/null
  printf '\\0%d\\0' $?
  printf '\\0' >&2
done`

/** Starts it in that folder, with that environment. */
export const startShell = Effect.fnUntraced(function* (
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
) {
  let stdout = ""
  let stderr = ""
  let check = () => {}
  const ended = yield* Deferred.make<void>()

  const bash = yield* Effect.acquireRelease(
    Effect.sync(() => {
      // It leads a process group, so that everything it started can be ended with it.
      const spawned = spawn("bash", ["--noprofile", "--norc", "-c", loop], {
        cwd: folder,
        env: environment,
        detached: true,
        stdio: ["ignore", "pipe", "pipe", "pipe"],
      })
      spawned.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
        stdout += chunk
        check()
      })
      spawned.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
        stderr += chunk
        check()
      })
      spawned.once("close", () => {
        Deferred.doneUnsafe(ended, Effect.void)
        check()
      })
      return spawned
    }),
    ({ pid }) => {
      const signal = (name: NodeJS.Signals) =>
        Effect.sync(() => {
          if (pid !== undefined && !Deferred.isDoneUnsafe(ended)) process.kill(-pid, name)
        })
      const gone = Deferred.await(ended)
      // Servers that end cleanly leave their compile cache for those of the next page.
      return signal("SIGTERM").pipe(
        Effect.andThen(processes.within(endMillis, gone)),
        Effect.andThen(signal("SIGKILL")),
        Effect.andThen(gone),
      )
    },
  )

  const answer = Effect.callback<Printed, ShellFailed>((resume) => {
    check = () => {
      const [printed = "", status, ...rest] = stdout.split("\0")
      const [errors = "", ...restOfErrors] = stderr.split("\0")
      if (rest.length > 0 && restOfErrors.length > 0) {
        stdout = rest.join("\0")
        stderr = restOfErrors.join("\0")
        resume(Effect.succeed({ status: Number(status), stdout: printed, stderr: errors }))
      } else if (Deferred.isDoneUnsafe(ended)) {
        resume(Effect.fail(new ShellFailed({ message: `the shell ended: ${stderr}` })))
      }
    }
    check()
  })

  const run: Shell["run"] = (command) =>
    Effect.sync(() => {
      const commands = bash.stdio[3] as Writable
      commands.write(`${command}\0`)
    }).pipe(
      Effect.andThen(answer),
      Effect.timeoutOrElse({
        duration: patienceMillis,
        orElse: () =>
          Effect.fail(new ShellFailed({ message: `goes on and on: ${stdout}${stderr}` })),
      }),
      Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
    )

  const shell: Shell = { run }
  return shell
})
