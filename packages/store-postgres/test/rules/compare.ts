/**
 * Rules that core and SQL both state, compared: facts are drawn at random, from a seed, all of them
 * are asked of SQL in one statement, and each answer must be the core's. docs/rules.md lists the rules.
 */
import { assert } from "@effect/vitest"
import { noon } from "@messaging-service/testkit"
import { PgConnection } from "@effect/sql-pg"
import { Effect, Layer, Random } from "effect"
import { codeSchema } from "../../src/database/build.ts"
import { connectionConfig } from "../../src/database/Connection.ts"
import { Database } from "../../src/database/Database.ts"
import { toParameter } from "../../src/database/Sql.ts"
import { schema } from "../../src/migrations/index.ts"
import { migrate } from "../../src/migrations/migrate.ts"
import { aMigratedDatabase, toOptions } from "../databases.ts"

/** A row of a table: what is not named is null. */
export type Row = Readonly<Record<string, unknown>>

/** One drawn case: rows by the aliases that SQL knows them by, and what the core says of them. */
export interface Drawn {
  readonly facts: Readonly<Record<string, Row | ReadonlyArray<Row>>>
  readonly core: unknown
}

export interface Comparison {
  /** What the facts are rows of, by alias: a table, or columns as `(now timestamptz)`. */
  readonly rows: Readonly<Record<string, string>>
  /** Tables that hold the rows of the case alone, for a text that reads them itself. */
  readonly tables?: ReadonlyArray<string>
  /** Tables into which the rows of all cases go first, for what a function of the database reads. */
  readonly inserted?: ReadonlyArray<string>
  /** The answer, as JSON has it; times as `toMillisSql` tells them. */
  readonly sql: string
  readonly draw: Effect.Effect<Drawn>
  readonly cases?: number
}

/**
 * A connection to a database of its own with all tables and functions, which are found by their names.
 */
export const layerDatabase = Layer.effect(
  PgConnection.PgConnection,
  Effect.gen(function* () {
    const database = yield* aMigratedDatabase()
    yield* Effect.provide(migrate(schema), Database.layer(toOptions(database)))
    const connection = yield* PgConnection.make(connectionConfig(toOptions(database)))
    const pinned = yield* connection.pin
    yield* pinned.query(`set search_path = ${codeSchema("messaging")}, messaging`, [], false)
    return pinned
  }),
)

const relation = (alias: string, type: string): string =>
  type.startsWith("(")
    ? `cross join lateral jsonb_to_record(f.fact -> '${alias}') ${alias} ${type}`
    : `cross join lateral jsonb_populate_record(null::${type}, f.fact -> '${alias}') ${alias}`

const statement = ({ rows, sql, tables = [] }: Comparison): string => {
  const own = tables.map(
    (table) =>
      `${table} as (select r.* from jsonb_populate_recordset(null::${table}, f.fact -> '${table}') r)`,
  )
  return `
select to_jsonb((${own.length === 0 ? "" : `with ${own.join(", ")} `}select ${sql.replaceAll(":code.", "")})) as answer
from jsonb_array_elements($1::jsonb) with ordinality f (fact, place)
${Object.entries(rows)
  .map(([alias, type]) => relation(alias, type))
  .join("\n")}
order by f.place`
}

const insertInto = (table: string): string => `
insert into ${table} overriding system value
select r.*
from jsonb_array_elements($1::jsonb) f (fact)
cross join lateral jsonb_populate_recordset(null::${table}, f.fact -> '${table}') r`

export const compare = (seed: string, comparison: Comparison) =>
  Effect.gen(function* () {
    const { cases = 1500, draw, inserted = [] } = comparison
    const connection = yield* PgConnection.PgConnection
    const drawn = yield* Effect.replicateEffect(draw, cases)
    const parameters = [
      toParameter(
        "jsonb",
        drawn.map(({ facts }) => facts),
      ),
    ]
    const run = (text: string, args: ReadonlyArray<unknown> = []) =>
      Effect.map(connection.query(text, args, false), ({ rows }) => rows)
    yield* run("begin")
    // No row needs those that it refers to.
    yield* run("set local session_replication_role = replica")
    for (const table of inserted) yield* run(insertInto(table), parameters)
    const requests = yield* run(statement(comparison), parameters)
    yield* run("rollback")
    assert.strictEqual(requests.length, cases)
    for (const [index, { core, facts }] of drawn.entries()) {
      assert.deepStrictEqual(requests[index]?.answer, core, JSON.stringify(facts))
    }
    const answers = new Set(drawn.map(({ core }) => JSON.stringify(core)))
    assert.isAtLeast(answers.size, 2, "the drawn facts never change the answer")
  }).pipe(Random.withSeed(seed))

/** A time as JSON has it among the facts. */
export const iso = (millis: number | null): string | null =>
  millis === null ? null : new Date(millis).toISOString()

/** The SQL of a time as a JSON number. */
export const toMillisSql = (time: string): string => `(extract(epoch from ${time}) * 1000)::bigint`

let drawnIds = 0

const below = (bound: number) => Random.nextIntBetween(0, bound, { halfOpen: true })

/** Draws, each an effect. Times are few, so that they are often equal. */
export const draw = {
  /** A number that no other case draws. */
  id: Effect.sync(() => ++drawnIds),
  below,
  from: <A>(values: ReadonlyArray<A>) =>
    Effect.map(below(values.length), (index) => values[index] as A),
  flag: Effect.map(below(2), (bit) => bit === 1),
  time: Effect.map(below(8), (millis) => noon + millis),
  maybe: <A>(one: Effect.Effect<A>) =>
    Effect.flatMap(below(3), (bit) => (bit === 0 ? Effect.succeed(null) : one)),
}
