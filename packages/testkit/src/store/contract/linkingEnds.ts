/** `LinkingStore`: what attempts show, and how they end: linked, given up, or over. */
import { assert } from "@effect/vitest"
import { nothingShown, Store } from "@messaging-service/core"
import type { LinkingId, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "../Expect.ts"
import { claimOne, connectionFacts, sent, settle } from "../Sending.ts"
import { nextDueOf } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import {
  aMessage,
  anEra,
  aNumber,
  aStage,
  aWorkspace,
  hour,
  minute,
  oneSecond,
  givenUp,
} from "../Records.ts"
import { digits, anAttempt, begun, aLinking, claimAll, giveUp } from "../Linking.ts"

export const linkingEnds: Topic = (it) => {
  it.effect("replaces the shown state as a whole", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt } = yield* aLinking(workspaceId, era)
      const { lease } = only(yield* claimAll(era))
      const pairingCode = { code: "ABCD1234", expiresAt: era + minute }
      for (const view of [
        { ...nothingShown, qrText: 'Grüße, "☎"', qrExpiresAt: era + minute },
        { ...nothingShown, pairingCode },
        { qrText: "x", qrExpiresAt: era, pairingCode, linking: true },
        nothingShown,
      ]) {
        assert.isTrue(yield* store.showLinking(attempt.id, lease, view))
        assert.deepStrictEqual(yield* store.getLinking(attempt.numberId), { ...attempt, ...view })
      }
      assert.isTrue(yield* store.linkingTaken(attempt.id, era + oneSecond))
      assert.isTrue(present(yield* store.getLinking(attempt.numberId)).linking)
      yield* giveUp(attempt.id)
      assert.isFalse(yield* store.linkingTaken(attempt.id, era + oneSecond))
    }),
  )

  it.effect("a link connects the number, whose lane can be claimed from then on", () =>
    Effect.gen(function* () {
      const { numbers: store, queue: status } = yield* Store
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt, number } = yield* aLinking(workspaceId, era)
      const message = yield* aMessage(number, { now: era })

      const lanes = yield* status.nextDue("lanes")
      assert.isTrue(lanes === null || lanes > era)
      const phone = digits()
      const linked = yield* store.linked(attempt.id, phone, era + oneSecond)
      assert.deepStrictEqual(linked, { ...number, status: "connected", phone })
      assert.deepStrictEqual(yield* Store.use(({ numbers: all }) => all.find(number.id)), linked)
      assert.isNull(yield* store.getLinking(number.id))
      assert.isNull(yield* store.linked(attempt.id, phone, era + oneSecond))
      const claimed = yield* claimOne(number, { now: era + oneSecond, leaseUntil: era + minute })
      assert.strictEqual(claimed.message.id, message.id)
      yield* settle([sent(claimed, era + oneSecond)], era + oneSecond)
    }),
  )

  it.effect("a link ends the number's own pauses, and no operator's", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { pause } = (yield* Store).queue
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      for (const operators of [null, { until: era + hour, reason: "paused" as const }]) {
        const { attempt, number } = yield* aLinking(workspaceId, era)
        const message = yield* aMessage(number, { now: era })
        if (operators !== null) yield* pause(number.id, operators, era)
        yield* pause(number.id, { until: null, reason: "banned" }, era)
        yield* store.linked(attempt.id, digits(), era + oneSecond)
        const paused = (yield* connectionFacts(number)).pause
        assert.deepStrictEqual(paused, operators)
        const now = operators === null ? era + oneSecond : era + hour
        const claimed = yield* claimOne(number, { now, leaseUntil: now + minute })
        assert.strictEqual(claimed.message.id, message.id)
        yield* settle([sent(claimed, now)], now)
      }
    }),
  )

  it.effect("two numbers never hold one phone", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { workspace, number: holder } = yield* aStage()
      const phone = present(holder.phone)
      const scanned = yield* aLinking(workspace.id, era)
      assert.deepStrictEqual(yield* store.linked(scanned.attempt.id, phone, era), {
        ...scanned.number,
        status: "disconnected",
      })
      const coded = yield* aLinking(workspace.id, era, {
        number: { phone, loginMethod: "phone_code" },
        attempt: { phone, method: "phone_code" },
      })
      assert.deepStrictEqual(yield* store.linked(coded.attempt.id, phone, era), {
        ...coded.number,
        status: "disconnected",
        phone: null,
      })
      const own = digits()
      const idle = yield* aNumber(workspace.id, { status: "disconnected", phone: own })
      const attempt = anAttempt(era)
      yield* store.reconnect(workspace.id, idle.id, attempt, null)
      assert.deepStrictEqual(yield* store.linked(attempt.id, phone, era), idle)
      const again = anAttempt(era)
      yield* store.reconnect(workspace.id, idle.id, again, null)
      assert.deepStrictEqual(yield* store.linked(again.id, own, era), {
        ...idle,
        status: "connected",
      })
    }),
  )

  it.effect(
    "others' phones are free: another workspace's, a removed one's, Telegram's, a test's",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).numbers
        const era = anEra()
        const { workspace } = yield* aStage()
        const { number: foreign } = yield* aStage()
        const removed = yield* aNumber(workspace.id)
        yield* Store.use(({ numbers: all }) => all.remove(workspace.id, removed.id, era))
        const telegram = yield* aNumber(workspace.id, { platform: "telegram" })
        const test = yield* aNumber(workspace.id, { mode: "test" })
        for (const other of [foreign, removed, telegram, test]) {
          const { attempt } = yield* aLinking(workspace.id, era)
          const linked = yield* store.linked(attempt.id, present(other.phone), era)
          assert.strictEqual(present(linked).status, "connected")
        }
      }),
  )

  it.effect("one of concurrently linked numbers with one phone is connected", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const phone = digits()
      const made = yield* Effect.forEach(Array.from({ length: 5 }), () =>
        aLinking(workspaceId, era),
      )
      const linked = yield* Effect.forEach(
        made,
        ({ attempt }) => store.linked(attempt.id, phone, era),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(
        linked.filter((number) => number?.status === "connected" && number.phone === phone),
        1,
      )
      assert.lengthOf(
        linked.filter((number) => number?.status === "disconnected" && number.phone === null),
        4,
      )
    }),
  )

  it.effect("an attempt past its end has lapsed, and nothing links it any more", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt, number } = yield* aLinking(workspaceId, era)
      const { endsAt, id } = attempt
      const lapsed = (now: number) =>
        Effect.map(store.lapsedLinkings(now, 1000), (all) => all.filter((one) => one.id === id))
      assert.deepStrictEqual(yield* lapsed(endsAt - 1), [])
      assert.deepStrictEqual(yield* lapsed(endsAt), [attempt])
      assert.isFalse(yield* store.linkingTaken(id, endsAt))
      assert.isNull(yield* store.linked(id, digits(), endsAt))
      assert.isTrue(yield* store.giveUpLinking(id, givenUp))
      assert.isFalse(yield* store.giveUpLinking(id, givenUp))
      const after = yield* Store.use(({ numbers: all }) => all.find(number.id))
      assert.deepStrictEqual(after, { ...number, status: "disconnected" })
      assert.deepStrictEqual(yield* lapsed(endsAt), [])
    }),
  )

  it.effect("a number whose reconnect with another phone fails gets its own back", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store

      const era = anEra()
      const { workspace, number: holder } = yield* aStage()
      const ends: ReadonlyArray<
        (id: LinkingId, number: SendingNumber) => Effect.Effect<unknown, unknown, Store>
      > = [
        giveUp,
        (id) => numbers.linked(id, present(holder.phone), era),
        (_, number) => numbers.setStatus(number.id, "disconnected", undefined, era),
      ]
      for (const own of [digits(), null]) {
        for (const end of ends) {
          const idle = yield* aNumber(workspace.id, { status: "disconnected", phone: own })
          const attempt = anAttempt(era, { method: "phone_code", phone: digits() })
          const connecting = begun(yield* numbers.reconnect(workspace.id, idle.id, attempt, null))
          assert.strictEqual(connecting.phone, attempt.phone)
          assert.deepStrictEqual(present(yield* numbers.getLinking(idle.id)).replaced, {
            phone: own,
          })
          yield* end(attempt.id, idle)
          assert.deepStrictEqual(yield* numbers.find(idle.id), {
            ...idle,
            loginMethod: "phone_code",
          })
        }
      }
    }),
  )

  it.effect(
    "a replaced phone still belongs to its number, and the requested one does not yet",
    () =>
      Effect.gen(function* () {
        const { numbers } = yield* Store

        const era = anEra()
        const { id: workspaceId } = yield* aWorkspace()
        const own = digits()
        const asked = digits()
        const idle = yield* aNumber(workspaceId, { status: "disconnected", phone: own })
        const attempt = anAttempt(era, { method: "phone_code", phone: asked })
        yield* numbers.reconnect(workspaceId, idle.id, attempt, null)
        const one = yield* aLinking(workspaceId, era)
        assert.strictEqual(
          (yield* numbers.linked(one.attempt.id, own, era))?.status,
          "disconnected",
        )
        const another = yield* aLinking(workspaceId, era)
        assert.strictEqual(
          (yield* numbers.linked(another.attempt.id, asked, era))?.status,
          "connected",
        )
        assert.strictEqual((yield* numbers.linked(attempt.id, asked, era))?.status, "disconnected")
        assert.strictEqual(present(yield* numbers.find(idle.id)).phone, own)
      }),
  )

  it.effect("a typed phone is kept by a link, and by a number that had no other", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store

      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const phone = digits()
      const idle = yield* aNumber(workspaceId, { status: "disconnected", phone: digits() })
      const attempt = anAttempt(era, { method: "phone_code", phone })
      yield* numbers.reconnect(workspaceId, idle.id, attempt, null)
      yield* numbers.linked(attempt.id, phone, era)
      assert.strictEqual(present(yield* numbers.find(idle.id)).phone, phone)

      const typed = digits()
      const added = yield* aLinking(workspaceId, era, {
        number: { phone: typed, loginMethod: "phone_code" },
        attempt: { phone: typed, method: "phone_code" },
      })
      assert.isNull(added.attempt.replaced)
      yield* giveUp(added.attempt.id)
      assert.strictEqual(present(yield* numbers.find(added.number.id)).phone, typed)
    }),
  )

  it.effect("one of a concurrent link and end happens", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      for (let round = 0; round < 10; round++) {
        const { attempt, number } = yield* aLinking(workspaceId, era)
        const phone = digits()
        const [linked, ended] = yield* Effect.all(
          [
            store.linked(attempt.id, phone, attempt.endsAt - 1),
            store.giveUpLinking(attempt.id, givenUp),
          ],
          { concurrency: "unbounded" },
        )
        assert.strictEqual(linked === null, ended)
        const after = present(yield* Store.use(({ numbers: all }) => all.find(number.id)))
        assert.deepStrictEqual(
          [after.status, after.phone],
          ended ? ["disconnected", null] : ["connected", phone],
        )
        assert.isNull(yield* store.getLinking(number.id))
      }
    }),
  )

  it.effect("test attempts are due when they link themselves, until they end", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt } = yield* aLinking(workspaceId, era, {
        number: { mode: "test" },
        attempt: { mode: "test", linksAt: era + 5 * oneSecond },
      })
      const due = (now: number) =>
        Effect.map(store.dueTestLinkings(now, 1000), (all) =>
          all.filter(({ id }) => id === attempt.id),
        )
      assert.deepStrictEqual(yield* due(era + 5 * oneSecond - 1), [])
      assert.deepStrictEqual(yield* due(era + 5 * oneSecond), [attempt])
      assert.deepStrictEqual(yield* due(attempt.endsAt), [])
      yield* giveUp(attempt.id)
    }),
  )

  it.effect("an attempt ends with its number, its workspace, and any other status", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store

      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const removed = yield* aLinking(workspaceId, era)
      yield* numbers.remove(workspaceId, removed.number.id, era)
      const dropped = yield* aLinking(workspaceId, era)
      yield* numbers.setStatus(dropped.number.id, "disconnected", undefined, era)
      const deleted = yield* aLinking(workspaceId, era)
      yield* Store.use(({ workspaces: all }) => all.delete(workspaceId, era))
      for (const { attempt, number } of [removed, dropped, deleted]) {
        assert.isNull(yield* numbers.getLinking(number.id))
        assert.isNull(yield* numbers.linked(attempt.id, digits(), era))
        assert.isFalse(yield* numbers.giveUpLinking(attempt.id, givenUp))
      }
      assert.deepStrictEqual(yield* claimAll(era), [])
    }),
  )

  it.effect("linking is due with attempts to claim, ending leases, self-links, or ends", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      assert.isNull(yield* nextDueOf("linking", era))
      const test = yield* aLinking(workspaceId, era, {
        number: { mode: "test" },
        attempt: { mode: "test", linksAt: era + 5 * minute },
      })
      assert.strictEqual(yield* nextDueOf("linking", era), era + 5 * minute)
      const { attempt } = yield* aLinking(workspaceId, era + oneSecond)
      assert.strictEqual(yield* nextDueOf("linking", era), era + oneSecond)
      const { lease } = only(yield* claimAll(era + oneSecond, era + minute))
      assert.strictEqual(yield* nextDueOf("linking", era), era + minute)
      yield* store.renewLinkings([{ id: attempt.id, lease }], era + 20 * minute)
      assert.strictEqual(yield* nextDueOf("linking", era), era + 5 * minute)
      yield* store.linked(test.attempt.id, digits(), era + 5 * minute)
      assert.strictEqual(yield* nextDueOf("linking", era), attempt.endsAt)
      yield* giveUp(attempt.id)
      assert.isNull(yield* nextDueOf("linking", era))
    }),
  )
}
