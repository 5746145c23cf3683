/** `NumberStore`: the numbers of a workspace, their status and their removal. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { Pacing, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { atOnce, range } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { aStage, aWorkspace, noon } from "../Records.ts"

export const numbers: Topic = (it) => {
  it.effect("concurrent requests create one number", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { id: workspaceId } = yield* aWorkspace()
      const input: Omit<SendingNumber, "id"> = {
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
        range(8).map(() => store.insertNew(input, null, 1)),
        atOnce,
      )
      assert.lengthOf(
        all.filter(({ _tag }) => _tag === "Inserted"),
        1,
      )
      assert.lengthOf(yield* store.list(workspaceId), 1)
    }),
  )

  it.effect("concurrent changes of a pacing lose nothing of one another", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { number } = yield* aStage()
      const input: Pacing = {
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
      assert.deepStrictEqual(found, input)
      yield* store.change(number.workspaceId, number.id, { pacing: { perHour: null } }, noon)
      const changed = (yield* store.settings([number.id])).get(number.id)?.pacing
      assert.deepStrictEqual(changed, { ...input, perHour: null })
    }),
  )
}
