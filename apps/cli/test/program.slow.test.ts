/** The program as a process: the bundle, which the runner builds before the first slow test. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { Running, aWorkspace, token } from "./Running.ts"

const program = resolve(import.meta.dirname, "../../../dist/cli/main.js")

const readsInput = ["send", "--to", "+15550100002", "--text", "-"]

/** Runs a program to its end. */
const getProcess = (
  command: string,
  line: ReadonlyArray<string>,
  options: { readonly env: NodeJS.ProcessEnv; readonly cwd?: string },
) =>
  new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((done) =>
    execFile(command, line, options, (error, stdout, stderr) =>
      done({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    ).stdin?.end(),
  )

/** A shell with the program as a command, and the key of a workspace that has a number. */
const aShell = async ({ directory, url }: typeof Running.Service) => {
  const { key } = await aWorkspace(url)
  const bin = join(directory, "bin")
  await mkdir(bin, { recursive: true })
  const script = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`
  await writeFile(join(bin, "messaging"), script, { mode: 0o755 })
  const env = {
    PATH: `${bin}:${process.env["PATH"]}`,
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    MESSAGING_SERVICE: url,
    MESSAGING_KEY: key,
    MESSAGING_OPERATOR_KEY: token,
  }
  return (lines: string) => getProcess("bash", ["--norc", "-ec", lines], { env })
}

layer(Running.layer, { excludeTestServices: true })("the program as a process", (it) => {
  const test = (name: string, body: (running: typeof Running.Service) => Promise<void>) =>
    it.effect(name, () => Effect.flatMap(Running, (running) => Effect.promise(() => body(running))))
  const onLinux = process.platform === "linux" ? test : () => undefined

  test("completes in bash, reports faults, and tolerates a reader that leaves early", async (running) => {
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
    assert.strictEqual(completed.stdout, "pause preview\n")
  })

  test("reads the text of a message from a pipe", async (running) => {
    const shell = await aShell(running)
    const { code, stdout } = await shell(
      "printf 'Soup\\nand bread\\n' | messaging send --to +15550100002 --text - --json",
    )
    assert.strictEqual(code, 0)
    assert.deepInclude(JSON.parse(stdout), { text: "Soup\nand bread" })
  })

  // Linux has a file that is always full.
  const full = existsSync("/dev/full") ? ["me", "--help"] : []
  for (const line of full) {
    test(`ends with 8 where its output cannot be written: ${line}`, async (running) => {
      const shell = await aShell(running)
      const ran = await shell(`messaging ${line} > /dev/full`)
      assert.strictEqual(ran.code, 8)
      assert.match(ran.stderr, /^messaging: cannot write to standard output: ENOSPC[^\n]*\n$/)
    })
  }

  test("ends quietly when the reader of its output has gone", async (running) => {
    const shell = await aShell(running)
    const [closed, both] = await Promise.all([
      shell(
        `messaging send --to +15550100002 --text Hello > /dev/null
        set -o pipefail; messaging tail --since 2000-01-01T00:00:00Z | true`,
      ),
      shell("set -o pipefail; messaging --help 2>&1 | true"),
    ])
    for (const ran of [closed, both])
      assert.deepStrictEqual(ran, { code: 0, stdout: "", stderr: "" })
  })

  // It would write nothing more, and would rest for an hour.
  onLinux(
    "tail ends once what reads its output has gone, with nothing more to write",
    async (running) => {
      const shell = await aShell(running)
      const ran = await shell(
        `messaging send --to +15550100002 --text Hello > /dev/null
        set -o pipefail; messaging tail --every 3600 --since 2000-01-01T00:00:00Z | head -n 1`,
      )
      assert.deepInclude(ran, { code: 0, stderr: "" })
      assert.match(ran.stdout, /^[^\n]+message\.[^\n]+\n$/)
    },
  )

  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    test(`ends on ${signal} with ${code}, whatever is in flight`, async () => {
      // It accepts requests and answers none.
      const server = createServer(() => undefined)
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
      const { port } = server.address() as AddressInfo
      const ended = new Promise<number | null>((done) => {
        const child = execFile(process.execPath, [program, "me"], {
          env: { MESSAGING_SERVICE: `http://127.0.0.1:${port}`, MESSAGING_KEY: "svc_live_a" },
        })
        server.once("request", () => child.kill(signal))
        child.once("exit", done)
      })
      assert.strictEqual(await ended, code)
      server.closeAllConnections()
      server.close()
    })
  }

  test("ends on Ctrl-C while it waits for its standard input", async () => {
    const child = execFile(process.execPath, [program, ...readsInput], {
      env: { MESSAGING_KEY: "svc_live_a" },
    })
    const ended = new Promise<number | null>((done) => void child.once("exit", done))
    // More than a pipe holds: once the pipe has taken it, the program reads.
    await new Promise((getSuccess) => child.stdin?.write(Buffer.alloc(1_000_000, "a"), getSuccess))
    child.kill("SIGINT")
    assert.strictEqual(await ended, 130)
  })
})

// The guide names the ids of a new service.
layer(Running.layer, { excludeTestServices: true })("docs/clients.md", (it) => {
  it.effect("has commands that do what it says", () =>
    Effect.flatMap(Running, (running) =>
      Effect.promise(async () => {
        const shell = await aShell(running)
        const guide = resolve(import.meta.dirname, "../../../docs/clients.md")
        const text = await readFile(guide, "utf8")
        const blocks = [...text.matchAll(/```sh\n([^]*?)```/g)].map(([, lines = ""]) => lines)
        const block = blocks.find((lines) => lines.includes("messaging workspaces list")) ?? ""
        assert.isAtLeast(block.split("\n").length, 12)
        const { code, stderr, stdout } = await shell(`unset MESSAGING_KEY\n${block}`)
        assert.strictEqual(code, 0, stderr)
        assert.match(stdout, /^1 +sent +\+15550100002 .*Your table is ready\./m)
        assert.match(stdout, /^status +cancelled\nto +group:Team$/m)
        assert.match(stdout, /^name +Corner shop$/m)
      }),
    ),
  )
})
