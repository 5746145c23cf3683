/** `docs/clients.md`: its programs run unchanged, its Python where Python exists. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { Service, aWorkspace, token } from "./Service.ts"

const guide = resolve(import.meta.dirname, "../../../docs/clients.md")

/** The blocks of that language. */
const getBlocks = async (language: string) =>
  [
    ...(await readFile(guide, "utf8")).matchAll(
      new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"),
    ),
  ].map(([, block = ""]) => block)

const run = promisify(execFile)

const hasPython = spawnSync("python3", ["--version"]).status === 0

/** A folder in which the client is installed, with a file to upload. */
const aProject = async () => {
  const folder = await mkdtemp(join(tmpdir(), "guide-"))
  await mkdir(join(folder, "node_modules/@messaging-service"), { recursive: true })
  const client = join(folder, "node_modules/@messaging-service/client")
  await symlink(resolve(import.meta.dirname, ".."), client, "dir")
  await writeFile(join(folder, "menu.pdf"), "%PDF-1.7\n")
  return folder
}

layer(Service.layer, { excludeTestServices: true })("the guide to clients", (it) => {
  it.effect("has programs in JavaScript that do what they say", () =>
    Effect.flatMap(Service, ({ url }) =>
      Effect.promise(async () => {
        const { client, key, operator } = await aWorkspace(url)
        const to = { phone: "+15550100002" }
        const failing = await client.messages.send({ to: { phone: "+15550100000" }, text: "Hello" })
        const sent = await client.messages.send({ to, text: "Hello" })
        await operator.simulator.settle()
        const later = await client.messages.send({ to, text: "A", send_at: "2100-01-01T00:00:00Z" })

        /** Output of each, with its arguments. */
        const printed: ReadonlyArray<readonly [output: RegExp, ...given: ReadonlyArray<number>]> = [
          [/^\d+ queued\n$/],
          [new RegExp(`^${failing.id} recipient_not_found\n4 and no more\n$`)],
          [/^true\n$/],
          [new RegExp(`^${sent.id} is sent by now\n$`), sent.id],
          [/^application\/pdf 9\n$/],
          [/^svc_live_\w+\n$/],
        ]
        const folder = await aProject()
        const env = {
          ...process.env,
          MESSAGING_SERVICE: url,
          MESSAGING_KEY: key,
          MESSAGING_OPERATOR_KEY: token,
        }
        const getOutput = async (program: string, args: ReadonlyArray<number>) => {
          await writeFile(join(folder, "sample.mjs"), program)
          const line = ["sample.mjs", ...args.map(String)]
          const { stderr, stdout } = await run(process.execPath, line, { cwd: folder, env })
          assert.strictEqual(stderr, "")
          return stdout
        }
        try {
          const programs = await getBlocks("ts")
          assert.lengthOf(programs, printed.length)
          for (const [at, [output, ...args]] of printed.entries()) {
            assert.match(await getOutput(programs[at] ?? "", args), output)
          }
          const cancels = await getOutput(programs[3] ?? "", [later.id])
          assert.strictEqual(cancels, `${later.id} is cancelled\n`)
          assert.strictEqual((await client.messages.get(later.id)).status, "cancelled")
        } finally {
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
          const [recipe = ""] = await getBlocks("python")
          const program = `${recipe}
message = {"to": {"phone": "+15550100002"}, "text": "Hello"}
print(call("${url}", "${key}", "POST", "/api/v2/messages", message)["status"])
try:
    call("${url}", "${key}", "POST", "/api/v2/messages", {"to": {"phone": "1"}, "text": "Hello"})
except RuntimeError as refusal:
    print(refusal)
`
          const { stdout } = await run("python3", ["-c", program])
          assert.match(stdout, /^queued\ninvalid_phone: .+\n$/)
        }),
      ),
  )
})
