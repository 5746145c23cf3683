/** Failed starts: one line with the reason, and nothing half started. */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { access, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { forgetful, program, worker } from "./aServer.ts"

const exists = (path: string) =>
  Effect.promise(() =>
    access(path).then(
      () => true,
      () => false,
    ),
  )

/** Starts a program that must fail; returns its standard error. */
const inVain = Effect.fnUntraced(function* (
  settings: Record<string, string>,
  path: string = program,
) {
  const { ended } = yield* processes.start(path, settings)
  const { code, stderr, stdout } = yield* ended
  assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
  assert.match(stderr, /^[^\n]+\n$/)
  return stderr.trimEnd()
})

const wrong = {
  PORT: "http",
  HOST: "two words",
  DATABASE_URL: "mysql://db.example/messages",
  SECRETS_KEY: "too short",
  PUBLIC_URL: "messages.example",
  OPERATOR_TOKEN: "thirty-one-characters-are-short",
  TRANSPORT: "pigeon",
  WHATSAPP_URL: "ws://web.whatsapp.com/",
  CLOCK: "sundial",
  ALLOW_PRIVATE_TARGETS: "yes",
  TRUST_PROXY: "1",
  WORKER: "separate",
  LOG_LEVEL: "loud",
  LOG_FORMAT: "xml",
  SEED_EXAMPLE: "no",
}

describe.concurrent("a server with a wrong configuration", () => {
  for (const [variable, value] of Object.entries(wrong)) {
    it.effect(`names ${variable} in one line, creates nothing and ends with 1`, () =>
      Effect.gen(function* () {
        const settings = { ...(yield* forgetful), [variable]: value }
        assert.match(yield* inVain(settings), new RegExp(`^${variable}:? `))
        assert.isFalse(yield* exists(settings.DATA_DIR))
      }),
    )
  }

  it.effect("writes JSON with LOG_FORMAT=json, whatever is wrong", () =>
    Effect.gen(function* () {
      const first = yield* processes.startServer(program, yield* forgetful)
      for (const [setting, value, message] of [
        ["WORKER", "sometimes", /^WORKER must be /],
        ["PORT", new URL(first.url).port, /^PORT \d+ is in use /],
        [
          "DATABASE_URL",
          "postgres://me:hush@127.0.0.1:1/messages",
          /^DATABASE_URL: .*ECONNREFUSED/,
        ],
      ] as const) {
        const line = yield* inVain({
          ...(yield* forgetful),
          LOG_FORMAT: "json",
          [setting]: value,
        })
        const { level, message: said, time } = JSON.parse(line) as Record<string, string>
        assert.match(said ?? "", message)
        assert.deepStrictEqual([level, Number.isNaN(Date.parse(time ?? ""))], ["fatal", false])
      }
    }),
  )

  it.effect("ends in both programs when the database is away: supervisors start them again", () =>
    Effect.gen(function* () {
      const settings = {
        DATA_DIR: (yield* forgetful).DATA_DIR,
        DATABASE_URL: "postgres://me:hush@127.0.0.1:1/messages",
        SECRETS_KEY: "ab".repeat(32),
        LOG_FORMAT: "json",
        PORT: "0",
      }
      for (const each of [program, worker]) {
        const line = yield* inVain(settings, each)
        assert.match(line, /"level":"fatal","message":"DATABASE_URL: .*ECONNREFUSED/)
      }
    }),
  )

  it.effect("names PORT when another program has it, and creates nothing", () =>
    Effect.gen(function* () {
      const first = yield* processes.startServer(program, yield* forgetful)
      const settings = { ...(yield* forgetful), PORT: new URL(first.url).port }
      assert.match(yield* inVain(settings), /^PORT \d+ is in use /)
      assert.isFalse(yield* exists(settings.DATA_DIR))
    }),
  )

  it.effect("names HOST when it is not an address of this machine", () =>
    Effect.gen(function* () {
      assert.match(yield* inVain({ ...(yield* forgetful), HOST: "192.0.2.1" }), /^HOST 192/)
    }),
  )

  it.effect("names DATA_DIR when it cannot be a directory", () =>
    Effect.gen(function* () {
      const settings = yield* forgetful
      const file = join(dirname(settings.DATA_DIR), "file")
      yield* Effect.promise(() => writeFile(file, ""))
      assert.match(yield* inVain({ ...settings, DATA_DIR: join(file, "data") }), /^DATA_DIR /)
    }),
  )

  // Linux has directories in which not even root can create files.
  for (const DATA_DIR of process.platform === "linux" ? ["/proc/x", "/proc/x/y", "/proc"] : []) {
    it.effect(`names DATA_DIR when nothing can be created in it: ${DATA_DIR}`, () =>
      Effect.gen(function* () {
        for (const DATABASE_URL of ["memory:", ""]) {
          const line = yield* inVain({ ...(yield* forgetful), DATABASE_URL, DATA_DIR })
          assert.match(line, /^DATA_DIR cannot be written to: /)
        }
      }),
    )
  }

  it.effect("names DATABASE_URL when no database answers there, and hides its password", () =>
    Effect.gen(function* () {
      const DATABASE_URL = "postgres://me:hush@127.0.0.1:1/messages"
      const line = yield* inVain({ ...(yield* forgetful), DATABASE_URL })
      assert.match(line, /^DATABASE_URL: .*ECONNREFUSED/)
      assert.notInclude(line, "hush")
    }),
  )
})
