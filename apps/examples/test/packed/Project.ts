/**
 * An empty project outside the repository, in which npm has installed the packages as published. It has no
 * workspace links, TypeScript sources and stray dependencies, which hide mistakes inside the repository.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { execFile } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../../../..")

export const readText = (file: string): string => readFileSync(resolve(root, file), "utf8")

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly engines?: Readonly<Record<string, string>>
  readonly scripts?: Readonly<Record<string, string>>
  readonly publishConfig?: { readonly exports: Readonly<Record<string, unknown>> }
}

const readManifest = (file: string): Manifest => JSON.parse(readText(file))

const manifests = globSync("packages/*/package.json", { cwd: root })
  .map(readManifest)
  .filter((manifest) => manifest.private !== true)

export const toManifest = (name: string): Manifest =>
  readManifest(`packages/${name.split("/")[1]}/package.json`)

/** Every published package. */
export const published: ReadonlyArray<string> = manifests.map(({ name }) => name)

/**
 * Not installed because of their dependencies: PostgreSQL itself, and the libraries of WhatsApp and
 * Telegram. These are checked as tarballs, and unpacked without dependencies.
 */
const isHeavy = (name: string): boolean => /\/(testkit|transport-\w+)$/.test(name)

export const heavy: ReadonlyArray<string> = published.filter(isHeavy)

export const installed: ReadonlyArray<string> = published.filter((name) => !isHeavy(name))

/** The importable names of these packages. */
export const getEntryPoints = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  manifests
    .filter(({ name }) => names.includes(name))
    .flatMap(({ name, publishConfig }) =>
      Object.keys(publishConfig?.exports ?? {})
        .filter((path) => !path.endsWith(".json"))
        .map((path) => join(name, path)),
    )

export const entryPoints = getEntryPoints(installed)

class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  command: Schema.String,
  output: Schema.String,
}) {
  override get message() {
    return `${this.command}\n${this.output}`
  }
}

/** Runs a program and returns its output; a failure carries all of its output. */
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

/**
 * Builds all packages in one run of the compiler: `prepack`, which builds each alone, starts thirty
 * programs. `pnpm run check` checks the types, which takes twice as long.
 */
const build = run(
  root,
  "sh",
  "-c",
  '"$(node_modules/.bin/effect-tsgo get-exe-path)" -b --noCheck "$@"',
  "sh",
  ...published.map((name) => `packages/${name.split("/")[1]}`),
)

/** `pnpm pack` of all packages at once. They always name a repository. */
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
    "--ignore-scripts",
    "--pack-destination",
    destination,
  )

const toTarball = (name: string): string => `${name.slice(1).replace("/", "-")}-`

/** Creates a folder with a manifest in it. */
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

/** `npm install`, from npm's own cache where possible. */
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

/** Dependencies of programs in the workspace's versions: `pg` for their own pools, and types. */
const added = [
  "node_modules/@types/node",
  "apps/examples/node_modules/@types/pg",
  "apps/examples/node_modules/pg",
].map((folder) => {
  const { name, version } = JSON.parse(readText(`${folder}/package.json`)) as Record<string, string>
  return `${name}@${version}`
})

/** Libraries with transactions that sends join, from the workspace: an installation of the service brings none. */
const joined = ["drizzle-orm", "kysely"]

/** The test runner that testkit needs, from the workspace. */
const runner = ["vitest", "@effect/vitest"]

/**
 * Unpacks the heavy packages in a folder of the project, without the libraries that they depend on:
 * nothing compiled there uses declarations of those.
 */
const unpackHeavy = Effect.fnUntraced(function* (
  folder: string,
  tarball: (name: string) => string,
) {
  const modules = join(folder, "node_modules")
  for (const name of heavy) {
    const path = join(modules, name)
    yield* Effect.promise(() => mkdir(path, { recursive: true }))
    yield* run(path, "tar", "-xzf", tarball(name), "--strip-components=1")
  }
  yield* Effect.promise(async () => {
    await mkdir(join(modules, "@effect"))
    for (const name of runner) {
      const path = join(root, "packages/testkit/node_modules", name)
      await symlink(await realpath(path), join(modules, name))
    }
  })
})

export class Project extends Context.Service<
  Project,
  {
    readonly path: string
    /** Its subfolder of programs that also find the heavy packages. */
    readonly besideHeavy: string
    /** The packed file of a package. */
    tarball(name: string): string
  }
>()("test/Project") {
  static readonly layer = Layer.effect(
    Project,
    Effect.gen(function* () {
      const created = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "packed-"))),
        (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
      )
      const tarballs = join(created, "tarballs")
      yield* Effect.promise(() => mkdir(tarballs))
      yield* build
      yield* pack(tarballs)
      const files = yield* Effect.promise(() => readdir(tarballs))
      const tarball = (name: string): string => {
        const file = files.find((each) => each.startsWith(toTarball(name)))
        if (file === undefined) throw new Error(`${name} was not packed`)
        return join(tarballs, file)
      }
      const path = yield* project(join(created, "project"), {})
      yield* install(path, ...installed.map(tarball), ...added)
      yield* Effect.promise(async () => {
        for (const name of joined) {
          const location = join(root, "packages/service/node_modules", name)
          await symlink(await realpath(location), join(path, "node_modules", name))
        }
      })
      const besideHeavy = join(path, "heavy")
      yield* unpackHeavy(besideHeavy, tarball)
      return Project.of({ path, besideHeavy, tarball })
    }),
  )
}
