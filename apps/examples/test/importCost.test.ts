/**
 * What one import costs a program that is bundled: no more than the code of what it names, since
 * packages say that importing them does nothing. Measured as a bundler makes it, Effect's part
 * included. It also holds what a service loads only when it is asked for it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { builtinModules } from "node:module"
import { join } from "node:path"
import { rolldown } from "rolldown"
import type { OutputChunk } from "rolldown"

/** Functions and tables that need none of the service, by what they are imported from. */
const plain: Readonly<Record<string, ReadonlyArray<string>>> = {
  "@messaging-service/core": [
    "bearerToken",
    "fingerprint",
    "formatInstant",
    "isBlank",
    "isGroupName",
    "newSecretsKey",
    "offsetOfPage",
    "parseId",
    "parseInstant",
    "parsePhone",
    "parseUsername",
    "requestId",
    "uploadedFileName",
  ],
  "@messaging-service/core/ports": [
    "claimOutcome",
    "countExactly",
    "fromIndexes",
    "hasExpired",
    "isClaimVoid",
    "isClaimable",
    "isPublicAddress",
    "isRecordVoid",
    "isToldOf",
    "mediaTypeOf",
    "pageOf",
    "quotaVerdict",
    "recipientName",
    "reconnectPauseMillis",
    "statusAt",
    "transition",
  ],
  "@messaging-service/core/errors": ["catalogue"],
  "@messaging-service/core/phone": ["parsePhone", "phoneDigits"],
  "@messaging-service/core/time": ["formatInstant", "parseInstant"],
  "@messaging-service/verify-webhook": ["verifyCallback", "verifyWebhook"],
}

/**
 * Those that stand on a part of Effect. Each is bundled alone: what two programs of one bundle use of
 * a module would count for both.
 */
const onEffect: ReadonlyArray<readonly [from: string, name: string]> = [
  ["@messaging-service/core", "parseSecretsKey"],
  ["@messaging-service/core", "parseSecretsKeys"],
  ["@messaging-service/core", "parseTimeZone"],
  ["@messaging-service/core/time", "momentInZone"],
]

/** Bundles programs that each stand as text, and gives the chunks by name of file. */
const bundled = (programs: Readonly<Record<string, string>>) =>
  Effect.promise(async () => {
    const bundle = await rolldown({
      input: Object.fromEntries(Object.keys(programs).map((file) => [file, file])),
      cwd: import.meta.dirname,
      platform: "neutral",
      resolve: { mainFields: ["module", "main"] },
      external: [...builtinModules, /^node:/],
      plugins: [
        {
          name: "programs",
          resolveId: (id) => (id in programs ? join(import.meta.dirname, id) : undefined),
          load: (id) => programs[id.slice(import.meta.dirname.length + 1)],
        },
      ],
    })
    const { output } = await bundle.generate({ format: "esm", minify: true })
    await bundle.close()
    const chunks = output.filter((each) => each.type === "chunk")
    return new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  })

type Chunks = ReadonlyMap<string, OutputChunk>

/** A chunk and all that it loads at once. */
const loadedWith = (chunks: Chunks, fileName: string, seen = new Set<string>()): Set<string> => {
  if (seen.has(fileName)) return seen
  seen.add(fileName)
  for (const next of chunks.get(fileName)?.imports ?? []) loadedWith(chunks, next, seen)
  return seen
}

const startOf = (chunks: Chunks, program: string): OutputChunk => {
  const start = [...chunks.values()].find(({ isEntry, name }) => isEntry && name === program)
  if (start === undefined) throw new Error(`there is no ${program}`)
  return start
}

const bytesOf = (chunks: Chunks, program: string): number =>
  [...loadedWith(chunks, startOf(chunks, program).fileName)]
    .map((fileName) => chunks.get(fileName)?.code.length ?? 0)
    .reduce((sum, length) => sum + length, 0)

const importOf = (name: string, from: string) => `export { ${name} } from "${from}"`

const limit = 20_000

describe("an import", () => {
  it.effect("of one function or table is less than 20 KB, and loads nothing of Effect", () =>
    Effect.gen(function* () {
      const programs = Object.fromEntries(
        Object.entries(plain).flatMap(([from, names]) =>
          names.map((name) => [`${name} of ${from.replaceAll("/", " ")}`, importOf(name, from)]),
        ),
      )
      const chunks = yield* bundled(programs)
      for (const program of Object.keys(programs)) {
        assert.isBelow(bytesOf(chunks, program), limit, program)
      }
      for (const { moduleIds } of chunks.values()) {
        assert.deepStrictEqual(
          moduleIds.filter((id) => /node_modules\/effect\//.test(id)),
          [],
        )
      }
    }),
  )

  for (const [from, name] of onEffect) {
    it.effect(`of ${name} is less than 20 KB with the part of Effect that it stands on`, () =>
      Effect.map(bundled({ [name]: importOf(name, from) }), (chunks) =>
        assert.isBelow(bytesOf(chunks, name), limit),
      ),
    )
  }

  it.effect("of the HTTP interface leaves the page of the API until it is asked for", () =>
    Effect.gen(function* () {
      const name = "toWebHandler"
      const chunks = yield* bundled({ [name]: importOf(name, "@messaging-service/http") })
      const withThePage = [...chunks.values()].filter(({ moduleIds }) =>
        moduleIds.some((id) => id.includes("HttpApiScalar")),
      )
      assert.isNotEmpty(withThePage)
      const atOnce = loadedWith(chunks, startOf(chunks, name).fileName)
      for (const { fileName } of withThePage) assert.isFalse(atOnce.has(fileName), fileName)
    }),
  )
})
