/**
 * Writes `src/reminder/zoneNames.ts` from a compact source of the tz database:
 *
 *     node scripts/zoneNames.ts tzdata.zi
 *
 * `tzdata.zi` comes with every release and with most systems, beside their compiled zones.
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
  // What a machine shows until its zone is set.
  .filter((name) => name !== "Factory")
  .toSorted()

writeFileSync(
  resolve(import.meta.dirname, "../src/reminder/zoneNames.ts"),
  `/**
 * The names of the tz database, zones and links alike, in its own spelling. Made by \`scripts/zoneNames.ts\`; the
 * database is in the public domain.
 */
export const zoneNames: ReadonlyArray<string> = \`
${names.join("\n")}
\`
  .trim()
  .split("\\n")
`,
)
