/**
 * Writes `src/reminder/Cron.ts` from a compact source of the tz database:
 *
 *     node test/reminder/makeZoneNames.ts tzdata.zi
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

writeFileSync(
  resolve(import.meta.dirname, "../../src/reminder/Cron.ts"),
  `/**
 * The names of the tz database, zones and links alike, in its own spelling. Made by
 * \`test/reminder/makeZoneNames.ts\`; the database is in the public domain.
 */
export const zoneNames: ReadonlyArray<string> = \`
${lines.join("\n")}
\`
  .trim()
  .split(/\\s/)
`,
)
