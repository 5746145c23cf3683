/** The licences of everything that is installed for our packages and programs. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync, readdirSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"

const top = join(import.meta.dirname, "../../..")

/** May be distributed with a program under any licence. */
const allowed: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MPL-2.0",
  "Unlicense",
])

/** The only exceptions, by the one package of ours that depends on them. */
const exceptions: Readonly<Record<string, { readonly licence: string; readonly by: string }>> = {
  libsignal: { licence: "GPL-3.0", by: "@messaging-service/transport-whatsapp" },
}

interface Manifest {
  readonly name?: string
  readonly private?: boolean
  readonly license?: string
  readonly licenses?: ReadonlyArray<{ readonly type: string }>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

/** The path of a package's dependency; null if it is not installed here, as for other machines. */
const find = (folder: string, name: string): string | null => {
  const path = join(folder, "node_modules", name)
  if (existsSync(join(path, "package.json"))) return realpathSync(path)
  return dirname(folder) === folder ? null : find(dirname(folder), name)
}

const ofOurs = ({ name = "" }: Manifest) => name.startsWith("@messaging-service/")

interface Foreign {
  readonly folder: string
  readonly name: string
  readonly licence: string
}

/** Others' packages in a package of ours; what ours add to it is listed with them. */
const broughtBy = (folder: string): ReadonlyArray<Foreign> => {
  const found = new Map<string, Foreign>()
  const missing: Array<string> = []
  const check = (at: string): void => {
    const manifest = readManifest(at)
    const needed = Object.keys(manifest.dependencies ?? {})
    for (const name of new Set([
      ...needed,
      ...Object.keys(manifest.optionalDependencies ?? {}),
      ...Object.keys(manifest.peerDependencies ?? {}),
    ])) {
      const path = find(at, name)
      if (path === null && needed.includes(name)) missing.push(`${name} of ${at}`)
      if (path === null || found.has(path)) continue
      const there = readManifest(path)
      if (ofOurs(there)) continue
      const { license, licenses = [] } = there
      const licence = license ?? licenses.map(({ type }) => type).join(" OR ")
      found.set(path, { folder: path, name, licence })
      check(path)
    }
  }
  check(folder)
  assert.deepStrictEqual(missing, [])
  return [...found.values()]
}

const isAllowed = (licence: string): boolean =>
  licence
    .replaceAll(/[()]/g, "")
    .split(" OR ")
    .some((each) => each.split(" AND ").every((part) => allowed.has(part.trim())))

/** The published packages, and the programs with images. */
const shipped = ["packages", "apps"]
  .flatMap((room) => readdirSync(join(top, room)).map((name) => join(top, room, name)))
  .filter((folder) => existsSync(join(folder, "package.json")))
  .filter(
    (folder) =>
      readManifest(folder).private !== true || /apps\/(?:server|worker|cli)$/.test(folder),
  )
  .map((folder) => ({ name: readManifest(folder).name ?? "", folder, brings: broughtBy(folder) }))

describe("the licences of what comes with our packages", () => {
  it("are allowed, apart from the listed exceptions", () => {
    const count = new Set(shipped.flatMap(({ brings }) => brings.map(({ folder }) => folder)))
    assert.isAbove(count.size, 100)
    const refused = shipped.flatMap(({ brings, name: by }) =>
      brings
        .filter(({ licence }) => !isAllowed(licence))
        .map(({ licence, name }) => [name, { licence, by }] as const),
    )
    assert.deepStrictEqual(refused, Object.entries(exceptions))
  })

  it("are named in the README of the package that depends on an exception", () => {
    for (const [name, { by, licence }] of Object.entries(exceptions)) {
      const found = shipped.find((each) => each.name === by)
      assert.isDefined(found)
      const page = readFileSync(join(found?.folder ?? "", "README.md"), "utf8")
      assert.include(page, name)
      assert.include(page, licence)
    }
  })

  it("are parsed as alternatives and as conditions", () => {
    assert.isTrue(isAllowed("(MIT OR WTFPL)"))
    assert.isFalse(isAllowed("(MIT AND GPL-3.0)"))
    assert.isFalse(isAllowed(""))
  })
})
