/**
 * Checks the subjects of a range of commits: `area: imperative`, in lower case, at most 72 characters.
 *
 *     pnpm lint:commits main..HEAD
 */
import { execFileSync } from "node:child_process"

const longest = 72

/** One area or several, such as `core`, `store-postgres` or `service/facade`. */
const form = /^[a-z0-9-]+(?:[/,] ?[a-z0-9-]+)*: (\S+)/

/** Words with an ending that does not mark the past, a habit or work in progress. */
const imperatives = new Set(["bring", "embed", "feed", "focus", "need", "ping", "seed", "string"])

/** What keeps a subject from the form; undefined when nothing does. */
export const subjectProblem = (subject: string): string | undefined => {
  if (subject.length > longest) return `has ${subject.length} characters, at most ${longest} fit`
  const [, first] = form.exec(subject) ?? []
  if (first === undefined) return "does not begin with `area: `, in lower case"
  if (first !== first.toLowerCase() && /^[A-Z][a-z]*$/.test(first)) {
    return `begins "${first}" with a capital`
  }
  if (/(?:ed|ing|[^s]s)$/.test(first) && !imperatives.has(first)) {
    return `says "${first}": write what the commit does, as an imperative`
  }
  if (subject.endsWith(".")) return "ends with a full stop"
  return undefined
}

const noCommit = /^0+$/

/** A new branch has no earlier commit: only its last one is checked. */
export const listRevisions = (range: string): ReadonlyArray<string> => {
  const [from = "", to = "HEAD"] = range.split("..")
  return from === "" || noCommit.test(from) ? ["-1", to] : [`${from}..${to}`]
}

const main = (range: string): void => {
  const log = execFileSync(
    "git",
    ["log", "--no-merges", "--format=%h %s", ...listRevisions(range)],
    {
      encoding: "utf8",
    },
  )
  const problems = log
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => {
      const [hash = "", ...words] = line.split(" ")
      const problem = subjectProblem(words.join(" "))
      return problem === undefined ? [] : [`${line}\n  ${hash} ${problem}`]
    })
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}

if (import.meta.main) main(process.argv[2] ?? "main..HEAD")
