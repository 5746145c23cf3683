/** The packed command line: installed as the guide says, it runs on every Node that it names. */
import { assert, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { promisify } from "node:util"

const runFile = promisify(execFile)

const root = resolve(import.meta.dirname, "../../..")

const node22 = resolve(
  root,
  `apps/examples/node_modules/node-22-${process.platform}-${process.arch}/bin/node`,
)

const nodes = [process.execPath, ...(existsSync(node22) ? [node22] : [])]

it.live("messaging installs without dependencies, and runs on Node 22 and 24", () =>
  Effect.gen(function* () {
    const directory = yield* processes.temporaryDirectory
    yield* Effect.promise(async () => {
      const guide = await readFile(join(root, "docs/clients.md"), "utf8")
      const [, line = ""] = /^pnpm (release build .*)$/m.exec(guide) ?? []
      await runFile("npx", ["-y", "pnpm@12.21.0", ...line.split(" "), "--into", directory], {
        cwd: root,
        env: { ...process.env, REPOSITORY: "https://git.example.com/team/messaging.git" },
      })
      const [tarball = ""] = await readdir(directory)
      const project = join(directory, "project")
      await mkdir(project)
      await writeFile(join(project, "package.json"), '{"private":true}')
      await runFile("npm", ["install", "--offline", "--no-audit", join(directory, tarball)], {
        cwd: project,
      })
      const modules = join(project, "node_modules")
      assert.deepStrictEqual(
        (await readdir(modules)).filter((name) => !name.startsWith(".")),
        ["@messaging-service"],
      )
      const installed = join(modules, "@messaging-service/cli")
      assert.sameMembers(await readdir(installed), ["LICENSE", "README.md", "dist", "package.json"])
      for (const node of nodes) {
        const { stdout } = await runFile(node, [join(modules, ".bin/messaging"), "--version"])
        assert.match(stdout, /^messaging \d+\.\d+\.\d+\n$/)
      }
    })
  }).pipe(Effect.scoped),
)
