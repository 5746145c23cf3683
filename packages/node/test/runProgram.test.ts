/** An app's command line: it runs without an argument, and answers the others without starting. */
import { assert, it } from "@effect/vitest"
import { version } from "@messaging-service/core"
import { Console, Effect } from "effect"
import { runProgram } from "../src/process.ts"

const summaries = {
  migrate: "Brings the tables up to date.",
  restored: "Says that a backup was restored; takes --above ID and --again.",
}

/** The program's output for these arguments, as lines; in brackets its calls. */
const said = (line: ReadonlyArray<string>, hasCommands = true) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const idle = { ...(yield* Console.Console), log: (text: string) => void lines.push(text) }
    const commands = {
      commands: summaries,
      runCommand: (name: string) => Console.log(`[${name}]`),
    }
    const program = {
      name: "messaging-server",
      summary: "Serves.",
      variables: ["PORT", "HOST"],
      run: Console.log("[serve]"),
      ...(hasCommands ? commands : {}),
    }
    return yield* runProgram(program, line).pipe(
      Effect.provideService(Console.Console, idle),
      Effect.map(() => lines.join("\n")),
      Effect.catch(({ message }) => Effect.succeed(`refused: ${message}`)),
    )
  })

it.effect("without an argument it runs, and commands are those of the database", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* said([]), "[serve]")
    assert.strictEqual(yield* said(["migrate"]), "[migrate]")
  }),
)

it.effect("prints its version, its commands and its variables", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* said(["--version"]), `messaging-server ${version}`)
    const help = yield* said(["--help"])
    assert.strictEqual(yield* said(["-h"]), help)
    for (const [name, summary] of Object.entries(summaries)) {
      assert.match(help, new RegExp(`^  ${name} +${summary}$`, "m"))
    }
    assert.match(help, /^ {2}PORT HOST$/m)
    for (const line of [
      ["restored", "--help"],
      ["restored", "--above", "-h"],
    ]) {
      assert.match(
        yield* said(line),
        /^messaging-server restored\n\n {2}Says .+ --above ID and --again\.$/,
      )
    }
    assert.notInclude(yield* said(["--help"], false), "migrate")
  }),
)

it.effect("refuses unknown arguments, and runs nothing", () =>
  Effect.gen(function* () {
    const known = `${Object.keys(summaries).join(", ")}, --version, --help`
    assert.strictEqual(
      yield* said(["serve"]),
      `refused: "serve" is not a command; the commands are ${known}`,
    )
    assert.strictEqual(
      yield* said(["migrate"], false),
      'refused: "migrate" is not a command; the commands are --version, --help',
    )
    assert.strictEqual(yield* said(["--version", "now"]), 'refused: "now" is one argument too many')
  }),
)
