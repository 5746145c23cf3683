/** Operator commands for a database while the service is stopped (docs/postgresql.md). */
import { startEpoch } from "@messaging-service/core"
import type { StoreRestored, StoreUnavailable } from "@messaging-service/core"
import { CannotStart, readVariables } from "@messaging-service/node"
import type { Environment } from "@messaging-service/node"
import { Console, Effect, Redacted, Result } from "effect"
import { access } from "node:fs/promises"
import { join } from "node:path"
import { storeCannotStart } from "./startFaults.ts"
import { checkStore, getDataDirectory, serviceVariables, storeChoice } from "./Settings.ts"
import type { ComposedSettings, StoreChoice } from "./Settings.ts"
import { layerStorage } from "./Storage.ts"

type Postgres = Extract<StoreChoice, { readonly kind: "postgres" }>

/** Where the database is. */
type DatabaseTarget = Pick<ComposedSettings, "dataDirectory" | "store">

const stores = Effect.promise(() => import("@messaging-service/store-postgres"))

const migrate = ({ schema, url }: Postgres): Effect.Effect<string, StoreUnavailable> =>
  Effect.flatMap(stores, ({ migrateDatabase }) =>
    Effect.as(
      migrateDatabase({ url: Redacted.value(url), ...(schema === null ? {} : { schema }) }),
      "the tables are up to date",
    ),
  )

const restoredOptions = "--above ID and --again"

/** The parsed arguments of `restored`, or the problem with them. */
const restoredBy = (input: ReadonlyArray<string>): Result.Result<StoreRestored, string> => {
  const [first, second, ...rest] = input
  if (first === undefined) return Result.succeed({})
  if (first === "--again") {
    return Result.map(restoredBy(input.slice(1)), (others) => ({ ...others, again: true }))
  }
  if (first !== "--above") return Result.fail(`"${first}" is not one of its options`)
  if (second === undefined) return Result.fail("--above names no ID")
  if (!/^\d{1,15}$/.test(second)) {
    return Result.fail(`--above "${second}" is not a whole number of at most 15 digits`)
  }
  return Result.map(restoredBy(rest), (others) => ({ ...others, above: Number(second) }))
}

/** Fails without an embedded database: a new one never went back in time. */
const isEmbeddedThere = ({
  dataDirectory,
  store,
}: DatabaseTarget): Effect.Effect<void, CannotStart> =>
  store.kind !== "embedded" || dataDirectory === null
    ? Effect.void
    : Effect.tryPromise({
        try: () => access(join(dataDirectory, "db")),
        catch: () => new CannotStart({ message: `DATA_DIR holds no database: ${dataDirectory}` }),
      })

const restored = (
  target: DatabaseTarget,
  input: ReadonlyArray<string>,
): Effect.Effect<string, CannotStart | StoreUnavailable> => {
  const command = restoredBy(input)
  if (Result.isFailure(command)) {
    const message = `restored takes ${restoredOptions}: ${command.failure}`
    return Effect.fail(new CannotStart({ message }))
  }
  if (target.store.kind === "memory") {
    return Effect.fail(
      new CannotStart({ message: "a memory store ends with its process and cannot be restored" }),
    )
  }
  const started = startEpoch(command.success).pipe(
    Effect.map(({ epoch, held }) => `epoch ${epoch} has begun; ${held} held`),
    Effect.catchTag("Refusal", () =>
      Effect.fail(
        new CannotStart({
          message:
            "this epoch has accepted messages; use --again if the store was restored once more",
        }),
      ),
    ),
    Effect.provide(layerStorage(target)),
    Effect.scoped,
  )
  return Effect.andThen(isEmbeddedThere(target), started)
}

interface Command {
  /** For the help of the program. */
  readonly summary: string
  readonly run: (
    target: DatabaseTarget,
    input: ReadonlyArray<string>,
  ) => Effect.Effect<string, CannotStart | StoreUnavailable>
}

/** A command that takes no options, for a PostgreSQL alone. */
const onPostgres =
  (name: string, run: (store: Postgres) => Effect.Effect<string, StoreUnavailable>) =>
  ({ store }: DatabaseTarget, [extra]: ReadonlyArray<string>) => {
    if (extra !== undefined) {
      return Effect.fail(new CannotStart({ message: `"${extra}" is one argument too many` }))
    }
    return store.kind === "postgres"
      ? run(store)
      : Effect.fail(
          new CannotStart({
            message: `DATABASE_URL must name a PostgreSQL for the command ${name}`,
          }),
        )
  }

const databaseCommands: Readonly<Record<string, Command>> = {
  migrate: {
    summary: "Brings the tables in DATABASE_URL up to date.",
    run: onPostgres("migrate", migrate),
  },
  restored: {
    summary: `Declares that the database went back in time. Takes ${restoredOptions}.`,
    run: restored,
  },
}

/** Runs a command, and returns a line that describes the resulting state. */
const databaseCommand = (
  name: string,
  target: DatabaseTarget,
  input: ReadonlyArray<string> = [],
): Effect.Effect<string, CannotStart> => {
  const command = databaseCommands[name]
  if (command === undefined) {
    const known = Object.keys(databaseCommands).join(", ")
    return Effect.fail(
      new CannotStart({ message: `"${name}" is not a command; the commands are ${known}` }),
    )
  }
  return Effect.catchTag(command.run(target, input), "StoreUnavailable", (error) =>
    Effect.fail(storeCannotStart(target, error)),
  )
}

const { DATABASE_SCHEMA, DATABASE_URL, DATA_DIR } = serviceVariables

/** Commands by name. */
export const databaseCommandSummaries: Readonly<Record<string, string>> =
  /*#__PURE__*/ Object.fromEntries(
    Object.entries(databaseCommands).map(([name, { summary }]) => [name, summary]),
  )

/** Reads only the database's settings from the environment, and prints the result. */
export const runDatabaseCommand = /*#__PURE__*/ Effect.fnUntraced(function* (
  name: string,
  environment: Environment,
  options: ReadonlyArray<string> = [],
) {
  const input = yield* readVariables({ DATABASE_SCHEMA, DATABASE_URL, DATA_DIR }, environment)
  const store = storeChoice(input)
  yield* checkStore(store)
  const target = { store, dataDirectory: getDataDirectory(input) }
  yield* Console.log(yield* databaseCommand(name, target, options))
})
