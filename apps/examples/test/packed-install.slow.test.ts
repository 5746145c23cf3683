/**
 * What a team gets when it installs the packages: they are built, packed as they would be
 * published, and installed by npm into an empty project, where a program without any build step
 * uses them on the locked Node. Workspace links, TypeScript sources and stray dependencies, which
 * hide mistakes inside the repository, do not exist there.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")

/** What the installed packages must offer, by entry point: names of functions and classes. */
const offered = {
  "@messaging-service/core": ["StoreUnavailable", "Messages"],
  "@messaging-service/core/ports": ["MessageStore", "LaneQueue"],
  "@messaging-service/store-memory": [],
  "@messaging-service/verify-webhook": ["verifyWebhook"],
}

/** Sends a message in test mode with nothing but the two packages and `effect`. */
const sends = `
import * as Core from "@messaging-service/core"
import * as StoreMemory from "@messaging-service/store-memory"
import { Effect, Layer } from "effect"

const ports = Layer.mergeAll(
  StoreMemory.layerMediaFiles,
  Core.Egress.layerClosed,
  Core.WakeUp.layerLocal,
  Core.NumberOwnership.layerAll,
).pipe(
  Layer.provideMerge(StoreMemory.layer),
  Layer.provideMerge(Core.SecretsKey.layerRandom),
  Layer.provideMerge(Core.Ids.layerRandom),
)
const service = Layer.provideMerge(Core.layerServices, ports)

const program = Effect.gen(function* () {
  const { id } = yield* (yield* Core.Workspaces).create("owner", { name: "Empty project" })
  const number = { platform: "whatsapp", phone: "+15550100001" }
  yield* (yield* Core.Numbers).create("owner", id, number)
  const body = { version: 2, name: "Test", mode: "test" }
  const { key } = yield* (yield* Core.Keys).create("owner", id, body)
  const { caller } = yield* (yield* Core.Admission).admitV2("Bearer " + key, "127.0.0.1")
  const messages = yield* Core.Messages
  const message = { to: { phone: "+15550100002" }, text: "Hello" }
  const sent = yield* messages.send(caller, message, null)
  yield* (yield* Core.makeTestModeSender).runOnce
  const after = yield* messages.get(caller, sent.messages[0].id)
  console.log(sent.messages[0].state, after.state)
})
await Effect.runPromise(Effect.provide(program, service))
`

const packages = [
  "@messaging-service/core",
  "@messaging-service/store-memory",
  "@messaging-service/verify-webhook",
]

class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  command: Schema.String,
  output: Schema.String,
}) {
  override get message() {
    return `${this.command}\n${this.output}`
  }
}

/** Runs a program and gives what it printed; a failure carries all of its output. */
const run = (cwd: string, program: string, ...args: ReadonlyArray<string>) =>
  Effect.callback<string, CommandFailed>((resume, signal) => {
    execFile(
      program,
      args,
      { cwd, signal, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const command = [program, ...args].join(" ")
        resume(
          error === null
            ? Effect.succeed(stdout)
            : Effect.fail(
                new CommandFailed({ command, output: `${error.message}\n${stdout}\n${stderr}` }),
              ),
        )
      },
    ).stdin?.end()
  })

const modern = { target: "es2024", module: "nodenext" }

const importsOf = (name: string) => `import * as all from "${name}"`

/** An empty project with the packed packages installed. */
class Project extends Context.Service<Project, { readonly path: string }>()("test/Project") {
  static readonly layer = Layer.effect(
    Project,
    Effect.gen(function* () {
      const path = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "packed-install-"))),
        (made) => Effect.promise(() => rm(made, { recursive: true, force: true })),
      )
      const tarballs = join(path, "tarballs")
      yield* Effect.promise(() => mkdir(tarballs))
      yield* Effect.forEach(packages, (name) =>
        run(
          join(root, "packages", name.replace("@messaging-service/", "")),
          "npx",
          "-y",
          "pnpm@12.21.0",
          "pack",
          "--pack-destination",
          tarballs,
        ),
      )
      const files = yield* Effect.promise(() => readdir(tarballs))
      yield* Effect.promise(() =>
        writeFile(
          join(path, "package.json"),
          JSON.stringify({ name: "empty-project", private: true, type: "module" }),
        ),
      )
      yield* run(
        path,
        "npm",
        "install",
        "--prefer-offline",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        ...files.map((file) => `./tarballs/${file}`),
      )
      return { path }
    }),
  )
}

layer(Project.layer, { timeout: 240_000 })("a project that installs the packages", (it) => {
  it.effect("sends a message with the core and the store in memory", () =>
    Effect.gen(function* () {
      const { path } = yield* Project
      const output = yield* run(path, process.execPath, "--input-type=module", "-e", sends)
      assert.strictEqual(output.trim(), "waiting sent")
    }),
  )

  for (const [name, exports] of Object.entries(offered)) {
    it.effect(`imports ${name} as built JavaScript`, () =>
      Effect.gen(function* () {
        const { path } = yield* Project
        const program = `${importsOf(name)}
console.log(JSON.stringify({
  entry: import.meta.resolve("${name}"),
  missing: ${JSON.stringify(exports)}.filter((name) => typeof all[name] !== "function"),
}))`
        const output = yield* run(path, process.execPath, "--input-type=module", "-e", program)
        const found = JSON.parse(output)
        assert.deepStrictEqual(found.missing, [])
        assert.match(
          found.entry,
          /node_modules\/@messaging-service\/[a-z-]+\/dist\/(index|ports)\.js$/,
        )
      }),
    )

    it.effect(`finds the declarations of ${name}`, () =>
      Effect.gen(function* () {
        const { path } = yield* Project
        const uses = exports.map((it) => `export const ${it}: Function = all.${it}`)
        const tsconfig = {
          compilerOptions: { strict: true, noEmit: true, skipLibCheck: true, types: [], ...modern },
          files: ["program.ts"],
        }
        yield* Effect.promise(async () => {
          await writeFile(join(path, "program.ts"), [importsOf(name), "all", ...uses].join("\n"))
          await writeFile(join(path, "tsconfig.json"), JSON.stringify(tsconfig))
        })
        yield* run(path, process.execPath, join(root, "node_modules/typescript/bin/tsc"))
      }),
    )
  }

  for (const name of packages) {
    it.effect(`gets ${name} with its licence, its description and plain versions`, () =>
      Effect.gen(function* () {
        const { path } = yield* Project
        const installed = join(path, "node_modules", name)
        const files = yield* Effect.promise(() => readdir(installed))
        assert.includeMembers(files, ["LICENSE", "README.md", "dist", "src"])
        const manifest = yield* Effect.promise(() =>
          readFile(join(installed, "package.json"), "utf8"),
        )
        assert.notMatch(manifest, /workspace:|catalog:/)
        assert.notInclude(
          yield* Effect.promise(() => readdir(join(installed, "dist"))),
          ".tsbuildinfo",
        )
      }),
    )
  }
})
