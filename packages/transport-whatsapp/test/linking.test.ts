/** Linking numbers over the protocol: QR and pairing codes, and every possible end. */
import { assert, layer } from "@effect/vitest"
import {
  NumberProxies,
  layerStoredSecrets,
  SecretsKey,
  SessionVault,
  Store,
} from "@messaging-service/core"
import type { LinkingEvent } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Clock, Effect, Layer } from "effect"
import { Sessions } from "../src/Account.ts"
import {
  aLinkedNumber,
  anUnlinkedNumber,
  aPerson,
  aText,
  attempt,
  layerAdapter,
  layerServer,
  layerStores,
  layerWorld,
  linkTo,
  sendNow,
  to,
  untilSo,
} from "./LiveWorld.ts"

const tags = (visible: ReadonlyArray<LinkingEvent>) => visible.map(({ _tag }) => _tag)

const scanned = (digits: string, text: string) =>
  Effect.flatMap(WhatsAppServer, (server) =>
    Effect.forkDetach(Effect.exit(server.scan(digits, text))),
  )

layer(layerWorld)("linking", (it) => {
  it.effect("a scanned QR code links the number to the phone, which is then connected", () =>
    Effect.gen(function* () {
      const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
      const visible = yield* linkTo(id, digits)
      assert.deepStrictEqual(tags(visible), ["QrShown", "Taken", "Linked"])
      const [code] = visible
      const validUntil = code?._tag === "QrShown" ? code.expiresAt : 0
      assert.strictEqual(validUntil - (yield* Clock.currentTimeMillis), 60_000)
      assert.deepStrictEqual(visible.at(-1), { _tag: "Linked", phone: digits })
      const { status } = yield* Sessions
      assert.strictEqual(status(id)?.state, "connected")
      assert.isNotNull(status(id)?.lastSeenAt)
    }),
  )

  it.effect("a typed pairing code links the number to the phone", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
      const visible = yield* attempt(
        { numberId: id, method: "phone_code", phone: digits },
        (event) =>
          event._tag === "PairingCodeShown"
            ? server
                .until(() => server.codeRequested(digits))
                .pipe(
                  Effect.andThen(server.typePairingCode(digits, event.pairingCode.code)),
                  Effect.exit,
                  Effect.forkDetach,
                )
            : Effect.void,
      )
      assert.deepStrictEqual(tags(visible), ["PairingCodeShown", "Taken", "Linked"])
      const [first] = visible
      assert.match(
        first?._tag === "PairingCodeShown" ? first.pairingCode.code : "",
        /^[A-Z0-9]{8}$/,
      )
    }),
  )

  it.effect(
    "a code that the remote server wants replaced is shown with another secret, and links",
    () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
        const codes: Array<string> = []
        const visible = yield* attempt({ numberId: id, method: "qr", phone: null }, (event) =>
          Effect.gen(function* () {
            if (event._tag !== "QrShown") return
            codes.push(event.text)
            if (codes.length === 1) yield* server.retireQr(event.text)
            else yield* scanned(digits, event.text)
          }),
        )
        assert.strictEqual(visible.at(-1)?._tag, "Linked")
        assert.lengthOf(codes, 2)
        const [first, second] = codes.map((code) => code.split(","))
        assert.notStrictEqual(first?.[3], second?.[3])
        assert.deepStrictEqual(first?.toSpliced(3, 1), second?.toSpliced(3, 1))
      }),
  )

  it.effect(
    "a connection that breaks before the scan continues with fresh codes of a fresh device",
    () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
        const codes: Array<string> = []
        const visible = yield* attempt({ numberId: id, method: "qr", phone: null }, (event) =>
          Effect.gen(function* () {
            if (event._tag !== "QrShown") return
            codes.push(event.text)
            if (codes.length === 1) yield* server.end(503)
            else yield* scanned(digits, event.text)
          }),
        )
        assert.strictEqual(visible.at(-1)?._tag, "Linked")
        const [first, second] = codes.map((code) => code.split(","))
        for (const part of [1, 2, 3]) assert.notStrictEqual(first?.[part], second?.[part])
      }),
  )

  it.effect("an account that demands a passkey ends the attempt with that reason", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const id = yield* anUnlinkedNumber
      yield* server.person("4915299990001", { needsPasskey: true })
      const visible = yield* attempt({ numberId: id, method: "qr", phone: null }, (event) =>
        event._tag === "QrShown" ? scanned("4915299990001", event.text) : Effect.void,
      )
      assert.deepStrictEqual(visible.at(-1), { _tag: "Failed", reason: "passkey_required" })
      assert.isNull(yield* (yield* SessionVault).credentials(id))
    }),
  )

  it.effect(
    "a client that the remote server no longer accepts ends the attempt with that reason",
    () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const id = yield* anUnlinkedNumber
        yield* server.refuseNext("registration", 405)
        const visible = yield* attempt(
          { numberId: id, method: "qr", phone: null },
          () => Effect.void,
        )
        assert.deepStrictEqual(visible, [{ _tag: "Failed", reason: "client_outdated" }])
      }),
  )

  it.effect("a refused pairing code ends the attempt with the remote server's code", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
      yield* server.refuseNext("pairing code", 400)
      const visible = yield* attempt(
        { numberId: id, method: "phone_code", phone: digits },
        () => Effect.void,
      )
      assert.deepStrictEqual(visible.at(-1), {
        _tag: "Failed",
        reason: "pairing_code_refused (400)",
      })
    }),
  )

  it.effect(
    "a phone that another number of the workspace has is released: the device logs out",
    () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const { numbers } = yield* Store
        const vault = yield* SessionVault
        const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
        yield* attempt({ numberId: id, method: "qr", phone: null }, (event) =>
          event._tag === "QrShown"
            ? scanned(digits, event.text)
            : event._tag === "Linked"
              ? Effect.orDie(numbers.setStatus(id, "disconnected", undefined, 0))
              : Effect.void,
        )
        yield* server.until(() => server.sessions(digits).length === 0)
        yield* untilSo(Effect.map(Effect.orDie(vault.credentials(id)), (stored) => stored === null))
      }),
  )

  it.effect("a relinked number sends as its new device", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const { digits, id } = yield* aLinkedNumber
      const other = yield* aPerson
      yield* linkTo(id, digits)
      assert.deepStrictEqual(yield* sendNow(aText({ id }, to(other))), { _tag: "Accepted" })
      assert.strictEqual(server.copies(other), 1)
      assert.strictEqual(server.sessions(digits).filter(({ open }) => open > 0).length, 1)
    }),
  )
})

const layerProxies = NumberProxies.layer.pipe(
  Layer.provide(layerStoredSecrets),
  Layer.provide(SecretsKey.layerRandom),
)

const layerWithProxies = layerAdapter().pipe(
  Layer.provide(layerProxies),
  Layer.provideMerge(layerStores),
  Layer.provideMerge(layerServer),
)

layer(layerWithProxies)("a number whose proxy an older secrets key sealed", (it) => {
  it.effect("is not linked around it: the attempt fails and says why", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const id = yield* anUnlinkedNumber
      const { workspaceId } = (yield* numbers.find(id)) ?? assert.fail()
      const proxy = { url: "sealed by another key", host: "127.0.0.1", port: 1 }
      yield* numbers.change(workspaceId, id, { proxy }, 0)
      const visible = yield* attempt({ numberId: id, method: "qr", phone: null }, () => Effect.void)
      assert.deepStrictEqual(visible, [{ _tag: "Failed", reason: "proxy_unreadable" }])
    }),
  )
})
