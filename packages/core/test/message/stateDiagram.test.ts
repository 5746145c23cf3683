/** The diagram in docs/contract/messages.md shows the table of transitions (contract: Message status). */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { transitions } from "../../src/model/Message.ts"

const page = resolve(import.meta.dirname, "../../../../docs/contract/messages.md")

const moves = Object.entries(transitions).flatMap(([from, byTrigger]) =>
  Object.entries(byTrigger).map(([trigger, { event, to }]) => {
    const what = trigger.replaceAll("_", " ")
    return `  ${from} --> ${to}: ${event === null ? what : `${what} (${event})`}`
  }),
)

const ends = Object.entries(transitions).flatMap(([state, byTrigger]) =>
  Object.keys(byTrigger).length === 0 ? [`  ${state} --> [*]`] : [],
)

/** `queued` and `scheduled` are one stored state: the time of the answer tells them apart. */
const diagram = `\`\`\`mermaid
stateDiagram-v2
  state waiting {
    scheduled --> queued: send_at comes
  }
  [*] --> waiting: accepted
${[...moves, ...ends].join("\n")}
\`\`\`
`

it.effect("the state diagram of a message shows every transition, and no other", () =>
  Effect.gen(function* () {
    const text = yield* Effect.promise(() => readFile(page, "utf8"))
    const [, shown] = /(```mermaid\n[^]*?```\n)/.exec(text) ?? []
    assert.strictEqual(shown, diagram)
  }),
)
