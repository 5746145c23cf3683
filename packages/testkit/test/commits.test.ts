/** The check of commit subjects (`.ci/lintCommits.ts`). */
import { assert, it } from "@effect/vitest"
import { resolve } from "node:path"

const { listRevisions, subjectProblem } = (await import(
  resolve(import.meta.dirname, "../../../.ci/lintCommits.ts")
)) as {
  readonly listRevisions: (range: string) => ReadonlyArray<string>
  readonly subjectProblem: (subject: string) => string | undefined
}

it.each([
  "worker: share one due-time poll across idle loops",
  "store-postgres: bring the schema up to date in one transaction",
  "service/facade: pass ids as values",
  "docs, http: name the 4xx codes of a send",
  "http: GET /health/ready answers 503 while the disk is full",
  `core: ${"a".repeat(66)}`,
])("%s: is accepted", (subject) => {
  assert.isUndefined(subjectProblem(subject))
})

it.each([
  [`core: ${"a".repeat(67)}`, "73 characters"],
  ["Share one due-time poll", "`area: `"],
  ["Core: share one poll", "`area: `"],
  ["core share one poll", "`area: `"],
  ["core:", "`area: `"],
  ["core: Share one poll", "capital"],
  ["core: shared one poll", "imperative"],
  ["core: sharing one poll", "imperative"],
  ["core: shares one poll", "imperative"],
  ["core: share one poll.", "full stop"],
])("%s: is refused", (subject, reason) => {
  assert.include(subjectProblem(subject), reason)
})

it("checks a range as a whole, and the last commit of a new branch", () => {
  assert.deepStrictEqual(listRevisions("1f2e3d..HEAD"), ["1f2e3d..HEAD"])
  assert.deepStrictEqual(listRevisions(`${"0".repeat(40)}..a1b2c3`), ["-1", "a1b2c3"])
})
