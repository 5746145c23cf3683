/** The commands for a database report the resulting state, or in one line why they did nothing. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Console, Effect, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import { runDatabaseCommand } from "../../src/compose/index.ts"

/** A command's output, or its error. */
const runCommand = (
  name: string,
  environment: Readonly<Record<string, string>>,
  options: ReadonlyArray<string> = [],
) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const silentConsole = {
      ...(yield* Console.Console),
      log: (line: string) => void lines.push(line),
    }
    return yield* runDatabaseCommand(name, environment, options).pipe(
      Effect.provideService(Console.Console, silentConsole),
      Effect.map(() => lines.join()),
      Effect.catch((error) => Effect.succeed(error.message)),
    )
  })

layer(EmbeddedPostgres.shared, { excludeTestServices: true })("commands for a database", (it) => {
  it.effect("tables are brought up to date", () =>
    Effect.gen(function* () {
      const { url } = yield* EmbeddedPostgres.use((postgres) => postgres.createDatabase())
      const DATABASE_URL = Redacted.value(url)
      assert.strictEqual(
        yield* runCommand("migrate", { DATABASE_URL }),
        "the tables are up to date",
      )
      assert.match(
        yield* runCommand("migrate", { DATABASE_URL, DATABASE_SCHEMA: "No" }),
        /must be 1 to 40/,
      )
    }),
  )

  it.effect("what the page about PostgreSQL runs are commands", () =>
    Effect.gen(function* () {
      const page = new URL("../../../../docs/postgresql.md", import.meta.url)
      const text = yield* Effect.promise(() => readFile(page, "utf8"))
      const named = [...text.matchAll(/apps\/server\/src\/main\.ts ([\w-]+)$/gm)]
      assert.isNotEmpty(named)
      for (const [, name = ""] of named) {
        assert.match(
          yield* runCommand(name, { DATABASE_URL: "memory:" }),
          /must name a PostgreSQL|none is restored/,
        )
      }
    }),
  )

  it.effect("a database that was restored begins an epoch, each time that it is said", () =>
    Effect.gen(function* () {
      const { url } = yield* EmbeddedPostgres.use((postgres) => postgres.createDatabase())
      const database = { DATABASE_URL: Redacted.value(url) }
      assert.strictEqual(yield* runCommand("restored", database), "epoch 2 has begun; 0 held")
      assert.strictEqual(
        yield* runCommand("restored", database, ["--above", "9000", "--again"]),
        "epoch 3 has begun; 0 held",
      )
      for (const [options, wrong] of [
        [["--above"], "--above names no ID"],
        [["--above", "-1"], '--above "-1" is not a whole number of at most 15 digits'],
        [["--over"], '"--over" is not one of its options'],
        [["--above", "1", "2"], '"2" is not one of its options'],
      ] as const) {
        assert.strictEqual(
          yield* runCommand("restored", database, options),
          `restored takes --above ID and --again: ${wrong}`,
        )
      }
      assert.strictEqual(
        yield* runCommand("restored", { DATA_DIR: "/nowhere/data" }),
        "DATA_DIR holds no database: /nowhere/data",
      )
      assert.match(
        yield* runCommand("migrate", database, ["now"]),
        /"now" is one argument too many/,
      )
    }),
  )

  it.effect("a command that is unknown, or has no PostgreSQL, does nothing", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* runCommand("remove", {}),
        '"remove" is not a command; the commands are migrate, restored',
      )
      assert.match(
        yield* runCommand("migrate", { DATABASE_URL: "memory:" }),
        /must name a PostgreSQL/,
      )
    }),
  )
})
