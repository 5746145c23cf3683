/**
 * An empty project outside the repository, in which npm has installed the packages as they would be
 * published. Workspace links, TypeScript sources and stray dependencies, which hide mistakes inside
 * the repository, do not exist there.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { execFile } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../../../..")

export const textOf = (file: string): string => readFileSync(resolve(root, file), "utf8")

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly publishConfig?: { readonly exports: Readonly<Record<string, unknown>> }
}

const manifests = globSync("packages/*/package.json", { cwd: root })
  .map((file): Manifest => JSON.parse(textOf(file)))
  .filter((manifest) => manifest.private !== true)

/** Every package that is published. */
export const published: ReadonlyArray<string> = manifests.map(({ name }) => name)

/**
 * What is not installed, because of what it brings along: PostgreSQL itself, and the libraries of
 * WhatsApp and Telegram. These are looked at as tarballs.
 */
const isHeavy = (name: string): boolean => /\/(testkit|transport-\w+)$/.test(name)

export const installed: ReadonlyArray<string> = published.filter((name) => !isHeavy(name))

/** What a program may import of the installed packages. */
export const entryPoints: ReadonlyArray<string> = manifests
  .filter(({ name }) => installed.includes(name))
  .flatMap(({ name, publishConfig }) =>
    Object.keys(publishConfig?.exports ?? {})
      .filter((path) => !path.endsWith(".json"))
      .map((path) => join(name, path)),
  )

class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  command: Schema.String,
  output: Schema.String,
}) {
  override get message() {
    return `${this.command}\n${this.output}`
  }
}

/** Runs a program and gives what it printed; a failure carries all of its output. */
export const run = (cwd: string, program: string, ...args: ReadonlyArray<string>) =>
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

/** `pnpm pack` of all packages at once, which builds them first. They name a repository in any case. */
const pack = (destination: string) =>
  run(
    root,
    "env",
    "REPOSITORY=https://git.example.com/team/messaging.git",
    "npx",
    "-y",
    "pnpm@12.21.0",
    "-r",
    ...published.flatMap((name) => ["--filter", name]),
    "pack",
    "--pack-destination",
    destination,
  )

const tarballOf = (name: string): string => `${name.slice(1).replace("/", "-")}-`

/** Makes a folder with a manifest in it. */
export const project = Effect.fnUntraced(function* (path: string, manifest: object) {
  yield* Effect.promise(async () => {
    await mkdir(path, { recursive: true })
    await writeFile(
      join(path, "package.json"),
      JSON.stringify({ name: "empty-project", private: true, type: "module", ...manifest }),
    )
  })
  return path
})

/** `npm install`, from npm's own cache where it can. */
export const install = (path: string, ...args: ReadonlyArray<string>) =>
  run(
    path,
    "npm",
    "install",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    ...args,
  )

export class Project extends Context.Service<
  Project,
  {
    readonly path: string
    /** The packed file of a package. */
    tarball(name: string): string
  }
>()("test/Project") {
  static readonly layer = Layer.effect(
    Project,
    Effect.gen(function* () {
      const made = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "packed-"))),
        (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
      )
      const tarballs = join(made, "tarballs")
      yield* Effect.promise(() => mkdir(tarballs))
      yield* pack(tarballs)
      const files = yield* Effect.promise(() => readdir(tarballs))
      const tarball = (name: string): string => {
        const file = files.find((each) => each.startsWith(tarballOf(name)))
        if (file === undefined) throw new Error(`${name} was not packed`)
        return join(tarballs, file)
      }
      const path = yield* project(join(made, "project"), {})
      const nodeTypes = `@types/node@${JSON.parse(textOf("node_modules/@types/node/package.json")).version}`
      yield* install(path, ...installed.map(tarball), nodeTypes)
      return Project.of({ path, tarball })
    }),
  )
}
