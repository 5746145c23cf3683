/** `LinkingStore`: attempts at linking numbers, their guards and their leases. */
import { assert } from "@effect/vitest"
import { nothingShown, Store } from "@messaging-service/core"
import type {
  LinkingAttempt,
  LinkingId,
  NewAttempt,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "../Expect.ts"
import { nextDueOf, plenty } from "../Reading.ts"
import { onlyThese } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { aClaim, aKey, anEra, aNumber, aStage, aWorkspace, minute, oneSecond } from "../Records.ts"
import {
  digits,
  anAttempt,
  aNewNumber,
  add,
  begun,
  guardOf,
  aLinking,
  claimAll,
  giveUp,
} from "../Linking.ts"
import type { One } from "../Linking.ts"

export const linking: Topic = (it) => {
  it.effect("an attempt is stored unchanged, with a connecting number", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const attempt = anAttempt(era, {
        mode: "test",
        method: "phone_code",
        phone: digits(),
        linksAt: era + 5000,
        qrText: "2@a,b",
        qrExpiresAt: era + oneSecond,
        pairingCode: { code: "ABCD1234", expiresAt: era + minute },
        linking: true,
      })
      const given = aNewNumber(workspaceId, era, {
        mode: "test",
        label: "Müller ☎",
        loginMethod: "phone_code",
        phone: attempt.phone,
      })
      const number = begun(yield* store.addLinking(given, attempt, null, null))
      assert.deepStrictEqual(number, { ...given, id: number.id, status: "connecting" })
      assert.deepStrictEqual(yield* Store.use(({ numbers: all }) => all.find(number.id)), number)
      const { callbackUrl: _, pacing: __, ...shown } = attempt
      assert.deepStrictEqual(yield* store.getLinking(number.id), {
        ...shown,
        numberId: number.id,
        replaced: null,
      })
      assert.isTrue(yield* giveUp(attempt.id))
      assert.isNull(yield* store.getLinking(number.id))
    }),
  )

  it.effect("numbers that are not removed count towards the limit", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { workspace, number } = yield* aStage()
      yield* aNumber(workspace.id, { status: "disconnected" })
      yield* aStage()
      assert.strictEqual(guardOf(yield* add(workspace.id, era, { limit: 2 })), "limit")
      assert.strictEqual(guardOf(yield* add(workspace.id, era, { limit: 0 })), "limit")
      const { attempt } = yield* aLinking(workspace.id, era, { limit: 3 })
      assert.strictEqual(guardOf(yield* add(workspace.id, era, { limit: 3 })), "limit")
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, era))
      const last = yield* aLinking(workspace.id, era, { limit: 3 })
      yield* Effect.forEach([attempt.id, last.attempt.id], giveUp)
    }),
  )

  it.effect("concurrent additions never exceed the limit", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { workspace } = yield* aStage()
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 12 }),
        () => add(workspace.id, era, { limit: 4 }),
        { concurrency: "unbounded" },
      )
      const made = outcomes.filter(({ _tag }) => _tag === "Begun").map(begun)
      assert.lengthOf(made, 3)
      assert.lengthOf(yield* Store.use(({ numbers: store }) => store.list(workspace.id)), 4)
      for (const number of made) {
        yield* giveUp(
          present(yield* Store.use(({ numbers: store }) => store.getLinking(number.id))).id,
        )
      }
    }),
  )

  it.effect("a deleted workspace gets no number", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const era = anEra()
      yield* Store.use(({ workspaces: store }) => store.delete(id, era))
      assert.strictEqual(guardOf(yield* add(id, era)), "number")
    }),
  )

  it.effect("only a disconnected number of the workspace is reconnected", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { workspace, number: connected } = yield* aStage()
      const idle = yield* aNumber(workspace.id, { status: "disconnected" })
      const other = yield* aWorkspace()
      const reconnect = (workspaceId: WorkspaceId, number: SendingNumber) =>
        Effect.map(store.reconnect(workspaceId, number.id, anAttempt(era), null), guardOf)
      assert.strictEqual(yield* reconnect(workspace.id, connected), "number")
      assert.strictEqual(yield* reconnect(other.id, idle), "number")
      const attempt = anAttempt(era)
      const begins = begun(yield* store.reconnect(workspace.id, idle.id, attempt, null))
      assert.deepStrictEqual(begins, { ...idle, status: "connecting" })
      assert.strictEqual(yield* reconnect(workspace.id, idle), "number")
      yield* giveUp(attempt.id)
      const coded = anAttempt(era, { method: "phone_code", phone: digits() })
      assert.deepStrictEqual(begun(yield* store.reconnect(workspace.id, idle.id, coded, null)), {
        ...idle,
        status: "connecting",
        loginMethod: "phone_code",
        phone: coded.phone,
      })
      yield* Store.use(({ numbers: all }) => all.remove(workspace.id, idle.id, era))
      assert.strictEqual(yield* reconnect(workspace.id, idle), "number")
    }),
  )

  it.effect("one of concurrent requests for one number begins", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const idle = yield* aNumber(workspaceId, { status: "disconnected" })
      const attempts = Array.from({ length: 8 }, () => anAttempt(era))
      const outcomes = yield* Effect.forEach(
        attempts,
        (attempt) => store.reconnect(workspaceId, idle.id, attempt, null),
        { concurrency: "unbounded" },
      )
      const winner = outcomes.findIndex(({ _tag }) => _tag === "Begun")
      assert.lengthOf(
        outcomes.filter(({ _tag }) => _tag === "Begun"),
        1,
      )
      assert.strictEqual(present(yield* store.getLinking(idle.id)).id, attempts[winner]?.id)
      yield* giveUp(present(attempts[winner]).id)
    }),
  )

  it.effect("a start finishes its claim, and begins nothing without it", () =>
    Effect.gen(function* () {
      const { numbers: store, messages: claims } = yield* Store

      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { key } = yield* aKey(workspaceId)
      const idle = yield* aNumber(workspaceId, { status: "disconnected" })
      const adding = aClaim(key.id)
      const again = aClaim(key.id)
      assert.strictEqual(guardOf(yield* add(workspaceId, era, { claim: adding })), "idempotency")
      const lost = yield* store.reconnect(workspaceId, idle.id, anAttempt(era), again)
      assert.strictEqual(guardOf(lost), "idempotency")
      assert.deepStrictEqual(yield* Store.use(({ numbers: all }) => all.list(workspaceId)), [idle])

      yield* claims.claimKey(adding, era)
      yield* claims.claimKey(again, era)
      const { attempt, number } = yield* aLinking(workspaceId, era, { claim: adding })
      const second = anAttempt(era)
      begun(yield* store.reconnect(workspaceId, idle.id, second, again))
      for (const [claim, id, shown] of [
        [adding, number.id, {}],
        [again, idle.id, { shown: { phone: idle.phone, label: idle.label } }],
      ] as const) {
        assert.deepStrictEqual(yield* claims.claimKey({ ...claim, token: "repeat" }, era), {
          _tag: "Finished",
          record: { fingerprint: claim.fingerprint, madeIds: [id], createdAt: era, ...shown },
        })
      }
      yield* Effect.forEach([attempt.id, second.id], giveUp)
    }),
  )

  it.effect("a reconnect keeps its first view of its number, however that changes", () =>
    Effect.gen(function* () {
      const { numbers, messages: claims } = yield* Store

      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { key } = yield* aKey(workspaceId)
      const reconnected = (label: string, phone: string | null, attempt: Partial<NewAttempt>) =>
        Effect.gen(function* () {
          const claim = aClaim(key.id)
          yield* claims.claimKey(claim, era)
          const idle = yield* aNumber(workspaceId, { status: "disconnected", label, phone })
          const begin = anAttempt(era, attempt)
          const number = begun(yield* numbers.reconnect(workspaceId, idle.id, begin, claim))
          yield* numbers.change(workspaceId, idle.id, { label: "Later" }, era)
          yield* numbers.linked(begin.id, digits(), era)
          const repeat = yield* claims.claimKey({ ...claim, token: "repeat" }, era)
          const { shown } = repeat._tag === "Finished" ? repeat.record : assert.fail(repeat._tag)
          assert.deepStrictEqual(shown, { phone: number.phone, label: number.label })
          return shown
        })
      const phone = digits()
      assert.deepStrictEqual(yield* reconnected("Müller ☎", phone, {}), {
        phone,
        label: "Müller ☎",
      })
      assert.deepStrictEqual(yield* reconnected("", null, {}), { phone: null, label: "" })
      const asked = { method: "phone_code", phone: digits() } as const
      assert.deepStrictEqual(yield* reconnected("Shop", digits(), asked), {
        phone: asked.phone,
        label: "Shop",
      })
    }),
  )

  it.effect("a broken guard leaves the claim unchanged", () =>
    Effect.gen(function* () {
      const claims = (yield* Store).messages
      const era = anEra()
      const { workspace } = yield* aStage()
      const { key } = yield* aKey(workspace.id)
      const claim = aClaim(key.id)
      yield* claims.claimKey(claim, era)
      assert.strictEqual(guardOf(yield* add(workspace.id, era, { limit: 1, claim })), "limit")
      assert.deepStrictEqual(yield* claims.claimKey(claim, era), { _tag: "Claimed" })
    }),
  )

  it.effect("an attempt is claimed by the worker of its number alone", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const [one, other] = [yield* aLinking(workspaceId, era), yield* aLinking(workspaceId, era)]
      const claimed = yield* claimAll(era, era + minute, { owned: onlyThese([other.number]) })
      assert.strictEqual(only(claimed).attempt.id, other.attempt.id)
      assert.strictEqual(only(yield* claimAll(era)).attempt.id, one.attempt.id)
    }),
  )

  it.effect("live attempts are claimed once, and again when the lease has ended", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt } = yield* aLinking(workspaceId, era)
      yield* aLinking(workspaceId, era, {
        number: { mode: "test" },
        attempt: { mode: "test", linksAt: era + minute },
      })
      const first = only(yield* claimAll(era))
      assert.deepStrictEqual(first, { attempt, workspaceId, lease: first.lease })
      assert.deepStrictEqual(yield* claimAll(era + minute - 1), [])
      const second = only(yield* claimAll(era + minute))
      assert.isAbove(second.lease, first.lease)
      const { id } = attempt
      assert.isFalse(yield* store.showLinking(id, first.lease, { ...nothingShown, qrText: "late" }))
      assert.isTrue(yield* store.showLinking(id, second.lease, { ...nothingShown, qrText: "new" }))
      assert.strictEqual(present(yield* store.getLinking(attempt.numberId)).qrText, "new")
      const held = [
        { id, lease: first.lease },
        { id: "unknown" as LinkingId, lease: 1 },
      ]
      assert.deepStrictEqual(yield* store.renewLinkings(held, era + 10 * minute), new Set())
      const still = yield* store.renewLinkings([{ id, lease: second.lease }], era + 5 * minute)
      assert.deepStrictEqual(still, new Set([id]))
      assert.deepStrictEqual(yield* claimAll(era + 3 * minute), [])
      assert.deepStrictEqual(yield* claimAll(attempt.endsAt), [])
      assert.isTrue(yield* giveUp(id))
      assert.deepStrictEqual(
        yield* store.renewLinkings([{ id, lease: second.lease }], era + minute),
        new Set(),
      )
      assert.isFalse(yield* store.showLinking(id, second.lease, nothingShown))
    }),
  )

  it.effect("concurrent claims hold each attempt once", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const made = yield* Effect.forEach(Array.from({ length: 6 }), () =>
        aLinking(workspaceId, era),
      )
      const claimed = yield* Effect.forEach(Array.from({ length: 4 }), () => claimAll(era), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(
        claimed.flatMap((held) => held.map(({ attempt }) => attempt.id)).toSorted(),
        made.map(({ attempt }) => attempt.id).toSorted(),
      )
      yield* Effect.forEach(made, ({ attempt }) => giveUp(attempt.id))
    }),
  )

  it.effect("claims no more of one workspace than the worker may hold", () =>
    Effect.gen(function* () {
      const era = anEra()
      const greedy = yield* aWorkspace()
      const modest = yield* aWorkspace()
      const many = yield* Effect.forEach([0, 1, 2, 3], (place) =>
        aLinking(greedy.id, era + place * oneSecond),
      )
      const one = yield* aLinking(modest.id, era + 4 * oneSecond)
      const now = era + 5 * oneSecond
      const claimed = (held: number, limit = 1000) =>
        Effect.map(
          claimAll(now, now + 20 * minute, {
            perWorkspace: 3,
            limit,
            held: new Map([[greedy.id, held]]),
          }),
          (all) =>
            all
              .map(({ attempt, workspaceId }) => [attempt.id, workspaceId])
              .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
        )
      const expected = (...made: ReadonlyArray<{ readonly attempt: LinkingAttempt }>) =>
        made
          .map((each) => [each.attempt.id, each === one ? modest.id : greedy.id])
          .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))
      const [first, second, third, fourth] = many as [One, One, One, One]
      assert.deepStrictEqual(yield* claimed(1, 3), expected(first, second, one))
      assert.deepStrictEqual(yield* claimed(3), [])
      // While its workspace is saturated an attempt waits for its end.
      assert.strictEqual(yield* nextDueOf("linking", era), third.attempt.requestedAt)
      assert.strictEqual(yield* nextDueOf("linking", era, [greedy.id]), first.attempt.endsAt)
      assert.strictEqual(yield* nextDueOf("linking", era, "all"), first.attempt.endsAt)
      const workload = (most: number, whole = 1000) =>
        Effect.map(
          Store.use(({ queue: status }) =>
            status.workload(now, { ...plenty, linking: { whole, share: { most } } }),
          ),
          ({ nextDue: due }) => due,
        )
      // Other tests' work may be due before; this does not change it.
      const room = yield* workload(3)
      assert.isTrue(room !== null && room <= third.attempt.requestedAt)
      assert.isTrue((yield* workload(2)) !== third.attempt.requestedAt)
      assert.isTrue((yield* workload(3, 2)) !== third.attempt.requestedAt)
      yield* giveUp(first.attempt.id)
      assert.deepStrictEqual(yield* claimed(2), expected(third))
      yield* Effect.forEach([second, third, fourth, one], ({ attempt }) => giveUp(attempt.id))
    }),
  )
}
