/**
 * What campaigns cost, in counts that do not depend on the machine: a campaign with 100,000 rows that have
 * ended is read in few pages, and a row that is taken on writes little more than a send of a batch.
 */
import { assert, layer } from "@effect/vitest"
import { nextCheckAt, Store } from "@messaging-service/core"
import type { Campaign, CampaignId, NewCampaignRow, SendingNumber } from "@messaging-service/core"
import {
  EmbeddedPostgres,
  accepted,
  anAcceptance,
  aNewCampaign,
  aStage,
  noon,
} from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { layer as layerStores } from "../src/index.ts"
import { aBareDatabase, aDatabaseClient } from "./databases.ts"
import { anExplainingPool } from "./QueryPlans.ts"
import type { Node } from "./QueryPlans.ts"

const rowAt = (row: number): NewCampaignRow => ({
  row,
  line: row + 1,
  to: { phone: `+49151${10_000_000 + row}` },
  needs: "either",
  recipientKey: `+49151${10_000_000 + row}`,
  phone: `+49151${10_000_000 + row}` as NewCampaignRow["phone"],
  values: { name: "Mia", city: "Berlin" },
  sendAt: null,
  expiresAt: null,
  state: "pending",
  refusal: null,
})

const aRunningCampaign = (number: SendingNumber, rows: number) =>
  Effect.gen(function* () {
    const { campaigns } = yield* Store
    const inserted = yield* campaigns.insert(aNewCampaign(number.workspaceId), 100, null)
    assert(inserted._tag === "Inserted")
    const { id } = inserted.campaign
    const appended = yield* campaigns.appendRows({
      id,
      revision: 1,
      after: 0,
      rows: Array.from({ length: rows }, (_, at) => rowAt(at + 1)),
      upload: null,
      until: noon,
      isLast: true,
      now: noon,
      idempotency: null,
      madeIds: [],
    })
    assert.deepStrictEqual(appended, { _tag: "Appended" })
    const to = { ...inserted.campaign, state: "running" as const, runningSince: noon, lookAt: noon }
    const isMoved = yield* campaigns.move({
      id,
      revision: 2,
      now: noon,
      to,
      messages: null,
      skipBefore: null,
      isRemoved: false,
    })
    assert.isTrue(isMoved)
    const found = yield* campaigns.get({ workspaceId: number.workspaceId, mode: "live" }, id, noon)
    assert.strictEqual(found?.rows.pending, rows)
    return found!.campaign
  })

const takeRows = (number: SendingNumber, { id, revision }: Campaign, from: number, count: number) =>
  Effect.gen(function* () {
    const { campaigns } = yield* Store
    const acceptance = anAcceptance(number, { count, message: { reference: `campaign-${id}` } })
    const messages = acceptance.messages.map((message, at) => ({
      ...message,
      campaign: { id, row: from + at },
    }))
    const rows = messages.map(({ campaign, to }) => ({
      row: campaign.row,
      phone: "phone" in to ? to.phone : null,
    }))
    return yield* campaigns.take({
      id,
      revision,
      now: noon,
      queueLimit: 1000,
      acceptance: { ...acceptance, messages },
      taken: rows,
      refused: [],
      next: nextCheckAt(null),
    })
  })

const getBuffers = (plan: Node): number =>
  (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0)

/** Rows that ended, behind the store's back: so many that to send them would take minutes. */
const endedRows = (id: CampaignId, { id: number, workspaceId }: SendingNumber, rows: number) => [
  `insert into messages (
     workspace_id, number_id, created_at, due_at, allowance_taken, mode, state, platform, to_kind,
     to_phone, text, transport_id, campaign_id, campaign_row
   )
   select
     ${workspaceId}, ${number}, now(), now(), true, 'live',
     (array['sent', 'delivered', 'read', 'failed'])[1 + n % 4], 'whatsapp', 'phone',
     '+49151' || 10000000 + n, 'Hello', n::text, ${id}, n
   from generate_series(1, ${rows}) n`,
  `update campaign_rows r
   set state = 'taken',
     message_id = m.id
   from messages m
   where m.campaign_id = ${id}
     and r.campaign_id = ${id}
     and r.row = m.campaign_row`,
  `update campaigns
   set pending = 0
   where id = ${id}`,
]

layer(EmbeddedPostgres.layer({ settings: { autovacuum: "off", full_page_writes: "off" } }), {
  excludeTestServices: true,
})("what campaigns cost", (it) => {
  it.effect("a take, and a read of a large one", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      const client = yield* aDatabaseClient(database)
      const { readPlans, pool } = yield* anExplainingPool(database)
      const stores = yield* Layer.build(layerStores({ pool }))
      const getWal = <A, E, R>(work: Effect.Effect<A, E, R>) =>
        Effect.gen(function* () {
          const at = Effect.map(
            client.query<{ readonly at: bigint }>(
              "wal",
              "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as at",
            ),
            ([row]) => Number(row?.at),
          )
          const before = yield* at
          yield* work
          return (yield* at) - before
        })
      yield* Effect.gen(function* () {
        const { number } = yield* aStage()
        const { campaigns } = yield* Store
        const campaign = yield* aRunningCampaign(number, 1000)
        const scope = { workspaceId: number.workspaceId, mode: "live" as const }

        const batch = accepted(number, { count: 20, message: { reference: "campaign-1" } })
        yield* batch
        yield* takeRows(number, campaign, 1, 20)
        const ofBatch = yield* getWal(batch)
        const ofTake = yield* getWal(takeRows(number, campaign, 21, 20))
        assert.isAtMost(ofTake / ofBatch, 1.5, `${ofTake} bytes after ${ofBatch}`)
        const countedCampaign = yield* campaigns.get(scope, campaign.id, noon)
        assert.strictEqual(countedCampaign?.rows.queued, 40)
        assert.strictEqual(countedCampaign?.rows.pending, 960)
        assert.strictEqual(countedCampaign?.rows.total, 1000)

        const large = yield* aRunningCampaign(number, 5000)
        yield* Effect.forEach(
          Array.from({ length: 19 }, (_, at) => (at + 1) * 5000),
          (after) =>
            client.query(
              "rows",
              `insert into campaign_rows (campaign_id, row, state, needs)
               select ${large.id}, n, 'pending', 'either'
               from generate_series(${after + 1}, ${after + 5000}) n`,
            ),
        )
        yield* client.query("rows", `update campaigns set last_row = 100000 where id = ${large.id}`)
        for (const text of endedRows(large.id, number, 100_000)) yield* client.query("rows", text)
        yield* client.query("vacuum", "vacuum analyze messaging.messages")
        yield* client.query("vacuum", "vacuum analyze messaging.campaign_rows")
        const [read, ...others] = yield* readPlans(campaigns.get(scope, large.id, noon))
        assert.lengthOf(others, 0)
        assert.isAtMost(getBuffers(read!.Plan), 1500)
        const [check] = yield* readPlans(campaigns.check([large.id], noon, 20))
        assert.isAtMost(getBuffers(check!.Plan), 100)
        const failed = campaigns.rows(
          large.id,
          { statuses: ["failed"], code: null, phone: null },
          { after: 50_000, limit: 100 },
          noon,
        )
        assert.lengthOf(yield* failed, 100)
        const pages = yield* readPlans(failed)
        assert.isAtMost(
          pages.reduce((sum, { Plan }) => sum + getBuffers(Plan), 0),
          1500,
        )
      }).pipe(Effect.provide(stores))
    }),
  )
})
