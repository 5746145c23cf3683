/**
 * What the send path costs, in counts that do not depend on the machine: statements, rows read and bytes of
 * WAL. A change that costs more must say so here.
 */
import { assert, layer } from "@effect/vitest"
import type { EventId, IncomingMessage } from "@messaging-service/core"
import { receivedEventTypes, Store } from "@messaging-service/core"
import { EmbeddedPostgres, accepted, delivering, noon, sending } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { layer as layerStores } from "../src/index.ts"
import { aBareDatabase, aDatabaseClient } from "./databases.ts"
import { anExplainingPool, rowsRead } from "./QueryPlans.ts"

/** Statements count those inside functions too; bytes of WAL leave room for a split of an index page. */
const max = {
  accept: { statements: 6, rows: 3, wal: 1_100 },
  // Of a turn, whatever its length. The entry of lanes_leased saves each of its settlements old versions.
  claim: { statements: 3, rows: 6, wal: 450 },
  settle: { statements: 7, rows: 5, wal: 2_300 },
  take: { statements: 8, rows: 11, wal: 600 },
  deliver: { statements: 6, rows: 6, wal: 750 },
  // With a whole KiB of an answer; a receiver's usual few bytes cost as much WAL as they have.
  deliverAnswered: { statements: 6, rows: 6, wal: 1_950 },
  // With the keys that opened it, its event to an endpoint, and the look for what waits for it as a copy.
  receive: { statements: 14, rows: 14, wal: 4_000 },
}

let incoming = 0

const aText = (): IncomingMessage => ({
  _tag: "Message",
  remoteId: `3EB0${String(++incoming).padStart(16, "0")}`,
  mode: "live",
  fromMe: false,
  group: null,
  person: { phone: "+15550000001", lid: "91", userId: null, username: null, name: "Ann" },
  kind: "text",
  text: "Hello",
  content: null,
  file: null,
  quote: null,
  sentAt: noon,
})

layer(EmbeddedPostgres.layer({ settings: { autovacuum: "off", full_page_writes: "off" } }), {
  excludeTestServices: true,
})("what a message costs", (it) => {
  it.effect("is no more than it was", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      const client = yield* aDatabaseClient(database)
      const { readPlans, pool } = yield* anExplainingPool(database)
      const stores = yield* Layer.build(layerStores({ pool }))
      const written = Effect.map(
        client.query<{ readonly at: bigint; readonly writers: bigint }>(
          "wal",
          `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as at,
            pg_snapshot_xmax(pg_current_snapshot())::text::bigint as writers`,
        ),
        ([row]) => ({ wal: Number(row?.at), writers: Number(row?.writers) }),
      )
      const measureCost = <A, E, R>(work: Effect.Effect<A, E, R>) =>
        Effect.gen(function* () {
          const before = yield* written
          const plans = yield* readPlans(work)
          const after = yield* written
          const rows = plans.reduce((sum, { Plan }) => sum + rowsRead(Plan), 0)
          return {
            statements: plans.length,
            rows,
            wal: after.wal - before.wal,
            transactions: after.writers - before.writers,
          }
        })
      /** With what it made. */
      const costAndResult = <A, E, R>(work: Effect.Effect<A, E, R>) =>
        Effect.gen(function* () {
          const created: Array<A> = []
          const cost = yield* measureCost(Effect.map(work, (one) => created.push(one)))
          return [cost, created[0] as A] as const
        })
      yield* Effect.gen(function* () {
        const { key, number } = yield* delivering.aStageWithKey()
        yield* delivering.anEndpoint(key)
        const round = Effect.gen(function* () {
          const accept = yield* measureCost(accepted(number, { count: 1 }))
          const [claim, claimed] = yield* costAndResult(sending.claimOne(number))
          const settle = yield* measureCost(sending.settle([sending.sent(claimed)]))
          const [take, claimedDelivery] = yield* costAndResult(delivering.claimTheOne())
          const deliver = yield* measureCost(
            delivering.settleDeliveries(delivering.delivered(claimedDelivery)),
          )
          yield* accepted(number, { count: 1 })
          yield* sending.settle([sending.sent(yield* sending.claimOne(number))])
          const answered = delivering.delivered(yield* delivering.claimTheOne(), {
            responseBody: randomBytes(512).toString("hex"),
          })
          const deliverAnswered = yield* measureCost(delivering.settleDeliveries(answered))
          return { accept, claim, settle, take, deliver, deliverAnswered }
        })
        // Plans and pages are made.
        for (let times = 0; times < 5; times++) yield* round
        const sent = yield* round
        const { chats, sessions } = yield* Store
        const conversing = yield* delivering.aStageWithKey()
        yield* delivering.anEndpoint(conversing.key, { events: receivedEventTypes })
        yield* chats.putConversations(conversing.workspace.id, {
          groups: false,
          retentionDays: 30,
          media: "off",
          maxFileBytes: 1,
          maxStorageBytes: 1,
          holdNewChats: false,
          since: noon,
        })
        const receiving = Effect.gen(function* () {
          const receive = yield* measureCost(
            sessions.receive(
              conversing.number.id,
              "credentials",
              [{ type: "session", id: "1", value: `value ${incoming}` }],
              noon,
              null,
              [
                {
                  incoming: aText(),
                  eventId: `evt_${String(incoming).padStart(24, "0")}` as EventId,
                  toMessageJson: () => assert.fail("a received message is no message"),
                },
              ],
            ),
          )
          const [told] = yield* delivering.claimDue()
          if (told !== undefined) yield* delivering.settleDeliveries(delivering.delivered(told))
          return receive
        })
        for (let times = 0; times < 5; times++) yield* receiving
        const costs = { ...sent, receive: yield* receiving }
        for (const [operation, { rows, statements, wal }] of Object.entries(max)) {
          const cost = costs[operation as keyof typeof max]
          assert.isAtMost(cost.statements, statements, `${operation}: statements`)
          assert.isAtMost(cost.rows, rows, `${operation}: rows`)
          assert.isAtMost(cost.wal, wal, `${operation}: WAL`)
          assert.strictEqual(cost.transactions, 1, `${operation}: transactions that write`)
        }
      }).pipe(Effect.provide(stores))
    }),
  )
})
