/** Common to both pages about live numbers: the line that starts the service. */
import { assert } from "@effect/vitest"
import { processes, putDataDirectory } from "@messaging-service/testkit"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../../..")

const read = (file: string) => Effect.promise(() => readFile(join(root, file), "utf8"))

/**
 * The reader's folder, with a data directory that has an empty database: a first start would take
 * seconds to create it.
 */
export const aFolder = Effect.gen(function* () {
  const folder = yield* processes.temporaryDirectory
  const data = join(folder, "data")
  yield* putDataDirectory(join(root, "packages/store-postgres/package.json"), data)
  return { folder, data }
})

export const livePage = (file: string) => {
  const page = read(file)
  /** The program of the page's start line, and its variables. */
  const startLine = Effect.gen(function* () {
    const line = /```bash\n(?<set>(?:\w+=\S+ )*)pnpm start\n```/.exec(yield* page)
    assert.isNotNull(line, "the page has no line that starts the service")
    const set = (line?.groups?.["set"] ?? "").trim().split(" ")
    const { scripts } = JSON.parse(yield* read("package.json"))
    const [, program = ""] = /exec node (\S+)$/.exec(scripts.start) ?? []
    return {
      program: join(root, program),
      environment: Object.fromEntries(set.map((each) => each.split("=") as [string, string])),
    }
  })
  return { page, startLine }
}
