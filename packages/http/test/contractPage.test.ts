/** docs/contract.md and its chapters name every operation, code, field and header that is served. */
import { assert, describe, layer } from "@effect/vitest"
import { catalogue } from "@messaging-service/core"
import { Effect } from "effect"
import { readFile, readdir } from "node:fs/promises"
import { join, resolve } from "node:path"
import { listOperations, served } from "./openapi/Document.ts"
import { layerService } from "./Service.ts"

const docs = resolve(import.meta.dirname, "../../../docs")

const read = async () => {
  const chapters = (await readdir(join(docs, "contract"))).map((name) => join("contract", name))
  const pages = ["contract.md", ...chapters].map((name) => readFile(join(docs, name), "utf8"))
  return (await Promise.all(pages)).join("\n")
}

const page = Effect.promise(read)

/** The keys of all objects under that key in the document; a field may have that name too. */
const namesUnder = (expected: string, value: unknown): ReadonlyArray<string> =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, inner]: [string, unknown]) => [
        ...(key === expected ? Object.keys(inner as object) : []),
        ...(/^examples?$/.test(key)
          ? []
          : (key === "properties" ? Object.values(inner as object) : [inner]).flatMap((each) =>
              namesUnder(expected, each),
            )),
      ])
    : []

describe("the contract", () => {
  layer(layerService())("over real sockets", (it) => {
    it.effect("has every operation", () =>
      Effect.gen(function* () {
        const text = (yield* page).replaceAll(/\s+/g, " ")
        const missing = listOperations(yield* served)
          .map(({ method, path }) => ({ method, path: path.replace(/\/$/, "") }))
          .filter(({ method, path }) =>
            path.startsWith("/api/v1/")
              ? !text.includes(`\`${path}/\``)
              : !text.includes(`${method} \`${path}\``),
          )
        assert.deepStrictEqual(missing, [])
      }),
    )

    it.effect("has every code of the catalogue with its status, and no other", () =>
      Effect.gen(function* () {
        const [, afterHeading = ""] = (yield* page).split("\n### Error codes\n")
        const [table = ""] = afterHeading.split("\n#")
        const rows = [...table.matchAll(/^\| `(\w+)` +\| ([\d, ]+?) +\|/gm)]
        const shown = rows.map(([, code, statuses]) => `${code} ${statuses}`)
        const known = Object.entries(catalogue).map(([code, entry]) =>
          [`${code} ${entry.status}`, ...("pathStatus" in entry ? [entry.pathStatus] : [])].join(
            ", ",
          ),
        )
        assert.deepStrictEqual(shown.toSorted(), known.toSorted())
      }),
    )

    it.effect("has every field and every header", () =>
      Effect.gen(function* () {
        const text = yield* page
        const document = yield* served
        const fields = namesUnder("properties", document).filter(
          (name) => !text.includes(`\`${name}\``) && !text.includes(`"${name}"`),
        )
        // A header described in several ways has a number after its name.
        const headers = namesUnder("headers", document)
          .map((name) => name.replace(/_\d+$/, ""))
          .filter((name) => !text.includes(name))
        assert.deepStrictEqual([...fields, ...headers], [])
      }),
    )
  })
})
