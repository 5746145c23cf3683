/**
 * `ServiceFigures` cover the whole store, so each test checks what it adds to them, and uses its
 * own era for the earliest.
 */
import { assert } from "@effect/vitest"
import { mostCounted, Store } from "@messaging-service/core"
import type { Figures, NumberStatus, Platform } from "@messaging-service/core"
import { Effect } from "effect"
import {
  aStageWithKey,
  anEndpoint,
  anEvent,
  claimDue,
  claimTheOne,
  delivered,
  refused,
  settleDeliveries,
} from "../Delivering.ts"
import { again, cancelled, claimOne, end, sent, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aMessage,
  anEra,
  aNumber,
  aStage,
  aWorkspace,
  hour,
  minute,
  oneSecond,
} from "../Records.ts"

const figuresAt = (now: number, countAtMost = mostCounted) =>
  Store.use(({ system: figures }) => figures.figures(now, countAtMost))

type Counted = "queued" | "scheduled" | "lanesInFlight" | "leasesRunOut" | "deliveries" | "retries"

const countsOf = (figures: Figures, names: ReadonlyArray<Counted>) =>
  names.map((name) => figures[name])

/** What was added to these counts since `before`. */
const added = (before: Figures, now: number, ...names: ReadonlyArray<Counted>) =>
  Effect.map(figuresAt(now), (after) => names.map((name) => after[name] - before[name]))

const countOf = ({ numbers }: Figures, platform: Platform, status: NumberStatus) =>
  numbers.find((each) => each.platform === platform && each.status === status)?.count ?? 0

export const figures: Topic = (it) => {
  it.effect("processes show as they last reported themselves, until they end or fall silent", () =>
    Effect.gen(function* () {
      const { system } = yield* Store
      const era = anEra()
      const report = (name: string, seenAt: number, numbersHeld: number | null = null) => ({
        name: `${era} ${name}`,
        kind: "worker" as const,
        works: true,
        seenAt,
        numbersHeld,
        shardsHeld: numbersHeld,
      })
      const shown = Effect.map(system.processes(200), (all) =>
        all.filter(({ name }) => name.startsWith(`${era} `)),
      )
      yield* system.reportProcess(report("b", era, 3))
      yield* system.reportProcess(report("a", era))
      yield* system.reportProcess(report("b", era + minute, 4))
      assert.deepStrictEqual(yield* shown, [report("a", era), report("b", era + minute, 4)])
      yield* system.forgetProcesses(era + 1)
      assert.deepStrictEqual(yield* shown, [report("b", era + minute, 4)])
      yield* system.endProcess(report("b", era).name)
      assert.deepStrictEqual(yield* shown, [])
    }),
  )

  it.effect("workers are alive until they fall silent, servers that leave the work never", () =>
    Effect.gen(function* () {
      const { system } = yield* Store
      const era = anEra()
      const report = (name: string, seenAt: number, works: boolean) =>
        system.reportProcess({
          name: `${era} ${name}`,
          kind: works ? "worker" : "server",
          works,
          seenAt,
          numbersHeld: null,
          shardsHeld: null,
        })
      const workers = (now: number) =>
        Effect.map(figuresAt(now), ({ workersAlive, workerSeenAt }) => [workersAlive, workerSeenAt])
      yield* report("server", era + minute, false)
      yield* report("first", era, true)
      yield* report("second", era + oneSecond, true)
      const [both, seenAt] = yield* workers(era + oneSecond)
      assert.strictEqual(seenAt, era + oneSecond)
      const left = Number(both) - 1
      assert.deepStrictEqual(yield* workers(era + 35 * oneSecond), [left, seenAt])
      assert.deepStrictEqual(yield* workers(era + 36 * oneSecond), [left - 1, seenAt])
      for (const name of ["server", "first", "second"]) yield* system.endProcess(`${era} ${name}`)
      assert.notStrictEqual((yield* workers(era))[1], seenAt)
    }),
  )

  it.effect("waiting messages count as queued or scheduled, by the given time", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const before = yield* figuresAt(era)
      yield* accepted(number, { count: 2, now: era })
      const later = yield* aMessage(number, { now: era, sendAt: era + hour })
      yield* aMessage(number, { now: era, mode: "test" })
      assert.deepStrictEqual(yield* added(before, era, "queued", "scheduled"), [2, 1])
      const due = yield* figuresAt(era + hour)
      yield* end(cancelled(later, era + hour))
      assert.deepStrictEqual(yield* added(due, era + hour, "queued", "scheduled"), [-1, 0])
    }),
  )

  it.effect("a message without `send_at` is queued, also where another clock is ahead", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const before = yield* figuresAt(era)
      yield* aMessage(number, { now: era + oneSecond })
      assert.deepStrictEqual(yield* added(before, era, "queued", "scheduled"), [1, 0])
    }),
  )

  it.effect("counts stop at the requested maximum", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      yield* anEndpoint(key)
      yield* anEndpoint(key)
      yield* accepted(number, { count: 3, now: era })
      yield* anEvent(number, { now: era })
      const few = yield* figuresAt(era, 2)
      assert.strictEqual(few.queued + few.scheduled, 2)
      const one = yield* figuresAt(era, 1)
      assert.deepStrictEqual(countsOf(one, ["deliveries", "retries"]), [1, 0])
    }),
  )

  it.effect("the figures name the first due message of connected numbers and of the others", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const other = yield* aNumber(workspace.id, { createdAt: era })
      yield* accepted(number, { count: 2, now: era + hour })
      yield* aMessage(other, { now: era + minute })
      yield* aMessage(other, { now: era, expiresAt: era + oneSecond })
      assert.strictEqual((yield* figuresAt(era)).firstDueAt.connected, era)
      const now = era + 2 * hour
      assert.strictEqual((yield* figuresAt(now)).firstDueAt.connected, era + minute)
      yield* numbers.setStatus(other.id, "disconnected", undefined, now)
      assert.deepStrictEqual((yield* figuresAt(now)).firstDueAt, {
        connected: era + hour,
        notConnected: era + minute,
      })
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, now))
      const { connected, notConnected } = (yield* figuresAt(now)).firstDueAt
      assert.isTrue(connected === null || connected > era + hour)
      assert.isTrue(notConnected === null || notConnected > era + hour)
    }),
  )

  it.effect("a message behind a pause without an end is a first message too", () =>
    Effect.gen(function* () {
      const { pause, resume } = (yield* Store).queue
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const message = yield* aMessage(number, { now: era })
      yield* pause(number.id, { until: null, reason: "paused" }, era)
      const { firstDueAt, laneDueAt } = yield* figuresAt(era)
      assert.strictEqual(firstDueAt.connected, era)
      assert.notStrictEqual(laneDueAt, era)
      yield* resume(number.id, era)
      yield* end(cancelled(message, era))
    }),
  )

  it.effect("a message in flight still waits, and shows when its lease ends", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const before = yield* figuresAt(era)
      const names = ["queued", "lanesInFlight", "leasesRunOut"] as const
      yield* aMessage(number, { now: era })
      const leaseUntil = era + minute
      const claimed = yield* claimOne(number, { now: era, leaseUntil })
      assert.deepStrictEqual(yield* added(before, era, ...names), [1, 1, 0])
      assert.strictEqual((yield* figuresAt(era)).firstDueAt.connected, era)
      assert.strictEqual((yield* figuresAt(era)).laneDueAt, leaseUntil)
      assert.deepStrictEqual(
        [
          (yield* figuresAt(leaseUntil - 1)).leasesRunOut,
          (yield* figuresAt(leaseUntil)).leasesRunOut,
        ],
        [0, 1],
      )
      yield* settle([sent(claimed, era)], era)
      assert.deepStrictEqual(yield* added(before, era, ...names), [0, 0, 0])
    }),
  )

  it.effect("a lane is behind from the moment at which it could have been claimed", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* aMessage(number, { now: era })
      assert.strictEqual((yield* figuresAt(era + hour)).laneDueAt, era)
      const rest = era + minute
      yield* settle([again(yield* claimOne(number, { now: era }), { notBefore: rest })], era)
      assert.strictEqual((yield* figuresAt(era + hour)).laneDueAt, rest)
      yield* numbers.setStatus(number.id, "disconnected", undefined, era)
      const { firstDueAt, laneDueAt } = yield* figuresAt(era + hour)
      assert.isTrue(laneDueAt === null || laneDueAt > rest)
      assert.strictEqual(firstDueAt.notConnected, era)
    }),
  )

  it.effect("numbers count by platform and status, live ones that are not removed", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const { id } = yield* aWorkspace()
      const before = yield* figuresAt(0)
      const since = (platform: Platform, status: NumberStatus) =>
        Effect.map(
          figuresAt(0),
          (after) => countOf(after, platform, status) - countOf(before, platform, status),
        )
      const number = yield* aNumber(id)
      yield* aNumber(id, { platform: "telegram" })
      yield* aNumber(id, { mode: "test" })
      assert.strictEqual(yield* since("whatsapp", "connected"), 1)
      assert.strictEqual(yield* since("telegram", "connected"), 1)
      yield* numbers.setStatus(number.id, "disconnected", undefined, 0)
      assert.strictEqual(yield* since("whatsapp", "connected"), 0)
      assert.strictEqual(yield* since("whatsapp", "disconnected"), 1)
      yield* Store.use(({ workspaces: store }) => store.delete(id, 0))
      assert.strictEqual(yield* since("whatsapp", "disconnected"), 0)
      assert.strictEqual(yield* since("telegram", "connected"), 0)
    }),
  )

  it.effect("a delivery counts until it is made or given up, as a retry once it has failed", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      yield* anEndpoint(key, { createdAt: era })
      const before = yield* figuresAt(era)
      yield* anEvent(number, { now: era })
      assert.deepStrictEqual(yield* added(before, era, "deliveries", "retries"), [1, 0])
      const first = yield* claimTheOne({ now: era })
      assert.deepStrictEqual(yield* added(before, era, "deliveries", "retries"), [1, 0])
      yield* settleDeliveries(refused(first, era + minute))
      assert.deepStrictEqual(yield* added(before, era, "deliveries", "retries"), [1, 1])
      assert.lengthOf(yield* claimDue({ now: era }), 0)
      yield* settleDeliveries(delivered(yield* claimTheOne({ now: era + minute })))
      assert.deepStrictEqual(yield* added(before, era, "deliveries", "retries"), [0, 0])
    }),
  )
}
