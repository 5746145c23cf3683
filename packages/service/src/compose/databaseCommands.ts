/** What an operator does to a database while the service does not run (docs/postgresql.md). */
import { beginEpoch } from "@messaging-service/core"
import type { StoreRestored, StoreUnavailable } from "@messaging-service/core"
import { Effect, Redacted } from "effect"
import { CannotStart, storeCannotStart } from "./CannotStart.ts"
import type { ComposedSettings, StoreChoice } from "./ComposedSettings.ts"
import { layerStorage, storageAlone } from "./Storage.ts"

type Postgres = Extract<StoreChoice, { readonly kind: "postgres" }>

/** Where the database is. */
type Place = Pick<ComposedSettings, "dataDirectory" | "store">

const stores = Effect.promise(() => import("@messaging-service/store-postgres"))

const migrate = ({ schema, url }: Postgres): Effect.Effect<string, StoreUnavailable> =>
  Effect.flatMap(stores, ({ migrateDatabase }) =>
    Effect.as(
      migrateDatabase({ url: Redacted.value(url), ...(schema === null ? {} : { schema }) }),
      "the tables are up to date",
    ),
  )

/** Where the tables go unless a schema is named. */
const usualSchema = "messaging"

const moveTables = ({ schema, url }: Postgres): Effect.Effect<string, StoreUnavailable> =>
  Effect.flatMap(stores, ({ moveToSchema }) => {
    const to = schema ?? usualSchema
    return Effect.map(moveToSchema({ url: Redacted.value(url), schema: to }), (moved) =>
      moved ? `the tables are in the schema "${to}"` : "there is nothing to move in public",
    )
  })

const restoredOptions = "--above ID and --again"

/** What the arguments of `restored` say; undefined when they say something else. */
const restoredBy = (given: ReadonlyArray<string>): StoreRestored | undefined => {
  const [first, second, ...rest] = given
  if (first === undefined) return {}
  if (first === "--again") {
    const others = restoredBy(given.slice(1))
    return others === undefined ? undefined : { ...others, again: true }
  }
  if (first !== "--above" || second === undefined || !/^\d{1,15}$/.test(second)) return undefined
  const others = restoredBy(rest)
  return others === undefined ? undefined : { ...others, above: Number(second) }
}

const restored = (
  place: Place,
  given: ReadonlyArray<string>,
): Effect.Effect<string, CannotStart | StoreUnavailable> => {
  const command = restoredBy(given)
  if (command === undefined) {
    return Effect.fail(new CannotStart({ message: `restored takes ${restoredOptions}` }))
  }
  if (place.store.kind === "memory") {
    return Effect.fail(
      new CannotStart({ message: "a store in memory goes with its process: none is restored" }),
    )
  }
  return beginEpoch(command).pipe(
    Effect.map(({ epoch, held }) => `epoch ${epoch} has begun; ${held} held`),
    Effect.catchTag("Refusal", () =>
      Effect.fail(
        new CannotStart({
          message:
            "this epoch has accepted messages; say --again where the store was restored once more",
        }),
      ),
    ),
    Effect.provide(layerStorage(storageAlone, place)),
    Effect.scoped,
  )
}

interface Command {
  /** For the help of the program. */
  readonly summary: string
  readonly run: (
    place: Place,
    given: ReadonlyArray<string>,
  ) => Effect.Effect<string, CannotStart | StoreUnavailable>
}

/** A command that takes no options, for a PostgreSQL alone. */
const onPostgres =
  (name: string, run: (store: Postgres) => Effect.Effect<string, StoreUnavailable>) =>
  ({ store }: Place, [extra]: ReadonlyArray<string>) => {
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

export const databaseCommands: Readonly<Record<string, Command>> = {
  migrate: {
    summary: "Brings the tables in DATABASE_URL up to date.",
    run: onPostgres("migrate", migrate),
  },
  "move-tables": {
    summary: "Moves tables of a version before from public to DATABASE_SCHEMA.",
    run: onPostgres("move-tables", moveTables),
  },
  restored: {
    summary: `Says that the database went back in time. Takes ${restoredOptions}.`,
    run: restored,
  },
}

/** Does what a command says, and answers with a line that says what is true afterwards. */
export const databaseCommand = (
  name: string,
  place: Place,
  given: ReadonlyArray<string> = [],
): Effect.Effect<string, CannotStart> => {
  const command = databaseCommands[name]
  if (command === undefined) {
    const known = Object.keys(databaseCommands).join(", ")
    return Effect.fail(new CannotStart({ message: `"${name}" is no command: there are ${known}` }))
  }
  return Effect.catchTag(command.run(place, given), "StoreUnavailable", (error) =>
    Effect.fail(storeCannotStart(place, error)),
  )
}
