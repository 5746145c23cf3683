/** `NumberStore`: the numbers of a workspace, their status and their removal. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { NumberId, Pacing, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { atOnce, range } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { aNumber, aStage, aWorkspace, minute, noon, oneSecond } from "../Records.ts"

export const numbers: Topic = (it) => {
  it.effect("a number is kept as given", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { id: workspaceId } = yield* aWorkspace()
      const given: Omit<SendingNumber, "id"> = {
        workspaceId,
        mode: "test",
        phone: null,
        label: "Müller ☎",
        platform: "telegram",
        status: "connecting",
        loginMethod: "phone_code",
        createdAt: noon + 1,
      }
      const number = yield* store.insert(given)
      assert.deepStrictEqual(number, { ...given, id: number.id })
      assert.deepStrictEqual(yield* store.get(workspaceId, number.id), number)
      assert.deepStrictEqual(yield* store.find(number.id), number)
    }),
  )

  it.effect("a phone has one number on its platform and in its mode, removed ones aside", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { id: workspaceId } = yield* aWorkspace()
      const other = yield* aWorkspace()
      const given: Omit<SendingNumber, "id"> = {
        workspaceId,
        mode: "live",
        phone: "15550001000",
        label: "",
        platform: "whatsapp",
        status: "disconnected",
        loginMethod: "qr",
        createdAt: noon,
      }
      const made = yield* store.insertNew(given, null, null)
      const [number] = yield* store.list(workspaceId)
      assert.deepStrictEqual<unknown>(made, { _tag: "Inserted", number })
      const id = number?.id
      const again = store.insertNew({ ...given, status: "connected", label: "Again" }, null, null)
      assert.deepStrictEqual<unknown>(yield* again, { _tag: "Exists", id })
      for (const elsewhere of [
        { ...given, platform: "telegram" },
        { ...given, mode: "test" },
        { ...given, phone: "15550001001" },
        { ...given, workspaceId: other.id },
      ] as const) {
        assert.strictEqual((yield* store.insertNew(elsewhere, null, 4))._tag, "Inserted")
      }
      const another = { ...given, phone: "15550001002" }
      assert.deepStrictEqual(yield* store.insertNew(another, null, 4), { _tag: "Full" })
      assert.deepStrictEqual<unknown>(yield* store.insertNew(given, null, 4), {
        _tag: "Exists",
        id,
      })
      yield* store.remove(workspaceId, id as NumberId, noon)
      assert.strictEqual((yield* again)._tag, "Inserted")
    }),
  )

  it.effect("concurrent requests create one number", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { id: workspaceId } = yield* aWorkspace()
      const given: Omit<SendingNumber, "id"> = {
        workspaceId,
        mode: "live",
        phone: "15550001000",
        label: "",
        platform: "whatsapp",
        status: "connected",
        loginMethod: "qr",
        createdAt: noon,
      }
      const all = yield* Effect.all(
        range(8).map(() => store.insertNew(given, null, 1)),
        atOnce,
      )
      assert.lengthOf(
        all.filter(({ _tag }) => _tag === "Inserted"),
        1,
      )
      assert.lengthOf(yield* store.list(workspaceId), 1)
    }),
  )

  it.effect("a number belongs to its workspace; it is found without one too", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { number } = yield* aStage()
      const other = yield* aWorkspace()
      assert.isNull(yield* store.get(other.id, number.id))
      assert.isNull(yield* store.change(other.id, number.id, { label: "Taken" }, noon))
      assert.isFalse(yield* store.remove(other.id, number.id, noon))
      assert.deepStrictEqual(yield* store.find(number.id), number)
      assert.isNull(yield* store.find(999_999_999 as NumberId))
    }),
  )

  it.effect("numbers are listed oldest first, of their workspace alone", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { workspace, number: first } = yield* aStage()
      yield* aStage()
      const second = yield* aNumber(workspace.id, { platform: "telegram", createdAt: noon + 1 })
      const third = yield* aNumber(workspace.id, { status: "disconnected", createdAt: noon + 2 })
      assert.deepStrictEqual(yield* store.list(workspace.id), [first, second, third])
    }),
  )

  it.effect("a label changes alone", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { number } = yield* aStage()
      const relabelled = { ...number, label: "Front desk" }
      assert.deepStrictEqual(
        yield* store.change(number.workspaceId, number.id, { label: "Front desk" }, noon),
        relabelled,
      )
      assert.deepStrictEqual(yield* store.find(number.id), relabelled)
      assert.isNull(
        yield* store.change(number.workspaceId, 999_999_999 as NumberId, { label: "None" }, noon),
      )
    }),
  )

  it.effect("concurrent changes of a pacing lose nothing of one another", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { number } = yield* aStage()
      const given: Pacing = {
        minIntervalMillis: 1,
        jitterMillis: 2,
        perMinute: 3,
        perHour: 4,
        newRecipientsPerDay: 5,
      }
      const changes: ReadonlyArray<Partial<Pacing>> = [
        { minIntervalMillis: 1 },
        { jitterMillis: 2 },
        { perMinute: 3 },
        { perHour: 4, newRecipientsPerDay: 5 },
      ]
      yield* Effect.forEach(
        changes,
        (pacing) =>
          Effect.all(
            [
              store.change(number.workspaceId, number.id, { pacing, label: "Desk" }, noon),
              store.setStatus(number.id, "connected", undefined, noon),
            ],
            atOnce,
          ),
        atOnce,
      )
      const found = (yield* store.settings([number.id])).get(number.id)?.pacing
      assert.deepStrictEqual(found, given)
      yield* store.change(number.workspaceId, number.id, { pacing: { perHour: null } }, noon)
      const changed = (yield* store.settings([number.id])).get(number.id)?.pacing
      assert.deepStrictEqual(changed, { ...given, perHour: null })
    }),
  )

  it.effect("a change of status keeps the phone unless one is given", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { id: workspaceId } = yield* aWorkspace()
      const number = yield* aNumber(workspaceId, { phone: null, status: "connecting" })
      const linked = yield* store.setStatus(number.id, "connected", "15550109", noon + oneSecond)
      assert.deepStrictEqual(linked, { ...number, status: "connected", phone: "15550109" })
      const dropped = yield* store.setStatus(number.id, "disconnected", undefined, noon + minute)
      assert.deepStrictEqual(dropped, { ...number, status: "disconnected", phone: "15550109" })
      assert.deepStrictEqual(yield* store.find(number.id), dropped)
      assert.isNull(
        yield* store.setStatus(999_999_999 as NumberId, "connected", undefined, noon + minute),
      )
    }),
  )

  it.effect("a removed number is unknown, and removed once", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { workspace, number } = yield* aStage()
      const kept = yield* aNumber(workspace.id)
      assert.isTrue(yield* store.remove(workspace.id, number.id, noon))
      assert.isFalse(yield* store.remove(workspace.id, number.id, noon + oneSecond))
      assert.isNull(yield* store.get(workspace.id, number.id))
      assert.isNull(yield* store.find(number.id))
      assert.isNull(yield* store.change(workspace.id, number.id, { label: "Gone" }, noon))
      assert.isNull(yield* store.setStatus(number.id, "connected", undefined, noon))
      assert.deepStrictEqual(yield* store.list(workspace.id), [kept])
    }),
  )
}
