/** Campaigns that run: rows become messages once, in hours, and leave others their room. */
import { assert, describe, it } from "@effect/vitest"
import { aNewCampaign } from "@messaging-service/testkit"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Numbers, Store, WorkGate, Workspaces } from "../../src/index.ts"
import type {
  Campaign,
  CampaignId,
  CampaignSettings,
  NewCampaignRow,
  NumberId,
  Phone,
  WorkspaceId,
} from "../../src/index.ts"
import { makeCampaignActions } from "../../src/service/campaignActions.ts"
import { arrived, copies, logOut, remaining, send, sendBatch } from "../service/Operations.ts"
import {
  aNumber,
  aPlan,
  aSender,
  aWorkspaceWith,
  day,
  hour,
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
} from "../service/Service.ts"

const toPhone = (row: number) => `+1555${String(1_000_000 + row)}` as Phone

const aRow = (row: number, more: Partial<NewCampaignRow> = {}): NewCampaignRow => ({
  row,
  line: null,
  to: { phone: toPhone(row) },
  needs: "either",
  recipientKey: `phone:${toPhone(row)}`,
  phone: toPhone(row),
  values: { name: `Row ${row}` },
  sendAt: null,
  expiresAt: null,
  state: "pending",
  refusal: null,
  ...more,
})

/** A draft with that many rows. */
const draft = (
  workspaceId: WorkspaceId,
  rows: number | ReadonlyArray<NewCampaignRow>,
  changes: Partial<CampaignSettings & Pick<Campaign, "mode">> = {},
) =>
  Effect.gen(function* () {
    const { campaigns } = yield* Store
    const now = yield* Clock.currentTimeMillis
    const campaignInsertion = yield* campaigns.insert(
      aNewCampaign(workspaceId, { ...changes, createdAt: now }),
      100,
      null,
    )
    if (campaignInsertion._tag !== "Inserted") return assert.fail(campaignInsertion._tag)
    const { id } = campaignInsertion.campaign
    yield* campaigns.appendRows({
      id,
      revision: 1,
      after: 0,
      rows:
        typeof rows === "number"
          ? Array.from({ length: rows }, (_, index) => aRow(index + 1))
          : rows,
      upload: null,
      until: now,
      isLast: true,
      now,
      idempotency: null,
      madeIds: [],
    })
    return { id, scope: { workspaceId, mode: campaignInsertion.campaign.mode } }
  })

interface Created {
  readonly id: CampaignId
  readonly scope: { readonly workspaceId: WorkspaceId; readonly mode: "live" | "test" }
}

const act = (name: "start" | "pause" | "stop" | "remove", { id, scope }: Created) =>
  Effect.flatMap(makeCampaignActions, (actions) => actions[name](scope, id))

const resume = ({ id, scope }: Created, fromRow: number | null = null) =>
  Effect.flatMap(makeCampaignActions, (actions) => actions.resume(scope, id, fromRow))

const started = (...args: Parameters<typeof draft>) =>
  Effect.tap(draft(...args), (created) => act("start", created))

/** State, why, and the counts that are not 0. */
const readCampaign = ({ id, scope }: Created) =>
  Effect.gen(function* () {
    const found = yield* (yield* Store).campaigns.get(scope, id, yield* Clock.currentTimeMillis)
    if (found === null) return null
    const { campaign, rows } = found
    const counts = Object.fromEntries(Object.entries(rows).filter(([, count]) => count > 0))
    return [campaign.state, campaign.stateReason, counts] as const
  })

const waits = ({ id, scope }: Created) =>
  Effect.gen(function* () {
    const actions = yield* makeCampaignActions
    const { waitsFor } = yield* actions.forecast(scope, id)
    return waitsFor?.map(({ reason, until }) => [reason, until])
  })

const texts = Effect.map(copies(), (all) => all.map(({ text }) => text))

const paced = (workspaceId: WorkspaceId, number: NumberId) =>
  Numbers.use((numbers) =>
    numbers.update("owner", workspaceId, number, {
      pacing: { minIntervalMillis: minute, jitterMillis: 0 },
    } as never),
  )

describe("a campaign that runs", () => {
  it.effect("makes one message of each row, and is done", () =>
    inAService(
      Effect.gen(function* () {
        const { workspace } = yield* aSender(60)
        const created = yield* started(workspace, 55)
        yield* settled
        assert.deepStrictEqual(yield* readCampaign(created), [
          "done",
          null,
          { total: 55, sent: 55 },
        ])
        assert.strictEqual(yield* remaining(workspace), 5)
        const all = yield* arrived()
        assert.lengthOf(new Set(all), 55)
        const rows = yield* (yield* Store).campaigns.rows(
          created.id,
          { statuses: null, code: null, phone: null },
          { after: null, limit: 100 },
          noon,
        )
        assert.strictEqual(rows[6]?.sentText, "Hello Row 7")
        assert.isNull(rows[6]?.values)
      }),
    ),
  )

  it.effect("lets 20 of its messages wait for a number, and single sends pass soon", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        yield* paced(workspace, number)
        const created = yield* started(workspace, 100)
        yield* settled
        const at = yield* readCampaign(created)
        assert.deepStrictEqual(at?.[2], { total: 100, sent: 1, queued: 19, pending: 80 })
        assert.deepStrictEqual(yield* waits(created), [["sending", null]])
        yield* send(key, { to: { phone: "+15559991234" }, text: "At once" })
        yield* pass(21 * minute)
        assert.include(yield* texts, "At once")
        yield* pass(2 * hour)
        assert.deepStrictEqual(yield* readCampaign(created), [
          "done",
          null,
          { total: 100, sent: 100 },
        ])
      }),
    ),
  )

  it.effect("of 100,000 rows lets at most 20 leave before a single send", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        yield* paced(workspace, number)
        const created = yield* started(workspace, 100_000)
        yield* settled
        const before = (yield* texts).length
        yield* send(key, { to: { phone: "+15559991234" }, text: "At once" })
        yield* pass(21 * minute)
        const all = yield* texts
        assert.include(all, "At once")
        assert.isAtMost(all.indexOf("At once") - before, 20)
        yield* act("stop", created)
      }),
    ),
  )

  it.effect("begins at its time, and takes a row on at the row's", () =>
    inAService(
      Effect.gen(function* () {
        const { workspace } = yield* aSender()
        const rows = [aRow(1, { sendAt: noon + 3 * hour }), aRow(2)]
        const created = yield* started(workspace, rows, { sendAt: noon + hour })
        yield* settled
        assert.strictEqual((yield* readCampaign(created))?.[0], "scheduled")
        yield* pass(hour)
        assert.deepStrictEqual((yield* readCampaign(created))?.[2], {
          total: 2,
          pending: 1,
          sent: 1,
        })
        assert.deepStrictEqual(yield* waits(created), [["scheduled", noon + 3 * hour]])
        yield* pass(2 * hour)
        assert.strictEqual((yield* readCampaign(created))?.[0], "done")
      }),
    ),
  )

  it.effect("holds what waits while paused and outside of its hours, and no other message", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        yield* paced(workspace, number)
        const hours = { days: ["mon" as const], from: 12 * 60, until: 12 * 60 + 5 }
        const created = yield* started(workspace, 30, { hours, timezone: "UTC" as never })
        yield* pass(2 * minute + second)
        assert.strictEqual((yield* readCampaign(created))?.[2]["sent"], 3)
        yield* act("pause", created)
        yield* send(key, { to: { phone: "+15559991234" }, text: "Not held" })
        yield* pass(2 * minute)
        assert.include(yield* texts, "Not held")
        assert.deepStrictEqual((yield* readCampaign(created))?.slice(0, 2), ["paused", "requested"])
        assert.strictEqual((yield* readCampaign(created))?.[2]["sent"], 3)
        yield* resume(created)
        yield* pass(hour)
        const { sent = 0 } = (yield* readCampaign(created))?.[2] ?? {}
        assert.isBelow(sent, 7)
        assert.deepStrictEqual(yield* waits(created), [["hours", noon + 7 * day]])
        yield* pass(7 * day)
        const later = (yield* readCampaign(created))?.[2]["sent"] ?? 0
        assert.isAbove(later, sent)
      }),
    ),
  )

  it.effect("stops: pending rows are skipped, and what waits is cancelled", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender(100)
        yield* paced(workspace, number)
        const created = yield* started(workspace, 60)
        yield* settled
        yield* act("stop", created)
        const counts = { total: 60, sent: 1, cancelled: 19, skipped: 40 }
        assert.deepStrictEqual(yield* readCampaign(created), ["stopped", null, counts])
        assert.strictEqual(yield* remaining(workspace), 99)
        yield* pass(day)
        assert.deepStrictEqual(yield* readCampaign(created), ["stopped", null, counts])
        const removed = yield* started(workspace, 5)
        yield* act("remove", removed)
        assert.isNull(yield* readCampaign(removed))
      }),
    ),
  )

  it.effect("cancels rather than expires what waits while the clock is wrong", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        yield* paced(workspace, number)
        const created = yield* started(workspace, 10, { expiresAt: noon + hour })
        yield* settled
        yield* (yield* WorkGate).close("clock", "it has leapt")
        yield* TestClock.adjust(2 * hour)
        yield* act("stop", created)
        const counts = { total: 10, sent: 1, cancelled: 9 }
        assert.deepStrictEqual(yield* readCampaign(created), ["stopped", null, counts])
      }),
    ),
  )

  it.effect("waits for credits, for its workspace and for a number, and goes on by itself", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspaceWith(3)
        const created = yield* started(workspace, 10)
        yield* settled
        assert.deepStrictEqual(yield* waits(created), [["not_connected", null]])
        yield* aNumber(workspace, { phone: "+15550000100" })
        yield* settled
        assert.deepStrictEqual((yield* readCampaign(created))?.[2], {
          total: 10,
          pending: 7,
          sent: 3,
        })
        assert.deepStrictEqual(yield* waits(created), [["no_credits", null]])
        const update = (change: object) =>
          Workspaces.use((workspaces) => workspaces.update("owner", workspace, change as never))
        yield* update({ accountDisabled: true, plan: aPlan({ messagesRemaining: 4 }) })
        yield* pass(minute)
        assert.strictEqual((yield* readCampaign(created))?.[2]["pending"], 7)
        yield* update({ accountDisabled: false })
        yield* settled
        assert.strictEqual((yield* readCampaign(created))?.[2]["pending"], 3)
        yield* update({ plan: aPlan({ messagesRemaining: 4 }) })
        yield* settled
        assert.strictEqual((yield* readCampaign(created))?.[0], "done")
      }),
    ),
  )

  it.effect("leaves its reserve to others, whose sends it never makes fail", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const created = yield* started(workspace, 30, { quotaReserve: 990 })
        yield* settled
        assert.deepStrictEqual((yield* readCampaign(created))?.[2], {
          total: 30,
          pending: 20,
          sent: 10,
        })
        assert.deepStrictEqual(yield* waits(created), [["quota", noon + day]])
        yield* sendBatch(key, 990, { text: "Others" })
        yield* pass(day)
        assert.strictEqual((yield* readCampaign(created))?.[2]["sent"], 20)
        yield* pass(day)
        assert.strictEqual((yield* readCampaign(created))?.[0], "done")
      }),
    ),
  )

  it.effect("goes on with another number when one is logged out", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        yield* paced(workspace, number)
        const created = yield* started(workspace, 30)
        yield* settled
        yield* logOut(number)
        yield* aNumber(workspace, { phone: "+15550000200" })
        yield* settled
        assert.deepStrictEqual((yield* readCampaign(created))?.[2], {
          total: 30,
          sent: 11,
          queued: 19,
        })
      }),
    ),
  )

  it.effect("pauses when none of its numbers is left", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        yield* paced(workspace, number)
        const created = yield* started(workspace, 30, { from: [number] })
        yield* settled
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        yield* settled
        assert.deepStrictEqual((yield* readCampaign(created))?.slice(0, 2), [
          "paused",
          "no_numbers",
        ])
      }),
    ),
  )

  it.effect("expires the rows that were not taken on in time, also while paused", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        yield* paced(workspace, number)
        const rows = Array.from({ length: 30 }, (_, index) => aRow(index + 1))
        const created = yield* started(workspace, rows, { expiresAt: noon + hour })
        yield* settled
        yield* act("pause", created)
        yield* pass(hour)
        assert.deepStrictEqual((yield* readCampaign(created))?.[2], {
          total: 30,
          sent: 1,
          expired: 29,
        })
        yield* resume(created)
        yield* settled
        assert.strictEqual((yield* readCampaign(created))?.[0], "done")
      }),
    ),
  )

  it.effect("in test mode sends to no phone and uses nothing up", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender(1)
        yield* logOut(number)
        const created = yield* started(workspace, 25, { mode: "test" })
        yield* settled
        assert.deepStrictEqual(yield* readCampaign(created), [
          "done",
          null,
          { total: 25, sent: 25 },
        ])
        assert.strictEqual(yield* remaining(workspace), 1)
        assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* arrived(), [])
      }),
    ),
  )
})
