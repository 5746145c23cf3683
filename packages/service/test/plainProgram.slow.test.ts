/**
 * An outside program sees declarations without Effect, few modules, and a process that ends by itself.
 */
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { putDataDirectory } from "@messaging-service/testkit"
import { Effect } from "effect"
import { assert, it, onTestFinished } from "vitest"

const run = promisify(execFile)

const home = join(import.meta.dirname, "..")

/** Every module that a declaration file names. */
const imported = /(?:from|import)\s*\(?\s*["']([^"']+)["']/g

/** The declarations that lead from `file`, and what they import from elsewhere. */
const foreign = async (file: string, seen = new Set<string>()): Promise<ReadonlyArray<string>> => {
  if (seen.has(file)) return []
  seen.add(file)
  const found: Array<string> = []
  for (const [, specifier = ""] of (await readFile(file, "utf8")).matchAll(imported)) {
    if (!specifier.startsWith(".")) found.push(specifier)
    else {
      const next = join(dirname(file), specifier.replace(/\.[jt]s$/, ".d.ts"))
      found.push(...(await foreign(next, seen)))
    }
  }
  return found
}

it("its declarations name nothing of Effect, nor of any other package", async () => {
  const root = join(home, "../..")
  const compiler = join(root, "node_modules/@effect/tsgo/package.json")
  const { bin } = createRequire(import.meta.url)(compiler) as { readonly bin: object }
  const [program = ""] = Object.values(bin) as ReadonlyArray<string>
  const { stdout } = await run(process.execPath, [join(dirname(compiler), program), "get-exe-path"])
  await run(stdout.trim(), ["-b", home])
  assert.deepStrictEqual(await foreign(join(home, "dist/index.d.ts")), [])
})

/** A program over `open` that names every module that it loaded in its last line. */
const makeProgram = (work: string) => `
import { registerHooks } from "node:module"
const loaded = []
registerHooks({
  load: (url, context, next) => {
    loaded.push(url)
    return next(url, context)
  },
})
const { open } = await import(${JSON.stringify(join(home, "src/index.ts"))})
${work}
console.log(JSON.stringify(loaded))
`

/** Runs it until it ends by itself. */
const runProgram = async (work: string) => {
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", makeProgram(work)], {
    cwd: home,
  })
  const lines = stdout.trim().split("\n")
  const loaded = JSON.parse(lines.pop() ?? "[]") as ReadonlyArray<string>
  assert.isAbove(loaded.length, 100)
  return { lines, loaded }
}

const isOfEmulator = (url: string) => /packages\/emulator\/|\/src\/emulator[/.]/.test(url)

/** Opens, sends, listens, drains and closes. */
const inMemory = `
const messaging = await open()
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
const api = messaging.as(shop)
messaging.on("message.sent", ({ message }) => console.log(message.status))
const { id } = await api.messages.send({ to: { phone: "+15550100002" }, text: "Hello" })
await messaging.drain()
console.log((await api.messages.get(id)).status)
await messaging.close()
`

it("a program in memory ends by itself once it has closed, and loads no database", async () => {
  const { lines, loaded } = await runProgram(inMemory)
  assert.deepStrictEqual(lines, ["sent", "sent"])
  assert.isAbove(loaded.filter(isOfEmulator).length, 5)
  assert.deepStrictEqual(
    loaded.filter((url) => /sql-pg|pglite|store-postgres|whatsapp|baileys|effect\/sql/.test(url)),
    [],
  )
})

it("a program with live numbers loads nothing of the simulated ones, whatever its store", async () => {
  const directory = await mkdtemp(join(tmpdir(), "messaging-"))
  onTestFinished(() => rm(directory, { recursive: true }))
  const store = join(home, "../store-postgres/package.json")
  await Effect.runPromise(putDataDirectory(store, directory))
  const { loaded } = await runProgram(`
for (const store of ["memory", { embedded: ${JSON.stringify(directory)} }]) {
  const messaging = await open({ store, transport: "live" })
  await messaging.workspaces.ensure("shop")
  await messaging.close()
}
`)
  assert.deepStrictEqual(loaded.filter(isOfEmulator), [])
})
