/** Keys are agreed, people log in in every way, and refusals match the remote server's. */
import { assert, it } from "@effect/vitest"
import { MemoryStorage } from "@mtcute/node"
import { Deferred, Effect } from "effect"
import { make } from "../src/index.ts"
import { aPerson, calling, getClient, logIn, recipient, send, sender } from "./Client.ts"
import { Long } from "@mtcute/node"

const aServer = Effect.gen(function* () {
  const server = yield* make()
  yield* server.person(recipient, { username: "recipient_two" })
  return server
})

it.effect("a code logs in, and a wrong one does not", () =>
  Effect.gen(function* () {
    const server = yield* aServer
    const id = yield* aPerson(server, { code: "54321" })
    const client = yield* getClient(server)
    const sent = yield* calling(() => client.sendCode({ phone: sender }))
    assert.isTrue("type" in sent && sent.type === "app")
    const phoneCodeHash = "phoneCodeHash" in sent ? sent.phoneCodeHash : ""
    const sign = (phoneCode: string) =>
      calling(() => client.signIn({ phone: sender, phoneCodeHash, phoneCode }))
    const wrong = yield* Effect.flip(sign("11111"))
    assert.deepStrictEqual([wrong.code, wrong.text], [400, "PHONE_CODE_INVALID"])
    assert.strictEqual((yield* sign("54321")).id, id)
    assert.deepStrictEqual(server.sessions(sender), {
      keys: 1,
      open: 1,
      max: 1,
      started: 1,
      pings: 1,
      mixed: 0,
    })
    assert.deepStrictEqual(server.complaints(), [])
  }),
)

it.effect("a repeated code comes by the next way, until there is none", () =>
  Effect.gen(function* () {
    const server = yield* aServer
    yield* aPerson(server, { codeWays: ["app", "sms", "call"] })
    const client = yield* getClient(server)
    const sent = yield* calling(() => client.sendCode({ phone: sender }))
    const phoneCodeHash = "phoneCodeHash" in sent ? sent.phoneCodeHash : ""
    const again = calling(() => client.resendCode({ phone: sender, phoneCodeHash }))
    assert.strictEqual((yield* again).type, "sms")
    assert.strictEqual((yield* again).type, "call")
    assert.strictEqual((yield* Effect.flip(again)).text, "SEND_CODE_UNAVAILABLE")
    assert.strictEqual(server.codesSent(sender), 3)
  }),
)

it.effect("a password is required and proven, and a wrong one is refused", () =>
  Effect.gen(function* () {
    const server = yield* aServer
    yield* aPerson(server, { password: "correct horse" })
    const client = yield* getClient(server)
    const wrong = yield* Effect.flip(logIn(client, sender, "wrong horse"))
    assert.deepStrictEqual([wrong.code, wrong.text], [400, "PASSWORD_HASH_INVALID"])
    const user = yield* calling(() => client.checkPassword("correct horse"))
    assert.strictEqual(user.phoneNumber, sender.slice(1))
  }),
)

it.effect(
  "a QR code logs in once it was scanned, with a password if there is one, also elsewhere",
  () =>
    Effect.gen(function* () {
      const server = yield* aServer
      for (const dcId of [2, 4]) {
        yield* aPerson(server, { dcId, password: "secret" })
        const client = yield* getClient(server)
        const displayed = yield* Deferred.make<string>()
        yield* Effect.forkChild(
          Effect.flatMap(Deferred.await(displayed), (url) =>
            Effect.orDie(server.scan(sender, url)),
          ),
        )
        const user = yield* calling(() =>
          client.signInQr({
            onUrlUpdated: (url) => Deferred.doneUnsafe(displayed, Effect.succeed(url)),
            password: "secret",
          }),
        )
        assert.strictEqual(user.phoneNumber, sender.slice(1))
      }
      assert.deepStrictEqual(server.complaints(), [])
    }),
)

it.effect("an account of another data centre moves there, and sends from there", () =>
  Effect.gen(function* () {
    const server = yield* aServer
    yield* aPerson(server, { dcId: 4 })
    const storage = new MemoryStorage()
    const client = yield* getClient(server, storage)
    yield* logIn(client, sender)
    yield* send(client, Long.fromNumber(1))
    yield* Effect.promise(() => client.destroy())
    const again = yield* getClient(server, storage)
    yield* send(again, Long.fromNumber(2))
    assert.strictEqual(server.copies(recipient), 2)
  }),
)

it.effect("a session that was revoked, banned or logged out gets the matching error", () =>
  Effect.gen(function* () {
    const server = yield* aServer
    const ends = {
      SESSION_REVOKED: server.revoke(sender),
      USER_DEACTIVATED_BAN: server.ban(sender),
    }
    for (const [text, end] of Object.entries(ends)) {
      yield* aPerson(server, {})
      const client = yield* getClient(server)
      yield* logIn(client, sender)
      yield* end
      assert.strictEqual((yield* Effect.flip(send(client, Long.fromNumber(1)))).text, text)
    }
    yield* aPerson(server, {})
    const client = yield* getClient(server)
    yield* logIn(client, sender)
    yield* calling(() => client.logOut())
    const failed = yield* Effect.flip(send(client, Long.fromNumber(1)))
    assert.strictEqual(failed.text, "AUTH_KEY_UNREGISTERED")
  }),
)

it.effect("a restart and other salts go unnoticed, since the keys are kept", () =>
  Effect.gen(function* () {
    const server = yield* aServer
    yield* aPerson(server, {})
    const client = yield* getClient(server)
    yield* logIn(client, sender)
    yield* server.restart
    yield* send(client, Long.fromNumber(1))
    yield* server.rotateSalts
    yield* send(client, Long.fromNumber(2))
    assert.strictEqual(server.copies(recipient), 2)
    assert.deepStrictEqual(server.complaints(), [])
  }),
)
