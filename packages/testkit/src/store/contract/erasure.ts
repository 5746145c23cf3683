/** `ErasureStore`: erases everything past its retention, and nothing else. */
import { assert } from "@effect/vitest"
import { everyMessage, Store } from "@messaging-service/core"
import type { AdmitQuery, Message, Mode, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import {
  aCheck,
  answered,
  claimOne as claimCheck,
  readResults,
  getScope as checkScope,
  settle as settleCheck,
} from "../Checking.ts"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  readLog,
  refused,
  toScope as endpointScope,
  settleDeliveries,
} from "../Delivering.ts"
import { ids, only } from "../Expect.ts"
import {
  aReminder,
  aRun,
  get as getReminder,
  list as listReminders,
  readRunLog as runLogOf,
  run,
  getScope as reminderScope,
} from "../Reminding.ts"
import { followOutbox } from "../follow.ts"
import { anAttempt, started } from "../Linking.ts"
import { atOnce, range } from "../Races.ts"
import { lookUp, listMessages, toScope } from "../Reading.ts"
import { cancelled, change, end, sendNext } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  aClaim,
  aContact,
  aKey,
  accepted,
  admitsAll,
  aMessage,
  aNumber,
  anEra,
  aStage,
  aWorkspace,
  day,
  hour,
  minute,
  noon,
} from "../Records.ts"

const eraseEnded = (workspaceId: WorkspaceId, endedBefore: number) =>
  Store.use(({ system: store }) => store.eraseEnded([{ workspaceId, endedBefore }]))

const isThere = ({ id, mode, workspaceId }: Message) =>
  Effect.map(
    Store.use(({ messages: store }) => store.get(toScope(workspaceId, mode), id)),
    (found) => found !== null,
  )

const left = (workspaceId: WorkspaceId, mode: Mode = "live") =>
  Effect.map(listMessages(workspaceId, mode), ids)

/** A stage with a key that can make requests. */
const aStageWithHash = Effect.gen(function* () {
  const stage = yield* aStage()
  return { ...stage, ...(yield* aKey(stage.workspace.id)) }
})

/** A counted request with that key. */
const anAdmission = (hash: string): AdmitQuery => ({
  hash,
  version: 2,
  now: noon,
  minuteStart: noon,
  dayStart: noon - 12 * hour,
  clientAddress: "192.0.2.7",
})

export const erasure: Topic = (it) => {
  it.effect("a message is erased if it ended before the moment, however it ended", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const sent = yield* aMessage(number)
      yield* sendNext(number, noon)
      const expired = yield* aMessage(number, { expiresAt: noon + minute })
      yield* end(change(expired, { trigger: "expire" }, noon + hour))
      const test = yield* aMessage(number, { mode: "test" })
      yield* end(change(test, { trigger: "send_succeeded" }, noon + hour))
      const later = yield* aMessage(number)
      yield* end(cancelled(later, noon + 2 * hour))
      const waiting = yield* aMessage(number)

      yield* eraseEnded(workspace.id, noon)
      assert.isTrue(yield* isThere(sent))
      yield* eraseEnded(workspace.id, noon + 1)
      assert.isFalse(yield* isThere(sent))
      assert.isTrue(yield* isThere(expired))
      yield* eraseEnded(workspace.id, noon + 2 * hour)
      assert.deepStrictEqual(yield* left(workspace.id), [waiting.id, later.id])
      assert.deepStrictEqual(yield* left(workspace.id, "test"), [])
      yield* eraseEnded(workspace.id, noon + 50 * day)
      assert.deepStrictEqual(yield* left(workspace.id), [waiting.id])
      assert.isNull(
        yield* Store.use(({ messages: store }) =>
          store.byTransportId(sent.from.id, sent.transportId),
        ),
      )
    }),
  )

  it.effect("number checks go with their results, and deleted reminders with their runs", () =>
    Effect.gen(function* () {
      const { reminders, numberChecks } = yield* Store
      const { number, workspace } = yield* aStage()
      const check = yield* aCheck(number)
      yield* settleCheck(answered(yield* claimCheck(number)))
      const open = yield* aCheck(number)
      const reminder = yield* aReminder(workspace.id)
      const kept = yield* aReminder(workspace.id)
      for (const one of [reminder, kept]) yield* run(number, aRun(one, { ranAt: noon }))
      yield* reminders.remove(reminderScope(reminder), reminder.id, noon)
      const there = Effect.gen(function* () {
        const checks = yield* Effect.forEach([check, open], (one) =>
          numberChecks.get(checkScope(one), one.id),
        )
        const logs = yield* Effect.forEach([reminder, kept], runLogOf)
        return [
          ...checks.map((one) => one !== null),
          (yield* readResults(check)).length,
          (yield* reminders.created(reminder.id)) !== null,
          ...logs.map(({ length }) => length),
        ]
      })
      yield* eraseEnded(workspace.id, noon)
      assert.deepStrictEqual(yield* there, [true, true, check.total, true, 1, 1])
      yield* eraseEnded(workspace.id, noon + 1)
      assert.deepStrictEqual(yield* there, [false, true, 0, false, 0, 1])
      yield* settleCheck(answered(yield* claimCheck(number)))
    }),
  )

  it.effect("a run names its message until that is erased", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const reminder = yield* aReminder(workspace.id)
      yield* run(number, aRun(reminder, { ranAt: noon }))
      const { id } = only(yield* listMessages(workspace.id))
      const named = Effect.gen(function* () {
        const read = yield* getReminder(reminder)
        const listed = yield* listReminders(reminderScope(reminder))
        const log = yield* runLogOf(reminder)
        return [read?.lastRun, listed.items[0]?.lastRun, log[0]].map((one) => one?.messageId)
      })
      assert.deepStrictEqual(yield* named, [id, id, id])
      yield* sendNext(number, noon)
      yield* eraseEnded(workspace.id, noon + 1)
      assert.deepStrictEqual(yield* named, [null, null, null])
    }),
  )

  it.effect("a message's reference goes with it, from its event too", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const follow = yield* followOutbox
      const reference = "order 4711"
      const message = yield* aMessage(number, { message: { reference } })
      yield* end(cancelled(message))
      const event = only(yield* follow(workspace.id))
      assert.strictEqual(event.reference, reference)
      yield* eraseEnded(workspace.id, noon + day)
      assert.isFalse(yield* isThere(message))
      const read = yield* Store.use(({ webhooks }) => webhooks.readEvents(event.id - 1, 1))
      assert.isEmpty(read.filter((one) => one.id === event.id && one.reference !== null))
    }),
  )

  it.effect("thousands go in one call, and those of other workspaces stay", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber((yield* aWorkspace()).id)
      const kept = yield* aMessage(other)
      yield* end(cancelled(kept))
      for (let round = 0; round < 13; round++) {
        const some = yield* accepted(number, { count: 100 })
        yield* end(...some.filter((_, index) => index !== 50).map((one) => cancelled(one)))
      }
      yield* eraseEnded(workspace.id, noon + 1)
      assert.lengthOf(yield* left(workspace.id), 13)
      assert.isTrue(yield* isThere(kept))
    }),
  )

  it.effect("a page read after an erasure continues where the one before it ended", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number, workspace } = yield* aStage()
      const all = yield* accepted(number, { count: 6 })
      const all3 = all.slice(0, 3)
      const page = (before: number | null) =>
        store.list(toScope(workspace.id), everyMessage, { before, limit: 2 }, noon)
      const first = yield* page(null)
      // The cursor's message is erased too.
      yield* end(...all.slice(2).map((one) => cancelled(one)))
      yield* eraseEnded(workspace.id, noon + 1)
      const second = yield* page(first.next)
      assert.deepStrictEqual(ids(second.items), ids(all3.slice(0, 2).toReversed()))
      assert.isNull(second.next)
    }),
  )

  it.effect("events go with their messages, except undelivered ones", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { key, number, workspace } = yield* aStageWithKey()
      const plain = yield* anEvent(number)
      const endpoint = yield* anEndpoint(key)
      const pending = yield* anEvent(number)
      const done = yield* anEvent(number, { now: noon + 1 })
      const late = yield* anEvent(number, { now: noon + hour })
      const [first, second, third] = yield* claimDue()
      assert.isDefined(first)
      if (first === undefined || second === undefined || third === undefined) return
      yield* settleDeliveries(refused(first, noon + 2 * hour), delivered(second), delivered(third))
      const events = Effect.map(follow(workspace.id), (all) => all.map(({ eventId }) => eventId))
      assert.deepStrictEqual(yield* events, [plain.id, pending.id, done.id, late.id])

      yield* eraseEnded(workspace.id, noon + hour)
      assert.deepStrictEqual(yield* events, [pending.id, late.id])
      const again = yield* claimTheOne({ now: noon + 2 * hour })
      assert.deepStrictEqual([again.eventId, again.body], [pending.id, pending.body])
      yield* settleDeliveries(delivered(again))
      yield* eraseEnded(workspace.id, noon + hour)
      assert.deepStrictEqual(yield* events, [late.id])
      assert.lengthOf(yield* readLog(endpoint), 0)
    }),
  )

  it.effect("the log of deliveries goes after its attempts, and nothing of it is redelivered", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number, workspace } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const old = yield* anEvent(number)
      const late = yield* anEvent(number, { now: noon + hour })
      const claimed = yield* claimDue()
      yield* settleDeliveries(
        ...claimed.map((one) =>
          delivered(one, { attemptedAt: one.eventId === old.id ? noon : noon + hour }),
        ),
      )
      yield* eraseEnded(workspace.id, noon + hour)
      assert.deepStrictEqual(
        (yield* readLog(endpoint)).map(({ eventId }) => eventId),
        [late.id],
      )
      const redeliver = (id: typeof old.id) =>
        Effect.map(
          store.redeliver(endpointScope(key), endpoint.id, id, noon + 2 * hour),
          ({ _tag }) => _tag,
        )
      assert.strictEqual(yield* redeliver(old.id), "NoEvent")
      assert.strictEqual(yield* redeliver(late.id), "Queued")
    }),
  )

  it.effect("the oldest ended test messages go, and waiting or live ones stay", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { number, workspace } = yield* aStage()
      const other = yield* aStage()
      const mode = "test"
      const [live, waiting] = [yield* aMessage(number), yield* aMessage(number, { mode })]
      yield* end(cancelled(live))
      const messages = yield* accepted(number, { count: 5, mode })
      const others = yield* accepted(other.number, { count: 3, mode })
      yield* end(...[...messages, ...others].map((one) => cancelled(one)))
      const workspaces = [workspace.id, other.workspace.id]
      yield* store.eraseTestMessages(workspaces, 5)
      assert.lengthOf(yield* left(workspace.id, mode), 6)
      yield* store.eraseTestMessages(workspaces, 3)
      assert.deepStrictEqual(yield* left(workspace.id, mode), [
        ...ids(messages.slice(2)).toReversed(),
        waiting.id,
      ])
      assert.lengthOf(yield* left(other.workspace.id, mode), 3)
      assert.deepStrictEqual(yield* left(workspace.id), [live.id])
    }),
  )

  it.effect("a simulated phone's copy of a message goes with it", () =>
    Effect.gen(function* () {
      const { phones } = yield* Store
      const { number, workspace } = yield* aStage()
      const [gone, kept] = [yield* aMessage(number), yield* aMessage(number)]
      for (const { transportId } of [gone, kept]) {
        const copy = { transportId, numberId: number.id, to: "+15550001234", text: "Hello" }
        yield* phones.receive({ ...copy, media: null, at: noon }, null)
      }
      yield* end(cancelled(gone))
      yield* eraseEnded(workspace.id, noon + 1)
      const shown = yield* phones.sent(
        { numberId: number.id, workspaceId: null, to: null },
        { before: null, limit: 10 },
      )
      assert.deepStrictEqual(
        shown.items.map(({ messageId }) => messageId),
        [kept.id],
      )
    }),
  )

  it.effect("lists workspaces with their retention, deleted ones too", () =>
    Effect.gen(function* () {
      const { system: store, workspaces } = yield* Store

      const era = anEra()
      const plain = yield* aWorkspace()
      const limited = yield* aWorkspace({ retentionDays: 3 })
      const deleted = yield* aWorkspace()
      yield* workspaces.update(
        plain.id,
        () => ({ change: { retentionDays: 30 }, admits: admitsAll }),
        era,
      )
      yield* workspaces.delete(deleted.id, era)
      const found = yield* store.retainedWorkspaces(plain.id - 1, 3)
      assert.deepStrictEqual(found, [
        { id: plain.id, retentionDays: 30, deletedAt: null },
        { id: limited.id, retentionDays: 3, deletedAt: null },
        { id: deleted.id, retentionDays: null, deletedAt: era },
      ])
      assert.deepStrictEqual(yield* store.retainedWorkspaces(deleted.id, 3), [])
    }),
  )

  const eraseRemoved = (endpointsBefore = noon) =>
    Store.use(({ system: store }) =>
      store.eraseRemoved({ now: noon, endpointsBefore, sessionsBefore: noon - 50 * day }),
    )

  /** A housekeeping round for a deleted workspace. */
  const eraseDeleted = (id: WorkspaceId) =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      yield* eraseRemoved()
      yield* store.eraseEnded([{ workspaceId: id, endedBefore: Infinity }])
      yield* store.eraseDeleted([{ id, claimants: [-2 * id] }], noon)
      const [next] = yield* store.retainedWorkspaces(id - 1, 1)
      return next?.id !== id
    })

  it.effect("a deleted workspace leaves nothing, and is not visited any more", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const keys = (yield* Store).workspaces
      const { hash, key, number, workspace } = yield* aStageWithHash
      const endpoint = yield* anEndpoint(key)
      yield* anEvent(number)
      yield* settleDeliveries(...(yield* claimDue()).map((one) => delivered(one)))
      yield* anEvent(number, { mode: "test" })
      yield* aContact(workspace.id)
      const reminder = yield* aReminder(workspace.id)
      const check = yield* aCheck(number)
      yield* settleCheck(answered(yield* claimCheck(number)))
      const claims = [aClaim(key.id), aClaim(-2 * workspace.id)]
      for (const idempotency of claims) {
        yield* Store.use(({ messages: store }) => store.claimKey(idempotency, noon))
        yield* aMessage(number, { idempotency })
      }
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, noon))
      yield* end(
        ...(yield* listMessages(workspace.id)).flatMap((one) =>
          one.state === "waiting" ? cancelled(one) : [],
        ),
      )

      assert.isTrue(yield* eraseDeleted(workspace.id))
      assert.deepStrictEqual(yield* left(workspace.id), [])
      assert.deepStrictEqual(yield* left(workspace.id, "test"), [])
      assert.deepStrictEqual(yield* follow(workspace.id), [])
      assert.deepStrictEqual(yield* readLog(endpoint), [])
      assert.isNull(yield* Store.use(({ reminders: store }) => store.created(reminder.id)))
      assert.isNull(
        yield* Store.use(({ numberChecks: store }) => store.get(checkScope(check), check.id)),
      )
      const contacts = yield* Store.use(({ workspaces: store }) =>
        store.listContacts(workspace.id, { before: null, limit: 10 }),
      )
      assert.deepStrictEqual(contacts.items, [])
      assert.deepStrictEqual(
        (yield* keys.listKeys(workspace.id)).map((one) => [
          one.id,
          one.name,
          one.last4,
          one.scopes,
        ]),
        [[key.id, "", "", []]],
      )
      for (const idempotency of claims) {
        const outcome = yield* Store.use(({ messages: store }) => store.claimKey(idempotency, noon))
        assert.strictEqual(outcome._tag, "Claimed")
        yield* Store.use(({ messages: store }) => store.releaseClaim(idempotency))
      }
      // Its key is refused as a revoked one.
      const admitted = yield* keys.admit(anAdmission(hash))
      assert.strictEqual(admitted?.workspace.deletedAt, noon)
      assert.strictEqual(admitted?.workspace.name, "")
    }),
  )

  it.effect("several workers erase the same at once, and none fails", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      for (let round = 0; round < 12; round++) {
        const some = yield* accepted(number, { count: 100, mode: "test" })
        yield* end(...some.map((one) => cancelled(one)))
      }
      for (let createdCount = 0; createdCount < 20; createdCount++) yield* aContact(workspace.id)
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, noon))
      yield* Effect.forEach(range(6), () => eraseDeleted(workspace.id), atOnce)
      assert.isTrue(yield* eraseDeleted(workspace.id))
      assert.deepStrictEqual(yield* left(workspace.id, "test"), [])
    }),
  )

  it.effect("a deleted workspace is visited until none of its messages waits", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const waiting = yield* aMessage(number)
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, noon))
      assert.isFalse(yield* eraseDeleted(workspace.id))
      assert.strictEqual((yield* lookUp(waiting)).message.from.phone, number.phone)
      yield* end(cancelled(waiting))
      assert.isTrue(yield* eraseDeleted(workspace.id))
      assert.isFalse(yield* isThere(waiting))
    }),
  )

  it.effect("first answers show nothing more of a removed number; of others they do", () =>
    Effect.gen(function* () {
      const claims = (yield* Store).messages
      const { number, workspace } = yield* aStage()
      const { key } = yield* aKey(workspace.id)
      const other = yield* aNumber(workspace.id, { label: "Other" })
      const first = yield* Effect.forEach([number, other], ({ id }) =>
        Effect.gen(function* () {
          const claim = aClaim(key.id)
          yield* claims.claimKey(claim, noon)
          yield* Store.use(({ numbers: store }) =>
            store.setStatus(id, "disconnected", undefined, noon),
          )
          started(
            yield* Store.use(({ numbers: store }) =>
              store.reconnect(workspace.id, id, anAttempt(noon), claim),
            ),
          )
          return claim
        }),
      )
      const shown = Effect.forEach(first, (claim) =>
        Effect.map(claims.claimKey({ ...claim, token: "repeat" }, noon), (found) =>
          found._tag === "Finished" ? found.record.shown : assert.fail(found._tag),
        ),
      )
      const asItWas = { phone: other.phone, label: "Other" }
      assert.deepStrictEqual(yield* shown, [{ phone: number.phone, label: number.label }, asItWas])
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      yield* eraseRemoved()
      assert.deepStrictEqual(yield* shown, [undefined, asItWas])
    }),
  )

  it.effect("messages keep the phone of a removed and erased number", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const sent = yield* aMessage(number)
      yield* sendNext(number, noon)
      const waiting = yield* aMessage(number)
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      yield* eraseRemoved()
      const stillWaiting = (yield* lookUp(waiting)).message
      assert.strictEqual(stillWaiting.from.phone, number.phone)
      yield* end(cancelled(stillWaiting))
      yield* eraseRemoved()
      for (const message of [sent, waiting]) {
        assert.strictEqual((yield* lookUp(message)).message.from.phone, number.phone)
      }
    }),
  )

  it.effect("the session of a removed number goes in the end, others' stay", () =>
    Effect.gen(function* () {
      const { sessions } = yield* Store
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const other = yield* aNumber(workspace.id)
      for (const { id } of [number, other]) yield* sessions.write(id, "sealed", [], era, null)
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, era))
      const eraseBefore = (sessionsBefore: number) =>
        Store.use(({ system: store }) =>
          store.eraseRemoved({ now: era, endpointsBefore: era, sessionsBefore }),
        )
      yield* eraseBefore(era)
      assert.strictEqual(yield* sessions.credentials(number.id), "sealed")
      yield* eraseBefore(era + 1)
      assert.isNull(yield* sessions.credentials(number.id))
      assert.strictEqual(yield* sessions.credentials(other.id), "sealed")
      yield* sessions.wipe(other.id, null)
    }),
  )

  it.effect("a revoked key loses its name and address, others keep theirs", () =>
    Effect.gen(function* () {
      const keys = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const revoked = yield* aKey(workspace.id, { name: "Till" })
      const other = yield* aKey(workspace.id, { name: "Shop" })
      for (const { hash } of [revoked, other]) yield* keys.admit(anAdmission(hash))
      yield* keys.revokeKey(workspace.id, revoked.key.id, noon)
      yield* eraseRemoved()
      const found = yield* keys.listKeys(workspace.id)
      assert.deepStrictEqual(
        found.map(({ last4, lastUsedIp, name }) => [name, lastUsedIp, last4]),
        [
          ["", null, revoked.key.last4],
          ["Shop", anAdmission("").clientAddress, other.key.last4],
        ],
      )
    }),
  )

  it.effect("a removed endpoint is shown to repeats for a while, then loses its address", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key, { description: "Till" })
      const other = { url: "https://other.example/", description: "Shop" }
      yield* store.update(endpointScope(key), endpoint.id, other)
      yield* store.remove(endpointScope(key), endpoint.id, noon)
      yield* eraseRemoved(noon)
      assert.strictEqual((yield* store.created(endpoint.id))?.url, endpoint.url)
      yield* eraseRemoved(noon + 1)
      const erased = yield* store.created(endpoint.id)
      assert.deepStrictEqual([erased?.url, erased?.description], ["", ""])
    }),
  )
}
