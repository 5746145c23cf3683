/** Campaigns that run, sentence by sentence (contract: Campaigns), over a socket. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { errorBody } from "../HttpTestClients.ts"
import { aNumber, aPlan, aSender, expectBody, change, operate, settle } from "../Records.ts"
import type { Created, MessageBody } from "../Records.ts"
import { layerService } from "../Service.ts"
import {
  aDraft,
  request,
  move,
  moving,
  phones,
  read,
  refusal,
  getRows,
  toPhone,
} from "./Campaigning.ts"

const inside = ({ id }: Created, path: string) => `/admin/v1/workspaces/${id}/${path}`

const manyRows = (count: number) => phones(count).map((phone) => toPhone(phone))

const pauseNumber = (workspace: Created, number: Created) =>
  Effect.map(
    operate({ method: "POST", path: inside(workspace, `numbers/${number.id}/pause`), json: {} }),
    (answer) => expectBody(answer, 200),
  )

const listMessages = (workspace: Created, query = "") =>
  Effect.map(
    operate({ path: inside(workspace, `messages?limit=100${query}`) }),
    (answer) => expectBody<{ readonly data: ReadonlyArray<MessageBody> }>(answer, 200).data,
  )

layer(layerService())("a campaign that was started", (it) => {
  it.effect("makes one message of each row, and is done", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender()
      const campaign = yield* aDraft(workspace, {}, [...manyRows(30), toPhone("1")])
      const running = yield* move(workspace, campaign, "start")
      assert.deepInclude(running, { state: "running", state_reason: null })
      assert.isNotNull(running.started_at)
      assert.strictEqual((yield* move(workspace, campaign, "start")).state, "running")
      yield* settle
      const done = yield* read(workspace, campaign)
      assert.deepInclude(done, { state: "done", waits_for: null, finishes_at: null })
      assert.isNotNull(done.ended_at)
      assert.deepInclude(done.rows, { total: 31, sent: 30, refused: 1, pending: 0 })
      const [row] = yield* getRows(workspace, campaign)
      assert.deepInclude(row, { status: "sent", text: "Hello there", number_id: number.id })
      const sent = yield* listMessages(workspace)
      assert.lengthOf(sent, 30)
      const path = inside(workspace, `messages/${row?.message_id}/timeline`)
      const timeline = expectBody<{ campaign: unknown }>(yield* operate({ path }), 200)
      assert.deepStrictEqual(timeline.campaign, { id: campaign.id, row: 1 })
      for (const each of ["pause", "resume", "stop", "start"] as const) {
        const answer = yield* moving(workspace, campaign, each)
        assert.strictEqual(errorBody(answer).code, "campaign_ended", each)
      }
    }),
  )

  it.effect("uses nothing up in test mode", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender({
        workspace: { plan: aPlan({ messages_remaining: 1 }) },
        number: { status: "disconnected" },
      })
      const campaign = yield* aDraft(workspace, {}, manyRows(3), "?mode=test")
      const path = `/${campaign.id}/start?mode=test`
      expectBody(yield* request(workspace, path, { method: "POST" }), 200)
      yield* settle
      const done = yield* read(workspace, campaign, "?mode=test")
      assert.deepInclude(done, { state: "done" })
      assert.strictEqual(done.rows["sent"], 3)
      const answer = yield* operate({ path: `/admin/v1/workspaces/${workspace.id}` })
      const { plan } = expectBody<{ plan: { messages_remaining: number } }>(answer, 200)
      assert.strictEqual(plan.messages_remaining, 1)
    }),
  )

  it.effect("waits for send_at, and says so", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      const send_at = "1970-01-01T02:00:00Z"
      const campaign = yield* aDraft(workspace, { send_at })
      const scheduled = yield* move(workspace, campaign, "start")
      assert.strictEqual(scheduled.state, "scheduled")
      assert.deepStrictEqual(scheduled.waits_for, [{ reason: "scheduled", until: send_at }])
      yield* settle
      assert.strictEqual((yield* read(workspace, campaign)).state, "scheduled")
      yield* TestClock.adjust("2 hours")
      yield* settle
      assert.strictEqual((yield* read(workspace, campaign)).state, "done")
    }),
  )

  it.effect("waits for credits and room, and goes on by itself", () =>
    Effect.gen(function* () {
      const plan = aPlan({ messages_remaining: 1 })
      const { workspace } = yield* aSender({ workspace: { plan } })
      const campaign = yield* aDraft(workspace, {}, manyRows(2))
      yield* move(workspace, campaign, "start")
      yield* settle
      const waiting = yield* read(workspace, campaign)
      assert.deepInclude(waiting.rows, { sent: 1, pending: 1 })
      assert.deepStrictEqual(waiting.waits_for, [{ reason: "no_credits", until: null }])
      assert.isNull(waiting.finishes_at)
      yield* change(workspace, { plan: aPlan({ messages_remaining: 5 }) })
      yield* settle
      assert.strictEqual((yield* read(workspace, campaign)).state, "done")

      const narrow = yield* aSender()
      const reserved = yield* aDraft(narrow.workspace, { quota_reserve: 999 }, manyRows(2))
      yield* move(narrow.workspace, reserved, "start")
      yield* settle
      const full = yield* read(narrow.workspace, reserved)
      assert.deepInclude(full.rows, { sent: 1, pending: 1 })
      assert.strictEqual(full.waits_for?.[0]?.reason, "quota")
    }),
  )

  it.effect("takes on at most 20 rows of a number before others leave", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender()
      const campaign = yield* aDraft(workspace, {}, manyRows(50))
      yield* pauseNumber(workspace, number)
      yield* move(workspace, campaign, "start")
      yield* settle
      const paused = yield* read(workspace, campaign)
      assert.deepInclude(paused.rows, { pending: 50, queued: 0 })
      assert.strictEqual(paused.waits_for?.[0]?.reason, "number_paused")
      yield* aNumber(workspace)
      yield* settle
      assert.strictEqual((yield* read(workspace, campaign)).state, "done")
      const ofOther = yield* listMessages(workspace, `&from=${number.id}`)
      assert.lengthOf(ofOther, 0)
    }),
  )

  it.effect("pauses what waits, resumes it, and stops for good", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender()
      void token
      const path = `/admin/v1/simulator/numbers/${number.id}/behaviour`
      yield* operate({ method: "PUT", path, json: { send: "hang" } })
      const campaign = yield* aDraft(workspace, {}, manyRows(3))
      yield* move(workspace, campaign, "start")
      const paused = yield* move(workspace, campaign, "pause")
      assert.deepInclude(paused, { state: "paused", state_reason: "requested", waits_for: null })
      assert.strictEqual((yield* move(workspace, campaign, "pause")).state, "paused")
      assert.strictEqual(
        errorBody(yield* moving(workspace, campaign, "start")).code,
        "campaign_started",
      )
      const wrong = yield* moving(workspace, campaign, "resume", { json: { from_row: 1 } })
      assert.deepStrictEqual(refusal(wrong), [400, "validation_failed", "from_row"])
      assert.deepInclude(yield* move(workspace, campaign, "resume"), {
        state: "running",
        state_reason: null,
      })
      const stopped = yield* move(workspace, campaign, "stop")
      assert.strictEqual(stopped.state, "stopped")
      assert.strictEqual(stopped.rows["pending"], 0)
      // What a phone has in hands ends as it ends.
      const inFlight = stopped.rows["queued"] ?? 0
      assert.isAtMost(inFlight, 1)
      const { cancelled = 0, skipped = 0 } = stopped.rows
      assert.strictEqual(cancelled + skipped, 3 - inFlight)
      assert.strictEqual((yield* move(workspace, campaign, "stop")).state, "stopped")
      for (const row of yield* getRows(workspace, campaign, "?status=skipped")) {
        assert.strictEqual(row.error?.code, "stopped")
      }
    }),
  )

  it.effect("expires rows that were not taken on in time", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender()
      yield* pauseNumber(workspace, number)
      const now = expectBody<{ now: string }>(
        yield* operate({ path: "/admin/v1/simulator/clock" }),
        200,
      ).now
      const expires_at = new Date(Date.parse(now) + 3_600_000).toISOString()
      const campaign = yield* aDraft(workspace, { expires_at }, manyRows(2))
      yield* move(workspace, campaign, "start")
      yield* TestClock.adjust("2 hours")
      yield* settle
      const ended = yield* read(workspace, campaign)
      assert.deepInclude(ended, { state: "done" })
      assert.strictEqual(ended.rows["expired"], 2)
    }),
  )

  it.effect("is paused when all its numbers are removed", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender({ number: { status: "disconnected" } })
      const campaign = yield* aDraft(workspace, { from: number.id })
      const running = yield* move(workspace, campaign, "start")
      assert.strictEqual(running.waits_for?.[0]?.reason, "not_connected")
      yield* operate({ method: "DELETE", path: inside(workspace, `numbers/${number.id}`) })
      yield* settle
      assert.deepInclude(yield* read(workspace, campaign), {
        state: "paused",
        state_reason: "no_numbers",
      })
    }),
  )

  it.effect("is gone when it is deleted, and its messages stay", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      const campaign = yield* aDraft(workspace, {}, manyRows(2))
      yield* move(workspace, campaign, "start")
      yield* settle
      expectBody(yield* request(workspace, `/${campaign.id}`, { method: "DELETE" }), 200)
      assert.lengthOf(yield* listMessages(workspace, `&reference=campaign-${campaign.id}`), 2)
    }),
  )
})
