/** A failing store must not cost links, credentials or log-outs. */
import { assert, layer } from "@effect/vitest"
import { SessionVault, Store } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Sessions } from "../src/Account.ts"
import {
  aLinkedNumber,
  anUnlinkedNumber,
  aPerson,
  aText,
  attempt,
  getDevices,
  hasCredentials,
  inTrouble,
  layerAdapter,
  layerServer,
  layerStores,
  noTrouble,
  scanning,
  sendNow,
  tags,
  to,
  Trouble,
  until,
  untilSo,
} from "./LiveWorld.ts"

const accepted = { _tag: "Accepted" } as const

const layerChecking = layerAdapter({ lookMillis: 100 })

const layerWorld = layerChecking.pipe(
  Layer.provideMerge(layerStores),
  Layer.provideMerge(layerServer),
)

const readStored = (id: NumberId) =>
  SessionVault.use((vault) =>
    Effect.map(Effect.orDie(vault.list), (all) => all.find(({ numberId }) => numberId === id)),
  )

/** The result of a fiber that waits for the store; time advances for it. */
const ended = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.gen(function* () {
    while (fiber.pollUnsafe() === undefined) {
      yield* TestClock.adjust("1 second")
      yield* until(() => true)
    }
    return yield* Fiber.join(fiber)
  })

layer(layerWorld)("a store that fails", (it) => {
  it.effect("costs no device during a link: the link is stored when it answers", () =>
    Effect.gen(function* () {
      const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
      const trouble = yield* inTrouble((operation) => operation === "replace")
      const linking = yield* Effect.forkChild(scanning(id, digits))
      yield* until(() => trouble.met.length > 0)
      yield* noTrouble
      assert.deepStrictEqual(tags(yield* ended(linking)), ["QrShown", "Taken", "Linked"])
      assert.strictEqual((yield* getDevices(digits))(), 1)
    }),
  )

  it.effect("leaves no device behind when the connection is gone before it answers", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
      const trouble = yield* inTrouble((operation) => operation === "replace")
      const linking = yield* Effect.forkChild(scanning(id, digits))
      yield* until(() => trouble.met.length > 0)
      yield* server.drop()
      yield* until(() => server.unlinked() === 0)
      assert.strictEqual((yield* getDevices(digits))(), 0)
      yield* noTrouble
      assert.strictEqual(tags(yield* ended(linking)).at(-1), "Linked")
      assert.strictEqual((yield* getDevices(digits))(), 1)
    }),
  )

  it.effect("ends no attempt when the new device connects", () =>
    Effect.gen(function* () {
      const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
      let isStored = false
      const trouble = yield* inTrouble((operation) => {
        isStored ||= operation === "replace"
        return isStored && operation === "credentials"
      })
      const linking = yield* Effect.forkChild(scanning(id, digits))
      yield* until(() => trouble.met.length > 0)
      yield* noTrouble
      assert.deepStrictEqual(tags(yield* ended(linking)), ["QrShown", "Taken", "Linked"])
      assert.strictEqual((yield* getDevices(digits))(), 1)
    }),
  )

  it.effect("gives a phone to no second number when its look-up fails", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const { numbers } = yield* Store
      const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
      yield* attempt({ numberId: id, method: "qr", phone: null }, (event) =>
        Effect.gen(function* () {
          if (event._tag === "QrShown") {
            yield* Effect.forkDetach(Effect.exit(server.scan(digits, event.text)))
          }
          if (event._tag === "Linked") {
            yield* Effect.orDie(numbers.setStatus(id, "disconnected", undefined, 0))
            const trouble = yield* Trouble
            trouble.meets = (operation) => operation === "find"
          }
        }),
      )
      yield* noTrouble
      const devices = yield* getDevices(digits)
      yield* until(() => devices() === 0)
      yield* untilSo(Effect.map(hasCredentials(id), (has) => !has))
    }),
  )

  it.effect("is asked again until it has saved the credentials", () =>
    Effect.gen(function* () {
      const vault = yield* SessionVault
      const number = yield* aLinkedNumber
      const session = yield* (yield* Sessions).open(number.id)
      if (session === null || typeof session === "string") throw new Error("it is not open")
      let writes = 0
      yield* inTrouble((operation) => {
        if (operation !== "write" || ++writes > 1) return false
        throw new Error("a defect")
      })
      session.connection.socket.ev.emit("creds.update", { accountSyncCounter: 4711 })
      yield* untilSo(
        Effect.map(
          Effect.orDie(vault.credentials(number.id)),
          (text) => text?.includes('"accountSyncCounter":4711') === true,
        ),
      )
    }).pipe(Effect.scoped),
  )

  it.effect("is awaited when a recipient requests a message again", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const number = yield* aLinkedNumber
      const other = yield* aPerson
      const message = aText(number, to(other))
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      // A connection also remembers its own sends.
      yield* server.drop(number.digits)
      yield* until(() => (sessions.status(number.id)?.reconnects ?? 0) > 0)
      const session = yield* sessions.open(number.id)
      if (session === null || typeof session === "string") throw new Error("it is not open")
      const trouble = yield* inTrouble((operation) => operation === "of")
      const id = message.transportId
      session.connection.socket.ws.emit("CB:receipt", {
        tag: "receipt",
        attrs: { from: `${other}@s.whatsapp.net`, id, type: "retry", t: "1" },
        content: [{ tag: "retry", attrs: { count: "1", id, v: "1", t: "1" } }],
      })
      yield* until(() => trouble.met.length > 0)
      yield* noTrouble
      yield* server.until(() => server.decrypted(other)[0]?.arrivals === 2)
    }).pipe(Effect.scoped),
  )

  it.effect("does not delay a message's acknowledgement while its keys are written", () =>
    Effect.gen(function* () {
      const number = yield* aLinkedNumber
      const other = yield* aPerson
      assert.deepStrictEqual(yield* sendNow(aText(number, to(other))), accepted)
      yield* inTrouble(
        (operation, _number, _credentials, keys) =>
          operation === "write" &&
          (keys as ReadonlyArray<{ readonly type: string }>).some(({ type }) => type === "session"),
      )
      assert.deepStrictEqual(yield* sendNow(aText(number, to(other))), accepted)
    }).pipe(Effect.scoped),
  )
})

layer(layerWorld)("a number that leaves while the remote server is away", (it) => {
  const isMissing = (digits: string, id: NumberId) =>
    Effect.gen(function* () {
      const devices = yield* getDevices(digits)
      yield* until(() => devices() === 0)
      yield* untilSo(Effect.map(hasCredentials(id), (has) => !has))
    })

  it.effect("is logged out after its removal when that returns", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const { numbers } = yield* Store
      const { digits, id } = yield* aLinkedNumber
      const stored = yield* numbers.find(id)
      if (stored === null) throw new Error("it is gone")
      yield* server.down
      yield* numbers.remove(stored.workspaceId, id, 0)
      yield* until(() => sessions.status(id)?.state === "waiting")
      // Time for a check or two, which must not wipe what the log-out needs.
      yield* until(() => (sessions.status(id)?.reconnects ?? 0) > 5)
      assert.isTrue(yield* hasCredentials(id))
      yield* server.up
      yield* isMissing(digits, id)
    }),
  )

  it.effect("and is relinked leaves no device behind", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const { numbers } = yield* Store
      const number = yield* aLinkedNumber
      yield* server.down
      yield* numbers.setStatus(number.id, "disconnected", undefined, 0)
      yield* sessions.logOut(number.id)
      yield* until(() => sessions.status(number.id)?.state === "waiting")
      yield* server.up
      const visible = yield* scanning(number.id, number.digits)
      assert.strictEqual(tags(visible).at(-1), "Linked")
      const devices = yield* getDevices(number.digits)
      yield* until(() => devices() === 1)
      const outcome = yield* sendNow(aText(number, to(yield* aPerson)))
      assert.deepStrictEqual(outcome, accepted)
      assert.isTrue(yield* hasCredentials(number.id))
      assert.isNull((yield* readStored(number.id))?.leavingSince)
    }),
  )

  it.effect("is logged out there too when that returns", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const { numbers } = yield* Store
      const number = yield* aLinkedNumber
      yield* server.down
      yield* numbers.setStatus(number.id, "disconnected", undefined, 0)
      yield* sessions.logOut(number.id)
      yield* until(() => (sessions.status(number.id)?.reconnects ?? 0) > 5)
      assert.isTrue(yield* hasCredentials(number.id))
      const outcome = yield* sendNow(aText(number, to(yield* aPerson)))
      assert.deepStrictEqual(outcome, { _tag: "NotConnected" })
      yield* server.up
      yield* isMissing(number.digits, number.id)
      assert.strictEqual((yield* numbers.find(number.id))?.status, "disconnected")
    }),
  )
})
