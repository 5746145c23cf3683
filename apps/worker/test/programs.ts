/**
 * The programs of the tests, built by `pnpm bundle`: they start in a third of the time that their
 * sources take. The runner builds them while other tests run, unless those in `dist` are of the same sources.
 * The tutorials start the sources.
 */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { setTimeout } from "node:timers/promises"
import { promisify } from "node:util"
import type { TestProject } from "vitest/node"

const root = resolve(import.meta.dirname, "../../..")

export const programs = {
  server: join(root, "dist/server/main.js"),
  worker: join(root, "dist/worker/main.js"),
} as const

/** What the programs are made of, with the pages of the dashboard. */
const sources = [
  "{packages,apps}/*/{package.json,src/**,pages/**,*.ts}",
  "pnpm-lock.yaml",
  "rolldown.config.ts",
]

/** Says what the programs in `dist` were built from. A bundle that is made by hand removes it. */
const builtFrom = join(root, "dist/server/sources.txt")

declare module "vitest" {
  export interface ProvidedContext {
    /** The hash of the programs' sources. */
    programs: string
  }
}

const hashOfSources = (): string => {
  const hash = createHash("sha256")
  for (const file of globSync(sources, { cwd: root }).toSorted()) {
    const path = join(root, file)
    if (statSync(path).isFile()) hash.update(`${file}\n`).update(readFileSync(path))
  }
  return hash.digest("hex")
}

const isBuilt = (hash: string): boolean => {
  try {
    return readFileSync(builtFrom, "utf8") === hash
  } catch {
    return false
  }
}

/** Called by the runner (`vitest.config.ts`). Source maps take as long as everything else. */
export const setup = ({ provide }: TestProject): (() => Promise<void>) => {
  const hash = hashOfSources()
  provide("programs", hash)
  if (isBuilt(hash)) return () => Promise.resolve()
  rmSync(failure(hash), { force: true })
  const rolldown = join(root, "node_modules/rolldown/bin/cli.mjs")
  const building = promisify(execFile)(process.execPath, [rolldown, "-c", "--no-sourcemap"], {
    cwd: root,
  }).then(
    () => writeFileSync(builtFrom, hash),
    (error: unknown) => writeFileSync(failure(hash), String(error)),
  )
  return () => building
}

/** Says why the programs of these sources could not be built. */
const failure = (hash: string) => join(root, `node_modules/.cache/programs-${hash}.txt`)

/** Returns once the programs are there. Throws what kept them from being built. */
export const awaitPrograms = async (hash: string): Promise<void> => {
  while (!isBuilt(hash)) {
    const said = globSync(failure(hash)).map((file) => readFileSync(file, "utf8"))
    if (said.length > 0) throw new Error(said.join())
    await setTimeout(200)
  }
}
