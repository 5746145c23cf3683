/** libsignal prints session keys; a test run must not show them. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { awaitAck, recipient, sending } from "./Client.ts"

const levels = ["info", "warn", "error"] as const

/** Everything printed while the scope lasts. */
const printed = Effect.acquireRelease(
  Effect.sync(() => {
    const before = levels.map((level) => [level, console[level]] as const)
    const lines: Array<unknown> = []
    for (const level of levels) console[level] = (first: unknown) => void lines.push(first)
    return { before, lines }
  }),
  ({ before }) =>
    Effect.sync(() => {
      for (const [level, print] of before) console[level] = print
    }),
)

it.effect("prints nothing of its own while sessions start, break and restart", () =>
  Effect.gen(function* () {
    const { lines } = yield* printed
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { client, send, server } = yield* sending
        yield* send("3EB0AE01")
        yield* awaitAck(client, "3EB0AE01")
        yield* server.reinstall(recipient)
        yield* send("3EB0AE02")
        yield* server.until(() => server.copies(recipient) === 2)
        console.info("others")
      }),
    )
    console.info("Closing session: after the server")
    assert.deepStrictEqual(lines, ["others", "Closing session: after the server"])
  }),
)
