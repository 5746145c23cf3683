/** Operators' actions on a number, and their effect on its connection. */
import { assert, layer } from "@effect/vitest"
import { WhatsAppServer, someProxies, withCredentials } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import { Sessions } from "../src/Account.ts"
import {
  aLinkedNumber,
  aPerson,
  aText,
  layerWorldWith,
  Proxies,
  sendNow,
  to,
  until,
  untilSo,
} from "./LiveWorld.ts"
import { Store } from "@messaging-service/core"

const accepted = { _tag: "Accepted" } as const

const world = layerWorldWith({ lookMillis: 50 })

layer(world)("a number that the remote server has shut out", (it) => {
  it.effect.each([
    [403, "restricted"],
    [440, "replaced"],
  ] as const)("with %i stays away until it is resumed: %s", ([code, reason]) =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const lanes = (yield* Store).queue
      const number = yield* aLinkedNumber
      const logins = () => server.sessions(number.digits)[0]?.logins ?? 0
      const before = logins()
      for (const times of [1, 2]) {
        yield* server.end(code, number.digits)
        const list = Store.use(({ sessions: store }) => store.list)
        yield* untilSo(
          Effect.map(Effect.orDie(list), (all) =>
            all.some((one) => one.numberId === number.id && one.reason === reason),
          ),
        )
        // Several checks later it is still away: another number was linked meanwhile.
        if (times === 1) yield* aLinkedNumber
        assert.strictEqual(logins(), before + times - 1)
        yield* lanes.resume(number.id, 0)
        yield* until(() => sessions.status(number.id)?.state === "connected")
        assert.strictEqual(logins(), before + times)
      }
      assert.deepStrictEqual(yield* sendNow(aText(number, to(yield* aPerson))), accepted)
    }),
  )

  it.effect("for good stays away while it is paused, and connects once it is resumed", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const lanes = (yield* Store).queue
      const number = yield* aLinkedNumber
      const logins = () => server.sessions(number.digits)[0]?.logins ?? 0
      const before = logins()
      yield* lanes.pause(number.id, { until: null, reason: "banned" }, 0)
      yield* server.end(406, number.digits)
      yield* until(() => sessions.status(number.id)?.state === "disconnected")
      // Several checks later it is still away: another number was linked meanwhile.
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
  it.effect("is opened again, so nothing uses the old proxy any more", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const { numbers } = yield* Store
      const number = yield* aLinkedNumber
      const logins = () => server.sessions(number.digits)[0]?.logins ?? 0
      const before = logins()
      const found = yield* numbers.find(number.id)
      const { address, passed } = (yield* someProxies).proxies.http
      const credentials = withCredentials({ address })
      const urls = yield* Proxies
      const change = (sealed: string) =>
        Effect.suspend(() => {
          urls.set(number.id, credentials)
          const proxy = { host: "127.0.0.1", port: 1, url: sealed }
          return found === null
            ? Effect.succeed(null)
            : numbers.change(found.workspaceId, number.id, { proxy }, 0)
        })
      // At once, almost before any check of the number.
      yield* change("sealed")
      yield* until(() => logins() > before)
      yield* until(() => sessions.status(number.id)?.state === "connected")
      assert.strictEqual(passed.length, 1)
      // The same proxy, sealed again, changes nothing.
      yield* change("sealed again")
      yield* aLinkedNumber
      assert.strictEqual(logins(), before + 1)
    }),
  )
})
