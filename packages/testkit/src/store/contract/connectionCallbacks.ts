/** Callbacks of numbers: written with the change of a connection that they report, and only then. */
import { assert } from "@effect/vitest"
import { connectionCallback, linkingMillis, emptyLinkingView, Store } from "@messaging-service/core"
import type {
  Callback,
  ConnectionEvent,
  EndReports,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { aCallbackUrl, aCallingStage, sortedEventIds } from "../Calling.ts"
import { claimDue } from "../Delivering.ts"
import { only, present } from "../Expect.ts"
import { aLinking, anAttempt, digits } from "../Linking.ts"
import type { Topic } from "../Topic.ts"
import { anEra, anEventId, aNumber, aStage, abandoned, minute } from "../Records.ts"

const reporting = (now: number, callbackUrl: string | null) => anAttempt(now, { callbackUrl })

/** A new connecting number that reports there. */
const aReporting = (workspaceId: WorkspaceId, now: number, callbackUrl: string | null) =>
  Effect.map(
    aLinking(workspaceId, now, { attempt: { callbackUrl } }),
    ({ attempt: { id }, number }) => ({ id, number }),
  )

const toCallback = (
  number: SendingNumber,
  event: ConnectionEvent,
  url: string,
  now: number,
): Callback => connectionCallback(anEventId(), event, number, url, now)

const makeReports = (number: SendingNumber, url: string, now: number): EndReports => ({
  connected: toCallback(number, "connected", url, now),
  disconnected: toCallback(number, "disconnected", url, now),
})

/** The events of everything written by `now`. */
const written = (now: number) =>
  Effect.map(claimDue({ now, leaseUntil: now + 1000 * linkingMillis }), sortedEventIds)

const readUrl = (number: SendingNumber) =>
  Store.use(({ numbers: store }) => store.callbackUrl(number.id))

export const connectionCallbacks: Topic = (it) => {
  it.effect("each attempt sets where the number reports from then on, or that it does not", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { numbers } = yield* Store

      const { workspace } = yield* aStage({ createdAt: era })
      const [first, second] = [aCallbackUrl(), aCallbackUrl()]
      const { id, number } = yield* aReporting(workspace.id, era, first)
      assert.strictEqual(yield* readUrl(number), first)
      yield* numbers.abandonLinking(id, abandoned)
      assert.strictEqual(yield* readUrl(number), first)
      const again = reporting(era, second)
      yield* numbers.reconnect(workspace.id, number.id, again, null)
      assert.strictEqual(yield* readUrl(number), second)
      // A refused change has no effect.
      yield* numbers.reconnect(workspace.id, number.id, reporting(era, null), null)
      assert.strictEqual(yield* readUrl(number), second)
      yield* numbers.abandonLinking(again.id, abandoned)
      yield* numbers.reconnect(workspace.id, number.id, reporting(era, null), null)
      assert.isNull(yield* readUrl(number))
      const idle = yield* aNumber(workspace.id)
      assert.isNull(yield* readUrl(idle))
      const removed = yield* aReporting(workspace.id, era, first)
      yield* numbers.remove(workspace.id, removed.number.id, era)
      assert.isNull(yield* readUrl(removed.number))
    }),
  )

  it.effect("a new QR code is reported once, by the holder of the attempt", () =>
    Effect.gen(function* () {
      const era = anEra()
      const store = (yield* Store).numbers
      const { workspace } = yield* aCallingStage(era)
      const url = aCallbackUrl()
      const { id, number } = yield* aReporting(workspace.id, era, url)
      const shown = () => toCallback(number, "qr-generated", url, era)
      const leased = yield* store.claimLinkings({
        now: era,
        leaseUntil: era + minute,
        limit: 1000,
        perWorkspace: 1000,
        held: new Map(),
        owned: "all",
      })
      const { lease } = only(leased.filter(({ attempt }) => attempt.id === id))
      const first = { ...emptyLinkingView, qrText: "first" }
      const [callback, late] = [shown(), shown()]
      assert.isFalse(yield* store.showLinking(id, lease + 1, first, shown()))
      assert.isTrue(yield* store.showLinking(id, lease, first, callback))
      // The same once more, as after a lost answer.
      assert.isTrue(yield* store.showLinking(id, lease, first, shown()))
      assert.isTrue(
        yield* store.showLinking(id, lease, { ...emptyLinkingView, qrText: "next" }, late),
      )
      assert.isTrue(yield* store.showLinking(id, lease, emptyLinkingView))
      yield* store.abandonLinking(id, abandoned)
      assert.isFalse(yield* store.showLinking(id, lease, first, shown()))
      const claimed = yield* claimDue({ now: era, leaseUntil: era + minute })
      assert.deepStrictEqual(sortedEventIds(claimed), sortedEventIds([callback, late]))
      assert.strictEqual(
        present(claimed[0]).body,
        `event=qr-generated&whatsapp_client=${number.id}&whatsapp_number=`,
      )
    }),
  )

  it.effect("the actual end of an attempt is reported, once", () =>
    Effect.gen(function* () {
      const era = anEra()
      const store = (yield* Store).numbers
      const { number: other, workspace } = yield* aCallingStage(era)
      const url = aCallbackUrl()

      const linked = yield* aReporting(workspace.id, era, url)
      const phone = digits()
      const connects = makeReports({ ...linked.number, phone }, url, era)
      yield* store.linked(linked.id, phone, era, connects)
      yield* store.linked(linked.id, phone, era, makeReports(linked.number, url, era))

      // Another number has that phone.
      const leased = yield* aReporting(workspace.id, era, url)
      const fails = makeReports(leased.number, url, era)
      yield* store.linked(leased.id, present(other.phone), era, fails)

      const lapsed = yield* aReporting(workspace.id, era, url)
      const end = era + linkingMillis
      const tooLate = makeReports(lapsed.number, url, era)
      assert.isNull(yield* store.linked(lapsed.id, digits(), end, tooLate))
      const lapses = toCallback(lapsed.number, "disconnected", url, era)
      assert.isTrue(yield* store.abandonLinking(lapsed.id, abandoned, lapses))
      const again = toCallback(lapsed.number, "disconnected", url, era)
      assert.isFalse(yield* store.abandonLinking(lapsed.id, abandoned, again))

      assert.deepStrictEqual(
        yield* written(era),
        sortedEventIds([connects.connected, fails.disconnected, lapses]),
      )
    }),
  )

  it.effect("only a real change of status is reported", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { numbers } = yield* Store

      const { workspace } = yield* aCallingStage(era)
      const url = aCallbackUrl()
      const { id, number } = yield* aReporting(workspace.id, era, url)
      const to = (status: "connected" | "disconnected") => {
        const callback = toCallback(number, status, url, era)
        return Effect.as(numbers.setStatus(number.id, status, undefined, era, callback), callback)
      }
      const connects = yield* to("connected")
      yield* to("connected")
      assert.isNull(yield* numbers.getLinking(number.id))
      assert.isFalse(
        yield* numbers.abandonLinking(id, abandoned, toCallback(number, "disconnected", url, era)),
      )
      const drops = yield* to("disconnected")
      yield* to("disconnected")
      assert.deepStrictEqual(yield* written(era), sortedEventIds([connects, drops]))
      yield* numbers.remove(workspace.id, number.id, era)
      yield* to("connected")
      assert.deepStrictEqual(yield* written(era), [])
    }),
  )

  it.effect("nothing is written that the number no longer reports", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { numbers } = yield* Store

      const { workspace } = yield* aCallingStage(era)
      const [former, nowhere] = [aCallbackUrl(), null]
      const { id, number } = yield* aReporting(workspace.id, era, former)
      yield* numbers.abandonLinking(id, abandoned)
      const attempt = reporting(era, nowhere)
      yield* numbers.reconnect(workspace.id, number.id, attempt, null)
      const leased = yield* numbers.claimLinkings({
        now: era,
        leaseUntil: era + minute,
        limit: 1000,
        perWorkspace: 1000,
        held: new Map(),
        owned: "all",
      })
      const { lease } = only(leased.filter((each) => each.attempt.id === attempt.id))
      const shown = toCallback(number, "qr-generated", former, era)
      assert.isTrue(
        yield* numbers.showLinking(attempt.id, lease, { ...emptyLinkingView, qrText: "x" }, shown),
      )
      const reports = makeReports(number, former, era)
      assert.isNotNull(yield* numbers.linked(attempt.id, digits(), era, reports))
      const drops = toCallback(number, "disconnected", former, era)
      yield* numbers.setStatus(number.id, "disconnected", undefined, era, drops)
      const again = reporting(era, nowhere)
      yield* numbers.reconnect(workspace.id, number.id, again, null)
      yield* numbers.abandonLinking(
        again.id,
        abandoned,
        toCallback(number, "disconnected", former, era),
      )
      assert.deepStrictEqual(yield* written(era), [])
    }),
  )
}
