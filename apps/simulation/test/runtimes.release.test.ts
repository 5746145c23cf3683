/**
 * A seed is the same history on every runtime: else a failure could not be repeated elsewhere. The
 * digests are compared with each other, since they change with the code.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, it } from "vitest"

const folder = join(import.meta.dirname, "..")
const { arch, platform } = process
const bunArch = arch === "arm64" ? "aarch64" : arch

const modules = join(folder, "../../apps/examples/node_modules")

/** This one, and those that the registry has for this machine. */
const others = [
  join(modules, `node-22-${platform}-${arch}/bin/node`),
  join(modules, `@oven/bun-${platform}-${bunArch}/bin/bun`),
].filter((program) => existsSync(program))

const digests = async (program: string) => {
  const args = [join(folder, "src/main.ts"), "--seeds", "4", "--digests"]
  const { stdout } = await promisify(execFile)(program, args)
  return stdout.split("\n").filter((line) => /^s\d+ [0-9a-f]{16}$/.test(line))
}

it.each(others)("four seeds have the same digests here and on %s", async (program) => {
  const here = await digests(process.execPath)
  assert.lengthOf(here, 4)
  assert.deepStrictEqual(await digests(program), here)
})
