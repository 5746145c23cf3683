/** `CampaignStore`: records and drafts, their rows, and interrupted uploads. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { Campaign } from "@messaging-service/core"
import { Effect } from "effect"
import {
  aCampaign,
  readAgain,
  aNewCampaign,
  append,
  appended,
  aRefusedRow,
  aRow,
  aRunning,
  getCounts,
  found,
  getCounted,
  insert,
  moved,
  pause,
  getRows,
  someRows,
  stop,
} from "../Campaigning.ts"
import { at, ids, present } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import { claimKey } from "../Reading.ts"
import { aClaim, aKey, aWorkspace, hour, minute, noon } from "../Records.ts"
import type { Topic } from "../Topic.ts"

const listed = (
  { mode, workspaceId }: Pick<Campaign, "mode" | "workspaceId">,
  states: ReadonlyArray<Campaign["state"]> | null = null,
  before: number | null = null,
  limit = 100,
) =>
  Store.use(({ campaigns: store }) =>
    store.list({ workspaceId, mode }, { states }, { before, limit }, noon),
  )

const upload = (campaign: Campaign, first: number, count: number, isLast = false, name = "a") =>
  append(campaign, someRows(first, count), { upload: name, isLast })

const conflict = <const Guard extends string>(guard: Guard) =>
  ({ _tag: "Conflict", guard }) as const

const aStageWithKey = Effect.gen(function* () {
  const workspace = yield* aWorkspace()
  const { key } = yield* aKey(workspace.id)
  return { workspace, key }
})

export const campaignRows: Topic = (it, { parallel }) => {
  it.effect("a campaign is there for its workspace and mode, until it was removed", () =>
    Effect.gen(function* () {
      const store = (yield* Store).campaigns
      const { id: workspaceId } = yield* aWorkspace()
      const other = yield* aWorkspace()
      const input = aNewCampaign(workspaceId, {
        hours: { days: ["mon", "fri"], from: 540, until: 1080 },
        expiresAt: noon + hour,
        media: {
          mediaId: null,
          attachmentId: null,
          url: "https://example.com/a.png",
          type: "image",
          fileName: null,
        },
      })
      const campaign = yield* aCampaign(workspaceId, input)
      assert.deepStrictEqual(campaign, { ...input, id: campaign.id, revision: 1 })
      assert.deepStrictEqual(present(yield* getCounted(campaign)).campaign, campaign)
      for (const scope of [
        { workspaceId, mode: "test" },
        { workspaceId: other.id, mode: "live" },
      ] as const) {
        assert.isNull(yield* store.get(scope, campaign.id, noon))
        assert.deepStrictEqual((yield* listed(scope)).items, [])
      }
      assert.isTrue(yield* moved(campaign, {}, { isRemoved: true }))
      assert.isNull(yield* getCounted(campaign))
      assert.deepStrictEqual((yield* listed(campaign)).items, [])
      assert.deepStrictEqual(yield* store.check([campaign.id], noon, 20), [])
      assert.deepStrictEqual(yield* store.created(campaign.id), campaign)
    }),
  )

  it.effect("so many that have not ended, of a workspace and mode", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const first = yield* aRunning(id, [])
      yield* aCampaign(id)
      yield* aCampaign(id, { mode: "test" })
      assert.deepStrictEqual(yield* insert(aNewCampaign(id), 2), { _tag: "Full" })
      assert.isTrue(yield* stop(first))
      const outcomes = yield* Effect.forEach(
        range(parallel ? 8 : 2),
        () => insert(aNewCampaign(id), 2),
        atOnce,
      )
      const campaignInsertions = outcomes.filter(({ _tag }) => _tag === "Inserted")
      assert.lengthOf(campaignInsertions, 1)
      assert.lengthOf((yield* listed(first, ["draft"])).items, 2)
    }),
  )

  it.effect("the commit that makes it finishes the claim, or nothing is written", () =>
    Effect.gen(function* () {
      const { key, workspace } = yield* aStageWithKey
      const claim = aClaim(key.id)
      yield* claimKey(workspace.id, claim)
      const campaign = aNewCampaign(workspace.id)
      const inserted = yield* insert(campaign, 100, claim)
      const { id } = present(inserted._tag === "Inserted" ? inserted.campaign : null)
      const outcome = yield* claimKey(workspace.id, { ...claim, token: "repeat" })
      assert.deepStrictEqual(outcome._tag === "Finished" && outcome.record.madeIds, [id])
      assert.deepStrictEqual(yield* insert(campaign, 100, claim), conflict("idempotency"))
      assert.lengthOf((yield* listed(campaign)).items, 1)
    }),
  )

  it.effect("lists are newest first, by state and by page", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const draft = yield* aCampaign(id)
      const running = yield* aRunning(id, [aRow(1)])
      const last = yield* aCampaign(id)
      const all = yield* listed(draft)
      assert.deepStrictEqual(all, {
        items: [last, running, draft].map((campaign) => ({
          id: campaign.id,
          campaign,
          rows: present(all.items.find((one) => one.id === campaign.id)).rows,
        })),
        next: null,
      })
      assert.deepStrictEqual(yield* getCounts(running), { total: 1, pending: 1 })
      const first = yield* listed(draft, null, null, 2)
      assert.deepStrictEqual([ids(first.items), first.next], [[last.id, running.id], running.id])
      assert.deepStrictEqual(ids((yield* listed(draft, null, first.next, 2)).items), [draft.id])
      assert.deepStrictEqual(ids((yield* listed(draft, ["draft"], null, 1)).items), [last.id])
      assert.deepStrictEqual(ids((yield* listed(draft, ["running", "done"])).items), [running.id])
    }),
  )

  it.effect("new settings are written on the revision that they were decided on", () =>
    Effect.gen(function* () {
      const store = (yield* Store).campaigns
      const { id } = yield* aWorkspace()
      const campaign = yield* aCampaign(id)
      const settings = { ...campaign, name: "Summer", quotaReserve: 0, sendAt: noon + hour }
      const changed = { ...campaign, name: "Summer", quotaReserve: 0, sendAt: noon + hour }
      assert.isTrue(yield* store.update(campaign.id, 1, settings, noon + hour))
      assert.deepStrictEqual(yield* readAgain(campaign), {
        ...changed,
        lookAt: noon + hour,
        revision: 2,
      })
      assert.isFalse(yield* store.update(campaign.id, 1, campaign, null))
      assert.deepStrictEqual(yield* store.created(campaign.id), campaign)
      assert.isTrue(yield* moved(yield* readAgain(campaign), {}, { isRemoved: true }))
      assert.isFalse(yield* store.update(campaign.id, 3, campaign, null))
    }),
  )

  it.effect("rows are appended to a draft, behind those that it has", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const campaign = yield* aCampaign(id)
      const rows = [aRow(1, { line: 2, sendAt: noon, expiresAt: noon + hour }), aRefusedRow(2)]
      assert.deepStrictEqual(yield* append(campaign, rows), appended)
      assert.strictEqual((yield* readAgain(campaign)).revision, 2)
      const unread = {
        messageId: null,
        sentText: null,
        numberId: null,
        takenOnAt: null,
        sentAt: null,
        deliveredAt: null,
        readAt: null,
        error: null,
      }
      assert.deepStrictEqual(
        yield* getRows(campaign),
        rows.map((row) => ({ ...row, ...unread, status: row.state as "pending" })),
      )
      assert.deepStrictEqual(yield* append(campaign, [aRow(2)]), conflict("campaign"))
      assert.deepStrictEqual(yield* append(campaign, [aRow(4)]), conflict("campaign"))
      assert.deepStrictEqual(yield* getCounts(campaign), { total: 2, pending: 1, refused: 1 })
      const paused = yield* pause(yield* readAgain(campaign))
      assert.deepStrictEqual(yield* append(campaign, [aRow(3)]), conflict("campaign"))
      yield* moved(paused, {}, { isRemoved: true })
      assert.deepStrictEqual(yield* append(campaign, [aRow(3)]), conflict("campaign"))
    }),
  )

  it.effect("no rows come that were checked with settings from before a change", () =>
    Effect.gen(function* () {
      const store = (yield* Store).campaigns
      const { id } = yield* aWorkspace()
      const campaign = yield* aCampaign(id)
      const { revision } = campaign
      assert.deepStrictEqual(yield* upload(campaign, 1, 2), appended)
      assert.isTrue(
        yield* store.update(campaign.id, revision, { ...campaign, duplicates: "drop" }, null),
      )
      const last = { upload: "a", revision }
      assert.deepStrictEqual(yield* append(campaign, [aRow(3)], last), conflict("campaign"))
      yield* store.abandonUpload(campaign.id, "a")
      assert.deepStrictEqual(yield* append(campaign, [aRow(1)], { revision }), conflict("campaign"))
      assert.deepStrictEqual(yield* append(campaign, [aRow(1)]), appended)
      assert.deepStrictEqual(yield* found(campaign), [1])
    }),
  )

  it.effect("one of several calls at once appends", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const campaign = yield* aCampaign(id)
      for (let round = 0; round < (parallel ? 10 : 2); round++) {
        const outcomes = yield* Effect.forEach(
          range(4),
          () => append(campaign, someRows(2 * round + 1, 2)),
          atOnce,
        )
        assert.lengthOf(
          outcomes.filter(({ _tag }) => _tag === "Appended"),
          1,
        )
      }
      const rows = yield* found(campaign)
      assert.deepStrictEqual(
        rows,
        rows.map((_, index) => index + 1),
      )
    }),
  )

  it.effect("the last commit of rows finishes the claim, or nothing is written", () =>
    Effect.gen(function* () {
      const { key, workspace } = yield* aStageWithKey
      const campaign = yield* aCampaign(workspace.id)
      const claim = aClaim(key.id)
      yield* claimKey(workspace.id, claim)
      const repeat = { ...claim, token: "repeat" }
      yield* append(campaign, [aRow(1)], { upload: "a", isLast: false })
      assert.strictEqual((yield* claimKey(workspace.id, repeat))._tag, "InProgress")
      const record = { madeIds: [-campaign.id, 1, 2], shown: { problems: [aRow(2)] } }
      const last = { upload: "a", idempotency: claim, ...record }
      assert.deepStrictEqual(yield* append(campaign, [aRow(2)], last), appended)
      const outcome = yield* claimKey(workspace.id, repeat)
      assert.deepInclude(outcome._tag === "Finished" && outcome.record, record)
      assert.deepStrictEqual(
        yield* append(campaign, [aRow(3)], { idempotency: claim }),
        conflict("idempotency"),
      )
      assert.deepStrictEqual(yield* getCounts(campaign), { total: 2, pending: 2 })
    }),
  )

  it.effect("rows of an upload are there with its last commit", () =>
    Effect.gen(function* () {
      const store = (yield* Store).campaigns
      const { id } = yield* aWorkspace()
      const campaign = yield* aCampaign(id)
      yield* append(campaign, [aRow(1, { recipientKey: "x" })])
      const own = [aRow(2, { recipientKey: "y" }), aRow(3, { recipientKey: "x" })]
      assert.deepStrictEqual(yield* append(campaign, own, { upload: "a", isLast: false }), appended)
      assert.deepStrictEqual(yield* getCounts(campaign), { total: 1, pending: 1 })
      assert.deepStrictEqual(yield* found(campaign), [1])
      assert.strictEqual((yield* readAgain(campaign)).revision, 2)
      const first = (name: string | null) =>
        Effect.map(store.firstRows(campaign.id, name, ["x", "y", "z"]), (rows) =>
          [...rows].toSorted(),
        )
      assert.deepStrictEqual(yield* first(null), [["x", 1]])
      assert.deepStrictEqual(yield* first("a"), [
        ["x", 1],
        ["y", 2],
      ])
      assert.deepStrictEqual(yield* upload(campaign, 4, 1, true), appended)
      assert.deepStrictEqual(yield* found(campaign), [1, 2, 3, 4])
      assert.strictEqual((yield* readAgain(campaign)).revision, 3)
      assert.deepStrictEqual(yield* first(null), [
        ["x", 1],
        ["y", 2],
      ])
    }),
  )

  it.effect("while an upload is under way no other rows come; what breaks off is dropped", () =>
    Effect.gen(function* () {
      const store = (yield* Store).campaigns
      const { id } = yield* aWorkspace()
      const campaign = yield* aCampaign(id)
      assert.deepStrictEqual(yield* upload(campaign, 1, 3), appended)
      assert.deepStrictEqual(yield* upload(campaign, 1, 1, true, "b"), conflict("upload"))
      assert.deepStrictEqual(yield* append(campaign, [aRow(1)]), conflict("upload"))
      const later = { now: noon + minute }
      assert.deepStrictEqual(
        yield* append(campaign, [aRow(1)], { ...later, upload: "b", isLast: false }),
        appended,
      )
      assert.deepStrictEqual(yield* upload(campaign, 4, 1), conflict("upload"))
      yield* store.abandonUpload(campaign.id, "a")
      assert.deepStrictEqual(yield* append(campaign, [aRow(1)]), conflict("upload"))
      yield* store.abandonUpload(campaign.id, "b")
      assert.deepStrictEqual(yield* append(campaign, [aRow(1), aRow(2)]), appended)
      assert.deepStrictEqual(yield* found(campaign), [1, 2])

      yield* upload(campaign, 3, 2)
      yield* store.forget(noon + minute + 1)
      assert.deepStrictEqual(yield* upload(campaign, 5, 1), conflict("campaign"))
      yield* upload(campaign, 3, 2, false, "c")
      yield* store.forget(noon + minute - 1)
      assert.deepStrictEqual(yield* upload(campaign, 5, 1, true, "c"), appended)
      assert.deepStrictEqual(yield* getCounts(campaign), { total: 5, pending: 5 })
    }),
  )

  it.effect("a draft is emptied, with an upload that is under way", () =>
    Effect.gen(function* () {
      const store = (yield* Store).campaigns
      const { id } = yield* aWorkspace()
      const campaign = yield* aCampaign(id)
      yield* append(campaign, someRows(1, 3))
      yield* upload(campaign, 4, 2)
      assert.isNull(yield* store.clearRows(campaign.id, 1))
      assert.strictEqual(yield* store.clearRows(campaign.id, 2), 3)
      assert.deepStrictEqual(yield* getCounts(campaign), {})
      assert.deepStrictEqual(yield* upload(campaign, 6, 1), conflict("campaign"))
      assert.strictEqual((yield* readAgain(campaign)).revision, 3)
      assert.deepStrictEqual(yield* append(campaign, [aRow(1)]), appended)
      const running = yield* aRunning(id, [aRow(1)])
      assert.isNull(yield* store.clearRows(running.id, running.revision))
      assert.deepStrictEqual(yield* found(running), [1])
    }),
  )

  it.effect("rows are found by status, code and phone, page by page", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const campaign = yield* aCampaign(id)
      const rows = [aRow(1), aRefusedRow(2), aRow(3), aRefusedRow(4), aRow(5)]
      yield* append(campaign, rows)
      assert.deepStrictEqual(yield* found(campaign, { statuses: ["pending"] }), [1, 3, 5])
      assert.deepStrictEqual(yield* found(campaign, { statuses: ["refused", "sent"] }), [2, 4])
      assert.deepStrictEqual(yield* found(campaign, { code: "invalid_phone" }), [2, 4])
      assert.deepStrictEqual(yield* found(campaign, { phone: at(rows, 2).phone }), [3])
      assert.deepStrictEqual(
        yield* found(campaign, { phone: at(rows, 2).phone, statuses: ["refused"] }),
        [],
      )
      const page = (after: number | null) =>
        Effect.map(getRows(campaign, { statuses: ["pending"] }, after, 2), (some) =>
          some.map(({ row }) => row),
        )
      assert.deepStrictEqual(yield* page(null), [1, 3])
      assert.deepStrictEqual(yield* page(3), [5])
    }),
  )

  it.effect("what was removed is erased, with its rows and what first answers showed of them", () =>
    Effect.gen(function* () {
      const store = (yield* Store).campaigns
      const { key, workspace } = yield* aStageWithKey
      const campaign = yield* aCampaign(workspace.id)
      const other = yield* aCampaign(workspace.id)
      const firstAnswer = { problems: [aRow(1)] }
      const claims = [aClaim(key.id), aClaim(key.id)] as const
      for (const [index, one] of [campaign, other].entries()) {
        const idempotency = at(claims, index)
        yield* claimKey(workspace.id, idempotency)
        yield* append(one, someRows(1, 3), { idempotency, madeIds: [-one.id], shown: firstAnswer })
      }
      yield* moved(yield* readAgain(campaign), {}, { isRemoved: true })
      yield* store.forget(noon)
      assert.isNull(yield* store.created(campaign.id))
      assert.deepStrictEqual(yield* getRows(campaign), [])
      assert.deepStrictEqual(yield* store.created(other.id), other)
      assert.deepStrictEqual(yield* found(other), [1, 2, 3])
      const showing = yield* Effect.forEach(claims, (claim) =>
        Effect.map(claimKey(workspace.id, { ...claim, token: "repeat" }), (outcome) =>
          outcome._tag === "Finished" ? outcome.record.shown : assert.fail(outcome._tag),
        ),
      )
      assert.deepStrictEqual(showing, [undefined, firstAnswer])
    }),
  )
}
