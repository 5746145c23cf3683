/** Rules of the WhatsApp settings. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { clientVersion, deviceName, whatsAppUrl } from "../../src/compose/Settings.ts"

it.effect.each([
  "wss://web.whatsapp.com/ws/chat",
  "wss://203.0.113.7:8443/",
  "ws://127.0.0.1:4000",
  "ws://127.8.9.10:4000/ws",
  "ws://[::1]:4000",
  "ws://localhost:4000",
])("connects to %s", (text) => Effect.sync(() => assert.isDefined(whatsAppUrl.parse(text))))

it.effect.each([
  "ws://web.whatsapp.com/ws/chat",
  "ws://10.0.0.1/",
  "ws://localhost.example.com/",
  "ws://128.0.0.1/",
  "ws://[::2]/",
  "http://127.0.0.1/",
  "wss://user:secret@example.com/",
  "127.0.0.1:80",
  "",
])("does not connect to '%s': without TLS nothing proves who answers", (text) =>
  Effect.sync(() => assert.isUndefined(whatsAppUrl.parse(text))),
)

it.effect("a client version is three numbers", () =>
  Effect.sync(() => {
    assert.deepStrictEqual(clientVersion.parse("2.3000.1043857760"), [2, 3000, 1043857760])
    for (const text of ["", "2.3000", "2.3000.1.4", "2.x.1", " 2.3000.1", "-2.3000.1"]) {
      assert.isUndefined(clientVersion.parse(text), text)
    }
  }),
)

it.effect("a device name is a short text for people", () =>
  Effect.sync(() => {
    assert.strictEqual(deviceName.parse("Büro 📦"), "Büro 📦")
    for (const text of ["", "  ", "a".repeat(51), "a\nb"]) {
      assert.isUndefined(deviceName.parse(text), text)
    }
  }),
)
