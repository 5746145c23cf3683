/**
 * Entry points list their exports one by one, so that nothing is exported by accident. Every name
 * that the READMEs and the examples import exists: no compiler checks READMEs.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")
const read = (file: string): string => readFileSync(resolve(root, file), "utf8")

/** A package's exports, by the path behind its name. */
const listEntries = (folder: string): ReadonlyArray<readonly [specifier: string, file: string]> => {
  const { exports, name } = JSON.parse(read(`${folder}/package.json`)) as {
    readonly name: string
    readonly exports: Readonly<Record<string, string>>
  }
  return Object.entries(exports).flatMap(([path, file]) =>
    file.endsWith(".ts") ? [[join(name, path), join(folder, file)] as const] : [],
  )
}

const all = globSync("packages/*", { cwd: root }).flatMap(listEntries)

it.effect.each(all)("%s names what it exports", ([, file]) =>
  Effect.sync(() => assert.notMatch(read(file), /export \* from/)),
)

/** The imports in the READMEs. */
const entryPoints = all.filter(([specifier]) =>
  ["core", "client", "emulator"].includes(specifier.replace("@messaging-service/", "")),
)

/** The names in braces, as others import them. */
const namesIn = (braces: string): ReadonlyArray<string> =>
  braces
    .split(",")
    .map((name) => name.trim().replace(/^type /, ""))
    .filter((name) => name !== "")

const exportedBy = (file: string): ReadonlyArray<string> =>
  [...read(file).matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, braces = ""]) =>
    namesIn(braces).map((name) => name.split(" as ").at(-1) ?? ""),
  )

/** A text's use of a module: its imported names, and those of the module as a whole. */
const findUsed = (specifier: string, text: string): ReadonlyArray<string> =>
  [...text.matchAll(/import (?:type )?(?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)"/g)]
    .filter(([, , , from]) => from === specifier)
    .flatMap(([, braces, whole = ""]) =>
      braces === undefined
        ? [...text.matchAll(new RegExp(`\\b${whole}\\.(\\w+)`, "g"))].map(([, name = ""]) => name)
        : namesIn(braces).map((name) => name.split(" as ")[0] ?? ""),
    )

const shown = globSync(
  ["README.md", "docs/**/*.md", "{packages,apps}/*/README.md", "apps/examples/src/*.ts"],
  { cwd: root },
)

it.effect.each(entryPoints)("%s has what the READMEs and the examples use of it", ([name, file]) =>
  Effect.sync(() => {
    const used = shown.flatMap((page) => findUsed(name, read(page)))
    assert.isNotEmpty(used)
    assert.includeMembers([...exportedBy(file)], used)
  }),
)

/** The lint rule that keeps adapters from the services above them knows these by their names. */
const callersOfPorts = [
  ...(/callersOfPorts = \[([^\]]*)\]/.exec(read(".oxlint/architecture.js"))?.[1] ?? "").matchAll(
    /"(\w+)"/g,
  ),
].map(([, name = ""]) => name)

it("the core exports each name that the linter refuses to adapters", () => {
  assert.isAbove(callersOfPorts.length, 20)
  assert.includeMembers([...exportedBy("packages/core/src/index.ts")], callersOfPorts)
})

const filesOfTransports = [
  "LibraryGuard",
  "LiveNumbers",
  "NumberOwnership",
  "SessionAccess",
  "Sessions",
  "Shards",
  "SimulatedPhones",
  "Transport",
]

/** The ports that a transport provides or uses, besides those documented with their subject. */
const portsOfTransports = [
  ...globSync(`packages/core/src/*/{${filesOfTransports.join(",")}}.ts`, { cwd: root }).flatMap(
    (file) =>
      [
        ...read(file).matchAll(/^export (?:class|const) (\w+)\b.*Context\.(?:Service|Reference)/gm),
      ].map(([, name = ""]) => name),
  ),
  "ConnectedFromTheStart",
  "NumberProxies",
  "SentTexts",
  "StartingPacing",
]

it("the page on writing a transport names each port that one may provide or use", () => {
  const page = read("docs/writing-a-transport.md")
  assert.isAbove(portsOfTransports.length, 10)
  assert.deepStrictEqual(
    portsOfTransports.filter((name) => !page.includes(`\`${name}\``)),
    [],
  )
})

it("the page on installing names the service with every package of ours that it needs", () => {
  const needed = new Set<string>()
  const add = (name: string): void => {
    if (needed.has(name)) return
    needed.add(name)
    const { dependencies = {} } = JSON.parse(read(`packages/${name}/package.json`)) as {
      readonly dependencies?: Readonly<Record<string, string>>
    }
    for (const [, each = ""] of Object.keys(dependencies)
      .join("\n")
      .matchAll(/^@messaging-service\/(.+)$/gm)) {
      add(each)
    }
  }
  add("service")
  const [, packed = "", named = ""] =
    /^pnpm release build (.+) # in the clone\n.+messaging-service-\{([\w,-]+)\}-\*\.tgz$/m.exec(
      read("docs/installing.md"),
    ) ?? []
  assert.deepStrictEqual(named.split(","), [...needed].toSorted())
  assert.deepStrictEqual(packed.split(" "), named.split(","))
})
