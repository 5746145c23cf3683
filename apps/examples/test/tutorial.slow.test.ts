/** The tutorials of the documentation, followed word for word against a running service. */
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { runTutorial } from "./tutorial/runTutorial.ts"

const root = resolve(import.meta.dirname, "../../..")

/** Pages, and their ports. Each is followed in its own shell. */
const tutorials: Readonly<Record<string, ReadonlyArray<number>>> = {
  "docs/tutorial.md": [8080, 8090],
  "docs/tutorial-a-customer-answered.md": [8080, 8090],
  "docs/tutorial-version-1.md": [8080, 8090],
  "docs/migration.md": [8080, 8090],
  "docs/operating.md": [8080],
}

for (const [page, ports] of Object.entries(tutorials)) {
  it.live(`${page} does what it says, line by line`, () =>
    Effect.gen(function* () {
      const markdown = yield* Effect.promise(() => readFile(join(root, page), "utf8"))
      yield* runTutorial(markdown, { folder: root, ports })
    }).pipe(Effect.scoped),
  )
}
