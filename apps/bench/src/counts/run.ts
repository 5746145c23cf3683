/** Counts each work on a database of its own, and prints the table. */
import { Console, Effect } from "effect"
import { CheckFailed } from "../measuring/checks.ts"
import type { Setup } from "../Setup.ts"
import { works } from "./works.ts"
import type { Counted } from "./works.ts"

const line = ({ atMost, name, value }: Counted): string =>
  `  ${value <= atMost ? "holds" : "OVER "}  ${value.toFixed(2).padStart(9)}, at most ${String(atMost).padEnd(6)} ${name}`

/** Fails where a count is over its limit. */
export const runCounts = Effect.fnUntraced(function* runCounts({ database }: Setup) {
  const over: Array<string> = []
  for (const { count, id, title } of works) {
    yield* Console.log(`${id}: ${title}, for each message`)
    const counted = yield* Effect.scoped(Effect.flatMap(database, count))
    for (const one of counted) yield* Console.log(line(one))
    over.push(...counted.flatMap((one) => (one.value <= one.atMost ? [] : `${id}: ${one.name}`)))
  }
  if (over.length > 0) return yield* new CheckFailed({ message: `over: ${over.join("; ")}` })
})
