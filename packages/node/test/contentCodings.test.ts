/** Answers with coded content, although a fetch asks for it as it is. */
import { assert, describe, it } from "@effect/vitest"
import { OutboundRule } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import type { OutgoingHttpHeaders } from "node:http"
import * as zlib from "node:zlib"
import { layerFetchEgress } from "../src/Egress.ts"
import { realTimeLayer } from "../src/NodeServices.ts"
import { get, reason, unguarded } from "./Guarded.ts"
import { aServer } from "./LoopbackServer.ts"

const text = "name,amount\nAnna,12\nBert,14\n".repeat(50)

const serving = (body: Uint8Array | string, headers: OutgoingHttpHeaders) =>
  aServer((_, response) => response.writeHead(200, headers).end(body))

const codings: ReadonlyArray<readonly [coding: string | ReadonlyArray<string>, body: Buffer]> = [
  ["gzip", zlib.gzipSync(text)],
  ["x-gzip", zlib.gzipSync(text)],
  ["GZIP", zlib.gzipSync(text)],
  ["deflate", zlib.deflateSync(text)],
  ["deflate", zlib.deflateRawSync(text)],
  ["br", zlib.brotliCompressSync(text)],
  ["zstd", zlib.zstdCompressSync(text)],
  ["identity", Buffer.from(text)],
  ["", Buffer.from(text)],
  ["gzip, br", zlib.brotliCompressSync(zlib.gzipSync(text))],
  [["deflate", "identity", "x-gzip"], zlib.gzipSync(zlib.deflateSync(text))],
  ["gzip,gzip,gzip", zlib.gzipSync(zlib.gzipSync(zlib.gzipSync(text)))],
  // Several members, as `cat a.gz b.gz` makes.
  ["gzip", Buffer.concat([zlib.gzipSync(text.slice(0, 99)), zlib.gzipSync(text.slice(99))])],
]

describe("coded content", () => {
  for (const [coding, body] of codings) {
    it.effect(`arrives without its coding: ${JSON.stringify(coding)}`, () =>
      Effect.gen(function* () {
        const server = yield* serving(body, { "content-encoding": coding as string })
        assert.strictEqual((yield* get(server.origin)).text, text)
      }).pipe(unguarded()),
    )
  }

  it.effect("fails where the coding cannot be undone", () =>
    Effect.gen(function* () {
      for (const [coding, body] of [
        ["compress", text],
        ["gzip, unknown", zlib.gzipSync(text)],
        ["gzip,gzip,gzip,gzip,gzip,gzip", text],
        ["gzip", text],
        ["br", zlib.gzipSync(text)],
        ["deflate", zlib.gzipSync(text)],
        ["gzip, br", zlib.gzipSync(text)],
      ] as const) {
        const server = yield* serving(body, { "content-encoding": coding })
        assert.strictEqual(yield* reason(get(server.origin)), "coding", coding)
      }
    }).pipe(unguarded()),
  )

  it.effect("that ends too early is a failed connection", () =>
    Effect.gen(function* () {
      const server = yield* aServer((request, response) => {
        response.writeHead(200, { "content-encoding": "gzip" })
        const half = zlib.gzipSync(text).subarray(0, 40)
        if (request.url === "/ended") response.end(half)
        else response.write(half, () => response.destroy())
      })
      assert.strictEqual(yield* reason(get(`${server.origin}/ended`)), "connection")
      assert.strictEqual(yield* reason(get(`${server.origin}/broken`)), "connection")
    }).pipe(unguarded()),
  )

  it.effect("counts against the limit as it is without its coding", () =>
    Effect.gen(function* () {
      const bomb = zlib.gzipSync(Buffer.alloc(20_000_000))
      const nested = zlib.gzipSync(bomb)
      for (const [coding, body] of [
        ["gzip", bomb],
        ["gzip, gzip", nested],
        ["br", zlib.brotliCompressSync(Buffer.alloc(20_000_000))],
      ] as const) {
        const server = yield* serving(body, { "content-encoding": coding })
        assert.strictEqual(yield* reason(get(server.origin)), "too_large", coding)
      }
      // Coded, these bytes are more than the limit.
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
      const longer = zlib.gzipSync(bytes)
      const server = yield* serving(longer, {
        "content-encoding": "gzip",
        "content-length": longer.length,
      })
      assert.isAbove(longer.length, 256)
      assert.include((yield* get(server.origin, { maximumBytes: 256 })).text, "ABC")
      assert.strictEqual(yield* reason(get(server.origin, { maximumBytes: 255 })), "too_large")
    }).pipe(unguarded()),
  )

  it.effect("never ends within the limit's time: a timeout", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => {
        response.writeHead(200, { "content-encoding": "gzip" })
        response.write(zlib.gzipSync(text).subarray(0, 40))
      })
      assert.strictEqual(yield* reason(get(server.origin, { timeoutMillis: 60 })), "timeout")
      yield* server.allClosed
    }).pipe(unguarded()),
  )
})

describe("a file that is gzip itself", () => {
  const file = zlib.gzipSync(text)
  const whole = Buffer.from(file).toString("utf8")

  it.effect("stays as it is, whatever its server calls it", () =>
    Effect.gen(function* () {
      const disposition = { "content-disposition": `attachment; filename="report.csv.gz"` }
      for (const [path, headers, body] of [
        ["/report.csv.gz", {}, file],
        ["/report.csv.gz", { "content-encoding": "gzip" }, file],
        ["/report.csv.gz", { "content-encoding": "gzip" }, zlib.gzipSync(file)],
        ["/backup.tgz", { "content-encoding": "x-gzip" }, file],
        ["/download", { "content-encoding": "gzip", "content-type": "application/gzip" }, file],
        ["/download", { "content-encoding": "gzip", ...disposition }, file],
        ["/download", { "content-encoding": "gzip", ...disposition }, zlib.gzipSync(file)],
        ["/report.csv.gz", { "content-encoding": "br" }, zlib.brotliCompressSync(file)],
      ] as const) {
        const server = yield* serving(body, headers)
        const got = yield* get(server.origin + path)
        assert.strictEqual(got.text, whole, `${path} ${JSON.stringify(headers)}`)
      }
    }).pipe(unguarded()),
  )
})

describe("through a host's own fetch", () => {
  const byFetch = Effect.provide(
    layerFetchEgress.pipe(
      Layer.provide([Layer.succeed(OutboundRule, { allowPrivate: true }), realTimeLayer]),
    ),
  )

  it.effect("the host undoes what it knows, and the rest fails", () =>
    Effect.gen(function* () {
      const body = zlib.gzipSync(text)
      const server = yield* aServer((request, response) => {
        const coding = request.url?.slice(1) ?? ""
        response.writeHead(200, { "content-encoding": coding, "content-length": body.length })
        response.end(body)
      })
      assert.strictEqual((yield* get(`${server.origin}/gzip`)).text, text)
      assert.strictEqual(yield* reason(get(`${server.origin}/unknown`)), "coding")
      const limit = { maximumBytes: text.length - 1 }
      assert.strictEqual(yield* reason(get(`${server.origin}/gzip`, limit)), "too_large")
    }).pipe(byFetch),
  )
})
