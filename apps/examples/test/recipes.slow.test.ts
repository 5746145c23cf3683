/** Programs of `docs/recipes.md`: each sends once to a running service, and prints how it ended. */
import { open } from "@messaging-service/service"
import { execFile, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const folder = join(import.meta.dirname, "../src/recipes")
const run = promisify(execFile)

interface Language {
  readonly name: string
  readonly block: string
  readonly command: ReadonlyArray<string>
  /** All that it needs; without one of them it is left out. */
  readonly needs: ReadonlyArray<ReadonlyArray<string>>
}

const languages: Readonly<Record<string, Language>> = {
  "send.sh": {
    name: "curl",
    block: "sh",
    command: ["sh"],
    needs: [
      ["curl", "--version"],
      ["jq", "--version"],
    ],
  },
  "send.ts": { name: "TypeScript", block: "ts", command: [process.execPath], needs: [] },
  "send.py": {
    name: "Python",
    block: "python",
    command: ["python3"],
    needs: [["python3", "--version"]],
  },
  "send.php": { name: "PHP", block: "php", command: ["php"], needs: [["php", "--version"]] },
  "send.go": { name: "Go", block: "go", command: ["go", "run"], needs: [["go", "version"]] },
}

const missing = ({ needs }: Language): ReadonlyArray<string> =>
  needs.flatMap(([program = "", ...args]) =>
    spawnSync(program, args).status === 0 ? [] : [program],
  )

const messaging = await open({ http: { operatorToken: "an operator token for the recipes" } })
const server = createServer((request, response) => {
  void messaging.nodeHandler(request, response)
})
const directory = await mkdtemp(join(tmpdir(), "recipes-"))
const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"))

afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await messaging.close()
  await rm(directory, { recursive: true, force: true })
})

describe("the recipes for callers", () => {
  it("are the files of the folder, word for word", async () => {
    const page = await readFile(join(import.meta.dirname, "../../../docs/recipes.md"), "utf8")
    assert.sameMembers(await readdir(folder), Object.keys(languages))
    for (const [file, { block }] of Object.entries(languages)) {
      assert.include(page, `\`\`\`${block}\n${await readFile(join(folder, file), "utf8")}\`\`\``)
    }
  })

  for (const [file, language] of Object.entries(languages)) {
    const absent = missing(language)
    const { command, name } = language
    if (absent.length > 0)
      console.warn(`The recipe in ${name} is left out: no ${absent.join(", ")}.`)
    it.skipIf(absent.length > 0)(`in ${name} send once, and say how it ended`, async () => {
      const { id } = await messaging.workspaces.create({ name })
      await messaging
        .operator({ id })
        .numbers.create({ platform: "whatsapp", phone: "+15550100001" })
      const { key } = await messaging.operator({ id }).keys.create({ version: 2, name })
      const [program = "", ...args] = command
      for (const _ of ["first", "again"]) {
        const { stdout } = await run(program, [...args, join(folder, file)], {
          env: {
            PATH: process.env["PATH"],
            URL: url(),
            KEY: key,
            HOME: directory,
            GOCACHE: join(directory, "go"),
            GOROOT: process.env["GOROOT"],
          },
        })
        assert.strictEqual(stdout, "sent\n")
      }
      let sent = 0
      for await (const _ of messaging.as({ id }).messages.list()) sent++
      assert.strictEqual(sent, 1)

      const refused = await run(program, [...args, join(folder, file)], {
        env: { ...process.env, URL: url(), KEY: "svc_live_wrong", GOCACHE: join(directory, "go") },
      }).catch((error: unknown) => error as { readonly code: number; readonly stderr: string })
      assert.isAbove("code" in refused ? refused.code : 0, 0)
    })
  }
})
