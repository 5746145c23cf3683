/**
 * The server's variables, in a golden file: a changed name shows in its diff. CONTRIBUTING, "Golden
 * files", has the command that writes it.
 */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { serverVariableNames } from "../src/ServerSettings.ts"

it.effect("the golden file names every variable of the server", () => {
  const file = join(import.meta.dirname, "golden/variables.txt")
  const text = `${serverVariableNames.toSorted().join("\n")}\n`
  return Effect.promise(() => expect(text).toMatchFileSnapshot(file))
})
