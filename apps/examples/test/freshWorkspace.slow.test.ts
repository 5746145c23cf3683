/** The program of `docs/testing.md` for other languages: each test begins with a workspace of its own. */
import { open } from "@messaging-service/service"
import { execFile, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, it, onTestFinished } from "vitest"

const root = join(import.meta.dirname, "../../..")
const file = join(root, "apps/examples/src/testing/fresh_workspace.py")

it("the page on testing shows the program word for word", async () => {
  const page = await readFile(join(root, "docs/testing.md"), "utf8")
  assert.include(page, `\`\`\`python\n${await readFile(file, "utf8")}\`\`\``)
})

const hasPython = spawnSync("python3", ["--version"]).status === 0

it.skipIf(!hasPython)("no test finds anything of the test before", async () => {
  const OPERATOR_TOKEN = "only-for-tests-0123456789-0123456789"
  const messaging = await open({ http: { operatorToken: OPERATOR_TOKEN } })
  const handler = messaging.nodeHandler({ dashboard: true })
  const server = createServer((request, response) => void handler(request, response))
  await once(server.listen(0, "127.0.0.1"), "listening")
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await messaging.close()
  })
  const { port } = server.address() as AddressInfo
  const { stdout } = await promisify(execFile)("python3", [file], {
    env: { PATH: process.env["PATH"], URL: `http://127.0.0.1:${port}`, OPERATOR_TOKEN },
  })
  assert.strictEqual(stdout, "one 1\nanother 1\n")
})
