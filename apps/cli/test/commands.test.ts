/** Every command against the real service; one without an entry here fails. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { commands } from "../src/commands/index.ts"
import { customerCommands } from "./customerCommands.ts"
import { operatorCommands } from "./operatorCommands.ts"
import { phoneCommands } from "./phoneCommands.ts"
import { profileCommands } from "./profileCommands.ts"
import { Running, aWorkspace } from "./Running.ts"
import type { RunOptions } from "./Running.ts"
import type { Entries } from "./Scene.ts"

const entries: Entries = {
  ...customerCommands,
  ...operatorCommands,
  ...phoneCommands,
  ...profileCommands,

  completion: async ({ messaging }) => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, output } = await messaging(["completion", shell])
      assert.strictEqual(code, 0)
      assert.include(output, "messaging complete --")
    }
  },
  complete: async ({ messaging }) => {
    const { output } = await messaging(["complete", "--", "reminders", "pa"])
    assert.strictEqual(output, "pause\n")
  },
}

layer(Running.layer, { excludeTestServices: true })("every command", (it) => {
  it.effect("has one entry here, and every entry has a command", () =>
    Effect.sync(() =>
      assert.sameMembers(
        Object.keys(entries),
        commands.map(({ words }) => words),
      ),
    ),
  )

  for (const { words } of commands) {
    it.effect(words, () =>
      Effect.flatMap(Running, ({ directory, receiver, url }) =>
        Effect.promise(async () => {
          const shop = await aWorkspace(url)
          const entry = entries[words]
          assert.isDefined(entry, `there is no entry for ${words}`)
          const told = async (line: ReadonlyArray<string>, options?: RunOptions) => {
            const { code, output, remarks } = await shop.messaging(line, options)
            assert.strictEqual(code, 0, remarks)
            return output
          }
          const line = (of: string, rest: ReadonlyArray<string | number>) => [
            ...of.split(" "),
            ...rest.map(String),
          ]
          await entry?.({
            ...shop,
            receiver,
            aFile: async (name, content) => {
              const path = join(directory, name)
              await writeFile(path, content)
              return path
            },
            text: (of, rest = []) => told(line(of, rest)),
            json: async (of, rest = [], options) =>
              (await told([...line(of, rest), "--json"], options))
                .split("\n")
                .filter((each) => each !== "")
                .map((each) => JSON.parse(each) as Record<string, unknown>),
          })
        }),
      ),
    )
  }
})
