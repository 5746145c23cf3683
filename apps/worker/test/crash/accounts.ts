/** The books after the storm, read from the database itself. */
import { assert } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect } from "effect"
import { allowance } from "./Clients.ts"
import type { Ledger } from "./Clients.ts"

interface Row {
  readonly id: number
  readonly state: string
  readonly text: string
  readonly copies: number
  readonly end_events: string
}

const endEvent: Readonly<Record<string, string>> = {
  sent: "message.sent",
  failed: "message.failed",
  cancelled: "message.cancelled",
  expired: "message.expired",
}

/** Checks the promise message by message, then allowance and quota. */
export const checkAccounts = (ledger: Ledger) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const rows = yield* sql<Row>`
      select
        m.id::int as id,
        m.state,
        m.text,
        (
          select count(*)::int
          from simulated_sent s
          where s.transport_id = m.transport_id
        ) as copies,
        (
          select coalesce(string_agg(o.type, ' '), '')
          from outbox o
          where o.message_id = m.id
        ) as end_events
      from messages m`

    const byId = new Map(rows.map((row) => [row.id, row]))
    const byText = new Map<string, number>()
    const states: Record<string, number> = {}
    for (const row of rows) {
      const what = JSON.stringify(row)
      states[row.state] = (states[row.state] ?? 0) + 1
      byText.set(row.text, (byText.get(row.text) ?? 0) + 1)
      assert.notStrictEqual(row.state, "waiting", `has an outcome: ${what}`)
      assert.strictEqual(row.end_events, endEvent[row.state], `announced once: ${what}`)
      assert.isAtMost(row.copies, 1, `no copy reached a recipient twice: ${what}`)
      if (row.state === "sent") assert.strictEqual(row.copies, 1, `sent means sent: ${what}`)
      if (row.state === "cancelled" || row.state === "expired") {
        assert.strictEqual(row.copies, 0, `never left: ${what}`)
      }
    }
    for (const [id, text] of ledger.accepted) {
      assert.strictEqual(byId.get(id)?.text, text, `acknowledged message ${id} is there`)
    }
    for (const [text, count] of ledger.expected) {
      assert.strictEqual(byText.get(text), count, `${text} was made once`)
    }
    for (const id of ledger.cancelled) {
      assert.strictEqual(byId.get(id)?.state, "cancelled", `message ${id} stays cancelled`)
    }

    // Whatever its message: what a recipient saw, a recipient saw once.
    const twice = yield* sql`
      select number_id, recipient, text, count(*)
      from simulated_sent
      group by 1, 2, 3
      having count(*) > 1`
    assert.deepStrictEqual(twice, [])

    const wrongAllowance = yield* sql`
      select w.id, w.plan_messages_remaining, taken.count
      from workspaces w
      join lateral (
        select count(*)
        from messages m
        where m.workspace_id = w.id
          and m.state not in ('cancelled', 'expired')
      ) taken on true
      where w.plan_messages_remaining <> ${allowance} - taken.count`
    assert.deepStrictEqual(wrongAllowance, [])

    const wrongQuota = yield* sql`
      select l.number_id, l.quota_bound, planned.count
      from lanes l
      join lateral (
        select count(*)
        from messages m
        where m.number_id = l.number_id
          and m.state not in ('cancelled', 'expired')
      ) planned on true
      where l.quota_bound < planned.count
        or l.lease_until is not null
        or l.next_due is not null`
    assert.deepStrictEqual(wrongQuota, [])
    return states
  })
