/**
 * The planner puts the rules of `rules.sql` in place of their calls: so they find partial indexes and cost
 * nothing. It does so where a rule is written as it must be, and where no argument that the rule names twice
 * is costly. Rules in plpgsql are rare and stay calls.
 */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, accepted, delivering, noon, sending } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { codeSchema } from "../src/database/build.ts"
import { layer as layerStores } from "../src/index.ts"
import { sqlFiles } from "../src/sql.generated.ts"
import { aBareDatabase, aDatabaseClient, aProcess } from "./databases.ts"
import { anExplainingPool } from "./QueryPlans.ts"

/** Those that are to be put in place. */
const rules = [
  ...sqlFiles["rules.sql"].matchAll(/create function (\w+)\([^]*?\nlanguage (\w+)/g),
].flatMap(([, name, language]) => (language === "sql" && name !== undefined ? name : []))

const call = new RegExp(`\\b(${rules.join("|")})\\(`)

/** Where a plan calls a rule: an expression, or a scan over what the rule returns. */
const callsIn = (plan: unknown): ReadonlyArray<string> => {
  if (typeof plan === "string") return call.test(plan) ? [plan] : []
  if (typeof plan !== "object" || plan === null) return []
  return Object.entries(plan).flatMap(([key, value]) =>
    key === "Function Name" && rules.includes(String(value)) ? [String(value)] : callsIn(value),
  )
}

interface Rule {
  readonly name: string
  readonly types: ReadonlyArray<string>
  readonly set: boolean
}

const declared = `
select
  p.proname::text as name, p.proretset as set,
  array(
    select format_type(t.type, null)
    from unnest(p.proargtypes) with ordinality t (type, place)
    order by t.place
  ) as types
from pg_proc p
join pg_language l on l.oid = p.prolang
where p.pronamespace = '${codeSchema("messaging")}'::regnamespace
  and l.lanname = 'sql'`

/** Of columns, which is all that a rule is to be asked. */
const explained = ({ name, set, types }: Rule): string => {
  const columns = types.map((type, index) => `null::${type} as c${index}`).join(", ")
  const args = types.map((_, index) => `given.c${index}`).join(", ")
  const called = `${codeSchema("messaging")}.${name}(${args})`
  return `explain (verbose, format json)
    with given as materialized (select ${columns})
    select ${set ? "found.*" : called}
    from given ${set ? `cross join lateral ${called} found` : ""}`
}

layer(EmbeddedPostgres.shared, { excludeTestServices: true })("rules in plans", (it) => {
  it.effect("each rule can be put in place", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      yield* aProcess(database)
      const client = yield* aDatabaseClient(database)
      const all = yield* client.query<Rule>("rules", declared)
      assert.sameMembers(
        all.map(({ name }) => name),
        rules,
      )
      assert.isAbove(all.length, 60)
      for (const rule of all) {
        const plan = yield* client.query<object>("explain", explained(rule))
        assert.deepStrictEqual(callsIn(plan), [], rule.name)
      }
    }),
  )

  it.effect("what accepts, claims, settles, ends and delivers calls none", () =>
    Effect.gen(function* () {
      const { readPlans, pool } = yield* anExplainingPool(yield* aBareDatabase)
      const stores = yield* Layer.build(layerStores({ pool }))
      yield* Effect.gen(function* () {
        const { key, number } = yield* delivering.aStageWithKey()
        yield* delivering.anEndpoint(key)
        const plans = yield* readPlans(
          Effect.gen(function* () {
            const [first] = yield* accepted(number, { count: 3 })
            yield* sending.end(sending.cancelled(first!))
            yield* sending.sendNext(number)
            const claimed = yield* delivering.claimDue({ now: noon })
            yield* delivering.settleDeliveries(...claimed.map((one) => delivering.delivered(one)))
          }),
        )
        assert.isAbove(plans.length, 30)
        for (const plan of plans) assert.deepStrictEqual(callsIn(plan.Plan), [])
      }).pipe(Effect.provide(stores))
    }),
  )
})
