/**
 * Deliveries under SIGKILL (contract: Events, Deliveries): every message's event reaches its
 * endpoint with the message's end, and no other events do.
 */
import { assert } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { deliveryLeaseMillis } from "@messaging-service/core"
import type { WebhookEvent } from "@messaging-service/client/webhook"
import { Effect } from "effect"
import { aSender, emptyLedger, oneRequest, scheduleAndCancel, sendInVain } from "./crash/Clients.ts"
import type { Ledger } from "./crash/Clients.ts"
import { checkAccounts } from "./crash/accounts.ts"
import { passTime, withDatabase } from "./crash/books.ts"
import { aReceiver, subscribe } from "./crash/Receiver.ts"
import type { Call, Receiver } from "./crash/Receiver.ts"
import { crashTest, runLoad } from "./crash/Storm.ts"

interface Row {
  readonly id: number
  readonly workspace_id: number
  readonly state: string
  readonly text: string
  readonly error_code: string | null
  readonly event_id: string
}

/** An event's report of its message, as far as the accounts know it. */
const report = ({ data, type }: WebhookEvent) => {
  assert("message" in data)
  const { error, id, sent_at, status, text } = data.message
  return { type, id, status, text, error: error?.code ?? null, wasSent: sent_at !== null }
}

const checkDeliveries = (ledger: Ledger, receiver: Receiver) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const rows = yield* sql<Row>`
      select
        m.id::int as id,
        m.workspace_id::int as workspace_id,
        m.state,
        m.text,
        m.error_code,
        o.event_id
      from messages m
      join outbox o on o.message_id = m.id`

    const getCalls = new Map<string, Array<Call>>()
    for (const call of receiver.calls) {
      const known = getCalls.get(call.event.id)
      if (known === undefined) getCalls.set(call.event.id, [call])
      else known.push(call)
    }
    assert.deepStrictEqual(receiver.refused, [], "every call has a valid signature")
    assert.strictEqual(getCalls.size, rows.length, "an event for each message, and no other")

    const heardOf = new Set<number>()
    for (const { error_code, event_id, id, state, text, workspace_id } of rows) {
      const what = `${event_id} of message ${id}`
      const calls = getCalls.get(event_id) ?? []
      assert(
        calls.some(({ claimed }) => claimed),
        `${what} was delivered`,
      )
      for (const { body, event, path } of calls) {
        assert.strictEqual(path, `/${workspace_id}`, `${what} went to its own workspace`)
        assert.strictEqual(body, calls[0]!.body, `${what} says the same each time`)
        assert.deepStrictEqual(report(event), {
          type: `message.${state}` as WebhookEvent["type"],
          id,
          status: state,
          text,
          error: error_code,
          wasSent: state === "sent",
        })
      }
      heardOf.add(id)
    }
    for (const id of ledger.accepted.keys()) assert(heardOf.has(id), `message ${id} was told of`)

    const pending = yield* sql`select endpoint_id, event_id, attempts from webhook_deliveries`
    assert.deepStrictEqual(pending, [], "nothing is left to be delivered")
  })

crashTest("every event is delivered, and tells the truth", (cluster, kills) =>
  Effect.gen(function* () {
    const receiver = yield* aReceiver()
    const senders = yield* Effect.replicateEffect(aSender(cluster), 4)
    for (const sender of senders) yield* subscribe(cluster, sender, receiver)

    const ledger = emptyLedger()
    yield* runLoad(cluster, {
      kills,
      clients: Array.from({ length: 4 }, () => oneRequest(cluster, senders, ledger)),
      beforeKill: (killed) => {
        const sender = senders[killed % senders.length]!
        return Effect.andThen(
          sendInVain(cluster, sender, ledger),
          scheduleAndCancel(cluster, sender, ledger),
        )
      },
    })
    // Leases of the dead expire, and rejected calls repeat; a second time for messages that were
    // still being accepted.
    yield* withDatabase(cluster)(passTime(deliveryLeaseMillis))
    yield* cluster.advance(3600)
    yield* cluster.settle
    yield* cluster.advance(600)
    yield* cluster.settle

    const states = yield* withDatabase(cluster)(
      Effect.andThen(checkDeliveries(ledger, receiver), checkAccounts(ledger)),
    )
    yield* Effect.logInfo("deliveries", { calls: receiver.calls.length, ...states })
    // A storm in which nothing happened proves nothing.
    for (const state of ["sent", "failed", "cancelled"]) assert.isAbove(states[state] ?? 0, 0)
  }),
)
