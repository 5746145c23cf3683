/**
 * Writes the names in `src/model/Cron.ts` from a compact source of the tz database:
 *
 *     node zoneNames.ts tzdata.zi
 *
 * `tzdata.zi` comes with every release and with most systems, next to their compiled zones.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { resolve } from "node:path"

const [source] = process.argv.slice(2)
if (source === undefined) throw new Error("Name the tzdata.zi to read.")

const names = readFileSync(source, "utf8")
  .split("\n")
  .map((line) => line.split(" "))
  .flatMap(
    ([kind, first, second]) => (kind === "Z" ? first : kind === "L" ? second : undefined) ?? [],
  )
  // The default until a machine's zone is set.
  .filter((name) => name !== "Factory")
  .toSorted()

/** As many to a line as fit. */
const lines = names.reduce<ReadonlyArray<string>>((filled, name) => {
  const joined = [...filled.slice(-1), name].join(" ")
  return joined.length <= 100 ? [...filled.slice(0, -1), joined] : [...filled, name]
}, [])

const file = resolve(import.meta.dirname, "src/model/Cron.ts")
const written = readFileSync(file, "utf8").replace(
  /(?<=zoneNames: ReadonlyArray<string> = `\n)[^`]*/,
  `${lines.join("\n")}\n`,
)
writeFileSync(file, written)
