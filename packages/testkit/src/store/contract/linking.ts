/** `LinkingStore`: attempts at linking numbers, their guards, their leases and their ends. */
import { assert } from "@effect/vitest"
import {
  IdempotencyStore,
  LinkingStore,
  NumberStore,
  WorkStatus,
  WorkspaceStore,
  linkingMillis,
  nothingShown,
} from "@messaging-service/core/ports"
import type {
  Crowded,
  IdempotencyClaim,
  LinkingAttempt,
  LinkingId,
  LinkingOutcome,
  NewAttempt,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import { only, present } from "../Expect.ts"
import { plenty } from "../Reading.ts"
import { claimOne, sent, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  aClaim,
  aKey,
  aMessage,
  anEra,
  aNumber,
  aPhone,
  aStage,
  aWorkspace,
  fresh,
  minute,
  oneSecond,
} from "../Records.ts"

const digits = (): string => aPhone().slice(1)

const anAttempt = (now: number, given: Partial<NewAttempt> = {}): NewAttempt => ({
  id: `attempt${fresh()}` as LinkingId,
  mode: "live",
  method: "qr",
  phone: null,
  requestedAt: now,
  endsAt: now + linkingMillis,
  linksAt: null,
  ...nothingShown,
  callbackUrl: null,
  ...given,
})

const aNewNumber = (
  workspaceId: WorkspaceId,
  now: number,
  given: Partial<SendingNumber> = {},
): Omit<SendingNumber, "id" | "status"> => ({
  workspaceId,
  mode: "live",
  phone: null,
  label: "",
  platform: "whatsapp",
  loginMethod: "qr",
  createdAt: now,
  ...given,
})

interface Adding {
  readonly number?: Partial<SendingNumber>
  readonly attempt?: Partial<NewAttempt>
  readonly limit?: number | null
  readonly claim?: IdempotencyClaim | null
}

const add = (workspaceId: WorkspaceId, now: number, options: Adding = {}) =>
  LinkingStore.use((store) =>
    store.add(
      aNewNumber(workspaceId, now, options.number),
      anAttempt(now, options.attempt),
      options.limit ?? null,
      options.claim ?? null,
    ),
  )

const begun = (outcome: LinkingOutcome): SendingNumber =>
  outcome._tag === "Begun" ? outcome.number : assert.fail(`broken: ${outcome.guard}`)

const guardOf = (outcome: LinkingOutcome): string | null =>
  outcome._tag === "Broken" ? outcome.guard : null

/** A connecting number with its attempt. */
const aLinking = (workspaceId: WorkspaceId, now: number, options: Adding = {}) =>
  Effect.gen(function* () {
    const number = begun(yield* add(workspaceId, now, options))
    const attempt = present(yield* LinkingStore.use((store) => store.get(number.id)))
    return { number, attempt }
  })

type One = Effect.Success<ReturnType<typeof aLinking>>

/** Claims everything that an era has to claim; what is later is not ours, what is earlier is gone. */
const claimAll = (
  now: number,
  leaseUntil = now + minute,
  given: Partial<Parameters<(typeof LinkingStore.Service)["claim"]>[0]> = {},
) =>
  LinkingStore.use((store) =>
    store.claim({ now, leaseUntil, limit: 1000, perWorkspace: 1000, held: new Map(), ...given }),
  )

/** The next due moment if it lies in the fifty days after the era. */
const nextDue = (era: number, crowded: Crowded = []) =>
  Effect.map(
    WorkStatus.use((status) => status.nextDue("linking", crowded)),
    (due) => (due !== null && due < era + 50 * 24 * 60 * minute ? due : null),
  )

const giveUp = (id: LinkingId) => LinkingStore.use((store) => store.giveUp(id))

export const linking: Topic = (it) => {
  it.effect("an attempt is kept as it was given, beside a connecting number", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const attempt = anAttempt(era, {
        mode: "test",
        method: "phone_code",
        phone: digits(),
        linksAt: era + 5000,
        qrText: "2@a,b",
        pairingCode: { code: "ABCD1234", expiresAt: era + minute },
        linking: true,
      })
      const given = aNewNumber(workspaceId, era, {
        mode: "test",
        label: "Müller ☎",
        loginMethod: "phone_code",
        phone: attempt.phone,
      })
      const number = begun(yield* store.add(given, attempt, null, null))
      assert.deepStrictEqual(number, { ...given, id: number.id, status: "connecting" })
      assert.deepStrictEqual(yield* NumberStore.use((all) => all.find(number.id)), number)
      const { callbackUrl: _, ...shown } = attempt
      assert.deepStrictEqual(yield* store.get(number.id), {
        ...shown,
        numberId: number.id,
        replaced: null,
      })
      assert.isTrue(yield* store.giveUp(attempt.id))
      assert.isNull(yield* store.get(number.id))
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
      yield* NumberStore.use((store) => store.remove(workspace.id, number.id, era))
      const last = yield* aLinking(workspace.id, era, { limit: 3 })
      yield* Effect.forEach([attempt.id, last.attempt.id], giveUp)
    }),
  )

  it.effect("adding at once never gets past the limit", () =>
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
      assert.lengthOf(yield* NumberStore.use((store) => store.list(workspace.id)), 4)
      for (const number of made) {
        yield* giveUp(present(yield* LinkingStore.use((store) => store.get(number.id))).id)
      }
    }),
  )

  it.effect("a deleted workspace gets no number", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const era = anEra()
      yield* WorkspaceStore.use((store) => store.delete(id, era))
      assert.strictEqual(guardOf(yield* add(id, era)), "number")
    }),
  )

  it.effect("only a disconnected number of the workspace is reconnected", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
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
      yield* store.giveUp(attempt.id)
      const coded = anAttempt(era, { method: "phone_code", phone: digits() })
      assert.deepStrictEqual(begun(yield* store.reconnect(workspace.id, idle.id, coded, null)), {
        ...idle,
        status: "connecting",
        loginMethod: "phone_code",
        phone: coded.phone,
      })
      yield* NumberStore.use((all) => all.remove(workspace.id, idle.id, era))
      assert.strictEqual(yield* reconnect(workspace.id, idle), "number")
    }),
  )

  it.effect("of requests at once for one number, one begins", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
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
      assert.strictEqual(present(yield* store.get(idle.id)).id, attempts[winner]?.id)
      yield* giveUp(present(attempts[winner]).id)
    }),
  )

  it.effect("a beginning finishes its claim, and begins nothing without it", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const claims = yield* IdempotencyStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { key } = yield* aKey(workspaceId)
      const idle = yield* aNumber(workspaceId, { status: "disconnected" })
      const adding = aClaim(key.id)
      const again = aClaim(key.id)
      assert.strictEqual(guardOf(yield* add(workspaceId, era, { claim: adding })), "idempotency")
      const lost = yield* store.reconnect(workspaceId, idle.id, anAttempt(era), again)
      assert.strictEqual(guardOf(lost), "idempotency")
      assert.deepStrictEqual(yield* NumberStore.use((all) => all.list(workspaceId)), [idle])

      yield* claims.claim(adding, era)
      yield* claims.claim(again, era)
      const { attempt, number } = yield* aLinking(workspaceId, era, { claim: adding })
      const second = anAttempt(era)
      begun(yield* store.reconnect(workspaceId, idle.id, second, again))
      for (const [claim, id] of [
        [adding, number.id],
        [again, idle.id],
      ] as const) {
        assert.deepStrictEqual(yield* claims.claim({ ...claim, token: "repeat" }, era), {
          _tag: "Finished",
          record: { fingerprint: claim.fingerprint, madeIds: [id], createdAt: era },
        })
      }
      yield* Effect.forEach([attempt.id, second.id], giveUp)
    }),
  )

  it.effect("a broken guard leaves the claim as it was", () =>
    Effect.gen(function* () {
      const claims = yield* IdempotencyStore
      const era = anEra()
      const { workspace } = yield* aStage()
      const { key } = yield* aKey(workspace.id)
      const claim = aClaim(key.id)
      yield* claims.claim(claim, era)
      assert.strictEqual(guardOf(yield* add(workspace.id, era, { limit: 1, claim })), "limit")
      assert.deepStrictEqual(yield* claims.claim(claim, era), { _tag: "Claimed" })
    }),
  )

  it.effect("live attempts are claimed once, and again when the lease has run out", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
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
      assert.isFalse(yield* store.show(id, first.lease, { ...nothingShown, qrText: "late" }))
      assert.isTrue(yield* store.show(id, second.lease, { ...nothingShown, qrText: "new" }))
      assert.strictEqual(present(yield* store.get(attempt.numberId)).qrText, "new")
      const held = [
        { id, lease: first.lease },
        { id: "unknown" as LinkingId, lease: 1 },
      ]
      assert.deepStrictEqual(yield* store.renew(held, era + 10 * minute), new Set())
      const still = yield* store.renew([{ id, lease: second.lease }], era + 5 * minute)
      assert.deepStrictEqual(still, new Set([id]))
      assert.deepStrictEqual(yield* claimAll(era + 3 * minute), [])
      assert.deepStrictEqual(yield* claimAll(attempt.endsAt), [])
      assert.isTrue(yield* giveUp(id))
      assert.deepStrictEqual(
        yield* store.renew([{ id, lease: second.lease }], era + minute),
        new Set(),
      )
      assert.isFalse(yield* store.show(id, second.lease, nothingShown))
    }),
  )

  it.effect("claims at once hold each attempt once", () =>
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

  it.effect("of one workspace no more are claimed than the worker may hold", () =>
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
      // While its workspace is crowded an attempt waits for its end.
      assert.strictEqual(yield* nextDue(era), third.attempt.requestedAt)
      assert.strictEqual(yield* nextDue(era, [greedy.id]), first.attempt.endsAt)
      assert.strictEqual(yield* nextDue(era, "all"), first.attempt.endsAt)
      const workload = (most: number, whole = 1000) =>
        Effect.map(
          WorkStatus.use((status) =>
            status.workload(now, { ...plenty, linking: { whole, share: { most } } }),
          ),
          ({ nextDue: due }) => due,
        )
      // Other tests' work may be due before; this is not what makes the difference then.
      const room = yield* workload(3)
      assert.isTrue(room !== null && room <= third.attempt.requestedAt)
      assert.isTrue((yield* workload(2)) !== third.attempt.requestedAt)
      assert.isTrue((yield* workload(3, 2)) !== third.attempt.requestedAt)
      yield* giveUp(first.attempt.id)
      assert.deepStrictEqual(yield* claimed(2), expected(third))
      yield* Effect.forEach([second, third, fourth, one], ({ attempt }) => giveUp(attempt.id))
    }),
  )

  it.effect("what is shown is replaced as a whole", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt } = yield* aLinking(workspaceId, era)
      const { lease } = only(yield* claimAll(era))
      const pairingCode = { code: "ABCD1234", expiresAt: era + minute }
      for (const view of [
        { ...nothingShown, qrText: 'Grüße, "☎"' },
        { ...nothingShown, pairingCode },
        { qrText: "x", pairingCode, linking: true },
        nothingShown,
      ]) {
        assert.isTrue(yield* store.show(attempt.id, lease, view))
        assert.deepStrictEqual(yield* store.get(attempt.numberId), { ...attempt, ...view })
      }
      assert.isTrue(yield* store.taken(attempt.id, era + oneSecond))
      assert.isTrue(present(yield* store.get(attempt.numberId)).linking)
      yield* giveUp(attempt.id)
      assert.isFalse(yield* store.taken(attempt.id, era + oneSecond))
    }),
  )

  it.effect("a link connects the number, whose lane can be claimed from then on", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt, number } = yield* aLinking(workspaceId, era)
      const message = yield* aMessage(number, { now: era })
      const status = yield* WorkStatus
      const lanes = yield* status.nextDue("lanes")
      assert.isTrue(lanes === null || lanes > era)
      const phone = digits()
      const linked = yield* store.linked(attempt.id, phone, era + oneSecond)
      assert.deepStrictEqual(linked, { ...number, status: "connected", phone })
      assert.deepStrictEqual(yield* NumberStore.use((all) => all.find(number.id)), linked)
      assert.isNull(yield* store.get(number.id))
      assert.isNull(yield* store.linked(attempt.id, phone, era + oneSecond))
      const claimed = yield* claimOne(number, { now: era + oneSecond, leaseUntil: era + minute })
      assert.strictEqual(claimed.message.id, message.id)
      yield* settle([sent(claimed, era + oneSecond)], era + oneSecond)
    }),
  )

  it.effect("a phone that another number holds is not held twice", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
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
        const store = yield* LinkingStore
        const era = anEra()
        const { workspace } = yield* aStage()
        const { number: foreign } = yield* aStage()
        const removed = yield* aNumber(workspace.id)
        yield* NumberStore.use((all) => all.remove(workspace.id, removed.id, era))
        const telegram = yield* aNumber(workspace.id, { platform: "telegram" })
        const test = yield* aNumber(workspace.id, { mode: "test" })
        for (const other of [foreign, removed, telegram, test]) {
          const { attempt } = yield* aLinking(workspace.id, era)
          const linked = yield* store.linked(attempt.id, present(other.phone), era)
          assert.strictEqual(present(linked).status, "connected")
        }
      }),
  )

  it.effect("of numbers that reveal one phone at once, one is connected", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
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

  it.effect("an attempt whose end has come is lapsed, and nothing links it any more", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt, number } = yield* aLinking(workspaceId, era)
      const { endsAt, id } = attempt
      const lapsed = (now: number) =>
        Effect.map(store.lapsed(now, 1000), (all) => all.filter((one) => one.id === id))
      assert.deepStrictEqual(yield* lapsed(endsAt - 1), [])
      assert.deepStrictEqual(yield* lapsed(endsAt), [attempt])
      assert.isFalse(yield* store.taken(id, endsAt))
      assert.isNull(yield* store.linked(id, digits(), endsAt))
      assert.isTrue(yield* store.giveUp(id))
      assert.isFalse(yield* store.giveUp(id))
      const after = yield* NumberStore.use((all) => all.find(number.id))
      assert.deepStrictEqual(after, { ...number, status: "disconnected" })
      assert.deepStrictEqual(yield* lapsed(endsAt), [])
    }),
  )

  it.effect("a number whose reconnect with another phone comes to nothing has its own again", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const numbers = yield* NumberStore
      const era = anEra()
      const { workspace, number: holder } = yield* aStage()
      const ends: ReadonlyArray<
        (
          id: LinkingId,
          number: SendingNumber,
        ) => Effect.Effect<unknown, unknown, LinkingStore | NumberStore>
      > = [
        giveUp,
        (id) => store.linked(id, present(holder.phone), era),
        (_, number) => numbers.setStatus(number.id, "disconnected", undefined, era),
      ]
      for (const own of [digits(), null]) {
        for (const end of ends) {
          const idle = yield* aNumber(workspace.id, { status: "disconnected", phone: own })
          const attempt = anAttempt(era, { method: "phone_code", phone: digits() })
          const connecting = begun(yield* store.reconnect(workspace.id, idle.id, attempt, null))
          assert.strictEqual(connecting.phone, attempt.phone)
          assert.deepStrictEqual(present(yield* store.get(idle.id)).replaced, { phone: own })
          yield* end(attempt.id, idle)
          assert.deepStrictEqual(yield* numbers.find(idle.id), {
            ...idle,
            loginMethod: "phone_code",
          })
        }
      }
    }),
  )

  it.effect("a phone is held by the number that it was replaced of, not by who asks for it", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const numbers = yield* NumberStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const own = digits()
      const asked = digits()
      const idle = yield* aNumber(workspaceId, { status: "disconnected", phone: own })
      const attempt = anAttempt(era, { method: "phone_code", phone: asked })
      yield* store.reconnect(workspaceId, idle.id, attempt, null)
      const one = yield* aLinking(workspaceId, era)
      assert.strictEqual((yield* store.linked(one.attempt.id, own, era))?.status, "disconnected")
      const another = yield* aLinking(workspaceId, era)
      assert.strictEqual((yield* store.linked(another.attempt.id, asked, era))?.status, "connected")
      assert.strictEqual((yield* store.linked(attempt.id, asked, era))?.status, "disconnected")
      assert.strictEqual(present(yield* numbers.find(idle.id)).phone, own)
    }),
  )

  it.effect("a phone that was typed in is kept: by a link, by a number that had no other", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const numbers = yield* NumberStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const phone = digits()
      const idle = yield* aNumber(workspaceId, { status: "disconnected", phone: digits() })
      const attempt = anAttempt(era, { method: "phone_code", phone })
      yield* store.reconnect(workspaceId, idle.id, attempt, null)
      yield* store.linked(attempt.id, phone, era)
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

  it.effect("of a link and an end at once, one happens", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      for (let round = 0; round < 10; round++) {
        const { attempt, number } = yield* aLinking(workspaceId, era)
        const phone = digits()
        const [linked, ended] = yield* Effect.all(
          [store.linked(attempt.id, phone, attempt.endsAt - 1), store.giveUp(attempt.id)],
          { concurrency: "unbounded" },
        )
        assert.strictEqual(linked === null, ended)
        const after = present(yield* NumberStore.use((all) => all.find(number.id)))
        assert.deepStrictEqual(
          [after.status, after.phone],
          ended ? ["disconnected", null] : ["connected", phone],
        )
        assert.isNull(yield* store.get(number.id))
      }
    }),
  )

  it.effect("test attempts are due when they link themselves, until they end", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt } = yield* aLinking(workspaceId, era, {
        number: { mode: "test" },
        attempt: { mode: "test", linksAt: era + 5 * oneSecond },
      })
      const due = (now: number) =>
        Effect.map(store.dueTest(now, 1000), (all) => all.filter(({ id }) => id === attempt.id))
      assert.deepStrictEqual(yield* due(era + 5 * oneSecond - 1), [])
      assert.deepStrictEqual(yield* due(era + 5 * oneSecond), [attempt])
      assert.deepStrictEqual(yield* due(attempt.endsAt), [])
      yield* giveUp(attempt.id)
    }),
  )

  it.effect("an attempt ends with its number, its workspace, and any other status", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const numbers = yield* NumberStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const removed = yield* aLinking(workspaceId, era)
      yield* numbers.remove(workspaceId, removed.number.id, era)
      const dropped = yield* aLinking(workspaceId, era)
      yield* numbers.setStatus(dropped.number.id, "disconnected", undefined, era)
      const deleted = yield* aLinking(workspaceId, era)
      yield* WorkspaceStore.use((all) => all.delete(workspaceId, era))
      for (const { attempt, number } of [removed, dropped, deleted]) {
        assert.isNull(yield* store.get(number.id))
        assert.isNull(yield* store.linked(attempt.id, digits(), era))
        assert.isFalse(yield* store.giveUp(attempt.id))
      }
      assert.deepStrictEqual(yield* claimAll(era), [])
    }),
  )

  it.effect("linking is due with what is to be claimed, runs out, links itself, or ends", () =>
    Effect.gen(function* () {
      const store = yield* LinkingStore
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      assert.isNull(yield* nextDue(era))
      const test = yield* aLinking(workspaceId, era, {
        number: { mode: "test" },
        attempt: { mode: "test", linksAt: era + 5 * minute },
      })
      assert.strictEqual(yield* nextDue(era), era + 5 * minute)
      const { attempt } = yield* aLinking(workspaceId, era + oneSecond)
      assert.strictEqual(yield* nextDue(era), era + oneSecond)
      const { lease } = only(yield* claimAll(era + oneSecond, era + minute))
      assert.strictEqual(yield* nextDue(era), era + minute)
      yield* store.renew([{ id: attempt.id, lease }], era + 20 * minute)
      assert.strictEqual(yield* nextDue(era), era + 5 * minute)
      yield* store.linked(test.attempt.id, digits(), era + 5 * minute)
      assert.strictEqual(yield* nextDue(era), attempt.endsAt)
      yield* giveUp(attempt.id)
      assert.isNull(yield* nextDue(era))
    }),
  )
}
