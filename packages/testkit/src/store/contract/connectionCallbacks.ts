/** Callbacks of numbers: written with the change of a connection that they report, and only then. */
import { assert } from "@effect/vitest"
import { connectionCallback, linkingMillis, nothingShown, Store } from "@messaging-service/core"
import type {
  Callback,
  ConnectionEvent,
  EndReports,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { aCallbackUrl, aCallingStage, callbacksOf } from "../Calling.ts"
import { claimDue } from "../Delivering.ts"
import { only, present } from "../Expect.ts"
import { aLinking, anAttempt, digits } from "../Linking.ts"
import type { Topic } from "../Topic.ts"
import { anEra, anEventId, aNumber, aStage, givenUp, minute } from "../Records.ts"

const reporting = (now: number, callbackUrl: string | null) => anAttempt(now, { callbackUrl })

/** A new connecting number that reports there. */
const aReporting = (workspaceId: WorkspaceId, now: number, callbackUrl: string | null) =>
  Effect.map(
    aLinking(workspaceId, now, { attempt: { callbackUrl } }),
    ({ attempt: { id }, number }) => ({ id, number }),
  )

const callbackOf = (
  number: SendingNumber,
  event: ConnectionEvent,
  url: string,
  now: number,
): Callback => connectionCallback(anEventId(), event, number, url, now)

const reportsOf = (number: SendingNumber, url: string, now: number): EndReports => ({
  connected: callbackOf(number, "connected", url, now),
  disconnected: callbackOf(number, "disconnected", url, now),
})

/** The events of everything written by `now`. */
const written = (now: number) =>
  Effect.map(claimDue({ now, leaseUntil: now + 1000 * linkingMillis }), callbacksOf)

const urlOf = (number: SendingNumber) =>
  Store.use(({ numbers: store }) => store.callbackUrl(number.id))

export const connectionCallbacks: Topic = (it) => {
  it.effect("each attempt sets where the number reports from then on, or that it does not", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { numbers } = yield* Store

      const { workspace } = yield* aStage({ createdAt: era })
      const [first, second] = [aCallbackUrl(), aCallbackUrl()]
      const { id, number } = yield* aReporting(workspace.id, era, first)
      assert.strictEqual(yield* urlOf(number), first)
      yield* numbers.giveUpLinking(id, givenUp)
      assert.strictEqual(yield* urlOf(number), first)
      const again = reporting(era, second)
      yield* numbers.reconnect(workspace.id, number.id, again, null)
      assert.strictEqual(yield* urlOf(number), second)
      // A refused change has no effect.
      yield* numbers.reconnect(workspace.id, number.id, reporting(era, null), null)
      assert.strictEqual(yield* urlOf(number), second)
      yield* numbers.giveUpLinking(again.id, givenUp)
      yield* numbers.reconnect(workspace.id, number.id, reporting(era, null), null)
      assert.isNull(yield* urlOf(number))
      const idle = yield* aNumber(workspace.id)
      assert.isNull(yield* urlOf(idle))
      const removed = yield* aReporting(workspace.id, era, first)
      yield* numbers.remove(workspace.id, removed.number.id, era)
      assert.isNull(yield* urlOf(removed.number))
    }),
  )

  it.effect("a new QR code is reported once, by the holder of the attempt", () =>
    Effect.gen(function* () {
      const era = anEra()
      const store = (yield* Store).numbers
      const { workspace } = yield* aCallingStage(era)
      const url = aCallbackUrl()
      const { id, number } = yield* aReporting(workspace.id, era, url)
      const shown = () => callbackOf(number, "qr-generated", url, era)
      const held = yield* store.claimLinkings({
        now: era,
        leaseUntil: era + minute,
        limit: 1000,
        perWorkspace: 1000,
        held: new Map(),
        owned: "all",
      })
      const { lease } = only(held.filter(({ attempt }) => attempt.id === id))
      const first = { ...nothingShown, qrText: "first" }
      const [told, late] = [shown(), shown()]
      assert.isFalse(yield* store.showLinking(id, lease + 1, first, shown()))
      assert.isTrue(yield* store.showLinking(id, lease, first, told))
      // The same once more, as after a lost answer.
      assert.isTrue(yield* store.showLinking(id, lease, first, shown()))
      assert.isTrue(yield* store.showLinking(id, lease, { ...nothingShown, qrText: "next" }, late))
      assert.isTrue(yield* store.showLinking(id, lease, nothingShown))
      yield* store.giveUpLinking(id, givenUp)
      assert.isFalse(yield* store.showLinking(id, lease, first, shown()))
      const claimed = yield* claimDue({ now: era, leaseUntil: era + minute })
      assert.deepStrictEqual(callbacksOf(claimed), callbacksOf([told, late]))
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
      const connects = reportsOf({ ...linked.number, phone }, url, era)
      yield* store.linked(linked.id, phone, era, connects)
      yield* store.linked(linked.id, phone, era, reportsOf(linked.number, url, era))

      // Another number has that phone.
      const held = yield* aReporting(workspace.id, era, url)
      const fails = reportsOf(held.number, url, era)
      yield* store.linked(held.id, present(other.phone), era, fails)

      const lapsed = yield* aReporting(workspace.id, era, url)
      const end = era + linkingMillis
      const tooLate = reportsOf(lapsed.number, url, era)
      assert.isNull(yield* store.linked(lapsed.id, digits(), end, tooLate))
      const lapses = callbackOf(lapsed.number, "disconnected", url, era)
      assert.isTrue(yield* store.giveUpLinking(lapsed.id, givenUp, lapses))
      const again = callbackOf(lapsed.number, "disconnected", url, era)
      assert.isFalse(yield* store.giveUpLinking(lapsed.id, givenUp, again))

      assert.deepStrictEqual(
        yield* written(era),
        callbacksOf([connects.connected, fails.disconnected, lapses]),
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
        const callback = callbackOf(number, status, url, era)
        return Effect.as(numbers.setStatus(number.id, status, undefined, era, callback), callback)
      }
      const connects = yield* to("connected")
      yield* to("connected")
      assert.isNull(yield* numbers.getLinking(number.id))
      assert.isFalse(
        yield* numbers.giveUpLinking(id, givenUp, callbackOf(number, "disconnected", url, era)),
      )
      const drops = yield* to("disconnected")
      yield* to("disconnected")
      assert.deepStrictEqual(yield* written(era), callbacksOf([connects, drops]))
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
      yield* numbers.giveUpLinking(id, givenUp)
      const attempt = reporting(era, nowhere)
      yield* numbers.reconnect(workspace.id, number.id, attempt, null)
      const held = yield* numbers.claimLinkings({
        now: era,
        leaseUntil: era + minute,
        limit: 1000,
        perWorkspace: 1000,
        held: new Map(),
        owned: "all",
      })
      const { lease } = only(held.filter((each) => each.attempt.id === attempt.id))
      const shown = callbackOf(number, "qr-generated", former, era)
      assert.isTrue(
        yield* numbers.showLinking(attempt.id, lease, { ...nothingShown, qrText: "x" }, shown),
      )
      const reports = reportsOf(number, former, era)
      assert.isNotNull(yield* numbers.linked(attempt.id, digits(), era, reports))
      const drops = callbackOf(number, "disconnected", former, era)
      yield* numbers.setStatus(number.id, "disconnected", undefined, era, drops)
      const again = reporting(era, nowhere)
      yield* numbers.reconnect(workspace.id, number.id, again, null)
      yield* numbers.giveUpLinking(
        again.id,
        givenUp,
        callbackOf(number, "disconnected", former, era),
      )
      assert.deepStrictEqual(yield* written(era), [])
    }),
  )
}
