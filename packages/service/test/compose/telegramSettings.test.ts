/** Rules of the Telegram settings. */
import { assert, it } from "@effect/vitest"
import { generateKeyPairSync } from "node:crypto"
import { apiHash, apiId, publicKey, serverAddress } from "../../src/compose/Settings.ts"

it("an application has a positive number and 32 hexadecimal characters", () => {
  assert.strictEqual(apiId.parse("12345"), 12_345)
  for (const text of ["0", "-1", "1.5", "", "12345678901"]) assert.isUndefined(apiId.parse(text))
  assert.isDefined(apiHash.parse("0123456789abcdef0123456789ABCDEF"))
  for (const text of ["", "0123", "g".repeat(32)]) assert.isUndefined(apiHash.parse(text))
})

it("another server has a host and a port", () => {
  assert.deepStrictEqual(serverAddress.parse("127.0.0.1:8443"), { host: "127.0.0.1", port: 8443 })
  for (const text of ["127.0.0.1", ":80", "host:0", "host:65536", "host:x", "a b:80"]) {
    assert.isUndefined(serverAddress.parse(text))
  }
})

it("its key is an RSA key in PEM, in either form", () => {
  const { publicKey: key } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const text = (type: "pkcs1" | "spki") => key.export({ format: "pem", type }).toString()
  for (const type of ["pkcs1", "spki"] as const) {
    assert.strictEqual(publicKey.parse(text(type))?.trim(), text("pkcs1").trim())
  }
  const other = generateKeyPairSync("ed25519").publicKey.export({ format: "pem", type: "spki" })
  const broken = text("pkcs1").replace(/MII/, "AAA")
  for (const wrong of ["", "key", other.toString(), broken])
    assert.isUndefined(publicKey.parse(wrong))
})
