/**
 * One long-lived bash, as a reader who follows a tutorial has it: what a command sets, the next one
 * finds. It and whatever it started end with the scope.
 */
import { processes } from "@messaging-service/testkit"
import { Clock, Data, Deferred, Effect } from "effect"
import { spawn } from "node:child_process"
import type { Writable } from "node:stream"

/** What is installed and started takes its time; only what hangs takes so long. Milliseconds. */
const patienceMillis = 120_000

/** How long what was started may take to end. Milliseconds. */
const endMillis = 10_000

export class ShellFailed extends Data.TaggedError("ShellFailed")<{ readonly message: string }> {}

/** What a command printed, and how it ended. */
export interface Printed {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

export interface Shell {
  run(command: string): Effect.Effect<Printed, ShellFailed>
}

/**
 * Reads commands from a descriptor of their own, so that no command can take the next one for its
 * input; a NUL ends a command on the way in, and on the way out what it printed on either pipe, of
 * which one may come later than the other, and its status.
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
  let look = () => {}
  const ended = yield* Deferred.make<void>()

  const bash = yield* Effect.acquireRelease(
    Effect.sync(() => {
      // At the head of a process group, so that what it started can be ended with it.
      const spawned = spawn("bash", ["--noprofile", "--norc", "-c", loop], {
        cwd: folder,
        env: environment,
        detached: true,
        stdio: ["ignore", "pipe", "pipe", "pipe"],
      })
      spawned.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
        stdout += chunk
        look()
      })
      spawned.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
        stderr += chunk
        look()
      })
      spawned.once("close", () => {
        Deferred.doneUnsafe(ended, Effect.void)
        look()
      })
      return spawned
    }),
    ({ pid }) => {
      const signal = (name: NodeJS.Signals) =>
        Effect.sync(() => {
          if (pid !== undefined && !Deferred.isDoneUnsafe(ended)) process.kill(-pid, name)
        })
      const gone = Deferred.await(ended)
      // Servers that end in good order leave what they compiled for those of the next page.
      return signal("SIGTERM").pipe(
        Effect.andThen(processes.within(endMillis, gone)),
        Effect.andThen(signal("SIGKILL")),
        Effect.andThen(gone),
      )
    },
  )

  const answer = Effect.callback<Printed, ShellFailed>((resume) => {
    look = () => {
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
    look()
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
