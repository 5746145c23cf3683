/** `docs/clients.md`: its TypeScript is that of `guide.ts`, which runs; its Python runs where there is one. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { runGuide } from "./guide.ts"
import { Service, aWorkspace, token } from "./Service.ts"

const guide = resolve(import.meta.dirname, "../../../docs/clients.md")

/** The blocks of that language. */
const blocksOf = async (language: string) =>
  [
    ...(await readFile(guide, "utf8")).matchAll(
      new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"),
    ),
  ].map(([, block = ""]) => block)

const withoutIndents = (text: string) => text.replaceAll(/^ +/gm, "").trim()

const hasPython = spawnSync("python3", ["--version"]).status === 0

layer(Service.layer, { excludeTestServices: true })("the guide to clients", (it) => {
  it.effect("shows the code that is run here", () =>
    Effect.promise(async () => {
      const source = withoutIndents(
        await readFile(resolve(import.meta.dirname, "guide.ts"), "utf8"),
      )
      const blocks = await blocksOf("ts")
      assert.isAtLeast(blocks.length, 6)
      for (const block of blocks) assert.include(source, withoutIndents(block))
    }),
  )

  it.effect("does what it says", () =>
    Effect.flatMap(Service, ({ url }) =>
      Effect.promise(async () => {
        const { client, key, operator } = await aWorkspace(url)
        const folder = await mkdtemp(join(tmpdir(), "guide-"))
        await writeFile(join(folder, "menu.pdf"), "%PDF-1.7\n")
        const failing = await client.messages.send({ to: { phone: "+15550100000" }, text: "Hello" })
        await operator.simulator.settle()
        const reported: Array<readonly [number, string | undefined]> = []
        const { fetch } = globalThis
        try {
          const done = await runGuide({
            key,
            token,
            folder,
            report: (id, what) => reported.push([id, what]),
            // The guide's address leads here.
            fetch: (address, init) =>
              fetch(address.replace("https://messages.example.com", url), init),
          })
          assert.deepStrictEqual(reported[0], [failing.id, "recipient_not_found"])
          assert.include(
            done.data.map(({ id }) => id),
            done.message.id,
          )
          assert.strictEqual(done.media.mime_type, "application/pdf")
          assert.match(done.created.key, /^svc_live_/)
        } finally {
          globalThis.fetch = fetch
          await rm(folder, { recursive: true })
        }
      }),
    ),
  )

  it.effect.skipIf(!hasPython)(
    "has a recipe in Python that sends, and tells what was refused",
    () =>
      Effect.flatMap(Service, ({ url }) =>
        Effect.promise(async () => {
          const { key } = await aWorkspace(url)
          const [recipe = ""] = await blocksOf("python")
          const program = `${recipe}
message = {"to": {"phone": "+15550100002"}, "text": "Hello"}
print(call("${url}", "${key}", "POST", "/api/v2/messages", message)["status"])
try:
    call("${url}", "${key}", "POST", "/api/v2/messages", {"to": {"phone": "1"}, "text": "Hello"})
except RuntimeError as refusal:
    print(refusal)
`
          const output = await new Promise<string>((done, fail) =>
            execFile("python3", ["-c", program], (error, stdout, stderr) =>
              error === null ? done(stdout) : fail(new Error(stderr)),
            ),
          )
          assert.match(output, /^queued\ninvalid_phone: .+\n$/)
        }),
      ),
  )
})
