/**
 * What one import costs a program that is bundled: no more than the code of what it names, since
 * packages say that importing them does nothing. Every function that a package exports is held to it,
 * as a bundler makes it, minified, Effect's part included. It also holds what a service loads only when
 * it is asked for it.
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

/**
 * Functions that cost more, by why they do, each with its own bound in bytes. One that has come below
 * the limit must leave this table.
 */
const dearer: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // `Schema.String` alone takes 70 KB.
  "makes or runs a schema of Effect": {
    "core decoded": 75_000,
    "core described": 73_000,
    "core inputDecoder": 89_000,
    "core parsed": 75_000,
    "core queryDecoder": 90_000,
    "core queryId": 90_000,
    "core refuseParameters": 90_000,
    "core sendRequestParser": 115_000,
    "core textBetween": 76_000,
  },
  // cron-parser with luxon takes 100 KB.
  "reads a cron pattern": {
    "core reminderRequestParser": 235_000,
    "core/schedule parseCron": 117_000,
  },
  // ipaddr.js takes 13 KB, Effect's `Result` 9 KB.
  "reads addresses of networks, and answers with a Result": {
    "core/ports parseOutboundUrl": 25_500,
  },
  // `Effect.sleep` alone takes 23 KB, `Effect.logWarning` and `Effect.retry` 29 KB, `Semaphore` 21 KB.
  "waits or logs as Effect does": {
    "core/ports logTrouble": 34_000,
    "core/ports makeHold": 32_500,
    "core/ports makePlaces": 22_500,
    "core/ports retryUntilStoreAnswers": 32_000,
    "core/ports rarely": 25_000,
    "core/ports sleepInRealTime": 24_000,
  },
  // `Effect.promise` and what it waits with take 75 KB; the rule comes from a package loaded at that time.
  "loads a store to ask it for a rule": {
    "service/compose wrongSchemaName": 77_000,
  },
  // It runs over stores and knows the clock, the log and every error.
  "is a command of the operator's": {
    "core beginEpoch": 334_000,
  },
  // The service `Ids` has its layer with it, and `Layer.sync` alone takes 27 KB.
  "draws ids from their service": {
    "service/compose keepSecret": 49_000,
    "service/compose keptSecret": 49_500,
  },
  "is a layer, or what one is made of": {
    "core/ports makeLiveNumbers": 114_000,
    "emulator layerStoredClock": 184_000,
  },
}

/**
 * The service itself, with the bound of each. Measured in one bundle, since that takes a quarter of the
 * time; there `http` has 60 KB more than alone.
 */
const service: Readonly<Record<string, number>> = {
  "http toWebHandler": 665_000,
  "http webHandler": 665_000,
  "service open": 1_500_000,
  "service/compose databaseCommand": 393_000,
  "service/compose openService": 1_460_000,
  "service/testing openTest": 730_000,
}

/**
 * Functions below the limit that stand on a part of Effect, such as `Result` (9 KB) or an error that is
 * an effect too (12 KB). All others load nothing of it.
 */
const onEffect: ReadonlyArray<string> = [
  "core filesUnavailable",
  "core parseIdempotencyKey",
  "core parseSecretsKey",
  "core parseSecretsKeys",
  "core parseTimeZone",
  "core permit",
  "core refusalOfStore",
  "core refuse",
  "core refuseUnkept",
  "core/ports makeLocalWakeUp",
  "core/ports mayBeginEpoch",
  "core/schedule parseTimeZone",
  "core/time parseTimeZone",
  "service/compose logEntry",
  "service/compose optionalPackage",
  "service/compose storeCannotStart",
  "transport-telegram/settings parseApiHash",
]

/** Entry points of what only Node runs, or tests: no bundle for another runtime holds them. */
const forNodeAlone: ReadonlyArray<string> = [
  "node",
  "store-postgres",
  "store-postgres/emulator",
  "testkit",
  "testkit/openapi",
  "transport-telegram",
  "transport-whatsapp",
]

const packages = join(import.meta.dirname, "../../../packages")

interface Manifest {
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(packages, name, "package.json"), "utf8"))

/** The files of the entry points, by how these are imported, without the scope: `core/ports`. */
const entryPoints = new Map(
  readdirSync(packages).flatMap((name) => {
    const { exports, private: isPrivate = false } = manifestOf(name)
    return Object.entries(isPrivate ? {} : exports)
      .filter(([, file]) => file.endsWith(".ts"))
      .map(([path, file]) => [join(name, path), join(packages, name, file)] as const)
  }),
)

/** Loads as Node does: the runner's own way takes longer. */
const load: (file: string) => Readonly<Record<string, unknown>> = createRequire(import.meta.url)

/** Services and schemas can be called too, but that is not what they are exported for. */
const isFunction = (value: unknown): boolean =>
  typeof value === "function" &&
  !Schema.isSchema(value) &&
  !Context.isKey(value) &&
  !Function.prototype.toString.call(value).startsWith("class ")

/** Every function, with the entry point before it: `core/ports retryUntilStoreAnswers`. */
const functions = [...entryPoints].flatMap(([entryPoint, file]) =>
  forNodeAlone.includes(entryPoint)
    ? []
    : Object.entries(load(file)).flatMap(([name, value]) =>
        isFunction(value) ? `${entryPoint} ${name}` : [],
      ),
)

const importOf = (name: string): string => {
  const [entryPoint = "", imported] = name.split(" ")
  return `export { ${imported} } from ${JSON.stringify(entryPoints.get(entryPoint))}`
}

/** What a program installs beside the service when it uses it. */
const chosen = Object.keys(manifestOf("service").peerDependencies ?? {})

/** Bundles programs that each import one function, and gives the chunks. */
const bundled = (names: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const bundle = await rolldown({
      input: Object.fromEntries(names.map((name) => [name, `import ${name}`])),
      cwd: import.meta.dirname,
      platform: "neutral",
      resolve: { mainFields: ["module", "main"] },
      external: [...builtinModules, /^node:/, ...chosen],
      // Files that an entry point only passes on are not read where nothing of them is used: it makes
      // the same bundle with a third of the work.
      experimental: { lazyBarrel: true },
      plugins: [
        {
          name: "programs",
          resolveId: { filter: { id: /^import / }, handler: (id) => id },
          load: { filter: { id: /^import / }, handler: (id) => importOf(id.slice(7)) },
        },
      ],
    })
    const { output } = await bundle.generate({ format: "esm", minify: true })
    await bundle.close()
    return output.filter((each) => each.type === "chunk")
  })

/** The chunk that a program begins with, and all that this loads at once. */
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

/** What an import of it costs in a bundle of its own. */
const costOf = (name: string) => Effect.map(bundled([name]), (chunks) => costIn(chunks, name))

const boundOf = new Map(
  [...Object.values(dearer), service].flatMap((bounds) => Object.entries(bounds)),
)

const assertBound = (name: string, bytes: number, bound: number) => {
  assert.isAtMost(bytes, bound, name)
  assert.isAtLeast(bytes, limit, `${name} is no exception`)
}

describe("an import", () => {
  it("is measured of every function: what is listed here is exported", () => {
    const unknown = [...boundOf.keys(), ...onEffect].filter((name) => !functions.includes(name))
    assert.deepStrictEqual(unknown, [])
    assert.deepStrictEqual(
      forNodeAlone.filter((name) => !entryPoints.has(name)),
      [],
    )
  })

  it.effect("of one function is less than 20 KB and loads nothing of Effect", () =>
    Effect.gen(function* () {
      const plain = functions.filter((name) => !boundOf.has(name) && !onEffect.includes(name))
      // In one bundle a file counts whole for each function that it has a part of: none costs more alone.
      const chunks = yield* bundled(plain)
      const offending = plain.flatMap((name) => {
        const { bytes, loadsEffect } = costIn(chunks, name)
        return bytes < limit && !loadsEffect ? [] : `${name}: ${bytes} bytes`
      })
      assert.deepStrictEqual(offending, [])
    }),
  )

  it.effect("of a function that stands on a part of Effect is less than 20 KB with it", () =>
    Effect.forEach(onEffect, (name) =>
      Effect.map(costOf(name), ({ bytes, loadsEffect }) => {
        assert.isBelow(bytes, limit, name)
        assert.isTrue(loadsEffect, `${name} loads nothing of Effect: it is listed in vain`)
      }),
    ),
  )

  for (const [why, bounds] of Object.entries(dearer)) {
    it.effect(`of what ${why} keeps to a bound of its own`, () =>
      Effect.forEach(Object.entries(bounds), ([name, bound]) =>
        Effect.map(costOf(name), ({ bytes }) => assertBound(name, bytes, bound)),
      ),
    )
  }

  it.effect(
    "of the service keeps to a bound, and leaves the page of its API until it is asked for",
    () =>
      Effect.gen(function* () {
        const chunks = yield* bundled(Object.keys(service))
        const withThePage = chunks.filter(({ moduleIds }) =>
          moduleIds.some((id) => id.includes("HttpApiScalar")),
        )
        assert.isNotEmpty(withThePage)
        for (const [name, bound] of Object.entries(service)) {
          assertBound(name, costIn(chunks, name).bytes, bound)
          const loaded = atOnce(chunks, name)
          for (const chunk of withThePage)
            assert.isFalse(loaded.has(chunk), `${name} loads the page`)
        }
      }),
  )
})
