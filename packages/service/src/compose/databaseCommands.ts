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

const commands: Readonly<
  Record<string, (store: Postgres) => Effect.Effect<string, StoreUnavailable>>
> = { migrate, "move-tables": moveTables }

/** Does what a command says, and answers with a line that says what is true afterwards. */
export const databaseCommand = (
  name: string,
  store: StoreChoice,
): Effect.Effect<string, CannotStart> => {
  const command = commands[name]
  if (command === undefined) {
    const known = Object.keys(commands).join(" and ")
    return Effect.fail(new CannotStart({ message: `"${name}" is no command: there are ${known}` }))
  }
  if (store.kind !== "postgres") {
    return Effect.fail(
      new CannotStart({ message: `DATABASE_URL must name a PostgreSQL for the command ${name}` }),
    )
  }
  return Effect.mapError(command(store), (error) => storeCannotStart({ store }, error))
}
