/**
 * What is looked up is looked up, however much waits. Plans are made once and kept, often while nothing
 * waits: to read all of an index that is empty then looks as cheap as to find one entry. So the tables are
 * analysed with a long past and nothing that waits, plans are made, a backlog comes, and the rows
 * are counted that PostgreSQL itself says it read for each statement, those inside functions too.
 */
import { assert, layer } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { EventId, WorkspaceId } from "@messaging-service/core"
import { EmbeddedPostgres, accepted, delivering, noon, sending } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { layer as layerStores } from "../src/index.ts"
import { aBareDatabase, aDatabaseClient, aProcess } from "./databases.ts"
import { anExplainingPool, assertLookedUp, rowsRead } from "./QueryPlans.ts"
import type { Explained } from "./QueryPlans.ts"

const past = 20_000
const waiting = 400
/** A statement that reads the backlog, or what of it has deliveries, is far above. */
const maxRows = waiting / 10

const messages = `
insert into messaging.messages (
  workspace_id, number_id, created_at, due_at, sent_at, allowance_taken, mode, state, platform,
  to_kind, text, transport_id
)
select
  1000, 1000 + place % 100, at.moment, at.moment, at.moment, false, 'live', 'sent', 'whatsapp',
  'phone', 'Hello', place::text
from generate_series(1, ${past}) place
cross join lateral (
  select timestamptz '2025-01-01' + place * interval '1 second' as moment
) at`

const files = `
insert into messaging.media_files (
  workspace_id, mode, file_name, type, mime_type, size, storage_key, created_at, state
)
select w.id, 'live', 'a.png', 'image', 'image/png', 1, place::text, '2025-01-01', 'kept'
from messaging.workspaces w
cross join generate_series(1, ${past}) place`

const events = `
insert into messaging.outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
select
  1, place, to_timestamp(${noon} / 1000.0) + place * interval '1 second',
  'evt_' || lpad(place::text, 24, '0'), 'message.sent', 'live', repeat('body', 100)
from generate_series(1, ${past}) place`

const aFile = (workspaceId: WorkspaceId) => ({
  workspaceId,
  mode: "live" as const,
  fileName: "a.pdf",
  type: "file" as const,
  mimeType: "application/pdf",
  size: 1,
  storageKey: "a",
  createdAt: noon,
})

/** A statement as its source has it. */
const getText = (plan: Explained) => plan["Query Text"].replaceAll('"messaging".', "")

layer(EmbeddedPostgres.layer({ settings: { autovacuum: "off" } }), {
  excludeTestServices: true,
})("a backlog that came after the plans were made", (it) => {
  it.effect("is not read by what ends, settles, delivers or sweeps a few of it", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      yield* Effect.provide(delivering.aStageWithKey(), yield* aProcess(database))
      const client = yield* aDatabaseClient(database)
      yield* client.query("past", messages)
      yield* client.query("past", files)
      yield* client.query("analysed", "vacuum analyze")
      const { readPlans, pool } = yield* anExplainingPool(database)
      const stores = yield* Layer.build(layerStores({ pool }))

      yield* Effect.gen(function* () {
        const { key, number, workspace } = yield* delivering.aStageWithKey()
        const others = yield* delivering.aStageWithKey()
        yield* delivering.anEndpoint(key)
        yield* delivering.anEndpoint(others.key)
        const { media } = yield* Store
        const attached = yield* media.attach(aFile(workspace.id), 1)
        const attachmentId = attached._tag === "Reserved" ? attached.id : null
        assert.isNotNull(attachmentId)
        const few = { limit: 2, perTarget: 2 }
        const work = Effect.gen(function* () {
          const [first] = yield* accepted(number, {
            count: 2,
            message: {
              media: { mediaId: null, attachmentId, url: null, type: "file", fileName: "a.pdf" },
            },
          })
          assert.deepStrictEqual(yield* sending.end(sending.cancelled(first!)), [first!.id])
          yield* sending.sendNext(number)
          const claimed = yield* delivering.claimDue(few)
          assert.lengthOf(claimed, 2)
          yield* delivering.settleAndClaimDue(
            claimed.map((one) => delivering.delivered(one)),
            few,
          )
          yield* media.sweepAttachments({ now: noon, unusedSince: noon })
        })
        yield* work
        yield* accepted(others.number, { count: waiting })
        const ended = yield* accepted(others.number, { count: waiting })
        yield* sending.end(...ended.map((one) => sending.cancelled(one)))

        const plans = yield* readPlans(work)
        for (const statement of ["update messages", "update webhook_lanes", "update media_files"]) {
          assert.isTrue(
            plans.some((plan) => getText(plan).includes(statement)),
            statement,
          )
        }
        for (const plan of plans) {
          assertLookedUp(plan.Plan, getText(plan))
          assert.isAtMost(rowsRead(plan.Plan), maxRows, JSON.stringify(plan))
        }
      }).pipe(Effect.provide(stores))
    }),
  )

  it.effect("of events is not read to deliver one of them again", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      const { key, workspace } = yield* Effect.provide(
        delivering.aStageWithKey(),
        yield* aProcess(database),
      )
      assert.strictEqual(workspace.id, 1)
      const client = yield* aDatabaseClient(database)
      yield* client.query("past", events)
      yield* client.query("analysed", "vacuum analyze")
      const { readPlans, pool } = yield* anExplainingPool(database)
      const stores = yield* Layer.build(layerStores({ pool }))

      yield* Effect.gen(function* () {
        const endpoint = yield* delivering.anEndpoint(key)
        const { webhooks } = yield* Store
        const scope = { workspaceId: workspace.id, mode: key.mode }
        const eventId = `evt_${String(past / 2).padStart(24, "0")}` as EventId
        let answer: unknown
        const plans = yield* readPlans(
          Effect.map(
            webhooks.redeliver(scope, endpoint.id, eventId, noon),
            (one) => (answer = one),
          ),
        )
        assert.deepStrictEqual(answer, { _tag: "Queued", type: "message.sent" })
        const read = plans.reduce((sum, { Plan }) => sum + rowsRead(Plan), 0)
        assert.isAtMost(read, past / 20)
      }).pipe(Effect.provide(stores))
    }),
  )

  it.effect("of test messages of one workspace is not read to find those of another", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      yield* Effect.provide(delivering.aStageWithKey(), yield* aProcess(database))
      const client = yield* aDatabaseClient(database)
      yield* client.query("past", messages)
      yield* client.query("analysed", "vacuum analyze")
      const { readPlans, pool } = yield* anExplainingPool(database)
      const stores = yield* Layer.build(layerStores({ pool }))

      yield* Effect.gen(function* () {
        const flood = yield* delivering.aStageWithKey()
        const idle = yield* delivering.aStageWithKey()
        const store = (yield* Store).messages
        const due = Effect.map(store.dueTest(noon, 10, 5), (found) =>
          found.map(({ workspaceId }) => workspaceId),
        )
        const mode = "test"
        assert.deepStrictEqual(yield* due, [])
        for (let times = 0; times < 5; times++) {
          yield* accepted(flood.number, { count: waiting, mode })
        }
        yield* accepted(idle.number, { count: 1, mode })

        const plans = yield* readPlans(
          Effect.map(due, (found) =>
            assert.deepStrictEqual(found, [
              ...Array.from({ length: 5 }, () => flood.workspace.id),
              idle.workspace.id,
            ]),
          ),
        )
        const read = plans.filter((plan) => getText(plan).includes("with recursive owner"))
        assert.lengthOf(read, 1)
        for (const plan of read) {
          assertLookedUp(plan.Plan, getText(plan))
          assert.isAtMost(rowsRead(plan.Plan), maxRows, JSON.stringify(plan))
        }
      }).pipe(Effect.provide(stores))
    }),
  )

  it.effect("of held messages is not read by what sends those behind them", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      yield* Effect.provide(delivering.aStageWithKey(), yield* aProcess(database))
      const client = yield* aDatabaseClient(database)
      yield* client.query("past", messages)
      yield* client.query("analysed", "vacuum analyze")
      const { readPlans, pool } = yield* anExplainingPool(database)
      const stores = yield* Layer.build(layerStores({ pool }))

      yield* Effect.gen(function* () {
        const { number } = yield* delivering.aStageWithKey()
        const status = (yield* Store).queue
        const work = Effect.gen(function* () {
          yield* accepted(number, { count: 2 })
          yield* sending.sendNext(number)
          yield* sending.sendNext(number)
          yield* status.nextDue("lanes")
          yield* status.nextDue("test_messages")
        })
        // Plans are made while nothing waits.
        yield* work
        for (const mode of ["live", "test"] as const) {
          for (let times = 0; times < 5; times++) yield* accepted(number, { count: waiting, mode })
        }
        const { startEpoch: begin } = (yield* Store).system
        assert.strictEqual(yield* begin({ epoch: 1, above: 0, now: noon }), 2)
        for (const plan of yield* readPlans(work)) {
          assertLookedUp(plan.Plan, getText(plan))
          assert.isAtMost(rowsRead(plan.Plan), maxRows, JSON.stringify(plan))
        }
      }).pipe(Effect.provide(stores))
    }),
  )
})
