/** How a client becomes a device of an account, and the possible failures. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  closeCode,
  closed,
  connect,
  freshKept,
  linked,
  opened,
  getQrs,
  recipient,
  recipientJid,
  sender,
  serverWith,
} from "./Client.ts"

const number = sender
const digits = "4915550000001"

const serverWithPhone = serverWith({ [number]: {} })

const getQr = (client: Parameters<typeof getQrs>[0]) => client.until(() => getQrs(client)[0])

it.effect("a scanned client restarts on order, and logs in as a device of the account", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const first = yield* connect(server)
    const device = yield* server.scan(number, yield* getQr(first))
    assert.strictEqual(yield* closed(first), 515)
    assert.strictEqual(first.stored.creds.me?.id, `${digits}:${device}@s.whatsapp.net`)
    const second = yield* connect(server, first.stored)
    yield* opened(second)
    assert.deepStrictEqual(server.sessions(number), [{ device, open: 1, max: 1, logins: 1 }])
  }),
)

it.effect("a typed pairing code links like a scan", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const first = yield* connect(server)
    yield* getQr(first)
    const code = yield* Effect.promise(() => first.socket.requestPairingCode(digits))
    yield* server.until(() => server.codeRequested(number))
    yield* server.typePairingCode(number, code)
    assert.strictEqual(yield* closed(first), 515)
    const second = yield* connect(server, first.stored)
    yield* opened(second)
    assert.strictEqual(server.sessions(number).length, 1)
  }),
)

it.effect("a wrong pairing code does not link", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const client = yield* connect(server)
    yield* getQr(client)
    yield* Effect.promise(() => client.socket.requestPairingCode(digits, "ABCD1234"))
    yield* server.until(() => server.codeRequested(number))
    const refused = yield* Effect.flip(server.typePairingCode(number, "ABCD-1235"))
    assert.strictEqual(refused.reason, "the pairing code is wrong")
    assert.deepStrictEqual(server.sessions(number), [])
  }),
)

it.effect("a refused pairing code cannot be typed", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const client = yield* connect(server)
    yield* getQr(client)
    yield* server.refuseNext("pairing code", 429)
    const refused = new Promise<string | undefined>((resolve) => {
      client.socket.ws.on("CB:iq,type:error", ({ content }) => resolve(content[0].attrs.text))
    })
    const code = yield* Effect.promise(() => client.socket.requestPairingCode(digits))
    assert.strictEqual(yield* Effect.promise(() => refused), "rate-overlimit")
    const { reason } = yield* Effect.flip(server.typePairingCode(number, code))
    assert.strictEqual(reason, "no pairing code was asked for")
  }),
)

it.effect("an abandoned pairing code leaves credentials that are refused as logged out", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const first = yield* connect(server)
    yield* getQr(first)
    yield* Effect.promise(() => first.socket.requestPairingCode(digits))
    const second = yield* connect(server, first.stored)
    assert.strictEqual(yield* closed(second), 401)
  }),
)

it.effect("QR codes follow one another and end", () =>
  Effect.gen(function* () {
    const server = yield* serverWith({}, { qrReferences: 3 })
    const client = yield* connect(server, freshKept(), { qrTimeout: 5 })
    assert.strictEqual(yield* closed(client), 408)
    assert.strictEqual(new Set(getQrs(client)).size, 3)
    yield* server.until(() => server.unlinked() === 0)
  }),
)

it.effect("a QR code of a client that is gone links nothing", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const client = yield* connect(server)
    const qr = yield* getQr(client)
    yield* server.drop()
    assert.strictEqual(yield* closed(client), 428)
    const refused = yield* Effect.flip(server.scan(number, qr))
    assert.strictEqual(refused.reason, "the QR code is not known")
  }),
)

it.effect("a retired secret links only after the client has made another", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const client = yield* connect(server)
    const qr = yield* getQr(client)
    const refreshed = new Promise<void>((resolve) => {
      client.socket.ws.on("CB:notification,type:companion_reg_refresh", () => resolve())
    })
    yield* server.retireQr(qr)
    yield* Effect.promise(() => refreshed)
    const refused = yield* Effect.flip(server.scan(number, qr))
    assert.strictEqual(refused.reason, "the QR code was retired")
    const secret = Buffer.alloc(32, 7).toString("base64")
    client.stored.creds.advSecretKey = secret
    yield* server.scan(number, qr.split(",").with(3, secret).join(","))
    assert.strictEqual(yield* closed(client), 515)
  }),
)

it.effect("an account that needs a passkey says so and does not link", () =>
  Effect.gen(function* () {
    const server = yield* serverWith({ [number]: { needsPasskey: true } })
    const client = yield* connect(server)
    const request = new Promise<void>((resolve) => {
      client.socket.ws.on("CB:notification,type:passkey_prologue_request", () => resolve())
    })
    const refused = yield* Effect.flip(server.scan(number, yield* getQr(client)))
    assert.strictEqual(refused.reason, "a passkey is needed")
    yield* Effect.promise(() => request)
  }),
)

it.effect("each step can be refused", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    yield* server.nextConnection({ status: 503 })
    const hanging = yield* connect(server)
    // The library ignores this answer's content, and would wait forever.
    const status = new Promise<number | undefined>((resolve) => {
      hanging.socket.ws.on("unexpected-response", (_, answer) => resolve(answer.statusCode))
    })
    assert.strictEqual(yield* Effect.promise(() => status), 503)
    yield* server.nextConnection("drop")
    assert.strictEqual(yield* closed(yield* connect(server)), 428)
    yield* server.nextConnection("silence")
    const waiting = yield* connect(server)
    const isConnected = new Promise<void>((resolve) => {
      waiting.socket.ws.on("open", () => resolve())
    })
    yield* Effect.promise(() => isConnected)
    yield* getQr(yield* connect(server))
    assert.deepStrictEqual([getQrs(waiting), closeCode(waiting)], [[], undefined])
    yield* server.refuseNext("registration", 405)
    assert.strictEqual(yield* closed(yield* connect(server)), 405)
    yield* server.refuseNext("scan", 400)
    const client = yield* connect(server)
    const qr = yield* getQr(client)
    assert.strictEqual((yield* Effect.flip(server.scan(number, qr))).reason, "the phone said no")
    yield* server.scan(number, qr)
    yield* closed(client)
    yield* server.refuseNext("login", 403)
    assert.strictEqual(yield* closed(yield* connect(server, client.stored)), 403)
    yield* opened(yield* connect(server, client.stored))
  }),
)

it.effect("a device is remembered over a restart, by its key alone", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const client = yield* linked(server, number)
    yield* server.restart
    assert.strictEqual(yield* closed(client), 428)
    yield* opened(yield* connect(server, client.stored))
    assert.deepInclude(server.sessions(number)[0], { open: 1, max: 1, logins: 2 })
    const stranger = {
      creds: { ...freshKept().creds, me: client.stored.creds.me! },
      keys: new Map(),
    }
    assert.strictEqual(yield* closed(yield* connect(server, stranger)), 401)
  }),
)

it.effect(
  "a device that was linked long ago logs in, brings its pre-keys, and receives messages",
  () =>
    Effect.gen(function* () {
      const server = yield* serverWith({ [number]: {}, [recipient]: {} })
      const client = yield* connect(server, {
        creds: yield* server.linkedBefore(number),
        keys: new Map(),
      })
      yield* opened(client)
      yield* server.until(() => (server.preKeys(number)[0] ?? 0) > 100)
      yield* Effect.promise(() => client.socket.sendMessage(recipientJid, { text: "Hello" }))
      yield* server.until(() => server.copies(recipient) === 1)
      yield* server.write(recipient, number, "Hello to you")
      yield* client.until(() =>
        client.messages.find(({ message }) => message?.conversation === "Hello to you"),
      )
    }),
)

it.effect("a second connection of a device replaces the first", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const first = yield* linked(server, number)
    const second = yield* connect(server, first.stored)
    yield* opened(second)
    assert.strictEqual(yield* closed(first), 440)
    yield* server.until(() => server.sessions(number)[0]?.open === 1)
    assert.strictEqual(server.sessions(number)[0]?.max, 2)
    assert.isUndefined(closeCode(second))
  }),
)

it.effect("a device removed on the phone is logged out and stays out", () =>
  Effect.gen(function* () {
    const server = yield* serverWithPhone
    const client = yield* linked(server, number)
    yield* server.unlink(number)
    assert.strictEqual(yield* closed(client), 401)
    assert.strictEqual(yield* closed(yield* connect(server, client.stored)), 401)
  }),
)

for (const code of [403, 405, 500, 503, 515]) {
  it.effect(`a stream that ends with ${code} says so`, () =>
    Effect.gen(function* () {
      const server = yield* serverWithPhone
      const client = yield* connect(server)
      yield* getQr(client)
      yield* server.end(code)
      assert.strictEqual(yield* closed(client), code)
    }),
  )
}
