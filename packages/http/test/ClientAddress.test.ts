import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Option, References } from "effect"
import { HttpServerRequest } from "effect/http"
import { clientAddressReader, normalAddress } from "../src/IncomingRequest.ts"
import { HttpTestClients } from "./HttpTestClients.ts"
import { aSender } from "./Records.ts"
import { layerService } from "./Service.ts"

const request = (socket: string | undefined, forwarded?: string) =>
  HttpServerRequest.fromWeb(
    new Request("http://service.test/", {
      headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
    }),
  ).modify({ remoteAddress: Option.fromUndefinedOr(socket) })

describe("an IP literal", () => {
  for (const [text, normal] of [
    ["1.2.3.4", "1.2.3.4"],
    ["255.255.255.255", "255.255.255.255"],
    ["::1", "::1"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["::FFFF:0102:0304", "1.2.3.4"],
    ["0:0:0:0:0:ffff:c0a8:1", "192.168.0.1"],
  ] as const) {
    it.effect(`${text} normalizes to ${normal}`, () =>
      Effect.sync(() => assert.strictEqual(normalAddress(text), normal)),
    )
  }

  for (const text of [
    "",
    "unknown",
    "localhost",
    "1.2.3",
    "1.2.3.4.",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "0x7f.1",
    "1.2.3.4:80",
    "[::1]",
    "[::1]:80",
    "fe80::1%eth0",
    "1:2:3",
    ":::",
    "::1]/@evil[",
    "1.2.3.4, ",
  ]) {
    it.effect(`${JSON.stringify(text)} is none`, () =>
      Effect.sync(() => assert.strictEqual(normalAddress(text), undefined)),
    )
  }
})

describe("the client's address", () => {
  const direct = clientAddressReader({ trustProxy: false })
  const proxied = clientAddressReader({ trustProxy: true })

  it.effect("is the socket's, an IPv4 client of a dual stack without its mapping", () =>
    Effect.sync(() => {
      assert.strictEqual(direct(request("10.0.0.1")), "10.0.0.1")
      assert.strictEqual(direct(request("::ffff:10.0.0.1")), "10.0.0.1")
      assert.strictEqual(direct(request("2001:db8::1")), "2001:db8::1")
    }),
  )

  it.effect("ignores X-Forwarded-For unless a proxy is trusted", () =>
    Effect.sync(() => assert.strictEqual(direct(request("10.0.0.1", "1.2.3.4")), "10.0.0.1")),
  )

  it.effect("behind a trusted proxy is the last entry, which the proxy wrote", () =>
    Effect.sync(() => {
      assert.strictEqual(proxied(request("10.0.0.1", "6.6.6.6, 1.2.3.4")), "1.2.3.4")
      assert.strictEqual(proxied(request("10.0.0.1", "1.2.3.4")), "1.2.3.4")
      assert.strictEqual(proxied(request("10.0.0.1", "6.6.6.6,::ffff:1.2.3.4")), "1.2.3.4")
    }),
  )

  it.effect("may come with a port and in brackets, as some proxies write it", () =>
    Effect.sync(() => {
      for (const [entry, address] of [
        ["203.0.113.7:51234", "203.0.113.7"],
        ["[2001:db8::1]:443", "2001:db8::1"],
        ["[2001:DB8:0::1]", "2001:db8::1"],
        ["2001:db8::1", "2001:db8::1"],
        ["[::ffff:203.0.113.7]:80", "203.0.113.7"],
      ] as const) {
        assert.strictEqual(proxied(request("10.0.0.1", `6.6.6.6:1, ${entry} `)), address)
      }
    }),
  )

  it.effect("is the socket's when the last entry is not an IP literal", () =>
    Effect.sync(() => {
      for (const forwarded of [
        "1.2.3.4, unknown",
        "1.2.3.4,",
        "",
        "1.2.3.4, [::1",
        "1.2.3.4, 1.2.3.4:port",
        "1.2.3.4, [fe80::1%eth0]:80",
        "1.2.3.4, []:80",
        "1.2.3.4:80:80",
      ]) {
        assert.strictEqual(proxied(request("10.0.0.1", forwarded)), "10.0.0.1")
      }
      assert.strictEqual(proxied(request("10.0.0.1")), "10.0.0.1")
    }),
  )

  it.effect("of a web-standard request comes from the embedder", () =>
    Effect.sync(() => {
      const readAddress = clientAddressReader({
        trustProxy: false,
        clientAddress: () => "::ffff:9.9.9.9",
      })
      assert.strictEqual(readAddress(request(undefined)), "9.9.9.9")
    }),
  )

  it.effect("is all zeros when unknown", () =>
    Effect.sync(() => {
      assert.strictEqual(direct(request(undefined)), "0.0.0.0")
      const untold = clientAddressReader({ trustProxy: false, clientAddress: () => "" })
      assert.strictEqual(untold(request(undefined)), "0.0.0.0")
    }),
  )
})

describe("behind a proxy that writes no address", () => {
  const entries: Array<unknown> = []
  const logger = Logger.make(({ fiber, logLevel }) => {
    if (logLevel === "Warn") entries.push(fiber.getRef(References.CurrentLogAnnotations)["entry"])
  })
  const service = layerService({ settings: { trustProxy: true } })

  layer(service.pipe(Layer.provide(Logger.layer([logger]))))("a service", (it) => {
    it.effect("warns once an hour", () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        const { token } = yield* aSender()
        const call = (forwarded: string) =>
          socket.call({ path: "/api/v2/me", token, headers: [["x-forwarded-for", forwarded]] })
        yield* call("203.0.113.7:51234")
        yield* call("1.2.3.4, unknown")
        yield* call("1.2.3.4, unknown again")
        assert.deepStrictEqual(entries, ['"unknown"'])
      }),
    )
  })
})
