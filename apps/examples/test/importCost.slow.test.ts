/**
 * The bundle size of one import. The package for callers, `client`, runs in browsers and on the
 * edge: each of its functions is small and loads nothing of Effect. The service has a bound as a
 * whole, and loads the page of its API only on request.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { readFileSync, readdirSync } from "node:fs"
import { builtinModules, createRequire } from "node:module"
import { join } from "node:path"
import { rolldown } from "rolldown"
import type { OutputChunk } from "rolldown"

/** Bytes. */
const limit = 20_000

/** Entry points from which programs import single functions. */
const forCallers: ReadonlyArray<string> = ["client", "client/webhook"]

/**
 * The service's own entry points, with the bound of each. Measured in one bundle, which takes a
 * quarter of the time; `http` has 60 KB more there than alone.
 */
const service: Readonly<Record<string, number>> = {
  "http toWebHandler": 808_500,
  "http webHandler": 808_500,
  "service open": 750_000,
  "service/compose runDatabaseCommand": 430_000,
  "service/compose openService": 705_500,
  "service/testing openTest": 884_500,
}

const packages = join(import.meta.dirname, "../../../packages")

interface Manifest {
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const toManifest = (name: string): Manifest =>
  JSON.parse(readFileSync(join(packages, name, "package.json"), "utf8"))

/** The files of the entry points, by import name without the scope: `service/testing`. */
const entryPoints = new Map(
  readdirSync(packages).flatMap((name) => {
    const { exports, private: isPrivate = false } = toManifest(name)
    return Object.entries(isPrivate ? {} : exports)
      .filter(([, file]) => file.endsWith(".ts"))
      .map(([path, file]) => [join(name, path), join(packages, name, file)] as const)
  }),
)

/** Loads as Node does: the runner's own way takes longer. */
const load: (file: string) => Readonly<Record<string, unknown>> = createRequire(import.meta.url)

/** Services and schemas are callable too, but are not exported as functions. */
const isFunction = (value: unknown): boolean =>
  typeof value === "function" &&
  !Schema.isSchema(value) &&
  !Context.isKey(value) &&
  !Function.prototype.toString.call(value).startsWith("class ")

/** Every function, after its entry point: `client makeClient`. */
const functions = [...entryPoints].flatMap(([entryPoint, file]) =>
  forCallers.includes(entryPoint)
    ? Object.entries(load(file)).flatMap(([name, value]) =>
        isFunction(value) ? `${entryPoint} ${name}` : [],
      )
    : [],
)

const toImport = (name: string): string => {
  const [entryPoint = "", imported] = name.split(" ")
  return `export { ${imported} } from ${JSON.stringify(entryPoints.get(entryPoint))}`
}

/** Optional packages that a program installs with the service. */
const chosen = Object.keys(toManifest("service").peerDependencies ?? {})

/** Bundles programs that each import one function, and returns the chunks. */
const bundled = (names: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const bundle = await rolldown({
      input: Object.fromEntries(names.map((name) => [name, `import ${name}`])),
      cwd: import.meta.dirname,
      platform: "neutral",
      resolve: { mainFields: ["module", "main"] },
      external: [...builtinModules, /^node:/, ...chosen],
      // Skips unused files that an entry point only re-exports: the same bundle with a third of the work.
      experimental: { lazyBarrel: true },
      plugins: [
        {
          name: "programs",
          resolveId: { filter: { id: /^import / }, handler: (id) => id },
          load: { filter: { id: /^import / }, handler: (id) => toImport(id.slice(7)) },
        },
      ],
    })
    const { output } = await bundle.generate({ format: "esm", minify: true })
    await bundle.close()
    return output.filter((each) => each.type === "chunk")
  })

/** The chunk that a program starts with, and everything that it loads at once. */
const atOnce = (chunks: ReadonlyArray<OutputChunk>, program: string): ReadonlySet<OutputChunk> => {
  const loaded = new Set(chunks.filter(({ isEntry, name }) => isEntry && name === program))
  if (loaded.size === 0) throw new Error(`there is no ${program}`)
  for (const { imports } of loaded) {
    for (const chunk of chunks) if (imports.includes(chunk.fileName)) loaded.add(chunk)
  }
  return loaded
}

interface Cost {
  readonly bytes: number
  readonly loadsEffect: boolean
}

const costIn = (chunks: ReadonlyArray<OutputChunk>, name: string): Cost => {
  const loaded = [...atOnce(chunks, name)]
  return {
    bytes: loaded.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0),
    loadsEffect: loaded.some(({ moduleIds }) =>
      moduleIds.some((id) => id.includes("node_modules/effect/")),
    ),
  }
}

describe("an import", () => {
  it.effect("of a caller's function is less than 20 KB and loads nothing of Effect", () =>
    Effect.gen(function* () {
      assert.isAtLeast(functions.length, 4)
      // One bundle counts a shared file in full for each function that uses it: none costs more alone.
      const chunks = yield* bundled(functions)
      const offending = functions.flatMap((name) => {
        const { bytes, loadsEffect } = costIn(chunks, name)
        return bytes < limit && !loadsEffect ? [] : `${name}: ${bytes} bytes`
      })
      assert.deepStrictEqual(offending, [])
    }),
  )

  it.effect("of the service stays within its bound, and loads the page of its API on request", () =>
    Effect.gen(function* () {
      const chunks = yield* bundled(Object.keys(service))
      const withThePage = chunks.filter(({ moduleIds }) =>
        moduleIds.some((id) => id.includes("HttpApiScalar")),
      )
      assert.isNotEmpty(withThePage)
      for (const [name, bound] of Object.entries(service)) {
        assert.isAtMost(costIn(chunks, name).bytes, bound, name)
        const loaded = atOnce(chunks, name)
        for (const chunk of withThePage) assert.isFalse(loaded.has(chunk), `${name} loads the page`)
      }
    }),
  )
})
