/** The accounts after the storm: those of simulated phones come from the database itself. */
import { assert } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect } from "effect"
import { allowance } from "./Clients.ts"
import type { Ledger } from "./Clients.ts"

/** The state of a message after the storm. */
export interface Outcome {
  readonly id: number
  readonly state: string
  readonly text: string
  /** How many a recipient saw. */
  readonly copies: number
  /** The types of its final events, separated by spaces. */
  readonly end_events: string
}

const endEvent: Readonly<Record<string, string>> = {
  sent: "message.sent",
  failed: "message.failed",
  cancelled: "message.cancelled",
  expired: "message.expired",
}

/** Checks the promise message by message; returns how many ended in each way. */
export const checkOutcomes = (outcomes: ReadonlyArray<Outcome>, ledger: Ledger) => {
  const byId = new Map(outcomes.map((outcome) => [outcome.id, outcome]))
  const byText = new Map<string, number>()
  const states: Record<string, number> = {}
  for (const outcome of outcomes) {
    const { copies, end_events, state, text } = outcome
    const what = JSON.stringify(outcome)
    states[state] = (states[state] ?? 0) + 1
    byText.set(text, (byText.get(text) ?? 0) + 1)
    assert.property(endEvent, state, `has an outcome: ${what}`)
    assert.strictEqual(end_events, endEvent[state], `announced once: ${what}`)
    assert.isAtMost(copies, 1, `no copy reached a recipient twice: ${what}`)
    if (state === "sent") assert.strictEqual(copies, 1, `sent means sent: ${what}`)
    if (state === "cancelled" || state === "expired") {
      assert.strictEqual(copies, 0, `never left: ${what}`)
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
  return states
}

/** The same for simulated phones, then allowance and quota. */
export const checkAccounts = (ledger: Ledger) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const outcomes = yield* sql<Outcome>`
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
    const states = checkOutcomes(outcomes, ledger)

    // Independent of the message: every recipient saw it once.
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
