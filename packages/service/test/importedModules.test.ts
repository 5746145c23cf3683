/** What an import of the service loads: `docs/decisions/loaded-modules.md` says why. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, expect, it } from "vitest"

/** Says which modules the program has loaded, when it ends. */
const program = (source: string) => `
import { registerHooks } from "node:module"
const urls = new Set()
registerHooks({
  load(url, context, next) {
    urls.add(url)
    return next(url, context)
  },
})
await (async () => { ${source} })()
console.log(JSON.stringify([...urls].filter((url) => url.startsWith("file:"))))
process.exit()
`

const index = new URL("../src/index.ts", import.meta.url).href

/** The packages of other authors, the number of modules, and those of the emulator. */
const loadedBy = async (source: string) => {
  const args = ["--input-type=module", "-e", program(source)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const urls: ReadonlyArray<string> = JSON.parse(stdout.trim().split("\n").at(-1) ?? "[]")
  const packages = urls.flatMap((url) => {
    const found = [...url.matchAll(/node_modules\/((?:@[^/]+\/)?[^/.][^/]*)\//g)].at(-1)
    return found?.[1] ?? []
  })
  const emulator = urls.filter((url) => url.includes("/packages/emulator/"))
  return { count: urls.length, packages: [...new Set(packages)].toSorted(), emulator }
}

/** Of these the core is made; the rest loads with what needs it. */
const always = ["@noble/ciphers", "@noble/hashes", "cron-parser", "effect", "ipaddr.js", "luxon"]

it("an import of the service loads no driver, picture, document or transport", async () => {
  const { count, packages } = await loadedBy(`await import("${index}")`)
  assert.deepStrictEqual(packages, always)
  // 436 with restrictions, 423 with conversations, 415 with campaigns, 384 before both; 594 when pictures, file types and outgoing calls were loaded too.
  assert.isAtMost(count, 440)
})

it("neither the service nor its stores load simulated phones", async () => {
  const stores = ["memory", "postgres"].map(
    (one) => new URL(`../../store-${one}/src/index.ts`, import.meta.url).href,
  )
  const { emulator } = await loadedBy(
    [index, ...stores].map((url) => `await import("${url}")`).join("\n"),
  )
  assert.deepStrictEqual(emulator, [])
})

it("a service in memory that only sends loads none of them either", async () => {
  const { emulator, packages } = await loadedBy(`
    const { open } = await import("${index}")
    const messaging = await open()
    const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
    await messaging.as(shop).messages.send({ to: { phone: "+15550100002" }, text: "Hello" })
    await messaging.drain()
    await messaging.close()
  `)
  expect(packages).toEqual(always)
  assert.isNotEmpty(emulator)
})
