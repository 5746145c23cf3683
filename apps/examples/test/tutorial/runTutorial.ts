/** Follows a tutorial like a reader: every command, in order, in one shell. */
import { processes } from "@messaging-service/testkit"
import { Data, Effect } from "effect"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { findDifference } from "./Expected.ts"
import { readSteps } from "./Markdown.ts"
import { startShell } from "./Shell.ts"

/** The page does not do what it says; `line` is the page's, from 1. */
class TutorialFailed extends Data.TaggedError("TutorialFailed")<{
  readonly line: number
  readonly what: string
}> {
  override get message() {
    return `line ${this.line}: ${this.what}`
  }
}

/** A free port. */
const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/**
 * Runs the page's commands in that folder. Replaces its ports by free ones everywhere; removes
 * temporary files and running programs afterwards. `meanwhile` does what the page asks of the
 * reader after a step, given that step's output.
 */
export const runTutorial = Effect.fnUntraced(function* <E = never, R = never>(
  markdown: string,
  options: {
    readonly folder: string
    readonly ports: ReadonlyArray<number>
    readonly meanwhile?: (printed: string) => Effect.Effect<void, E, R>
  },
) {
  let page = markdown
  for (const port of options.ports) {
    page = page.replaceAll(new RegExp(`\\b${port}\\b`, "g"), String(yield* freePort))
  }
  const steps = yield* readSteps(page)
  const { HOME, NODE_COMPILE_CACHE, PATH } = process.env
  const TMPDIR = yield* processes.temporaryDirectory
  const environment = { HOME, NODE_COMPILE_CACHE, PATH, TMPDIR }
  const shell = yield* startShell(options.folder, environment)

  for (const { commands, expected } of steps) {
    let output = ""
    for (const { line, text } of commands) {
      const { status, stderr, stdout } = yield* shell
        .run(text)
        .pipe(
          Effect.mapError(
            ({ message }) => new TutorialFailed({ line, what: `${text}\n${message}` }),
          ),
        )
      if (status !== 0) {
        const what = `${text}\nended with ${status}: ${stdout}${stderr}`
        return yield* new TutorialFailed({ line, what })
      }
      output += stdout
    }
    const difference = expected === null ? null : findDifference(expected, output)
    if (difference !== null) return yield* new TutorialFailed(difference)
    if (options.meanwhile !== undefined) yield* options.meanwhile(output)
  }
})
