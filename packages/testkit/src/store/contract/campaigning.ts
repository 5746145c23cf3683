/**
 * `CampaignStore`: what is due, what a look reads, and rows that become messages, once each; pauses
 * that hold these and release them in order; the end, and what erasure leaves.
 */
import { assert } from "@effect/vitest"
import { fullQueue, nextCheckAt, refillQueue, Store, unpaced } from "@messaging-service/core"
import type { Campaign, Message, MessageId } from "@messaging-service/core"
import { Effect } from "effect"
import {
  aCampaign,
  readAgain,
  append,
  aRefusal,
  aRefusedRow,
  aRow,
  aRunning,
  aTake,
  getCounts,
  listDue,
  found,
  getCounted,
  findGuard,
  toIds,
  lookAt,
  moved,
  noCheck,
  pause,
  putOff,
  refuse,
  resume,
  getRows,
  someRows,
  readStatuses,
  stop,
  take,
  took,
  readWaiting,
} from "../Campaigning.ts"
import { at, ids, only, present } from "../Expect.ts"
import { atOnce, range, raceRounds } from "../Races.ts"
import {
  brokenBy,
  readExactQuota,
  lookUp,
  listMessages,
  readNextDue,
  readQuota,
} from "../Reading.ts"
import { remaining } from "../Reading.ts"
import {
  again as settledAgain,
  cancelled,
  change,
  claim,
  claimOne,
  end,
  endedAs,
  expired,
  failed,
  sendNext,
  sent,
  settle,
} from "../Sending.ts"
import {
  aContact,
  aMessage,
  anAcceptance,
  aNumber,
  anEra,
  aPlan,
  aStage,
  accepted,
  day,
  hour,
  minute,
  noon,
} from "../Records.ts"
import type { Topic } from "../Topic.ts"

/** A number and a campaign that runs, with so many rows. */
const aStageWithRows = (count: number, overrides: Parameters<typeof aRunning>[2] = {}) =>
  Effect.gen(function* () {
    const stage = yield* aStage({ plan: aPlan(100) })
    const campaign = yield* aRunning(stage.workspace.id, someRows(1, count), overrides)
    return { ...stage, campaign }
  })

const listOrphaned = ({ workspaceId }: Pick<Campaign, "workspaceId">) =>
  Effect.map(
    Store.use(({ messages: store }) => store.orphaned(100_000)),
    (messages) =>
      ids(messages.filter((message) => message.workspaceId === workspaceId)).toSorted(
        (a, b) => a - b,
      ),
  )

const isHeld = ({ id }: Message) => Store.use(({ system: store }) => store.isHeld(id))

const listDueTest = ({ id }: Pick<Campaign, "id">) =>
  Effect.map(
    Store.use(({ messages: store }) => store.dueTest(noon, 100_000, 100_000)),
    (due) => ids(due.filter(({ campaign }) => campaign?.id === id)),
  )

const takingOn: Topic = (it, options) => {
  it.effect("a take accepts the messages, marks their rows and refuses others, in one commit", () =>
    Effect.gen(function* () {
      const { campaign, number, workspace } = yield* aStageWithRows(4)
      const [first, second] = yield* took(
        campaign,
        number,
        [2, 3],
        { now: noon + minute },
        {
          refused: [aRefusal(4)],
        },
      )
      assert.deepStrictEqual(
        [first, second].map((message) => present(message).campaign),
        [2, 3].map((row) => ({ id: campaign.id, row })),
      )
      assert.strictEqual(yield* remaining(workspace), 98)
      const rows = yield* getRows(campaign)
      const { to } = present(first)
      assert.deepInclude(at(rows, 1), {
        state: "taken",
        status: "queued",
        values: null,
        phone: "phone" in to ? to.phone : null,
        messageId: present(first).id,
        sentText: present(first).text,
        numberId: number.id,
        takenOnAt: noon + minute,
      })
      assert.deepInclude(at(rows, 3), {
        state: "refused",
        status: "refused",
        refusal: { code: "media_not_found", field: null, row: null },
      })
      assert.deepInclude(at(rows, 0), { state: "pending", values: { name: "Ann" } })
      assert.deepStrictEqual(yield* getCounts(campaign), {
        total: 4,
        pending: 1,
        queued: 2,
        refused: 1,
      })
      assert.strictEqual((yield* readAgain(campaign)).revision, campaign.revision)
      assert.deepStrictEqual(yield* found(campaign, { phone: at(rows, 1).phone }), [2])
    }),
  )

  it.effect("the first broken guard is the answer, and nothing is written", () =>
    Effect.gen(function* () {
      const { campaign, number, workspace } = yield* aStageWithRows(2)
      const contact = yield* aContact(workspace.id)
      yield* Store.use(({ workspaces }) => workspaces.deleteContact(workspace.id, contact.id))
      const to = { kind: "contact_phone", contactId: contact.id, phone: present(contact.phone) }
      const input = aTake(campaign, number, [1], { message: { to: to as never } })
      const broken = (overrides: Partial<typeof input>) =>
        Effect.map(take({ ...input, ...overrides }), findGuard)
      yield* refuse(campaign, [aRefusal(2)])
      const second = [{ row: 2, phone: null }]
      assert.strictEqual(yield* broken({ revision: 1, taken: second }), "campaign")
      assert.strictEqual(yield* broken({ taken: second }), "rows")
      assert.strictEqual(yield* broken({ taken: [{ row: 3, phone: null }] }), "rows")
      assert.strictEqual(yield* broken({ refused: [aRefusal(2)] }), "rows")
      assert.strictEqual(yield* broken({}), "contact")
      const tooMany = aTake(campaign, number, [1], { allowance: 1000 })
      assert.strictEqual(findGuard(yield* take(tooMany)), "allowance")
      yield* Store.use(({ numbers }) => numbers.remove(workspace.id, number.id, noon))
      assert.strictEqual(findGuard(yield* take(tooMany)), "number")
      assert.deepStrictEqual(yield* readStatuses(campaign), ["pending", "refused"])
      assert.deepStrictEqual(yield* listMessages(workspace.id), [])
      const paused = yield* pause(campaign)
      assert.strictEqual(findGuard(yield* take(aTake(paused, number, [1]))), "campaign")
      assert.strictEqual(findGuard(yield* refuse(paused, [aRefusal(1)])), "campaign")
    }),
  )

  it.effect("of any number of workers one takes a row on", () =>
    Effect.gen(function* () {
      const rounds = raceRounds(options, 20)
      const { campaign, number, workspace } = yield* aStageWithRows(rounds.length)
      const other = yield* aNumber(workspace.id)
      for (const round of rounds) {
        const outcomes = yield* Effect.forEach(
          range(6),
          (worker) => take(aTake(campaign, worker % 2 === 0 ? number : other, [round + 1])),
          atOnce,
        )
        assert.lengthOf(outcomes.flatMap(toIds), 1)
        assert.lengthOf(
          outcomes.filter((outcome) => findGuard(outcome) === "rows"),
          5,
        )
      }
      assert.lengthOf(yield* listMessages(workspace.id), rounds.length)
      assert.strictEqual(yield* remaining(workspace), 100 - rounds.length)
    }),
  )

  it.effect("no take makes more messages wait for a number than its queue may have", () =>
    Effect.gen(function* () {
      const { campaign, number, workspace } = yield* aStageWithRows(8)
      const other = yield* aNumber(workspace.id)
      yield* accepted(number, { count: 2 })
      yield* aMessage(number, { sendAt: noon + 1 })
      yield* aMessage(number, { mode: "test" })
      const taking = (rows: ReadonlyArray<number>, queueLimit: number, to = number) =>
        Effect.map(take(aTake(campaign, to, rows, {}, { queueLimit })), findGuard)
      assert.strictEqual(yield* taking([1, 2], 3), "queue")
      assert.strictEqual(yield* taking([1, 2], 1, other), "queue")
      assert.deepStrictEqual(yield* getCounts(campaign), { total: 8, pending: 8 })
      assert.isNull(yield* taking([1, 2], 4))
      assert.strictEqual(yield* taking([3], 4), "queue")
      assert.isNull(yield* taking([3, 4], 2, other))
      assert.strictEqual((yield* sendNext(number)).state, "waiting")
      assert.isNull(yield* taking([5], 4))
    }),
  )

  it.effect("of campaigns that take at once for a number those that fit its queue do", () =>
    Effect.gen(function* () {
      for (const _ of raceRounds(options, 20)) {
        const { number, workspace } = yield* aStage()
        const campaigns = yield* Effect.forEach(range(4), () =>
          aRunning(workspace.id, someRows(1, 2)),
        )
        const outcomes = yield* Effect.forEach(
          campaigns,
          (campaign) => take(aTake(campaign, number, [1, 2], {}, { queueLimit: 5 })),
          atOnce,
        )
        assert.deepStrictEqual(outcomes.map(findGuard).toSorted(), [null, null, "queue", "queue"])
      }
    }),
  )

  it.effect("a take and a pause at once: what it took on is held, or it took nothing", () =>
    Effect.gen(function* () {
      for (const _ of raceRounds(options, 20)) {
        const { campaign, number } = yield* aStageWithRows(2)
        const [taken] = yield* Effect.all(
          [take(aTake(campaign, number, [1, 2])), pause(campaign)],
          atOnce,
        )
        assert.deepStrictEqual(yield* claim([number]), [])
        assert.deepStrictEqual(yield* readWaiting(campaign), toIds(taken))
      }
    }),
  )

  it.effect("a row has the status of its message, and the counts follow", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { campaign, number } = yield* aStageWithRows(7)
      const messages = yield* took(
        campaign,
        number,
        range(7).map((index) => index + 1),
        {
          expiresAt: noon + hour,
        },
      )
      const tick = (index: number, state: "delivered" | "read") =>
        store.tick(number.id, at(messages, index).transportId, state, noon + 2)
      for (const index of [0, 1, 2]) {
        assert.strictEqual((yield* sendNext(number, noon + index)).id, at(messages, index).id)
      }
      yield* tick(1, "delivered")
      yield* tick(2, "read")
      yield* settle([failed(yield* claimOne(number, { now: noon + 3 }))])
      yield* end(cancelled(at(messages, 4)), expired(at(messages, 5)))
      assert.deepStrictEqual(yield* readStatuses(campaign), [
        "sent",
        "delivered",
        "read",
        "failed",
        "cancelled",
        "expired",
        "queued",
      ])
      const counts = { sent: 1, delivered: 1, read: 1, failed: 1, cancelled: 1, expired: 1 }
      assert.deepStrictEqual(yield* getCounts(campaign), { total: 7, queued: 1, ...counts })
      assert.deepStrictEqual(yield* found(campaign, { statuses: ["expired", "read"] }), [3, 6])
      assert.deepStrictEqual(yield* found(campaign, { code: "send_failed" }), [4])
      const rows = yield* getRows(campaign)
      assert.deepInclude(at(rows, 1), { sentAt: noon + 1, deliveredAt: noon + 2, readAt: null })
      assert.deepInclude(at(rows, 2), { sentAt: noon + 2, deliveredAt: null, readAt: noon + 2 })
      assert.strictEqual(at(rows, 3).error?.code, "send_failed")
    }),
  )

  it.effect("a campaign's limit tells nothing of the room of others, nor theirs of its own", () =>
    Effect.gen(function* () {
      const { campaign, number } = yield* aStageWithRows(4)
      const limit = (messages: number) => ({ limit: { messages, windowMillis: day } })
      yield* accepted(number, { count: 2, ...limit(3) })
      assert.strictEqual(findGuard(yield* take(aTake(campaign, number, [1], limit(2)))), "quota")
      assert.isNull((yield* readQuota(number)).fullUntil)
      yield* aMessage(number, limit(3))
      assert.strictEqual(yield* brokenBy(anAcceptance(number, limit(3))), "quota")
      assert.strictEqual((yield* readQuota(number)).fullUntil, noon + day)
      assert.lengthOf(yield* took(campaign, number, [1], limit(4)), 1)
      assert.strictEqual(findGuard(yield* take(aTake(campaign, number, [2], limit(4)))), "quota")
      assert.strictEqual((yield* readQuota(number)).fullUntil, noon + day)
    }),
  )
}

const holding: Topic = (it) => {
  it.effect("a pause holds what waits: others pass, and it leaves in its order once resumed", () =>
    Effect.gen(function* () {
      const { campaign, number } = yield* aStageWithRows(3)
      const before = yield* aMessage(number)
      const rows = yield* took(campaign, number, [1, 2, 3], { now: noon + 1 })
      const behind = yield* aMessage(number, { now: noon + 2 })
      const paused = yield* pause(campaign, noon + 2)
      assert.deepStrictEqual(yield* readWaiting(campaign), ids(rows))
      assert.strictEqual((yield* sendNext(number, noon + 2)).id, before.id)
      assert.strictEqual((yield* sendNext(number, noon + 2)).id, behind.id)
      assert.deepStrictEqual(yield* claim([number], { now: noon + day }), [])
      assert.deepStrictEqual(yield* lookUp(at(rows, 0)), {
        message: at(rows, 0),
        inFlight: false,
      })
      assert.deepStrictEqual(yield* readStatuses(campaign), ["queued", "queued", "queued"])
      const newer = yield* aMessage(number, { now: noon + hour })
      yield* resume(paused, noon + hour)
      for (const message of [...rows, newer]) {
        assert.strictEqual((yield* sendNext(number, noon + hour)).id, message.id)
      }
    }),
  )

  it.effect("held messages belong to the campaign: no operator releases them", () =>
    Effect.gen(function* () {
      const { system: store } = yield* Store
      const { campaign, number, workspace } = yield* aStageWithRows(1)
      const messages = yield* took(campaign, number, [1])
      yield* pause(campaign)
      assert.isFalse(yield* isHeld(only(messages)))
      const page = yield* store.listHeld(workspace.id, { before: null, limit: 10 })
      assert.deepStrictEqual(page.items, [])
      const selection = { ids: ids(messages) }
      assert.deepStrictEqual(yield* store.heldMessages(workspace.id, selection, 10), [])
      assert.deepStrictEqual([...(yield* store.releaseHeld(messages, noon))], [])
      const counts = yield* store.heldCounts
      assert.isUndefined(counts.find(({ workspaceId }) => workspaceId === workspace.id))
      assert.deepStrictEqual(yield* claim([number]), [])
    }),
  )

  it.effect("held messages may expire and be cancelled, and count in the quota all along", () =>
    Effect.gen(function* () {
      const { campaign, number, workspace } = yield* aStageWithRows(3)
      const limit = { messages: 3, windowMillis: day }
      const count = Effect.map(
        readExactQuota(number, { plannedAt: noon, limit }),
        ({ planned }) => planned,
      )
      const [first, second, third] = yield* took(campaign, number, [1, 2, 3], {
        limit,
        expiresAt: noon + hour,
      })
      const paused = yield* pause(campaign)
      assert.strictEqual(yield* count, 3)
      assert.strictEqual(yield* brokenBy(anAcceptance(number, { limit })), "quota")
      const due = yield* Store.use(({ messages: store }) => store.expired(noon + hour, 100_000))
      assert.includeMembers(ids(due) as Array<MessageId>, [present(first).id])
      yield* end(change(present(first), { trigger: "expire" }, noon + hour))
      yield* end(cancelled(present(second)))
      assert.strictEqual(yield* remaining(workspace), 99)
      assert.strictEqual(yield* count, 1)
      assert.deepStrictEqual(yield* readWaiting(paused), [present(third).id])
      yield* resume(paused)
      assert.strictEqual(yield* count, 1)
    }),
  )

  it.effect("what a transport has in hands ends as it ends, and is held if it comes back", () =>
    Effect.gen(function* () {
      const { campaign, number, workspace } = yield* aStageWithRows(4)
      const other = yield* aNumber(workspace.id)
      yield* took(campaign, number, [1, 2])
      const [third] = yield* took(campaign, other, [3, 4])
      const ends = yield* claimOne(number)
      const returns = yield* claimOne(other)
      const paused = yield* pause(campaign)
      assert.lengthOf(yield* readWaiting(campaign), 2)
      assert.deepStrictEqual(yield* settle([sent(ends)]), [ends.message.id])
      assert.deepStrictEqual(yield* settle([settledAgain(returns, { unfinished: "postponed" })]), [
        present(third).id,
      ])
      assert.deepStrictEqual(yield* claim([number, other], { now: noon + day }), [])
      assert.deepStrictEqual(yield* readStatuses(campaign), ["sent", "queued", "queued", "queued"])
      assert.lengthOf(yield* readWaiting(campaign), 3)
      yield* resume(paused)
      assert.strictEqual((yield* sendNext(other)).id, present(third).id)
    }),
  )

  it.effect("what is held leaves the turn of its lane", () =>
    Effect.gen(function* () {
      const store = (yield* Store).queue
      const { campaign, number } = yield* aStageWithRows(2)
      const first = yield* aMessage(number)
      yield* took(campaign, number, [1, 2])
      const last = yield* aMessage(number)
      const claimed = yield* claimOne(number, { turn: 4 })
      assert.lengthOf(claimed.rest, 3)
      yield* pause(campaign)
      const { next } = yield* store.settle([sent(claimed)], noon)
      assert.strictEqual(next.get(first.id)?.messageId, last.id)
    }),
  )

  it.effect("test messages are held and released as live ones are", () =>
    Effect.gen(function* () {
      const { campaign, number } = yield* aStageWithRows(2, { mode: "test" })
      const messages = yield* took(campaign, number, [1, 2])
      assert.deepStrictEqual(yield* listDueTest(campaign), ids(messages))
      const paused = yield* pause(campaign)
      assert.deepStrictEqual(yield* listDueTest(campaign), [])
      yield* resume(paused)
      assert.deepStrictEqual(yield* listDueTest(campaign), ids(messages))
    }),
  )

  it.effect("a move is written on the revision that it was decided on", () =>
    Effect.gen(function* () {
      const { campaign, number } = yield* aStageWithRows(2)
      const messages = yield* took(campaign, number, [1])
      const to = { state: "paused", stateReason: "requested", isHolding: true } as const
      assert.isFalse(yield* moved({ ...campaign, revision: 1 }, to, { messages: "hold" }))
      assert.strictEqual((yield* readAgain(campaign)).state, "running")
      assert.strictEqual((yield* claimOne(number)).message.id, only(messages).id)
      assert.isTrue(yield* moved(campaign, to))
      assert.deepStrictEqual(yield* readAgain(campaign), {
        ...campaign,
        ...to,
        revision: campaign.revision + 1,
      })
      assert.isFalse(yield* moved(campaign, to))
    }),
  )

  it.effect("rows that may have left are skipped", () =>
    Effect.gen(function* () {
      const { campaign, number } = yield* aStageWithRows(4)
      yield* took(campaign, number, [1])
      assert.isTrue(yield* moved(campaign, {}, { skipBefore: 4 }))
      assert.deepStrictEqual(yield* readStatuses(campaign), [
        "queued",
        "skipped",
        "skipped",
        "pending",
      ])
      assert.deepStrictEqual(yield* found(campaign, { code: "restored" }), [2, 3])
      assert.deepStrictEqual(at(yield* getRows(campaign), 1).refusal, {
        code: "restored",
        field: null,
        row: null,
      })
    }),
  )
}

const looking: Topic = (it) => {
  it.effect("a campaign is due when its time has come, whatever its state", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { workspace } = yield* aStage()
      const draft = yield* aCampaign(workspace.id)
      const scheduled = yield* aRunning(workspace.id, [aRow(1)], { state: "scheduled" })
      const running = yield* aRunning(workspace.id, [aRow(1)])
      const all = [draft, scheduled, running]
      yield* putOff(scheduled, { lookAt: era + hour }, era)
      yield* putOff(running, { lookAt: null }, era)
      assert.strictEqual(yield* readNextDue("campaigns", era), era + hour)
      assert.deepStrictEqual(yield* listDue(all, era + hour - 1), [])
      assert.deepStrictEqual(yield* listDue(all, era + hour), [scheduled.id])
      yield* putOff({ ...scheduled, revision: 1 }, { lookAt: era }, era)
      assert.deepStrictEqual(yield* listDue(all, era), [])
      yield* putOff(scheduled, { lookAt: null }, era)
      assert.deepStrictEqual(yield* listDue(all, noon + 100 * day), [])
      assert.isNull(yield* readNextDue("campaigns", era))
    }),
  )

  it.effect("one that runs is due once nothing of it is pending or waits", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { campaign, number } = yield* aStageWithRows(2)
      const checked = { now: era, next: noCheck }
      const [first] = yield* took(campaign, number, [1], { now: era }, checked)
      yield* end(cancelled(present(first), era))
      assert.deepStrictEqual(yield* listDue([campaign]), [])
      const [second] = yield* took(campaign, number, [2], { now: era }, checked)
      assert.deepStrictEqual(yield* listDue([campaign]), [])
      assert.isNull(yield* readNextDue("campaigns", era))
      yield* end(cancelled(present(second), era))
      assert.deepStrictEqual(yield* listDue([campaign]), [campaign.id])
      assert.isNotNull(yield* readNextDue("campaigns", era))
      yield* moved(campaign, { state: "done", lookAt: null, endedAt: era })
      assert.deepStrictEqual(yield* listDue([campaign]), [])
      assert.isNull(yield* readNextDue("campaigns", era))
    }),
  )

  it.effect("one that awaits a number is due once fewer wait there than at its last look", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { campaign, number, workspace } = yield* aStageWithRows(1)
      const free = yield* aNumber(workspace.id, { createdAt: era - 1 })
      const messages = yield* accepted(number, { now: era, count: refillQueue })
      yield* putOff(campaign, { awaits: [] }, era)
      assert.deepStrictEqual(yield* listDue([campaign]), [])
      yield* putOff(campaign, { awaits: [number.id] }, era)
      assert.deepStrictEqual(yield* listDue([campaign]), [])
      assert.isNull(yield* readNextDue("campaigns", era))
      yield* aMessage(number, { now: era + 1 })
      yield* end(cancelled(at(messages, 0), era))
      assert.deepStrictEqual(yield* listDue([campaign]), [campaign.id])
      assert.isNotNull(yield* readNextDue("campaigns", era))
      yield* putOff(campaign, { awaits: [number.id] }, era + 1)
      assert.deepStrictEqual(yield* listDue([campaign]), [])
      yield* putOff(campaign, { awaits: [number.id, free.id] }, era + 1)
      assert.deepStrictEqual(yield* listDue([campaign]), [campaign.id])
      yield* pause(campaign)
      assert.deepStrictEqual(yield* listDue([campaign]), [])
    }),
  )

  it.effect(
    "one that awaits room is due once a place of the number's 24 hours was given back",
    () =>
      Effect.gen(function* () {
        const era = anEra()
        const { campaign, number } = yield* aStageWithRows(1)
        const messages = yield* accepted(number, { now: era, count: 3 })
        const test = yield* aMessage(number, { now: era, mode: "test" })
        const wait = Effect.gen(function* () {
          const { numbers } = yield* lookAt(campaign)
          const awaitsRoom = numbers.map((one) => ({
            numberId: one.number.id,
            givenBack: one.givenBack,
          }))
          yield* putOff(campaign, { awaitsRoom }, era)
          assert.deepStrictEqual(yield* listDue([campaign]), [])
          assert.isNull(yield* readNextDue("campaigns", era))
          return awaitsRoom
        })
        const known = yield* wait
        yield* sendNext(number, era)
        yield* end(cancelled(test, era))
        assert.deepStrictEqual(yield* listDue([campaign]), [])
        yield* end(cancelled(at(messages, 1), era))
        assert.deepStrictEqual(yield* listDue([campaign]), [campaign.id])
        assert.isNotNull(yield* readNextDue("campaigns", era))
        yield* wait
        const claimed = yield* claimOne(number, { now: era })
        yield* settle([endedAs(claimed, { trigger: "expire" }, era)], era)
        assert.deepStrictEqual(yield* listDue([campaign]), [campaign.id])
        assert.isAbove((yield* wait)[0]?.givenBack ?? 0, known[0]?.givenBack ?? 0)
      }),
  )

  it.effect("one that awaits allowance is due while the plan has some", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aStage({ plan: aPlan(1) })
      const campaign = yield* aRunning(workspace.id, [aRow(1)])
      const message = yield* aMessage(number, { now: era })
      yield* putOff(campaign, { awaitsAllowance: true }, era)
      assert.deepStrictEqual(yield* listDue([campaign]), [])
      assert.isNull(yield* readNextDue("campaigns", era))
      yield* end(cancelled(message, era))
      assert.deepStrictEqual(yield* listDue([campaign]), [campaign.id])
      assert.isNotNull(yield* readNextDue("campaigns", era))
      yield* putOff(campaign, {}, era)
      assert.deepStrictEqual(yield* listDue([campaign]), [])
    }),
  )

  it.effect("a take is a look, and campaigns take turns", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const all = yield* Effect.forEach(range(3), () =>
        aRunning(workspace.id, someRows(1, 2), { from: [number.id] }),
      )
      const [first, second, third] = all.map(({ id }) => id)
      assert.deepStrictEqual(yield* listDue(all), [first, second, third])
      const next = nextCheckAt(noon)
      yield* took(at(all, 0), number, [1], {}, { next })
      assert.deepStrictEqual(yield* listDue(all), [second, third, first])
      yield* putOff(at(all, 1), next)
      assert.deepStrictEqual(yield* listDue(all), [third, first, second])
      yield* took(at(all, 2), number, [1], {}, { next: nextCheckAt(noon + hour) })
      assert.deepStrictEqual(yield* listDue(all), [first, second])
      assert.strictEqual((yield* readAgain(at(all, 2))).lookAt, noon + hour)
    }),
  )

  it.effect("what a campaign may wait for makes it due when it changes", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const { numbers, queue, workspaces } = yield* Store
      const running = yield* aRunning(workspace.id, [aRow(1)])
      const scheduled = yield* aRunning(workspace.id, [aRow(1)], { state: "scheduled" })
      yield* putOff(scheduled, {})
      const admits = { v1: true, v2: true }
      const update = (input: object) =>
        workspaces.update(workspace.id, () => ({ change: input, admits }), noon + minute)
      const changes = [
        aNumber(workspace.id, { createdAt: noon + minute }),
        numbers.setStatus(number.id, "disconnected", undefined, noon + minute),
        update({ plan: null }),
        update({ accountDisabled: true }),
        queue.pause(number.id, { until: null, reason: "paused" }, noon + minute),
        queue.resume(number.id, noon + minute),
        numbers.remove(workspace.id, number.id, noon + minute),
      ]
      for (const make of changes) {
        yield* putOff(running, {}, noon + hour)
        assert.isNull((yield* readAgain(running)).lookAt)
        yield* make
        // A look that was under way, and has read what was before.
        yield* putOff(running, {}, noon + minute)
        assert.strictEqual((yield* readAgain(running)).lookAt, noon + minute)
        assert.strictEqual((yield* readAgain(running)).revision, running.revision)
      }
      assert.isNull((yield* readAgain(scheduled)).lookAt)
    }),
  )

  it.effect("a look reads the due rows of each platform, in the order of time and row", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const sendAt = noon + hour
      const campaign = yield* aRunning(workspace.id, [
        aRow(1, { sendAt: noon, needs: "whatsapp" }),
        aRow(2),
        aRow(3, { sendAt, expiresAt: sendAt + hour }),
        aRow(4, { needs: "telegram" }),
        aRow(5),
        aRow(6),
        aRefusedRow(7),
        aRow(8, { sendAt: noon - 1, expiresAt: sendAt }),
        aRow(9, { sendAt: sendAt + 1 }),
      ])
      const check = yield* lookAt(campaign, noon, 3)
      assert.deepStrictEqual(
        check.rows.map(({ row }) => row),
        [2, 4, 5, 6, 1],
      )
      assert.deepStrictEqual(
        [check.pending, check.nextRowAt, check.nextExpiryAt, check.hasWaiting],
        [8, sendAt, sendAt, false],
      )
      assert.deepStrictEqual(check.workspace, workspace)
      assert.deepStrictEqual(check.campaign, campaign)
      assert.deepStrictEqual(
        check.rows,
        (yield* getRows(campaign))
          .filter(({ row }) => check.rows.some((one) => one.row === row))
          .toSorted((a, b) => (a.sendAt ?? 0) - (b.sendAt ?? 0) || a.row - b.row),
      )
      const other = yield* aRunning(workspace.id, [aRow(1)])
      const both = yield* (yield* Store).campaigns.check([other.id, campaign.id], noon, 3)
      assert.deepStrictEqual(both, [check, yield* lookAt(other, noon, 3)])
      const all = yield* lookAt(campaign, sendAt + 1)
      assert.deepStrictEqual(
        all.rows.map(({ row }) => row),
        [2, 4, 5, 6, 8, 1, 3, 9],
      )
      assert.isNull(all.nextRowAt)
    }),
  )

  it.effect("a look reads the numbers that the campaign may use", () =>
    Effect.gen(function* () {
      const store = (yield* Store).queue
      const { number, workspace } = yield* aStage()
      const paused = yield* aNumber(workspace.id)
      const removed = yield* aNumber(workspace.id)
      const test = yield* aNumber(workspace.id, { mode: "test" })
      yield* Store.use(({ numbers }) => numbers.remove(workspace.id, removed.id, noon))
      yield* store.pause(paused.id, { until: noon + hour, reason: "paused" }, noon)
      yield* accepted(number, { count: fullQueue + 5 })
      yield* accepted(paused, { count: 2 })
      yield* aMessage(paused, { mode: "test" })
      yield* aMessage(paused, { sendAt: noon + 1 })
      const read = (campaign: Campaign) =>
        Effect.map(lookAt(campaign), ({ numbers }) =>
          numbers.map((one) => [one.number.id, one.pausedUntil, one.waiting]),
        )
      const any = yield* aRunning(workspace.id, [])
      assert.deepStrictEqual(yield* read(any), [
        [number.id, null, fullQueue],
        [paused.id, noon + hour, 2],
      ])
      const from = [paused.id, removed.id, test.id]
      assert.deepStrictEqual(yield* read(yield* aRunning(workspace.id, [], { from })), [
        [paused.id, noon + hour, 2],
      ])
      assert.deepStrictEqual(yield* read(yield* aRunning(workspace.id, [], { mode: "test" })), [
        [number.id, null, 0],
        [paused.id, noon + hour, 1],
        [test.id, null, 0],
      ])
      const { numbers } = yield* lookAt(any)
      assert.deepStrictEqual(at(numbers, 0).pacing, unpaced)
      assert.deepStrictEqual(at(numbers, 0).number, number)
    }),
  )

  it.effect("a look reads since when a number is restricted", () =>
    Effect.gen(function* () {
      const { numbers, queue: store } = yield* Store
      const { number, workspace } = yield* aStage()
      const campaign = yield* aRunning(workspace.id, [])
      const since = (now = noon + 2) =>
        Effect.map(lookAt(campaign, now), (check) => only(check.numbers).restrictedSince)
      yield* store.pause(number.id, { until: noon + day, reason: "paused" }, noon)
      assert.isNull(yield* since())
      yield* store.pause(number.id, { until: noon + hour, reason: "restricted" }, noon + 1)
      assert.strictEqual(yield* since(), noon + 1)
      assert.isNull(yield* since(noon + hour))
      yield* store.resume(number.id, noon + 2)
      assert.isNull(yield* since())
      const breaker = {
        failures: { refusals: 0, pauses: 1 },
        pause: { until: noon + hour, reason: "restricted" as const },
      }
      yield* aMessage(number)
      yield* settle([settledAgain(yield* claimOne(number), { breaker })], noon + 2)
      assert.strictEqual(yield* since(), noon + 2)
      yield* store.resume(number.id, noon + 3)
      yield* numbers.setStatus(number.id, "disconnected", undefined, noon + 3, null, "banned")
      assert.strictEqual(yield* since(noon + 4), noon + 3)
    }),
  )

  it.effect("rows expire at their own time, else at the campaign's, so many at once", () =>
    Effect.gen(function* () {
      const store = (yield* Store).campaigns
      const { number, workspace } = yield* aStage()
      const rows = [
        aRow(1, { expiresAt: noon + 1 }),
        aRow(2),
        aRow(3, { expiresAt: noon + day }),
        aRefusedRow(4),
        aRow(5),
        aRow(6),
      ]
      const campaign = yield* aRunning(workspace.id, rows, { expiresAt: noon + hour })
      yield* took(campaign, number, [6])
      assert.strictEqual(yield* store.expireRows(campaign.id, noon, 100), 0)
      assert.strictEqual(yield* store.expireRows(campaign.id, noon + 1, 100), 1)
      assert.strictEqual(yield* store.expireRows(campaign.id, noon + hour, 1), 1)
      assert.strictEqual(yield* store.expireRows(campaign.id, noon + hour, 100), 1)
      const statuses = ["expired", "expired", "pending", "refused", "expired", "queued"] as const
      assert.deepStrictEqual(yield* readStatuses(campaign), statuses)
      assert.deepStrictEqual(yield* getCounts(campaign), {
        total: 6,
        expired: 3,
        pending: 1,
        refused: 1,
        queued: 1,
      })
      assert.strictEqual(findGuard(yield* take(aTake(campaign, number, [1]))), "rows")
    }),
  )
}

const ending: Topic = (it) => {
  it.effect("a stop skips what is pending; what waits is orphaned until it is cancelled", () =>
    Effect.gen(function* () {
      const { campaign, number, workspace } = yield* aStageWithRows(5)
      const messages = yield* took(campaign, number, [1, 2, 3])
      yield* refuse(campaign, [aRefusal(4)])
      const other = yield* aMessage(number)
      const inHands = yield* claimOne(number)
      assert.isTrue(yield* stop(campaign))
      assert.deepStrictEqual(yield* found(campaign, { statuses: ["skipped"] }), [5])
      assert.deepStrictEqual(yield* found(campaign, { code: "stopped" }), [5])
      assert.deepInclude(at(yield* getRows(campaign), 4), {
        state: "skipped",
        refusal: { code: "stopped", field: null, row: null },
      })
      assert.deepStrictEqual(yield* getCounts(campaign), {
        total: 5,
        queued: 3,
        refused: 1,
        skipped: 1,
      })
      const rest = ids(messages.slice(1))
      assert.deepStrictEqual(yield* readWaiting(campaign), rest)
      assert.deepStrictEqual(yield* readWaiting(campaign, 1), rest.slice(0, 1))
      assert.deepStrictEqual(yield* listOrphaned(campaign), rest)
      assert.isNotNull(yield* Store.use(({ queue }) => queue.nextDue("orphaned")))
      yield* settle([settledAgain(inHands)])
      assert.deepStrictEqual(yield* listOrphaned(campaign), ids(messages))
      yield* end(...messages.map((message) => cancelled(message)))
      assert.deepStrictEqual(yield* listOrphaned(campaign), [])
      assert.deepStrictEqual(yield* readWaiting(campaign), [])
      assert.strictEqual(yield* remaining(workspace), 99)
      assert.strictEqual((yield* sendNext(number)).id, other.id)
    }),
  )

  it.effect(
    "of a removed one the messages stay, as ordinary ones, and what waits is orphaned",
    () =>
      Effect.gen(function* () {
        const { campaign, number, workspace } = yield* aStageWithRows(3)
        const [first, second] = yield* took(campaign, number, [1, 2])
        yield* sendNext(number)
        const paused = yield* pause(campaign)
        assert.isTrue(yield* stop(paused, { isRemoved: true, messages: null }))
        assert.isNull(yield* getCounted(campaign))
        assert.deepStrictEqual(yield* listOrphaned(campaign), [present(second).id])
        assert.deepStrictEqual(yield* readWaiting(campaign), [present(second).id])
        yield* end(cancelled(present(second)))
        yield* Store.use(({ campaigns: store }) => store.forget(noon))
        const stay = yield* listMessages(workspace.id)
        assert.deepStrictEqual(
          stay.map((message) => [message.id, message.state, message.campaign]),
          [
            [present(second).id, "cancelled", null],
            [present(first).id, "sent", null],
          ],
        )
      }),
  )

  it.effect("a removed number's messages are orphaned, whether they are held or not", () =>
    Effect.gen(function* () {
      const { campaign, number, workspace } = yield* aStageWithRows(2)
      const messages = yield* took(campaign, number, [1])
      const paused = yield* pause(campaign)
      yield* Store.use(({ numbers }) => numbers.remove(workspace.id, number.id, noon))
      assert.deepStrictEqual(yield* listOrphaned(campaign), ids(messages))
      yield* resume(paused)
      yield* end(...messages.map((message) => cancelled(message)))
      assert.deepStrictEqual(yield* readStatuses(campaign), ["cancelled", "pending"])
    }),
  )

  it.effect("a row keeps the status of its erased message, and nothing of its recipient", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { campaign, number, workspace } = yield* aStageWithRows(3)
      const [, second] = yield* took(campaign, number, [1, 2])
      yield* sendNext(number)
      yield* end(cancelled(present(second)))
      const before = yield* getCounts(campaign)
      const phone = at(yield* getRows(campaign), 0).phone
      yield* store.eraseEnded([{ workspaceId: workspace.id, endedBefore: noon + 1 }])
      assert.deepStrictEqual(yield* getCounts(campaign), before)
      assert.deepInclude(at(yield* getRows(campaign), 0), {
        row: 1,
        state: "taken",
        status: "sent",
        to: null,
        phone: null,
        recipientKey: null,
        messageId: null,
        sentText: null,
        numberId: number.id,
        takenOnAt: noon,
      })
      assert.deepStrictEqual(yield* found(campaign, { phone }), [])
      assert.deepStrictEqual(yield* found(campaign, { statuses: ["sent"] }), [1])
    }),
  )

  it.effect("a retention erases a campaign that ended before", () =>
    Effect.gen(function* () {
      const { campaigns, system: store } = yield* Store
      const { campaign, workspace } = yield* aStageWithRows(2)
      const draft = yield* aCampaign(workspace.id)
      yield* append(draft, [aRow(1)])
      yield* stop(campaign)
      const erase = (endedBefore: number) =>
        store.eraseEnded([{ workspaceId: workspace.id, endedBefore }])
      yield* erase(noon)
      assert.deepStrictEqual(yield* getCounts(campaign), { total: 2, skipped: 2 })
      yield* erase(noon + 1)
      assert.isNull(yield* getCounted(campaign))
      assert.isNull(yield* campaigns.created(campaign.id))
      assert.deepStrictEqual(yield* getRows(campaign), [])
      assert.deepStrictEqual(yield* getCounts(draft), { total: 1, pending: 1 })
    }),
  )

  it.effect("the campaigns of a deleted workspace go with it", () =>
    Effect.gen(function* () {
      const { campaigns, system, workspaces } = yield* Store
      const { campaign, number, workspace } = yield* aStageWithRows(2)
      const messages = yield* took(campaign, number, [1])
      yield* workspaces.delete(workspace.id, noon)
      assert.isNull(yield* getCounted(campaign))
      assert.deepStrictEqual(yield* listDue([campaign], noon + day), [])
      assert.deepStrictEqual(yield* listOrphaned(campaign), ids(messages))
      yield* system.eraseDeleted([{ id: workspace.id, claimants: [] }], noon)
      assert.isNull(yield* campaigns.created(campaign.id))
      assert.deepStrictEqual(yield* getRows(campaign), [])
      yield* end(...messages.map((message) => cancelled(message)))
    }),
  )

  it.effect("figures count campaigns by state, their pending rows, and since when one is due", () =>
    Effect.gen(function* () {
      const store = (yield* Store).campaigns
      const era = anEra()
      const before = yield* store.figures(era + hour)
      assert.isNull(before.dueSince)
      const { workspace } = yield* aStage()
      const running = yield* aRunning(workspace.id, [aRow(1), aRefusedRow(2)])
      const draft = yield* aCampaign(workspace.id)
      yield* append(draft, someRows(1, 3))
      const stopped = yield* aRunning(workspace.id, [aRow(1)])
      yield* stop(stopped)
      yield* putOff(running, { lookAt: era + minute }, era)
      assert.isNull((yield* store.figures(era)).dueSince)
      const after = yield* store.figures(era + hour)
      assert.strictEqual(after.dueSince, era + minute)
      assert.strictEqual(after.pendingRows - before.pendingRows, 4)
      const more = (state: Campaign["state"]) => after.byState[state] - before.byState[state]
      assert.deepStrictEqual(
        [more("draft"), more("running"), more("stopped"), more("done")],
        [1, 1, 1, 0],
      )
    }),
  )
}

export const campaigning: Topic = (it, options) => {
  takingOn(it, options)
  holding(it, options)
  looking(it, options)
  ending(it, options)
}
