/** Linked numbers: lost connections, ends of sessions, restarts, ticks, checks. */
import { assert, layer } from "@effect/vitest"
import { NumberOwnership, PhoneDirectory, SessionVault, Store } from "@messaging-service/core"
import type { NumberId, OutgoingMedia, Owned, Phone } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Deferred, Effect, Fiber, Layer, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Sessions } from "../src/Account.ts"
import {
  aLinkedNumber,
  aPerson,
  aText,
  layerAdapter,
  layerServer,
  layerStores,
  layerWorld,
  layerWorldWith,
  phone,
  sendNow,
  to,
  Told,
  until,
} from "./LiveWorld.ts"

const accepted = { _tag: "Accepted" } as const

const bytes = new Uint8Array(200_000).fill(7)

const aFile = (content: OutgoingMedia["content"]): OutgoingMedia => ({
  type: "file",
  fileName: "file.bin",
  mimeType: "application/octet-stream",
  size: bytes.length,
  sha256: "",
  content,
})

const isConnected = (id: NumberId) =>
  Effect.map(
    Sessions,
    ({ status }) =>
      () =>
        status(id)?.state === "connected",
  )

layer(layerWorld)("a session", (it) => {
  it.effect.each([428, 500, 503, 515])(
    "that the remote server ends with %i is opened again, and the number stays connected",
    (code) =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const received = yield* Told
        const sessions = yield* Sessions
        const number = yield* aLinkedNumber
        const other = yield* aPerson
        yield* server.end(code, number.digits)
        yield* until(() => (sessions.status(number.id)?.reconnects ?? 0) > 0)
        assert.deepStrictEqual(yield* sendNow(aText(number, to(other))), accepted)
        const disconnects = received.filter(
          (event) =>
            event._tag === "ConnectionChanged" &&
            event.numberId === number.id &&
            event.status === "disconnected",
        )
        assert.deepStrictEqual(disconnects, [])
      }),
  )

  it.effect.each([
    [401, "logged_out"],
    [403, "restricted"],
    [405, "client_outdated"],
    [440, "replaced"],
  ] as const)("that the remote server ends with %s is not opened again: %s", ([code, reason]) =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const vault = yield* SessionVault
      const { numbers } = yield* Store
      const number = yield* aLinkedNumber
      const logins = () => server.sessions(number.digits)[0]?.logins ?? 0
      const before = logins()
      yield* server.end(code, number.digits)
      yield* until(() => sessions.status(number.id)?.state === "disconnected")
      assert.strictEqual(sessions.status(number.id)?.reason, reason)
      const outcome = yield* sendNow(aText(number, to(yield* aPerson)))
      assert.deepStrictEqual(outcome, { _tag: "NotConnected" })
      assert.strictEqual(logins(), before)
      let status: string | undefined
      while (status !== "disconnected") {
        yield* until(() => true)
        status = (yield* numbers.find(number.id))?.status
      }
      // Only a worthless session is forgotten.
      assert.strictEqual((yield* vault.credentials(number.id)) === null, code === 401)
    }),
  )

  it.effect("returns when the remote server was away", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      yield* server.down
      const connected = yield* isConnected(number.id)
      yield* until(() => !connected())
      yield* server.up
      assert.deepStrictEqual(yield* sendNow(aText(number, to(yield* aPerson))), accepted)
    }),
  )

  it.effect(
    "shows the remote server's ticks by the message's id, whichever address they carry",
    () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const received = yield* Told
        const number = yield* aLinkedNumber
        const other = yield* aPerson
        const message = aText(number, to(other))
        yield* sendNow(message)
        const ticks = () =>
          received.flatMap((event) =>
            event._tag === "Tick" && event.transportId === message.transportId ? event.status : [],
          )
        const ids = [message.transportId]
        yield* server.receipt({ by: other, ids, type: "read", address: "lid" })
        yield* until(() => ticks().length === 1)
        yield* server.receipt({ by: other, ids, type: "delivered" })
        yield* until(() => ticks().length === 2)
        assert.deepStrictEqual(ticks(), ["read", "delivered"])
      }),
  )

  it.effect("sends a message again to a recipient who could not read it", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const other = yield* aPerson
      yield* sendNow(aText(number, to(other), "First"))
      yield* server.loseSessions(other)
      yield* sendNow(aText(number, to(other), "Second"))
      yield* server.until(() => server.copies(other) === 2)
      assert.deepStrictEqual(
        server.decrypted(other).map(({ text }) => text),
        ["First", "Second"],
      )
    }),
  )

  it.effect("refuses a group name that two groups have, and says so", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const participants = [number.digits, yield* aPerson]
      yield* server.group({ subject: "Twins", participants })
      yield* server.group({ subject: "Twins", participants })
      const outcome = yield* sendNow(aText(number, { kind: "group", group: "Twins" }))
      assert.strictEqual(outcome._tag === "Refused" && outcome.error.code, "group_not_found")
      assert.match(
        outcome._tag === "Refused" ? outcome.error.message : "",
        /ambiguous: .* 2 groups of that name/,
      )
    }),
  )

  it.effect("finds a group created after its last query", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const participants = [number.digits, yield* aPerson]
      const toGroup = (group: string) => sendNow(aText(number, { kind: "group", group }))
      yield* server.group({ subject: "Old", participants })
      assert.deepStrictEqual(yield* toGroup("Old"), accepted)
      yield* server.group({ subject: "New", participants })
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* toGroup("New"), accepted)
    }),
  )

  it.effect(
    "names the remote server's code where a message is refused, and does not repeat it",
    () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const number = yield* aLinkedNumber
        const other = yield* aPerson
        yield* server.nextMessage({ from: number.digits, outcome: { nack: 463 } })
        const outcome = yield* sendNow(aText(number, to(other)))
        assert.strictEqual(outcome._tag === "Refused" && outcome.error.code, "send_failed")
        assert.match(outcome._tag === "Refused" ? outcome.error.message : "", /\(463\)/)
        assert.isTrue(outcome._tag === "Refused" && outcome.againstNumber)
        assert.strictEqual(server.copies(other), 0)
      }),
  )

  it.effect("retries an upload, and says so when WhatsApp does not accept the file", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const other = yield* aPerson
      const sent = (times: number) =>
        Effect.gen(function* () {
          yield* server.refuseNext("upload", 500, times)
          const attempt = yield* Effect.forkChild(
            sendNow({ ...aText(number, to(other)), media: aFile(Stream.make(bytes)) }),
          )
          while (attempt.pollUnsafe() === undefined) {
            yield* TestClock.adjust("1 second")
            yield* until(() => true)
          }
          return yield* Fiber.join(attempt)
        })
      assert.deepStrictEqual(yield* sent(1), accepted)
      const outcome = yield* sent(3)
      assert.strictEqual(outcome._tag === "Refused" && outcome.error.code, "send_failed")
      assert.strictEqual(server.copies(other), 1)
      assert.deepStrictEqual(yield* sent(0), accepted)
    }),
  )

  it.effect("postpones a file that it cannot seal without disk space, and survives that", () =>
    Effect.gen(function* () {
      const number = yield* aLinkedNumber
      const message = aText(number, to(yield* aPerson))
      // It comes later than the disk's answer.
      const late = Stream.fromEffect(
        Effect.as(
          until(() => true),
          bytes,
        ),
      )
      const directory = process.env["TMPDIR"]
      const send = () => sendNow({ ...message, media: aFile(late) })
      const withoutDisk = Effect.acquireUseRelease(
        Effect.sync(() => (process.env["TMPDIR"] = "/nowhere/at/all")),
        send,
        () =>
          Effect.sync(() => {
            if (directory === undefined) delete process.env["TMPDIR"]
            else process.env["TMPDIR"] = directory
          }),
      )
      assert.strictEqual((yield* withoutDisk)._tag, "Postponed")
      assert.deepStrictEqual(yield* send(), accepted)
    }),
  )

  it.effect("survives the library's errors when a connection is lost", () =>
    Effect.gen(function* () {
      const number = yield* aLinkedNumber
      const session = yield* (yield* Sessions).open(number.id)
      assert.isTrue(session !== null && typeof session !== "string")
      if (session === null || typeof session === "string") return
      const { over, socket } = session.connection
      yield* Effect.promise(() => socket.end(undefined))
      yield* Deferred.await(over)
      // An answer is due, without a connection to send it over.
      socket.ws.emit("CB:iq,type:set,pair-device", { tag: "iq", attrs: { id: "1" } })
      yield* until(() => true)
      assert.deepStrictEqual(yield* sendNow(aText(number, to(yield* aPerson))), accepted)
    }),
  )

  it.effect("asks which phones exist", () =>
    Effect.gen(function* () {
      const { checkPhones } = yield* PhoneDirectory
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const known = phone(`+${yield* aPerson}`)
      const unknown = phone("+4915119999998")
      assert.deepStrictEqual(yield* checkPhones(number.id, [known, unknown]), {
        _tag: "Checked",
        registered: new Set<Phone>([known]),
      })
      yield* server.refuseNext("usync", 429)
      const outcome = yield* checkPhones(number.id, [known])
      assert.strictEqual(outcome._tag, "Postponed")
    }),
  )
})

layer(Layer.provideMerge(layerStores, layerServer))("a restarted adapter", (it) => {
  it.effect("connects linked numbers, and serves retries of messages that it sent before", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const other = yield* aPerson
      const { digits, message } = yield* Effect.gen(function* () {
        const number = yield* aLinkedNumber
        const sent = aText(number, to(other), "Once")
        assert.deepStrictEqual(yield* sendNow(sent), accepted)
        return { digits: number.digits, message: sent }
      }).pipe(Effect.provide(layerAdapter()))
      yield* Effect.gen(function* () {
        yield* until(yield* isConnected(message.numberId))
        const session = yield* (yield* Sessions).open(message.numberId)
        assert.isTrue(session !== null && typeof session !== "string")
        if (session === null || typeof session === "string") return
        // The recipient could not read it, and requests it once more.
        const id = message.transportId
        session.connection.socket.ws.emit("CB:receipt", {
          tag: "receipt",
          attrs: { from: `${other}@s.whatsapp.net`, id, type: "retry", t: "1" },
          content: [{ tag: "retry", attrs: { count: "1", id, v: "1", t: "1" } }],
        })
        yield* server.until(() => server.decrypted(other)[0]?.arrivals === 2)
        assert.deepStrictEqual(
          server.decrypted(other).map(({ text }) => text),
          ["Once"],
        )
        assert.strictEqual(server.sessions(digits)[0]?.max, 1)
      }).pipe(Effect.provide(layerAdapter()))
    }),
  )

  it.effect("connects nothing while another worker holds the numbers", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* Effect.provide(aLinkedNumber, layerAdapter())
      const logins = () => server.sessions(number.digits)[0]?.logins
      const isOpen = () => server.sessions(number.digits)[0]?.open === 1
      yield* until(() => !isOpen())
      const before = logins()
      let requests = 0
      let over = Deferred.makeUnsafe<void>()
      Deferred.doneUnsafe(over, Effect.void)
      const owns = () => !Deferred.isDoneUnsafe(over)
      const [all, none]: [Owned, Owned] = ["all", { of: 1, shards: [] }]
      const ownership = Layer.succeed(NumberOwnership, {
        owned: Effect.sync(() => {
          requests++
          return owns() ? all : none
        }),
        owns,
        finishes: owns,
        fence: () => Effect.succeed(null),
        whileOwned: (_, use) =>
          Effect.raceFirst(Effect.asSome(use), Effect.as(Deferred.await(over), Option.none())),
        held: Effect.succeed(null),
        room: Effect.succeed(1),
        run: Effect.never,
        findOwner: () => Effect.succeed(null),
        holders: Effect.succeed(() => null),
      })
      yield* Effect.gen(function* () {
        const message = aText(number, to(yield* aPerson))
        assert.strictEqual((yield* sendNow(message))._tag, "Postponed")
        yield* until(() => requests > 3)
        assert.strictEqual(logins(), before)
        over = Deferred.makeUnsafe<void>()
        yield* until(isOpen)
        Deferred.doneUnsafe(over, Effect.void)
        yield* until(() => !isOpen())
        assert.strictEqual((yield* sendNow(message))._tag, "Postponed")
      }).pipe(Effect.provide(Layer.provide(layerAdapter(), ownership)))
    }),
  )

  it.effect("logs out a number that was removed meanwhile, and forgets it", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const { numbers } = yield* Store
      const vault = yield* SessionVault
      const number = yield* Effect.provide(aLinkedNumber, layerAdapter())
      const stored = yield* numbers.find(number.id)
      assert.isNotNull(stored)
      if (stored === null) return
      yield* numbers.remove(stored.workspaceId, number.id, 0)
      yield* Effect.gen(function* () {
        yield* Told
        let isMissing = false
        while (!isMissing) {
          yield* until(() => true)
          isMissing = (yield* vault.credentials(number.id)) === null
        }
      }).pipe(Effect.provide(layerAdapter()))
      assert.isTrue(server.sessions(number.digits).every(({ open }) => open === 0))
    }),
  )
})

layer(layerWorldWith({ keepAliveMillis: 300 }))("a connection that falls silent", (it) => {
  it.effect("is detected and replaced, and a send that it swallowed can be repeated", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const other = yield* aPerson
      yield* server.silence(number.digits)
      const message = aText(number, to(other))
      const first = yield* sendNow(message)
      assert.include(["Unknown", "Postponed"], first._tag)
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      assert.strictEqual(server.copies(other), 1)
    }),
  )
})
