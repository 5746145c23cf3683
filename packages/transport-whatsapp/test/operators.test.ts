/** What operators do with a number, as its connection follows. */
import { assert, layer } from "@effect/vitest"
import { LaneQueue, NumberStore, SessionStore } from "@messaging-service/core/ports"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import { Sessions } from "../src/index.ts"
import { aLinkedNumber, aPerson, aText, layerWorldWith, sendNow, to, until } from "./LiveWorld.ts"

const accepted = { _tag: "Accepted" } as const

const world = layerWorldWith({ lookMillis: 50 })

layer(world)("a number that the far side has shut out", (it) => {
  it.effect("stays away while it is paused, and connects once it is resumed", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const lanes = yield* LaneQueue
      const number = yield* aLinkedNumber
      const logins = () => server.sessions(number.digits)[0]?.logins ?? 0
      const before = logins()
      yield* lanes.pause(number.id, { until: null, reason: "banned" }, 0)
      yield* server.end(406, number.digits)
      yield* until(() => sessions.status(number.id)?.state === "disconnected")
      // Several looks later it is still away: another number was linked meanwhile.
      yield* aLinkedNumber
      assert.strictEqual(logins(), before)
      yield* lanes.resume(number.id, 0)
      yield* until(() => sessions.status(number.id)?.state === "connected")
      assert.strictEqual(logins(), before + 1)
      assert.deepStrictEqual(yield* sendNow(aText(number, to(yield* aPerson))), accepted)
    }),
  )
})

layer(world)("a number that gets another proxy", (it) => {
  it.effect("is opened anew, so that nothing goes the old way any more", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const numbers = yield* NumberStore
      const number = yield* aLinkedNumber
      const logins = () => server.sessions(number.digits)[0]?.logins ?? 0
      const before = logins()
      const found = yield* numbers.find(number.id)
      const list = yield* SessionStore.use((store) => store.list)
      assert.isNull(list.find(({ numberId }) => numberId === number.id)?.proxy)
      // Another number is linked meanwhile, so that this one was looked at.
      yield* aLinkedNumber
      const proxy = { host: "127.0.0.1", port: 1, url: "sealed" }
      if (found !== null) yield* numbers.change(found.workspaceId, number.id, { proxy }, 0)
      yield* until(() => logins() > before)
      yield* until(() => sessions.status(number.id)?.state === "connected")
      assert.strictEqual(logins(), before + 1)
    }),
  )
})
