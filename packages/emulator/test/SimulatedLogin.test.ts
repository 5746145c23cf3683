/** Simulated Telegram logins, over a slow store. */
import { assert, describe, it } from "@effect/vitest"
import { Ids, TelegramLogin, WakeUp } from "@messaging-service/core"
import type { NumberId, Phone, SendingNumber, WorkspaceId } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { layerLogin } from "../src/index.ts"
import { storeWith } from "@messaging-service/testkit"

const aNumber = (id: number): SendingNumber => ({
  id: id as NumberId,
  workspaceId: 1 as WorkspaceId,
  mode: "live",
  phone: null,
  label: "",
  platform: "telegram",
  status: "disconnected",
  loginMethod: "qr",
  createdAt: 0,
})

const byCode = { method: "code", phone: "+15550100002" as Phone } as const

/** Two numbers of a workspace, and the calls of their store. */
const scene = () => {
  const numbers = new Map([1, 2].map((id) => [id as NumberId, aNumber(id)]))
  const reported: Array<unknown> = []
  const woken: Array<string> = []
  const layer = layerLogin.pipe(
    Layer.provide([
      storeWith({
        phones: { registered: Effect.succeed(null) },
        numbers: {
          find: (id) => Effect.sync(() => numbers.get(id) ?? null),
          // The value read here may be outdated when it arrives.
          list: () =>
            Effect.tap(
              Effect.sync(() => [...numbers.values()]),
              () => Effect.yieldNow,
            ),
          callbackUrl: () => Effect.succeed("https://example.com/calls"),
          setStatus: (id, status, phone, _now, callback, reason) =>
            Effect.sync(() => {
              const number = { ...numbers.get(id)!, status, phone: phone ?? null }
              numbers.set(id, number)
              reported.push([id, status, phone, callback?.type, reason])
              return number
            }),
        },
      }),
      Layer.mock(WakeUp, { poll: null, wake: (what) => Effect.sync(() => void woken.push(what)) }),
      Ids.layerRandom,
    ]),
  )
  return { layer, reported, woken }
}

describe("an account that is let in", () => {
  it.effect(
    "is reported as every connected number is: to its callback, and to all that waits",
    () => {
      const { layer, reported, woken } = scene()
      return Effect.gen(function* () {
        const { begin, giveCode } = yield* TelegramLogin
        yield* begin(1 as NumberId, byCode)
        yield* giveCode(1 as NumberId, "12345")
        assert.deepStrictEqual(reported, [[1, "connected", "15550100002", "connected", null]])
        assert.deepStrictEqual(woken, ["lanes", "number_checks", "read_marks"])
      }).pipe(Effect.provide(layer))
    },
  )

  it.effect("is let in for one number of its workspace, also when two ask for it at once", () => {
    const { layer, reported } = scene()
    return Effect.gen(function* () {
      const { begin, giveCode } = yield* TelegramLogin
      const both = [1, 2].map((id) => id as NumberId)
      for (const id of both) yield* begin(id, byCode)
      // One's code is given twice.
      both.push(both[0]!)
      const views = yield* Effect.forEach(both, (id) => giveCode(id, "12345"), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(
        views.map((view) =>
          view === null || view === "wrong" ? view : (view.error ?? view.state),
        ),
        ["connected", "phone_of_another_number", "connected"],
      )
      assert.lengthOf(reported, 1)
    }).pipe(Effect.provide(layer))
  })
})
