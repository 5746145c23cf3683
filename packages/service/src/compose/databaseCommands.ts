/** What an operator does to a database while the service does not run (docs/postgresql.md). */
import type { StoreUnavailable } from "@messaging-service/core"
import { Effect, Redacted } from "effect"
import { CannotStart, storeCannotStart } from "./CannotStart.ts"
import type { StoreChoice } from "./ComposedSettings.ts"

type Postgres = Extract<StoreChoice, { readonly kind: "postgres" }>

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

interface Command {
  /** For the help of the program. */
  readonly summary: string
  readonly run: (store: Postgres) => Effect.Effect<string, StoreUnavailable>
}

export const databaseCommands: Readonly<Record<string, Command>> = {
  migrate: { summary: "Brings the tables in DATABASE_URL up to date.", run: migrate },
  "move-tables": {
    summary: "Moves tables of a version before from public to DATABASE_SCHEMA.",
    run: moveTables,
  },
}

/** Does what a command says, and answers with a line that says what is true afterwards. */
export const databaseCommand = (
  name: string,
  store: StoreChoice,
): Effect.Effect<string, CannotStart> => {
  const command = databaseCommands[name]
  if (command === undefined) {
    const known = Object.keys(databaseCommands).join(" and ")
    return Effect.fail(new CannotStart({ message: `"${name}" is no command: there are ${known}` }))
  }
  if (store.kind !== "postgres") {
    return Effect.fail(
      new CannotStart({ message: `DATABASE_URL must name a PostgreSQL for the command ${name}` }),
    )
  }
  return Effect.mapError(command.run(store), (error) => storeCannotStart({ store }, error))
}
