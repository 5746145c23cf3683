/** The package has the types of today's document, and loads little. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import { apiTypes } from "../apiTypes.ts"
import { typesFile } from "../generate.ts"

/** Gzipped bytes of a program that imports that, and its external modules. */
const bundled = async (program: string) => {
  const build = await rolldown({
    input: "program",
    platform: "neutral",
    resolve: { conditionNames: ["import"] },
    plugins: [
      {
        name: "program",
        resolveId: (id) => (id === "program" ? resolve(import.meta.dirname, "program.ts") : null),
        load: (id) => (id.endsWith("program.ts") ? program : null),
      },
    ],
  })
  const { output } = await build.generate({ format: "esm", minify: true })
  await build.close()
  const [chunk] = output
  return {
    bytes: gzipSync(chunk.code).length,
    imports: [...chunk.imports, ...chunk.dynamicImports],
  }
}

it.effect("the types are those of today's document: else run `pnpm generate`", () =>
  Effect.promise(async () => {
    assert.isTrue((await readFile(typesFile, "utf8")) === (await apiTypes()))
  }),
)

it.effect("the whole is at most 10 KB gzipped, and loads nothing else", () =>
  Effect.promise(async () => {
    const { bytes, imports } = await bundled(`export * from "@messaging-service/client"`)
    assert.deepStrictEqual(imports, [])
    assert.isAtMost(bytes, 10 * 1024)
  }),
)

it.effect("what verifies webhooks loads nothing of the client", () =>
  Effect.promise(async () => {
    const { bytes, imports } = await bundled(`export * from "@messaging-service/client/webhook"`)
    assert.deepStrictEqual(imports, [])
    assert.isAtMost(bytes, 2048)
  }),
)
