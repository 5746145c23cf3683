/**
 * Runs tests. Files that failed run once more, one at a time, after all others have ended. What
 * fails again is a fault. What passes alone is named `unstable` and does not refuse the change.
 *
 *     node .ci/test.ts [arguments of vitest run]
 *
 * A try at once, under the same load, would fail again; and a hook that failed is never tried twice there.
 * `UNSTABLE` names the file that collects the names over several calls.
 */
import { spawnSync } from "node:child_process"
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")

/** Of a whole run. More failed files are not noise. */
const unstableMax = 3

interface Report {
  readonly testResults: ReadonlyArray<{ readonly name: string; readonly status: string }>
}

/** The failed files of a report; null when the runner failed without one. */
export const failedFiles = (report: string): ReadonlyArray<string> | null => {
  const { testResults } = JSON.parse(report) as Report
  const failed = testResults.filter(({ status }) => status === "failed").map(({ name }) => name)
  return failed.length === 0 ? null : failed
}

/** Whether failed files deserve a second run: `former` are those that were unstable before. */
export const mayBeUnstable = (
  failed: ReadonlyArray<string> | null,
  former: ReadonlyArray<string>,
): failed is ReadonlyArray<string> =>
  failed !== null && new Set([...former, ...failed]).size <= unstableMax

/** Empty when all passed; null when the runner itself failed. */
const runTests = (report: string, args: ReadonlyArray<string>): ReadonlyArray<string> | null => {
  const vitest = join(root, "node_modules/vitest/vitest.mjs")
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`]
  const { status } = spawnSync(process.execPath, [vitest, "run", ...args, ...reporters], {
    cwd: root,
    stdio: "inherit",
  })
  if (status === 0) return []
  if (!existsSync(report)) return null
  const failed = failedFiles(readFileSync(report, "utf8"))
  return failed === null ? null : failed.map((file) => relative(root, file))
}

const main = (args: ReadonlyArray<string>, unstable: string): boolean => {
  const folder = mkdtempSync(join(tmpdir(), "reports-"))
  try {
    const failed = runTests(join(folder, "first.json"), args)
    if (failed?.length === 0) return true
    const former = existsSync(unstable) ? readFileSync(unstable, "utf8").trim().split("\n") : []
    if (
      !mayBeUnstable(
        failed,
        former.filter((name) => name !== ""),
      )
    )
      return false
    console.log(`\nfailed beside others, once more alone: ${failed.join(", ")}`)
    const projects = args.filter((arg, at) => arg === "--project" || args[at - 1] === "--project")
    const alone = [...projects, ...failed, "--no-file-parallelism"]
    if (runTests(join(folder, "again.json"), alone)?.length !== 0) return false
    for (const file of failed) console.log(`unstable: ${file}`)
    appendFileSync(unstable, `${failed.join("\n")}\n`)
    return true
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const unstable =
    process.env["UNSTABLE"] ?? join(mkdtempSync(join(tmpdir(), "unstable-")), "files")
  if (!main(process.argv.slice(2), unstable)) process.exitCode = 1
}
