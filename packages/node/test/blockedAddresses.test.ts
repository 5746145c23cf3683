/** Addresses that receive nothing, however written, resolved or redirected to. */
import { assert, describe, it } from "@effect/vitest"
import { Egress, EgressError } from "@messaging-service/core"
import { Effect } from "effect"
import type { Resolver } from "../src/Connections.ts"
import { aServer, aTcpServer } from "./LoopbackServer.ts"
import {
  workspaceId,
  guarded,
  unguarded,
  get,
  reason,
  answering,
  publicAddress,
  dialing,
  neverDialed,
} from "./Guarded.ts"

describe("the guard", () => {
  const spellings = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://0/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fd00::1]/",
    "http://localhost/",
    "http://printer/",
    "http://user@media.example/",
    "ftp://media.example/",
    "http://168.63.129.16/",
    "http://media.example:25/",
    "http://media.example:6667/",
  ]
  for (const url of spellings) {
    it.effect(`${url} is blocked before anything is resolved or dialed`, () => {
      const { requests, resolve } = answering([publicAddress])
      return Effect.gen(function* () {
        assert.strictEqual(yield* reason(get(url)), "blocked_address")
        assert.isFalse(yield* Egress.use((egress) => egress.allows(url, workspaceId)))
        assert.deepStrictEqual(requests, [])
      }).pipe(guarded({ resolve, dial: neverDialed }))
    })
  }

  for (const addresses of [
    ["127.0.0.1"],
    ["::1"],
    ["::ffff:10.0.0.1"],
    ["64:ff9b::a00:1"],
    ["fe80::1%eth0"],
    ["not an address"],
    [publicAddress, "192.168.0.1"],
    ["192.168.0.1", publicAddress],
  ]) {
    it.effect(`a name that resolves to ${addresses.join(" and ")} is blocked`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* reason(get("https://media.example/")), "blocked_address")
        const egress = yield* Egress
        assert.isFalse(yield* egress.allows("https://media.example/", workspaceId))
      }).pipe(guarded({ ...answering(addresses), dial: neverDialed })),
    )
  }

  it.effect("a name that changes its address after the check gets nowhere", () =>
    Effect.gen(function* () {
      const server = yield* aServer((request, response) => response.end(request.headers.host))
      const { requests, resolve } = answering([publicAddress], ["127.0.0.1"])
      const { dialed, dial } = dialing(server.port, true)
      const answer = yield* get("http://media.example/").pipe(guarded({ resolve, dial }))
      // Resolved once; the dialed address is exactly the checked one, under the asked name.
      assert.deepStrictEqual(requests, ["media.example"])
      assert.deepStrictEqual(dialed, [[publicAddress]])
      assert.strictEqual(answer.text, "media.example")
    }),
  )

  it.effect("each call resolves and checks again", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => response.end())
      const { dial } = dialing(server.port, true)
      yield* Effect.gen(function* () {
        yield* get("http://media.example/")
        assert.strictEqual(yield* reason(get("http://media.example/")), "blocked_address")
      }).pipe(guarded({ ...answering([publicAddress], ["127.0.0.1"]), dial }))
      assert.strictEqual(server.connections(), 1)
    }),
  )

  for (const scheme of ["http", "https"]) {
    it.effect(`an ${scheme} connection that ends on a private address is closed unused`, () =>
      Effect.gen(function* () {
        const received: Array<Buffer> = []
        const server = yield* aTcpServer((socket) =>
          socket.on("data", (data) => received.push(data)),
        )
        const { dial } = dialing(server.port, false)
        const call = get(`${scheme}://media.example/`).pipe(
          guarded({ ...answering([publicAddress]), dial }),
        )
        assert.strictEqual(yield* reason(call), "blocked_address")
        yield* server.allClosed
        assert.deepStrictEqual(received, [])
      }),
    )
  }

  for (const location of [
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://[::ffff:127.0.0.1]/",
    "//127.0.0.1/",
    "http://inside.example/",
    "http://user:secret@media.example/",
    "file:///etc/passwd",
    "http://media.example:25/",
  ]) {
    it.effect(`a redirect to ${location} is blocked`, () =>
      Effect.gen(function* () {
        const server = yield* aServer((_, response) => response.writeHead(302, { location }).end())
        const { dialed, dial } = dialing(server.port, true)
        const resolve: Resolver = (name) =>
          Effect.succeed([name === "media.example" ? publicAddress : "127.0.0.1"])
        const call = get("http://media.example/").pipe(guarded({ resolve, dial }))
        assert.strictEqual(yield* reason(call), "blocked_address")
        assert.deepStrictEqual(dialed, [[publicAddress]])
      }),
    )
  }
})

describe("allows", () => {
  const allows = (url: string) => Egress.use((egress) => egress.allows(url, workspaceId))

  it.effect("allows a name when all its addresses are public", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allows("http://media.example/"))
      assert.isTrue(yield* allows("https://media.example:8443/"))
      assert.isTrue(yield* allows(`https://[${publicAddress}]/`))
    }).pipe(guarded(answering([publicAddress, "3000::1111"]))),
  )

  it.effect("allows a name that does not resolve, which fails later", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allows("https://media.example/"))
    }).pipe(guarded({ resolve: () => Effect.fail(new EgressError({ reason: "dns" })) })),
  )

  it.effect("a hanging resolver delays no call for long", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allows("https://media.example/"))
    }).pipe(guarded({ resolve: () => Effect.never, connectTimeoutMillis: 30 })),
  )

  it.effect("allows private targets where the operator does", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allows("http://127.0.0.1:8080/"))
      assert.isTrue(yield* allows("http://localhost/"))
      assert.isFalse(yield* allows("ftp://127.0.0.1/"))
      assert.isFalse(yield* allows("http://127.0.0.1:25/"))
    }).pipe(unguarded(answering(["127.0.0.1"]))),
  )
})
