import { assert, it } from "@effect/vitest"
import { readFileSync, readdirSync } from "node:fs"
import { version } from "../src/index.ts"

it("the version that processes report is that of every package", () => {
  const packages = new URL("../../", import.meta.url)
  const versions = readdirSync(packages).map((name) => {
    const manifest = readFileSync(new URL(`${name}/package.json`, packages), "utf8")
    return [name, (JSON.parse(manifest) as { readonly version: string }).version]
  })
  assert.deepStrictEqual(
    versions,
    versions.map(([name]) => [name, version]),
  )
})
