import { assert, layer, vi } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "node:http"
import { gunzipSync } from "node:zlib"
import { HttpTestClients } from "./HttpTestClients.ts"
import { layerService } from "./Service.ts"

const paths = ["/docs", "/docs/operations", "/docs/errors", "/openapi.json"]

interface RawAnswer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly bytes: Buffer
}

/** The raw bytes from the socket. */
const rawGet = (path: string, headers: Readonly<Record<string, string>>, method = "GET") =>
  Effect.flatMap(HttpTestClients, ({ port }) =>
    Effect.promise<RawAnswer>(
      () =>
        new Promise((resolve, reject) => {
          request({ host: "127.0.0.1", port, path, headers, method, agent: false }, (incoming) => {
            const chunks: Array<Uint8Array> = []
            incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk))
            incoming.on("end", () =>
              resolve({
                status: incoming.statusCode,
                headers: incoming.headers,
                bytes: Buffer.concat(chunks),
              }),
            )
          })
            .on("error", reject)
            .end()
        }),
    ),
  )

layer(layerService())("the documents of the API", (it) => {
  for (const path of paths) {
    it.effect(`${path} is compressed for callers that accept gzip, and for no others`, () =>
      Effect.gen(function* () {
        const plain = yield* rawGet(path, {})
        for (const accepted of ["gzip", "br, GZIP;q=0.5", "*", "deflate;q=0, gzip"]) {
          const packed = yield* rawGet(path, { "accept-encoding": accepted })
          assert.strictEqual(packed.headers["content-encoding"], "gzip", accepted)
          assert.strictEqual(packed.headers["content-length"], String(packed.bytes.length))
          assert.isBelow(packed.bytes.length, plain.bytes.length / 2)
          assert.isTrue(gunzipSync(packed.bytes).equals(plain.bytes))
        }
        for (const accepted of ["", "br", "gzip;q=0", "gzip;q=0, *", "identity"]) {
          const { bytes, headers } = yield* rawGet(path, { "accept-encoding": accepted })
          assert.notProperty(headers, "content-encoding", accepted)
          assert.isTrue(bytes.equals(plain.bytes))
        }
      }),
    )

    it.effect(`${path} is cached by its tag: 304 without a body for a caller that has it`, () =>
      Effect.gen(function* () {
        const { headers } = yield* rawGet(path, { "accept-encoding": "gzip" })
        const cacheHeaders = ["cache-control", "etag", "vary"].map((name) => [name, headers[name]])
        assert.deepStrictEqual(cacheHeaders[0], ["cache-control", "no-cache"])
        assert.deepStrictEqual(cacheHeaders[2], ["vary", "Accept-Encoding"])
        const tag = String(headers["etag"])
        assert.match(tag, /^W\/"[\w-]{43}"$/)
        for (const named of [tag, tag.slice(2), `"other", ${tag}`, "*"]) {
          for (const method of ["GET", "HEAD"]) {
            const again = yield* rawGet(path, { "if-none-match": named }, method)
            assert.deepStrictEqual([again.status, again.bytes.length], [304, 0], named)
            assert.deepStrictEqual(
              cacheHeaders.map(([name = ""]) => [name, again.headers[String(name)]]),
              cacheHeaders,
            )
            assert.strictEqual(
              again.headers["content-security-policy"],
              headers["content-security-policy"],
            )
            assert.notProperty(again.headers, "content-type")
            assert.property(again.headers, "x-request-id")
          }
        }
        for (const named of ['"other"', "", tag.slice(3, -1)]) {
          assert.strictEqual((yield* rawGet(path, { "if-none-match": named })).status, 200)
        }
      }),
    )

    it.effect(`${path}: a refusal is not cached`, () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        for (const call of [{ path, method: "POST" }, { path: `${path}/x` }]) {
          const { headers } = yield* socket.call(call)
          assert.strictEqual(headers["cache-control"], "no-store")
          assert.notProperty(headers, "etag")
        }
      }),
    )
  }

  it.effect("are compressed once, however often callers ask", () =>
    Effect.gen(function* () {
      for (const path of paths) yield* rawGet(path, { "accept-encoding": "gzip" })
      const compress = yield* Effect.acquireRelease(
        Effect.sync(() => vi.spyOn(globalThis, "CompressionStream")),
        (spy) => Effect.sync(() => spy.mockRestore()),
      )
      for (const path of paths) yield* rawGet(path, { "accept-encoding": "gzip" })
      assert.lengthOf(compress.mock.calls, 0)
    }),
  )

  it.effect("behave the same through the web handler", () =>
    Effect.gen(function* () {
      const { web } = yield* HttpTestClients
      const first = yield* web.call({ path: "/openapi.json" })
      const headers = [["If-None-Match", String(first.headers["etag"])]] as const
      const again = yield* web.call({ path: "/openapi.json", headers })
      assert.deepStrictEqual([again.status, again.text], [304, ""])
    }),
  )
})
