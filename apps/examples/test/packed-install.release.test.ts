/**
 * The packages as a team installs them: built, packed for publishing, and installed by npm into an
 * empty project. There, programs without a build step use them on every supported Node, on Deno, on
 * Bun and in Next, and every supported TypeScript compiles against them.
 */
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core"
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Context, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { copyFile, readFile, readdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { publint } from "publint"
import { answersAsTheService, operatorToken } from "./mountedService.ts"
import { startNextApp } from "./packed/NextApp.ts"
import {
  Project,
  entryPoints,
  getEntryPoints,
  heavy,
  install,
  toManifest,
  project,
  published,
  run,
  readText,
} from "./packed/Project.ts"
import { embeds, nodes, runtimes, written } from "./packed/runtimes.ts"
import { readmes, writeHeavySnippets, writeSnippets } from "./packed/snippets.ts"

/** Sends a message in test mode with two packages and `effect`. */
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

/** Every entry point exists as built JavaScript, every program of the READMEs runs, and a message is sent. */
const runsAll = `
for (const name of ${JSON.stringify(entryPoints)}) {
  const { pathname } = new URL(import.meta.resolve(name))
  if (!/\\/dist\\/[\\w/-]+\\.js$/.test(pathname)) throw new Error(name + " is " + pathname)
  if (Object.keys(await import(name)).length === 0) throw new Error(name + " offers nothing")
}
for (const file of ${JSON.stringify(readmes.map(({ file }) => file))}) {
  // Those that run a service say how it ends, or it would go on.
  const { dispose } = await import("./snippets/" + file)
  await dispose?.()
}
${sends}`

/**
 * The programs of the READMEs, and every entry point, with the oldest TypeScript and each major
 * version since. The oldest and the newest, each with one way to find modules, also check
 * declarations that no program uses; that takes most of the time, and says nothing more in between.
 * The oldest cannot read some declarations of Effect and of `pg`: it checks ours alone.
 */
const compilers = [
  { typescript: "typescript-5.6", module: "nodenext", declarations: "ours" },
  { typescript: "typescript-6", module: "bundler", declarations: "none" },
  { typescript: "typescript", module: "nodenext", declarations: "none" },
  { typescript: "typescript", module: "bundler", declarations: "all" },
]

const wholeLife = join(import.meta.dirname, "packed/wholeLife.ts")

/** Packages not written for Effect have none of it in their types, and nothing of Node. */
const plain = ["service", "client", "client/webhook"].map((name) => `@messaging-service/${name}`)

const toOptions = (module: string, types: ReadonlyArray<string>) => ({
  strict: true,
  noEmit: true,
  target: "es2023",
  lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
  types,
  ...(module === "bundler"
    ? { module: "esnext", moduleResolution: "bundler" }
    : { module: "nodenext" }),
})

const makeImports = (names: ReadonlyArray<string>): string =>
  names.map((name, at) => `import * as all${at} from "${name}"\nall${at}`).join("\n")

const compileOurs = join(import.meta.dirname, "packed/compileOurs.ts")

/** Compiles files of the project and returns the errors and other output, line by line. */
const compile = (
  path: string,
  typescript: string,
  settings: { readonly compilerOptions: object; readonly include: ReadonlyArray<string> },
  declarations = "all",
) =>
  Effect.gen(function* () {
    yield* Effect.promise(() => writeFile(join(path, "tsconfig.json"), JSON.stringify(settings)))
    const folder = join(import.meta.dirname, "../node_modules", typescript)
    const compiler = declarations === "ours" ? [compileOurs, folder] : [join(folder, "bin/tsc")]
    const output = yield* run(path, process.execPath, ...compiler).pipe(
      Effect.catch((failed) => Effect.succeed(failed.output)),
    )
    return output.split("\n").filter((line) => line !== "")
  })

/** Stores, by their description in the output, and their differences. */
const stores = [
  {
    name: "in memory",
    withStore: Effect.succeed({}),
    expected: {
      placed: [],
      // It has no transaction to join, and nothing outlives its process.
      transactions: "validation_failed",
      restart: "message_not_found",
    },
  },
  {
    name: "on PostgreSQL",
    withStore: Effect.gen(function* () {
      const cluster = yield* Layer.build(
        EmbeddedPostgres.layer({ settings: { synchronous_commit: "on" } }),
      )
      const { url } = yield* Context.get(cluster, EmbeddedPostgres).createDatabase()
      return {
        DATABASE_URL: Redacted.value(url),
        DATA_DIR: yield* processes.temporaryDirectory,
      }
    }),
    // One of two orders was rolled back.
    expected: { placed: ["Order: commit"], transactions: 1, restart: "sent" },
  },
]

/** The program's output: each step with its resulting status. */
const wholeResult = ({ placed, restart, transactions }: (typeof stores)[number]["expected"]) => {
  const sent = ["Hello", ...placed, "Over HTTP", "The menu"]
  return {
    ensuredOnce: true,
    repeat: true,
    transactions,
    cancelled: "cancelled",
    twice: "not_cancellable",
    file: { stored: true, mimeType: "application/pdf" },
    reminders: { isPlanned: true, paused: null, all: 1 },
    client: { workspace: "shop", refused: "invalid_phone" },
    overHttp: "sent",
    drained: { delivered: sent.length + 1, finished: true, sent: sent.length },
    statuses: [...sent.map((text) => `${text}: sent`), "Tomorrow: cancelled"].toSorted(),
    webhooks: ["message.cancelled", ...sent.map(() => "message.sent")],
    heard: ["message.cancelled: Tomorrow", ...sent.map((text) => `message.sent: ${text}`)],
    restart,
    year: [12, "2026-02-01T08:00:00.000Z", "2026-08-01T07:00:00.000Z"],
  }
}

/** Every program of the documentation, a team's program, and imports of every entry point. */
const writePrograms = Effect.gen(function* () {
  const { besideHeavy, path } = yield* Project
  yield* writeSnippets(join(path, "snippets"))
  yield* Effect.promise(() => writeFile(join(path, "all.ts"), makeImports(entryPoints)))
  yield* Effect.promise(() => copyFile(wholeLife, join(path, "wholeLife.ts")))
  yield* writeHeavySnippets(besideHeavy)
  const ofHeavy = makeImports(getEntryPoints(heavy))
  yield* Effect.promise(() => writeFile(join(besideHeavy, "all.ts"), ofHeavy))
})

layer(Project.layer)("a project that installs the packages", (it) => {
  for (const name of published) {
    it.effect(`finds no fault in the file of ${name}`, () =>
      Effect.gen(function* () {
        const { tarball } = yield* Project
        const bytes = new Uint8Array(yield* Effect.promise(() => readFile(tarball(name))))
        const { messages } = yield* Effect.promise(() =>
          publint({ pack: { tarball: bytes.buffer }, level: "suggestion" }),
        )
        assert.deepStrictEqual(messages, [])
        const analysis = yield* Effect.promise(() =>
          checkPackage(createPackageFromTarballData(bytes)),
        )
        assert.isNotFalse(analysis.types)
        // Packing one package builds it first; here all are built at once.
        assert.strictEqual(toManifest(name).scripts?.["prepack"], "pnpm run build")
        // The runtimes for these programs, and no older ones.
        assert.deepStrictEqual(toManifest(name).engines, { node: ">=22.19" })
        // They are modules, for a TypeScript and a Node that know `exports`.
        const problems = "problems" in analysis ? analysis.problems : []
        assert.deepStrictEqual(
          problems.filter(
            (each) =>
              !("resolutionKind" in each) ||
              !["node10", "node16-cjs"].includes(each.resolutionKind),
          ),
          [],
        )
      }),
    )
  }

  for (const { command, name } of nodes) {
    it.effect.skipIf(command === null)(
      `sends a message with the core alone and runs every program of the READMEs on ${name}`,
      () =>
        Effect.gen(function* () {
          const { path } = yield* Project
          yield* writeSnippets(join(path, "snippets"))
          yield* Effect.promise(() => writeFile(join(path, "all.js"), runsAll))
          const { stdout } = yield* written(path, command, "all.js")
          assert.include(stdout.split("\n"), "waiting sent")
        }),
    )
  }

  for (const { command, name } of runtimes) {
    it.effect.skipIf(command === null)(
      `embeds the service on ${name}, where the program prints only its own output and ends by itself`,
      () =>
        Effect.gen(function* () {
          const { path } = yield* Project
          yield* Effect.promise(() => writeFile(join(path, "embeds.js"), embeds))
          const { stderr, stdout } = yield* written(path, command, "embeds.js")
          assert.strictEqual(stderr, "")
          assert.deepStrictEqual(JSON.parse(stdout), {
            finished: true,
            status: "sent",
            heard: 2,
            answered: 202,
          })
        }),
    )
  }

  for (const { expected, name, withStore } of stores) {
    it.effect(
      `sends, joins transactions, cancels, uploads, reminds, tells and restarts in one program of plain TypeScript, ${name}`,
      () =>
        Effect.gen(function* () {
          const { path } = yield* Project
          yield* Effect.promise(() => copyFile(wholeLife, join(path, "wholeLife.ts")))
          const variables = yield* withStore
          const { stderr, stdout } = yield* written(
            path,
            [process.execPath],
            "wholeLife.ts",
            variables,
          )
          assert.strictEqual(stderr, "")
          assert.deepStrictEqual(JSON.parse(stdout), wholeResult(expected))
        }).pipe(Effect.scoped, TestClock.withLive),
    )
  }

  it.effect("answers in a route handler of Next that has routes of its own", () =>
    Effect.gen(function* () {
      const { path } = yield* Project
      const url = yield* startNextApp(join(path, "next"), operatorToken)
      yield* TestClock.withLive(answersAsTheService(url))
      const own = yield* Effect.promise(async () => (await fetch(`${url}/own`)).text())
      assert.strictEqual(own, "my own page")
    }).pipe(Effect.scoped),
  )

  for (const { declarations, module, typescript } of compilers) {
    it.effect(`compiles every program of the documentation with ${typescript}, ${module}`, () =>
      Effect.gen(function* () {
        const { path } = yield* Project
        yield* writePrograms
        const skipLibCheck = declarations === "none"
        const settings = {
          compilerOptions: { ...toOptions(module, ["node"]), skipLibCheck },
          include: ["all.ts", "wholeLife.ts", "snippets", "heavy"],
        }
        assert.deepStrictEqual(yield* compile(path, typescript, settings, declarations), [])
      }),
    )
  }

  it.effect("needs the disk space that the README of the service names", () =>
    Effect.gen(function* () {
      const { path } = yield* Project
      const modules = join(path, "node_modules")
      const bytes = yield* Effect.promise(async () => {
        const all = await readdir(modules, { recursive: true, withFileTypes: true })
        const files = all.filter((each) => each.isFile() && !each.parentPath.includes("/@types/"))
        const sizes = await Promise.all(
          files.map(async ({ name, parentPath }) => (await stat(join(parentPath, name))).size),
        )
        return sizes.reduce((sum, size) => sum + size, 0)
      })
      const [, stated] = /takes (\d+) MB/.exec(readText("packages/service/README.md")) ?? []
      assert.closeTo(bytes / 1_000_000, Number(stated), 5)
    }),
  )

  for (const { copies, version } of [
    { version: "4.99.0", copies: [] },
    { version: "3.19.0", copies: ["4.1.0"] },
  ]) {
    it.effect(`brings ${copies.length} copies of Effect to a host that has ${version}`, () =>
      Effect.gen(function* () {
        const { path, tarball } = yield* Project
        const service = "@messaging-service/service"
        const host = yield* project(join(path, `../host-of-${version}`), {
          dependencies: { effect: "file:./effect", [service]: `file:${tarball(service)}` },
          // Packages from the registry.
          overrides: Object.fromEntries(
            published
              .filter((name) => name !== service)
              .map((name) => [name, `file:${tarball(name)}`]),
          ),
        })
        yield* project(join(host, "effect"), { name: "effect", version })
        yield* install(host, "--package-lock-only")
        const lock = yield* Effect.promise(() => readFile(join(host, "package-lock.json"), "utf8"))
        const { packages } = JSON.parse(lock) as {
          readonly packages: Readonly<Record<string, { readonly version?: string }>>
        }
        const found = Object.entries(packages).flatMap(([place, { version: brought }]) =>
          place.endsWith("/effect") && brought !== undefined ? [brought] : [],
        )
        assert.deepStrictEqual(found, copies)
      }),
    )
  }

  it.effect("has nothing of Effect in the types of packages not written for it", () =>
    Effect.gen(function* () {
      const { path } = yield* Project
      yield* Effect.promise(() => writeFile(join(path, "plain.ts"), makeImports(plain)))
      const files = yield* compile(path, "typescript-5.6", {
        compilerOptions: { ...toOptions("bundler", []), listFiles: true },
        include: ["plain.ts"],
      })
      const read = files.map((file) => /\/project\/node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(file))
      const packages = new Set(read.flatMap((found) => (found === null ? [] : [found[1] ?? ""])))
      assert.sameMembers(
        [...packages],
        plain.filter((name) => !name.endsWith("/webhook")),
      )
      assert.isEmpty(files.filter((line) => line.includes("error TS")))
    }),
  )
})
