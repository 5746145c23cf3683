/** The first start of a server, as somebody who tries it out sees it (operator API: configuration). */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { readdir } from "node:fs/promises"
import { aServer, forgetful, program } from "./aServer.ts"

/** What a shell would make of a printed `curl` line. */
const pasted = <Body>(line: string) => {
  const [, url = ""] = /curl -s (\S+)/.exec(line) ?? []
  const [, token = ""] = /"Authorization: Bearer (\S+)"/.exec(line) ?? []
  const [, json] = /-d '(.+)'$/.exec(line) ?? []
  return processes.call<Body>(json === undefined ? "GET" : "POST", url, {
    token,
    body: json === undefined ? undefined : JSON.parse(json),
  })
}

const ownToken = "my-own-token-of-enough-characters"

describe("a first start", () => {
  it.effect("prints lines that send a message and read it back as sent", () =>
    Effect.gen(function* () {
      const server = yield* aServer()
      const [send = "", read = ""] = (yield* server.stdout).match(/^ *curl .+$/gm) ?? []
      const accepted = yield* pasted<processes.SeenMessage>(send)
      assert.strictEqual(accepted.status, 202)
      assert.strictEqual(accepted.body.status, "queued")
      yield* processes.waitUntil(
        "the message is sent",
        Effect.map(pasted<processes.SeenMessage>(read), ({ body }) =>
          body.id === accepted.body.id && body.status === "sent" ? body : undefined,
        ),
      )
      assert.deepStrictEqual(yield* server.operator.sent, ["Hello"])
    }),
  )

  it.effect(
    "prints a live key, a test key, a version 1 key and the operator token, that work",
    () =>
      Effect.gen(function* () {
        const { operator, shown, url } = yield* aServer()
        for (const [key, mode] of [
          [shown.liveKey, "live"],
          [shown.testKey, "test"],
        ] as const) {
          const { body } = yield* processes.call<{ readonly key: { readonly mode: string } }>(
            "GET",
            `${url}/api/v2/me`,
            { token: key ?? "" },
          )
          assert.strictEqual(body.key.mode, mode)
        }
        const { body } = yield* operator.ask<{
          readonly data: ReadonlyArray<{ readonly id: number; readonly name: string }>
        }>("GET", "/workspaces")
        assert.deepStrictEqual(
          body.data.map(({ name }) => name),
          ["Example"],
        )
        const keys = yield* operator.ask<{
          readonly data: ReadonlyArray<{ readonly version: number; readonly last4: string }>
        }>("GET", `/workspaces/${body.data[0]!.id}/keys`)
        const version1 = keys.body.data.filter(({ version }) => version === 1)
        assert.deepStrictEqual(
          version1.map(({ last4 }) => last4),
          [shown.keyV1?.slice(-4)],
        )
      }),
  )

  it.effect("is healthy when it says that it listens", () =>
    Effect.gen(function* () {
      const { url } = yield* aServer()
      for (const path of ["/health/live", "/health/ready"]) {
        const { body, status } = yield* processes.call("GET", url + path)
        assert.deepStrictEqual({ body, status }, { body: { status: "ok" }, status: 200 })
      }
    }),
  )

  it.effect("SEED_EXAMPLE=false makes no workspace, and OPERATOR_TOKEN no token", () =>
    Effect.gen(function* () {
      const settings = { ...(yield* forgetful), SEED_EXAMPLE: "false", OPERATOR_TOKEN: ownToken }
      const server = yield* aServer(settings)
      assert.match(yield* server.stdout, /^listening on http:\/\/127\.0\.0\.1:\d+\n$/)
      const { body } = yield* server.operator.ask("GET", "/workspaces")
      assert.deepStrictEqual(body, { data: [], next_cursor: null })
      // A store in memory keeps media files only as long as its process lives.
      const kept = yield* Effect.promise(() => readdir(settings.DATA_DIR))
      assert.deepStrictEqual(
        kept.filter((name) => !name.startsWith("passing-")),
        [],
      )
    }),
  )

  it.effect("PUBLIC_URL is where the links of its answers lead", () =>
    Effect.gen(function* () {
      const given = yield* aServer({ PUBLIC_URL: "https://messages.example" })
      const own = yield* aServer()
      for (const [server, origin] of [
        [given, "https://messages.example"],
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

  it.effect("LOG_FORMAT=json makes every line an object, LOG_LEVEL=debug tells requests", () =>
    Effect.gen(function* () {
      const token = ownToken
      const server = yield* aServer({
        LOG_FORMAT: "json",
        LOG_LEVEL: "debug",
        OPERATOR_TOKEN: token,
      })
      const answer = yield* server.operator.ask("GET", "/workspaces")
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

  it.effect("a server on every address shows lines that a client on the same machine can use", () =>
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
