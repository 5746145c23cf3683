/**
 * The worker's variables, in a golden file: a changed name shows in its diff. CONTRIBUTING, "Golden
 * files", has the command that writes it.
 */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { workerVariableNames } from "../src/WorkerSettings.ts"

it.effect("the golden file names every variable of the worker", () => {
  const file = join(import.meta.dirname, "golden/variables.txt")
  const text = `${workerVariableNames.toSorted().join("\n")}\n`
  return Effect.promise(() => expect(text).toMatchFileSnapshot(file))
})
