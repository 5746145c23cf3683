/** Lines of the log. */
import { assert, it } from "@effect/vitest"
import { Console, Effect } from "effect"
import { withLogging } from "../src/process.ts"

it.effect("a field without a value is null in JSON, and not a text", () =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const idle = { ...(yield* Console.Console), log: (text: string) => void lines.push(text) }
    yield* Effect.logInfo("number paused").pipe(
      Effect.annotateLogs({ number: 7, reason: "paused", until: null }),
      (line) => withLogging({ format: "json", level: "info" }, line),
      Effect.provideService(Console.Console, idle),
    )
    assert.deepInclude(JSON.parse(lines[0] ?? ""), {
      level: "info",
      message: "number paused",
      number: 7,
      reason: "paused",
      until: null,
    })
  }),
)
