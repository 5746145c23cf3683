/** The first start of a server, as a new user sees it (contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFile, readdir, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { aServer, forgetful, program } from "./aServer.ts"

const root = resolve(import.meta.dirname, "../../..")

/** A shell runs the printed `curl` line. */
const pasted = <Body>(line: string) =>
  Effect.promise(async () => {
    const { stdout } = await promisify(execFile)("sh", ["-c", line])
    return JSON.parse(stdout) as Body
  })

/** What a command of the program prints. */
const printed = (command: ReadonlyArray<string>, environment: Record<string, string>) =>
  Effect.promise(async () => {
    const env = { ...process.env, ...environment }
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...command], { env })
    return stdout
  })

/** Makes standard output a terminal for a process. */
const asTerminal = { NODE_OPTIONS: "--import=data:text/javascript,process.stdout.isTTY=true" }

const ownToken = "my-own-token-of-enough-characters"

describe.concurrent("a first start", () => {
  it.effect("takes the README's messages, and prints lines that send another and read it", () =>
    Effect.gen(function* () {
      const server = yield* aServer()
      const key = server.stored.liveKey ?? ""
      const page = yield* Effect.promise(() => readFile(join(root, "README.md"), "utf8"))
      const [send = "", read = "", appointment = "", callOff = "", ...others] = Array.from(
        page.matchAll(/```sh\n([^`]*curl [^`]*)```/g),
        ([, lines = ""]) =>
          `KEY=${key}\n${lines}`
            .replaceAll("http://127.0.0.1:8080", server.url)
            .replace("the live key", key),
      )
      assert.isEmpty(others)
      const [printedSend = "", printedRead = ""] =
        (yield* server.stdout).match(/^ *curl .+$/gm) ?? []
      const steps: ReadonlyArray<readonly [string, number, string]> = [
        [send, 1, "queued"],
        [appointment, 2, "scheduled"],
        [appointment, 2, "scheduled"],
        [callOff, 2, "cancelled"],
        [printedSend, 3, "queued"],
      ]
      for (const [lines, ...expected] of steps) {
        const { id, status } = yield* pasted<processes.ObservedMessage>(lines)
        assert.deepStrictEqual([id, status], expected)
      }
      // Both read the first.
      for (const lines of [read, printedRead]) {
        yield* processes.waitUntil(
          "the message is sent",
          Effect.map(pasted<processes.ObservedMessage>(lines), ({ id, status }) =>
            id === 1 && status === "sent" ? true : undefined,
          ),
        )
      }
      yield* server.caller.until(3, "sent")
      assert.deepStrictEqual(yield* server.operator.sent, ["Hello", "Hello"])
    }),
  )

  it.effect(
    "stores a live key, a test key, a version 1 key and the operator token in files that it names",
    () =>
      Effect.gen(function* () {
        const { stored, operator, url } = yield* aServer()
        for (const [key, mode] of [
          [stored.liveKey, "live"],
          [stored.testKey, "test"],
        ] as const) {
          const { body } = yield* processes.call<{ readonly key: { readonly mode: string } }>(
            "GET",
            `${url}/api/v2/me`,
            { token: key ?? "" },
          )
          assert.strictEqual(body.key.mode, mode)
        }
        const { body } = yield* operator.request<{
          readonly data: ReadonlyArray<{ readonly id: number; readonly name: string }>
        }>("GET", "/workspaces")
        assert.deepStrictEqual(
          body.data.map(({ name }) => name),
          ["Example"],
        )
        const keys = yield* operator.request<{
          readonly data: ReadonlyArray<{ readonly version: number; readonly last4: string }>
        }>("GET", `/workspaces/${body.data[0]!.id}/keys`)
        const version1 = keys.body.data.filter(({ version }) => version === 1)
        assert.deepStrictEqual(
          version1.map(({ last4 }) => last4),
          [stored.keyV1?.slice(-4)],
        )
      }),
  )

  it.effect("prints no secret without a terminal, and only its user may read the files", () =>
    Effect.gen(function* () {
      const settings = yield* forgetful
      const server = yield* aServer(settings)
      const stdout = yield* server.stdout
      assert.lengthOf(Object.values(server.stored), 4)
      assert.notInclude(stdout, "#code=")
      assert.include(
        stdout,
        `Open the dashboard at ${server.url}/. "messaging-server sign-in-link"`,
      )
      const link = yield* printed(["sign-in-link"], {
        ...settings,
        PORT: new URL(server.url).port,
      })
      assert.match(link, new RegExp(`^${server.url}/sign-in#code=[0-9a-f]{64}\n$`))
      for (const secret of Object.values(server.stored)) assert.notInclude(stdout, secret)
      const files = ["operator-token", "live-key", "test-key", "version-1-key"].map((name) =>
        name === "operator-token" ? name : `example-${name}.memory`,
      )
      for (const file of files) {
        const { mode } = yield* Effect.promise(() => stat(join(settings.DATA_DIR, file)))
        assert.strictEqual(mode & 0o777, 0o600, file)
      }
    }),
  )

  it.effect("prints the secrets themselves to a terminal, and creates no file of the keys", () =>
    Effect.gen(function* () {
      const settings = yield* forgetful
      const server = yield* processes.startServer(program, { ...settings, ...asTerminal })
      const stdout = yield* server.stdout
      const [send = ""] = stdout.match(/^ *curl .+$/gm) ?? []
      assert.strictEqual((yield* pasted<processes.ObservedMessage>(send)).status, "queued")
      assert.match(stdout, /^ {2}test key +svc_test_\w{38}$/m)
      assert.match(stdout, /^ {2}version 1 key +[0-9a-f]{40} /m)
      const [, code = ""] = /\/sign-in#code=([0-9a-f]{64})$/m.exec(stdout) ?? []
      const signedIn = yield* Effect.forEach([1, 2], () =>
        processes.call("POST", `${server.url}/admin/v1/session`, { body: { code } }),
      )
      assert.deepStrictEqual(
        signedIn.map(({ status }) => status),
        [200, 401],
      )
      const [, token = ""] = /^Operator token, stored in .+: (\S{40})$/m.exec(stdout) ?? []
      const workspaces = `${server.url}/admin/v1/workspaces`
      assert.strictEqual((yield* processes.call("GET", workspaces, { token })).status, 200)
      const stored = yield* Effect.promise(() => readdir(settings.DATA_DIR))
      assert.deepStrictEqual(
        stored.filter((name) => name.startsWith("example-")),
        [],
      )
    }),
  )

  it.effect("is healthy when it reports that it listens", () =>
    Effect.gen(function* () {
      const { url } = yield* aServer()
      for (const path of ["/health/live", "/health/ready"]) {
        const { body, status } = yield* processes.call("GET", url + path)
        assert.deepStrictEqual({ body, status }, { body: { status: "ok" }, status: 200 })
      }
    }),
  )

  it.effect("SEED_EXAMPLE=false creates no workspace, and OPERATOR_TOKEN no token", () =>
    Effect.gen(function* () {
      const settings = { ...(yield* forgetful), SEED_EXAMPLE: "false", OPERATOR_TOKEN: ownToken }
      const server = yield* aServer(settings)
      assert.match(
        yield* server.stdout,
        /^Open the dashboard at \S+ [^\n]+\n\nlistening on http:\/\/127\.0\.0\.1:\d+ \(version \d+\.\d+\.\d+\)\n$/,
      )
      const { body } = yield* server.operator.request("GET", "/workspaces")
      assert.deepStrictEqual(body, { data: [], next_cursor: null })
      // A memory store keeps media files only while its process lives.
      const stored = yield* Effect.promise(() => readdir(settings.DATA_DIR))
      assert.deepStrictEqual(
        stored.filter((name) => !name.startsWith("passing-")),
        [],
      )
    }),
  )

  it.effect("PUBLIC_URL is the origin of links in its answers", () =>
    Effect.gen(function* () {
      const input = yield* aServer({ PUBLIC_URL: "https://messages.example" })
      const own = yield* aServer()
      for (const [server, origin] of [
        [input, "https://messages.example"],
        [own, own.url],
      ] as const) {
        const { body } = yield* processes.call<{ readonly error: { readonly docs: string } }>(
          "GET",
          `${server.url}/api/v2/me`,
        )
        assert.strictEqual(new URL(body.error.docs).origin, origin)
      }
    }),
  )

  it.effect("LOG_FORMAT=json makes every line an object, LOG_LEVEL=debug logs requests", () =>
    Effect.gen(function* () {
      const token = ownToken
      const server = yield* aServer({
        LOG_FORMAT: "json",
        LOG_LEVEL: "debug",
        OPERATOR_TOKEN: token,
      })
      const answer = yield* server.operator.request("GET", "/workspaces")
      const { stdout } = yield* server.stop
      const lines = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>)
      for (const line of lines) assert.containsAllKeys(line, ["time", "level", "message"])
      assert.lengthOf(
        lines.filter(({ message }) => String(message).startsWith("listening on http://")),
        1,
      )
      const requested = lines.find(
        (line) => line["request_id"] === answer.headers.get("x-request-id"),
      )
      assert.deepInclude(requested, { level: "debug", path: "/admin/v1/workspaces", status: 200 })
      assert.notInclude(stdout, token)
    }),
  )

  it.effect(
    "a server on every address prints lines that a client on the same machine can use",
    () =>
      Effect.gen(function* () {
        const server = yield* processes.startServer(program, {
          ...(yield* forgetful),
          HOST: "0.0.0.0",
        })
        const port = new URL(server.url).port
        assert.strictEqual(server.url, `http://0.0.0.0:${port}`)
        assert.include(yield* server.stdout, `curl -s http://127.0.0.1:${port}/api/v2/messages`)
      }),
  )
})
