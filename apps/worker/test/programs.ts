/**
 * The programs of the tests, built by `pnpm bundle`: they start in a third of the time that their
 * sources take. The runner builds them before the first slow test; the tutorials start the sources.
 */
import { execFile } from "node:child_process"
import { join, resolve } from "node:path"
import { promisify } from "node:util"

const root = resolve(import.meta.dirname, "../../..")

export const programs = {
  server: join(root, "dist/server/main.js"),
  worker: join(root, "dist/worker/main.js"),
} as const

/** Called by the runner (`vitest.config.ts`). Source maps take as long as everything else. */
export const setup = async (): Promise<void> => {
  const rolldown = join(root, "node_modules/rolldown/bin/cli.mjs")
  await promisify(execFile)(process.execPath, [rolldown, "-c", "--no-sourcemap"], { cwd: root })
}
