/** Which failed files run once more alone (`.ci/test.ts`). */
import { assert, describe, it } from "@effect/vitest"
import { resolve } from "node:path"

const { failedFiles, mayBeUnstable } = (await import(
  resolve(import.meta.dirname, "../../../.ci/test.ts")
)) as {
  readonly failedFiles: (report: string) => ReadonlyArray<string> | null
  readonly mayBeUnstable: (
    failed: ReadonlyArray<string> | null,
    former: ReadonlyArray<string>,
  ) => boolean
}

const makeReport = (...files: ReadonlyArray<readonly [name: string, status: string]>) =>
  JSON.stringify({ testResults: files.map(([name, status]) => ({ name, status })) })

describe("failed test files", () => {
  it("are those whose tests or hooks failed", () => {
    const report = makeReport(["a.test.ts", "failed"], ["b.test.ts", "passed"])
    assert.deepStrictEqual(failedFiles(report), ["a.test.ts"])
  })

  it("are unknown when the runner failed without one", () => {
    assert.isNull(failedFiles(makeReport(["a.test.ts", "passed"])))
  })

  it("run once more, at most three of a whole run", () => {
    assert.isTrue(mayBeUnstable(["a", "b", "c"], []))
    assert.isTrue(mayBeUnstable(["a", "b"], ["b", "c"]))
    assert.isFalse(mayBeUnstable(["a", "b", "c", "d"], []))
    assert.isFalse(mayBeUnstable(["a"], ["b", "c", "d"]))
    assert.isFalse(mayBeUnstable(null, []))
  })
})
