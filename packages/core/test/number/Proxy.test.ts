import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { layer as memoryStore } from "@messaging-service/store-memory"
import { aStage } from "@messaging-service/testkit"
import { Ids } from "../../src/model/Ids.ts"
import { NumberProxies, parseProxyUrl, proxyContext } from "../../src/service/Numbers.ts"
import { layerStoredSecrets } from "../../src/service/layerStoredSecrets.ts"
import { Secrets, SecretsKey } from "../../src/model/Secrets.ts"
import { Store } from "../../src/store/Store.ts"

describe("a proxy's URL", () => {
  it.effect.each([
    ["http://192.0.2.1", "192.0.2.1", 80],
    ["https://user:secret@proxy.example.com", "proxy.example.com", 443],
    ["socks5://user:p%40ss@10.0.0.7:9050/", "10.0.0.7", 9050],
    ["socks5://[2001:db8::7]", "2001:db8::7", 1080],
    [`socks5://${"u".repeat(255)}:${"%C3%A9".repeat(127)}p@192.0.2.1`, "192.0.2.1", 1080],
    [`http://${"u".repeat(256)}:p@192.0.2.1`, "192.0.2.1", 80],
  ] as const)("accepts %s", ([text, host, port]) =>
    Effect.sync(() => {
      const { href, ...shown } = parseProxyUrl(text) ?? { href: "" }
      assert.deepStrictEqual<unknown>(shown, { host, port })
      assert.strictEqual(href.replace(/\/$/, ""), text.replace(/\/$/, ""))
    }),
  )

  it.effect.each([
    "",
    "192.0.2.1:8080",
    "ftp://192.0.2.1",
    "socks4://192.0.2.1",
    "http://",
    "socks5://:1080",
    "http://192.0.2.1:99999",
    "http://192.0.2.1/path",
    "http://192.0.2.1?a=b",
    "http://192.0.2.1#a",
    "http://192.0.2.1\n",
    "http:\\\\192.0.2.1",
    `http://${"a".repeat(2000)}`,
    // Nothing listens there.
    "http://192.0.2.1:0",
    "socks5://192.0.2.1:0",
    // Escapes that decode to no text.
    "http://us%er:secret@192.0.2.1",
    "http://user:%FF@192.0.2.1",
    "socks5://user:%zz@192.0.2.1",
    "socks5://proxy%41.example.com",
    // SOCKS has one byte for the length of each.
    `socks5://${"u".repeat(256)}:p@192.0.2.1`,
    `socks5://user:${"%C3%A9".repeat(128)}@192.0.2.1`,
  ])("rejects %j", (text) => Effect.sync(() => assert.isUndefined(parseProxyUrl(text))))
})

describe("the proxy of a number", () => {
  it.effect("reaches transports unchanged, and the store sealed", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const secrets = yield* Secrets
      const proxies = yield* NumberProxies
      const { number, workspace } = yield* aStage()
      const { id } = number
      assert.isNull(yield* proxies.of(id))
      const url = secrets.seal(proxyContext(id), "http://user:secret@192.0.2.1/")
      const proxy = { host: "192.0.2.1", port: 80, url }
      yield* numbers.change(workspace.id, id, { proxy }, 0)
      const read = yield* proxies.of(id)
      assert.strictEqual(read && Redacted.value(read), "http://user:secret@192.0.2.1/")
      assert.notInclude(JSON.stringify([...(yield* numbers.settings([id]))]), "secret")
      // Sealed for another number, it does not open.
      const stolen = {
        ...proxy,
        url: secrets.seal(proxyContext((id + 1) as typeof id), "http://192.0.2.2"),
      }
      yield* numbers.change(workspace.id, id, { proxy: stolen }, 0)
      assert.strictEqual((yield* Effect.flip(proxies.of(id)))._tag, "CannotOpen")
    }).pipe(
      Effect.provide(
        NumberProxies.layer.pipe(
          Layer.provideMerge(layerStoredSecrets),
          Layer.provideMerge(memoryStore),
          Layer.provide(SecretsKey.layerHex("5e".repeat(32))),
          Layer.provideMerge(Ids.layerRandom),
        ),
      ),
    ),
  )
})
