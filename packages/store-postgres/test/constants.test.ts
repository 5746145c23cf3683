/** Constants of core that functions repeat: these change together. */
import { assert, it } from "@effect/vitest"
import {
  connectedShown,
  abandonedReasons,
  maximumInterruptions,
  mostReactions,
  mostSetAside,
  platforms,
  receivedCallsShare,
  receivedEventTypes,
  refillQueue,
  reasonOnceResumed,
} from "@messaging-service/core"
import { sqlFiles, sqlStatements } from "../src/sql.generated.ts"

it("functions repeat the constants of core as they are", () => {
  assert.include(
    sqlFiles["functions/begin_epoch.sql"],
    `when may_have_left(l) then ${maximumInterruptions} else 0 end`,
  )
  assert.include(
    sqlStatements["session.account"],
    `case when n.status = 'disconnected' then '${reasonOnceResumed}' end`,
  )
  assert.include(
    sqlFiles["functions/set_new_chats_aside.sql"],
    `v_left integer := ${mostSetAside};`,
  )
  const control = sqlFiles["functions/control_lane.sql"]
  assert.include(control, `set status_reason = '${reasonOnceResumed}'`)
  assert.include(
    control,
    `status_reason in (${abandonedReasons.map((reason) => `'${reason}'`).join(", ")})`,
  )
  const { "rules.sql": rules } = sqlFiles
  assert.include(rules, `${refillQueue} > (`)
  assert.include(rules, `limit ${refillQueue}\n`)
  assert.include(rules, `limit ${mostReactions}\n`)
  // The index serves the statement only while both name the same types.
  for (const name of ["schema.sql", "rules.sql"] as const) {
    const [, types = ""] =
      /type in \(\s*('message\.received'[^)]*?)\s*\)/.exec(sqlFiles[name]) ?? []
    assert.deepStrictEqual(
      types.split(/,\s+/),
      receivedEventTypes.map((type) => `'${type}'`),
    )
  }
  assert.include(sqlFiles["functions/share_calls.sql"], `v_in_flight > ${receivedCallsShare}`)
  assert.include(rules, `events && '{${receivedEventTypes.join(",")}}'`)
  const load = sqlFiles["functions/load_acceptance.sql"]
  assert.deepStrictEqual(
    [...load.matchAll(/n\.platform = '(\w+)'\n\s+order by n\.id\n\s+limit (\d+)/g)].map(
      ([, platform, limit]) => [platform, Number(limit)],
    ),
    platforms.map((platform) => [platform, connectedShown]),
  )
})
