/** The egress through a host's own `fetch`. */
import { assert, describe, it } from "@effect/vitest"
import { Egress, OutboundRule } from "@messaging-service/core"
import type { PostLimits, PostRequest } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { layerFetchEgress } from "../src/Egress.ts"
import { realTimeLayer } from "../src/NodeServices.ts"
import { get, reason, workspaceId } from "./Guarded.ts"
import { aServer } from "./LoopbackServer.ts"

const allowing = (allowPrivate: boolean) =>
  Effect.provide(
    layerFetchEgress.pipe(
      Layer.provide([Layer.succeed(OutboundRule, { allowPrivate }), realTimeLayer]),
    ),
  )

const request: PostRequest = {
  workspaceId,
  headers: { "content-type": "application/json" },
  body: `{"text":"✓"}`,
  allowHttp: true,
}

const postLimits: PostLimits = {
  maximumBytes: 100,
  timeoutMillis: 10_000,
  connectTimeoutMillis: 10_000,
}

const post = (url: string, changed: Partial<PostRequest & PostLimits> = {}) =>
  Egress.use((egress) =>
    egress.post(url, { ...request, ...changed }, { ...postLimits, ...changed }),
  )

describe("by the host's fetch", () => {
  it.effect("follows redirects up to the limit, and reads up to the limit", () =>
    Effect.gen(function* () {
      const server = yield* aServer((request, response) => {
        const left = Number(request.url?.slice(1))
        if (left === 0) response.writeHead(201, { "X-Kind": "Test" }).end("arrived")
        else response.writeHead(302, { location: `/${left - 1}` }).end()
      })
      const answer = yield* get(`${server.origin}/3`)
      assert.deepStrictEqual(
        [answer.status, answer.headers["x-kind"], answer.text, answer.url],
        [201, "Test", "arrived", `${server.origin}/0`],
      )
      assert.strictEqual(yield* reason(get(`${server.origin}/4`)), "redirects")
      assert.strictEqual(yield* reason(get(`${server.origin}/0`, { maximumBytes: 6 })), "too_large")
    }).pipe(allowing(true)),
  )

  it.effect("does not call a forbidden address, not even after a redirect", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => response.end())
      const { allows } = yield* Egress
      for (const url of [server.origin, "http://localhost/", "https://[::1]/", "ftp://a.example"]) {
        assert.isFalse(yield* allows(url, workspaceId))
        assert.strictEqual(yield* reason(get(url)), "blocked_address")
        assert.strictEqual(yield* reason(post(url)), "blocked_address")
      }
      assert.strictEqual(server.connections(), 0)
    }).pipe(allowing(false)),
  )

  it.effect("applies the same rule to a redirect", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) =>
        response.writeHead(302, { location: "ftp://127.0.0.1/" }).end(),
      )
      assert.strictEqual(yield* reason(get(server.origin)), "blocked_address")
    }).pipe(allowing(true)),
  )

  it.effect("a post returns its status, whatever that is", () =>
    Effect.gen(function* () {
      const bodies: Array<string> = []
      const server = yield* aServer(async (request, response) => {
        const chunks: Array<Buffer> = []
        for await (const chunk of request) chunks.push(chunk)
        bodies.push(`${request.method} ${Buffer.concat(chunks).toString("utf8")}`)
        response.writeHead(307, { location: "/elsewhere" }).end("x".repeat(1000))
      })
      assert.strictEqual((yield* post(server.origin)).status, 307)
      assert.deepStrictEqual(bodies, [`POST {"text":"✓"}`])
      const stored = yield* post(server.origin, { storedBytes: 7 })
      assert.deepStrictEqual([stored.status, stored.beginning], [307, Buffer.from("x".repeat(7))])
      const stuck = yield* aServer((_, response) => void response.write("begun"))
      const started = yield* post(stuck.origin, { storedBytes: 7 })
      assert.strictEqual(Buffer.from(started.beginning ?? []).toString(), "begun")
    }).pipe(allowing(true)),
  )

  it.effect("gives up in time on a missing or unfinished answer", () =>
    Effect.gen(function* () {
      const silent = yield* aServer(() => undefined)
      assert.strictEqual(yield* reason(post(silent.origin, { timeoutMillis: 20 })), "timeout")
      assert.strictEqual(yield* reason(get(silent.origin, { timeoutMillis: 20 })), "timeout")
      const stuck = yield* aServer((_, response) => void response.write("begun"))
      assert.strictEqual(yield* reason(get(stuck.origin, { timeoutMillis: 200 })), "timeout")
      yield* Effect.all([silent.allClosed, stuck.allClosed])
      const deleted = yield* Effect.scoped(aServer(() => undefined))
      assert.strictEqual(yield* reason(post(deleted.origin)), "connection")
    }).pipe(allowing(true)),
  )
})
