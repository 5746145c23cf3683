/** Faults of the network, the remote server and the store that must cost neither a number nor the process. */
import { assert, it, layer } from "@effect/vitest"
import {
  LibraryGuard,
  NumberOwnership,
  NumberProxies,
  SentTexts,
  SessionVault,
  StoreUnavailable,
} from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Clock, Effect, Layer } from "effect"
import { once } from "node:events"
import { createServer } from "node:net"
import type { Socket } from "node:net"
import { Sessions } from "../src/Account.ts"
import { defaultSettings } from "../src/WhatsAppSettings.ts"
import { layerTransport } from "../src/Transport.ts"
import {
  aLinkedNumber,
  aPerson,
  aText,
  layerWorld,
  layerWorldWith,
  sendNow,
  to,
  until,
} from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"

const accepted = { _tag: "Accepted" } as const

const sendsAgain = (number: LinkedNumber) =>
  Effect.gen(function* () {
    const outcome = yield* sendNow(aText(number, to(yield* aPerson)))
    assert.deepStrictEqual(outcome, accepted)
  })

const getSocket = ({ id }: LinkedNumber) =>
  Effect.gen(function* () {
    const session = yield* (yield* Sessions).open(id)
    if (session === null || typeof session === "string") throw new Error("it is not open")
    return session.connection.socket
  })

layer(layerWorld)("a connection", (it) => {
  it.effect.each([401, 403, 429, 503])(
    "is opened again when its upgrade is answered with %i, and the number stays linked",
    (status) =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const sessions = yield* Sessions
        const number = yield* aLinkedNumber
        yield* server.nextConnection({ status })
        yield* server.drop(number.digits)
        yield* until(() => (sessions.status(number.id)?.reconnects ?? 0) > 1)
        yield* sendsAgain(number)
      }),
  )

  it.effect("keeps its credentials when the network breaks it again and again", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const number = yield* aLinkedNumber
      let attempts = 0
      const between = createServer((socket) => {
        attempts++
        socket.on("error", () => undefined).write("certainly no web socket\r\n\r\n")
        socket.destroySoon()
      })
      yield* server.down
      between.listen(Number(new URL(server.url).port), "127.0.0.1")
      yield* Effect.promise(() => once(between, "listening"))
      yield* until(() => attempts > 6 || sessions.status(number.id)?.state === "disconnected")
      yield* Effect.promise(() => new Promise((closed) => between.close(closed)))
      yield* server.up
      yield* sendsAgain(number)
    }),
  )
})

layer(layerWorldWith({ firstPauseMillis: 200, longestPauseMillis: 60_000 }))(
  "a remote server that ends each connection as soon as it opens",
  (it) => {
    it.effect.each([503, 515])("is retried less and less often: %i", (code) =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const sessions = yield* Sessions
        const clock = Clock.Clock.defaultValue()
        const number = yield* aLinkedNumber
        const began = clock.currentTimeMillisUnsafe()
        for (let ended = 1; ended <= 4; ended++) {
          yield* server.end(code)
          yield* until(() => sessions.status(number.id)?.reconnects === ended)
          yield* sessions.open(number.id)
        }
        // At least the halves of 200, 400, 800 and 1600 ms; the first restart comes at once.
        const min = code === 515 ? 1400 : 1500
        assert.isAtLeast(clock.currentTimeMillisUnsafe() - began, min)
      }),
    )
  },
)

it.effect("an unresponsive store disconnects no number: the message is sent later", () =>
  Effect.gen(function* () {
    const unavailable = Effect.fail(
      new StoreUnavailable({ operation: "credentials", cause: "away" }),
    )
    const vault: Partial<typeof SessionVault.Service> = {
      list: unavailable,
      credentials: () => unavailable,
    }
    const sent = sendNow(aText({ id: 1 as NumberId }, to("4915112345678"))).pipe(
      Effect.provide(
        layerTransport.pipe(
          Layer.provide(Sessions.layer(defaultSettings)),
          Layer.provide([NumberOwnership.layerAll, NumberProxies.layerNone]),
          Layer.provide(Layer.succeed(SentTexts, { of: () => Effect.succeed(null) })),
          Layer.provide(Layer.succeed(SessionVault, vault as typeof SessionVault.Service)),
        ),
      ),
    )
    assert.deepStrictEqual(yield* sent, { _tag: "Postponed", afterMillis: 5000 })
  }),
)

layer(layerWorldWith({ keepAliveMillis: 300 }))(
  "a connection whose remote server does not say goodbye",
  (it) => {
    it.effect("is replaced without waiting for it", () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const number = yield* aLinkedNumber
        const { ws } = yield* getSocket(number)
        const { socket } = ws as unknown as { readonly socket: { readonly _socket: Socket } }
        socket._socket.pause()
        yield* until(() => (sessions.status(number.id)?.reconnects ?? 0) > 0)
        yield* sendsAgain(number)
      }),
    )
  },
)

/** Guards of this world's libraries, in order; each fails its library where no caller waits. */
const guards: Array<() => void> = []

const layerGuard = Layer.succeed(LibraryGuard, {
  watch: (_, onFault) => {
    guards.push(() => onFault(new Error("no caller waits")))
    return (work) => work()
  },
})

layer(layerWorld.pipe(Layer.provideMerge(layerGuard)))("a number's library that fails", (test) => {
  test.effect("costs its connection, which opens again, and no other", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const other = yield* aLinkedNumber
      const number = yield* aLinkedNumber
      const [before, mine] = [other, number].map(({ id }) => sessions.status(id)?.reconnects ?? 0)
      guards.at(-1)?.()
      yield* until(() => (sessions.status(number.id)?.reconnects ?? 0) > (mine ?? 0))
      yield* sendsAgain(number)
      assert.strictEqual(sessions.status(other.id)?.reconnects, before)
    }),
  )
})
