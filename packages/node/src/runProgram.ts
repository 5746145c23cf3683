/**
 * An app from its command line to its end (contract: Configuration). Without an argument it runs;
 * `--version`, `--help` and the commands print their result and end. SIGTERM and SIGINT
 * interrupt the app, which finishes its running work; the process then abandons work that still hangs.
 * One line on standard error reports a failure, as JSON with `LOG_FORMAT=json`.
 */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { version } from "@messaging-service/core"
import { Cause, Console, Effect, Exit } from "effect"
import { briefly, CannotStart } from "./CannotStart.ts"
import { fatalLine } from "./Logging.ts"
import type { LogSettings } from "./Logging.ts"

/** An app's command line. */
export interface Program {
  /** Such as `messaging-server`. */
  readonly name: string
  readonly summary: string
  /** Variables that it reads. */
  readonly variables: ReadonlyArray<string>
  /** Its commands by name. Default: none. */
  readonly commands?: Readonly<Record<string, string>>
  readonly runCommand?: (
    name: string,
    options: ReadonlyArray<string>,
  ) => Effect.Effect<void, CannotStart>
  /** Runs the app itself. */
  readonly run: Effect.Effect<void, CannotStart>
}

const inColumns = (rows: ReadonlyArray<readonly [string, string]>): string => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("")
}

/** Words in lines of at most 78 columns. */
const wrapped = (words: ReadonlyArray<string>): string => {
  const lines: Array<string> = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length > 76) lines.push(`  ${word}`)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.map((line) => `${line}\n`).join("")
}

const help = ({ commands = {}, name, summary, variables }: Program): string => {
  const hasCommands = Object.keys(commands).length > 0
  const rows = [
    ["(nothing)", summary],
    ...Object.entries(commands),
    ["--version", "Names the version."],
    ["--help", "Shows this."],
  ] as const
  return `${name} ${hasCommands ? "[COMMAND]" : "[--version | --help]"}

${inColumns(rows)}
It is configured by variables of the environment, which its README explains:

${wrapped(variables)}`
}

const isHelp = (argument: string): boolean => argument === "--help" || argument === "-h"

/** Executes the arguments; without any it runs the app. */
export const runProgram = (
  program: Program,
  [first, ...options]: ReadonlyArray<string>,
): Effect.Effect<void, CannotStart> => {
  if (first === undefined) return program.run
  const { commands = {}, runCommand } = program
  if (runCommand !== undefined && Object.hasOwn(commands, first)) {
    if (options.some(isHelp)) {
      return Console.log(`${program.name} ${first}\n\n  ${commands[first]}`)
    }
    return runCommand(first, options)
  }
  const [second] = options
  if (second !== undefined) {
    return Effect.fail(new CannotStart({ message: `"${second}" is one argument too many` }))
  }
  if (first === "--version") return Console.log(`${program.name} ${version}`)
  if (isHelp(first)) return Console.log(help(program).trimEnd())
  const known = [...Object.keys(commands), "--version", "--help"]
  const message = `"${first}" is not a command; the commands are ${known.join(", ")}`
  return Effect.fail(new CannotStart({ message }))
}

/** A stop takes at most 10 s; this leaves the process time to exit. */
const longestStopMillis = 9500

/**
 * The format of the line about a failure. Read from the environment itself: a wrong variable is such a
 * failure. A command answers a person.
 */
const toFormat = (line: ReadonlyArray<string>): LogSettings["format"] =>
  line.length === 0 && process.env["LOG_FORMAT"] === "json" ? "json" : "pretty"

/**
 * Executes the process's arguments as its main program. The exit code is 0 after a stop or its end,
 * else 1.
 */
export const runProcess = (program: Program): void => {
  const line = process.argv.slice(2)
  // Only the process's own user may access the files that it creates.
  process.umask(0o077)
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, leaveInTime)
  // The reader of a pipe may go away; the service keeps running.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)
  runMain(runProgram(program, line), {
    disableErrorReporting: true,
    teardown: (exit, onExit) => {
      if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
      const text = fatalLine(toFormat(line), complaint(exit.cause), Date.now())
      process.stderr.write(`${text}\n`)
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
    : `Stopped by an unexpected error: ${briefly(failure)}`
}
