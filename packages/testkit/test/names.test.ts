/** Declared names: no package gains one with a word that the field has a better term for. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { globSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")

/** Say what the thing is: an input, a request, a result, an index, a maximum; `toX`, `getX` or `findX` for `xOf`. */
const avoided =
  /^(?:given|asked|asks?|made|told|tells?|says?|shown|shows|kept|keeps|held|holds|most|least|wanted|places?|moments?|turns?|taken|begun|begin|doors?|looks?|far|away|gone|calm|storm|story|mood|dice)$|[a-z]Of$/i

const declared = /\b(?:const|let|function\*?|class|interface|type) +(\w+)/g

/** May only fall: lower a count that is too high. Packages that are not listed have none. */
const counts: Readonly<Record<string, number>> = {
  "apps/bench": 4,
  "apps/cli": 11,
  "apps/examples": 13,
  "apps/fuzz": 3,
  "apps/server": 1,
  "apps/simulation": 19,
  "apps/worker": 7,
  "packages/client": 11,
  "packages/core": 75,
  "packages/dashboard": 12,
  "packages/emulator": 1,
  "packages/http": 48,
  "packages/node": 7,
  "packages/service": 18,
  "packages/store-memory": 7,
  "packages/store-postgres": 50,
  "packages/telegram-server": 1,
  "packages/testkit": 59,
  "packages/transport-telegram": 7,
  "packages/transport-whatsapp": 4,
  "packages/whatsapp-server": 1,
}

it.effect("names use the field's terms", () =>
  Effect.gen(function* () {
    const files = globSync("{apps,packages}/*/{src,pages,test}/**/*.{ts,tsx}", {
      cwd: root,
      exclude: (name) => /(?:^|\/)(?:node_modules|dist)$|generated/.test(name),
    })
    const found: Record<string, number> = {}
    for (const file of files) {
      const text = yield* Effect.promise(() => readFile(resolve(root, file), "utf8"))
      const names = [...text.matchAll(declared)].filter(([, name = ""]) => avoided.test(name))
      const owner = file.split("/").slice(0, 2).join("/")
      if (names.length > 0) found[owner] = (found[owner] ?? 0) + names.length
    }
    assert.deepStrictEqual(found, counts)
  }),
)
