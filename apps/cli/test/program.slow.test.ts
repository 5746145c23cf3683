/** The program as a process: the bundle, which the runner makes before the first slow test. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdir, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { Running, aWorkspace } from "./Running.ts"

const program = resolve(import.meta.dirname, "../../../dist/cli/main.js")

/** Runs a program to its end. */
const processOf = (
  command: string,
  line: ReadonlyArray<string>,
  options: { readonly env: NodeJS.ProcessEnv; readonly cwd?: string },
) =>
  new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((done) =>
    execFile(command, line, options, (error, stdout, stderr) =>
      done({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    ).stdin?.end(),
  )

layer(Running.layer, { excludeTestServices: true })("the program as a process", (it) => {
  const test = (name: string, body: (running: typeof Running.Service) => Promise<void>) =>
    it.effect(name, () => Effect.flatMap(Running, (running) => Effect.promise(() => body(running))))

  /** A shell in which the program is a command. */
  const aShell = async ({ directory, url }: typeof Running.Service) => {
    const { key } = await aWorkspace(url)
    const bin = join(directory, "bin")
    await mkdir(bin, { recursive: true })
    const script = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`
    await writeFile(join(bin, "messaging"), script, { mode: 0o755 })
    const env = {
      PATH: `${bin}:${process.env["PATH"]}`,
      MESSAGING_URL: url,
      MESSAGING_KEY: key,
    }
    return (lines: string) => processOf("bash", ["--norc", "-ec", lines], { env })
  }

  test("completes in bash, says what is wrong, and may be left early by what reads it", async (running) => {
    const shell = await aShell(running)
    const [left, missing, completed] = await Promise.all([
      shell("set -o pipefail; messaging --help | true"),
      shell("messaging get 1000000"),
      shell(
        `eval "$(messaging completion bash)"; COMP_WORDS=(messaging reminders p); COMP_CWORD=2; _messaging; echo "\${COMPREPLY[*]}"`,
      ),
    ])
    assert.deepStrictEqual(left, { code: 0, stdout: "", stderr: "" })
    assert.strictEqual(missing.code, 5)
    assert.match(missing.stderr, /^messaging: .*message_not_found/)
    assert.strictEqual(completed.stdout, "pause\n")
  })

  test("is ended by Ctrl-C with 130, whatever is under way", async () => {
    // It takes requests and answers none.
    const server = createServer(() => undefined)
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    const { port } = server.address() as AddressInfo
    const ended = new Promise<number | null>((done) => {
      const child = execFile(process.execPath, [program, "me"], {
        env: { MESSAGING_URL: `http://127.0.0.1:${port}`, MESSAGING_KEY: "svc_live_a" },
      })
      server.once("request", () => child.kill("SIGINT"))
      child.once("exit", done)
    })
    assert.strictEqual(await ended, 130)
    server.closeAllConnections()
    server.close()
  })
})
