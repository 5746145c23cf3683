/** Links to stored files: how long they work, and how browsers receive the files. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { layerService, publicUrl } from "../Service.ts"
import { aSender, expectBody } from "../Records.ts"
import { follow, path, png, upload } from "./Uploading.ts"
import { get } from "./Asking.ts"
import type { FileBody } from "./Uploading.ts"

layer(layerService())("a link to a stored file", (it) => {
  it.effect("works without a key for 26 hours, and is fresh in each answer", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const file = yield* upload(token)
      // Two answers within the same second may carry the same link.
      const again = expectBody<FileBody>(yield* get(token, `${path}/${file.id}`), 200).url
      assert.strictEqual(again, file.url)
      yield* TestClock.adjust("25 hours")
      const fresh = expectBody<FileBody>(yield* get(token, `${path}/${file.id}`), 200).url
      assert.notStrictEqual(fresh, file.url)
      yield* TestClock.adjust("59 minutes")
      assert.deepStrictEqual((yield* follow(file.url)).bytes, png)
      yield* TestClock.adjust("1 minute")
      const expired = yield* follow(file.url)
      assert.strictEqual(expired.status, 404)
      assert.include(expired.bytes.toString(), '"not_found"')
      assert.deepStrictEqual((yield* follow(fresh)).bytes, png)
    }),
  )

  it.effect("is not_found when forged", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { url } = yield* upload(token)
      const other = yield* upload(token, { fileName: "other.png" })
      const [, , , , secret] = url.split("/")
      for (const forged of [
        `${publicUrl}/media/${secret}`,
        `${publicUrl}/media/${secret}/`,
        `${publicUrl}/media/${secret}/other.png`,
        `${publicUrl}/media/${secret}/photo.png/more`,
        `${publicUrl}/media/${secret}a/photo.png`,
        `${publicUrl}/media/nonsense/photo.png`,
        other.url.replace(/[^/]+\/other\.png$/, `${secret}/other.png`),
        `${url}%00`,
      ]) {
        assert.strictEqual((yield* follow(forged)).status, 404, forged)
      }
      assert.strictEqual((yield* follow(`${url}?download=1`)).status, 200)
    }),
  )

  it.effect("takes GET and HEAD alone", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { url } = yield* upload(token)
      const head = yield* follow(url, { method: "HEAD" })
      assert.strictEqual(head.status, 200)
      assert.strictEqual(head.headers.get("content-length"), String(png.length))
      assert.lengthOf(head.bytes, 0)
      for (const method of ["POST", "DELETE", "OPTIONS"]) {
        const answer = yield* follow(url, { method })
        assert.strictEqual(answer.status, 405)
        assert.strictEqual(answer.headers.get("allow"), "GET, HEAD")
      }
    }),
  )

  it.effect("shows a picture inline", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { headers, status } = yield* follow(
        (yield* upload(token, { fileName: 'grö\\"ße.png' })).url,
      )
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "image/png")
      assert.strictEqual(headers.get("content-length"), String(png.length))
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
      assert.strictEqual(
        headers.get("content-disposition"),
        `inline; filename="gr___e.png"; filename*=UTF-8''gr%C3%B6%22%C3%9Fe.png`,
      )
      assert.isNull(headers.get("ratelimit-limit"))
      assert.match(headers.get("x-request-id") ?? "", /^req_/)
    }),
  )

  const served: ReadonlyArray<
    readonly [what: string, bytes: string, contentType: string, fileName?: string]
  > = [
    ["a page", "<!doctype html><script>alert(1)</script>", "application/octet-stream"],
    [
      "an SVG",
      "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
      "application/octet-stream",
      "drawing.svg",
    ],
    ["a script", "alert(1)", "application/octet-stream", "a.js"],
    ["a text", "Hello", "application/octet-stream", "notes.txt"],
    ["an XML document", '<?xml version="1.0"?><a/>', "application/octet-stream"],
    ["an archive", "PK\u0003\u0004\u0014\u0000\u0000\u0000", "application/octet-stream"],
    ["a PDF", "%PDF-1.7\n", "application/pdf"],
    ["a film", "\u001aE\u00df\u00a3", "application/octet-stream"],
    ["a sound", "OggS\u0000\u0002", "application/octet-stream"],
  ]
  for (const [what, bytes, contentType, fileName = "page.html"] of served) {
    it.effect(`serves ${what} as an attachment, ${contentType}`, () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const content = Buffer.from(bytes, "latin1")
        const file = yield* upload(token, {
          bytes: content,
          fileName,
          contentType: "text/html",
        })
        const got = yield* follow(file.url)
        assert.deepStrictEqual(got.bytes, content)
        assert.strictEqual(got.headers.get("content-type"), contentType)
        assert.strictEqual(got.headers.get("x-content-type-options"), "nosniff")
        assert.match(got.headers.get("content-disposition") ?? "", /^attachment; /)
      }),
    )
  }

  it.effect("serves a requested part of the file", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const bytes = Buffer.from("0123456789")
      const { url } = yield* upload(token, { bytes })
      const part = (range: string, more: Readonly<Record<string, string>> = {}) =>
        Effect.map(follow(url, { headers: { range, ...more } }), (got) => [
          got.status,
          got.bytes.toString(),
          got.headers.get("content-range"),
        ])
      assert.deepStrictEqual(yield* part("bytes=2-4"), [206, "234", "bytes 2-4/10"])
      assert.deepStrictEqual(yield* part("bytes=7-"), [206, "789", "bytes 7-9/10"])
      assert.deepStrictEqual(yield* part("bytes=-3"), [206, "789", "bytes 7-9/10"])
      assert.deepStrictEqual(yield* part("bytes=0-99"), [206, "0123456789", "bytes 0-9/10"])
      assert.deepStrictEqual(yield* part("bytes=10-"), [416, "", "bytes */10"])
      for (const passedOver of ["bytes=4-2", "bytes=1-2,4-5", "items=1-2", "bytes=-", "x"]) {
        assert.deepStrictEqual(yield* part(passedOver), [200, "0123456789", null], passedOver)
      }
      const etag = (yield* follow(url)).headers.get("etag") ?? ""
      assert.deepStrictEqual(yield* part("bytes=2-4", { "if-range": etag }), [
        206,
        "234",
        "bytes 2-4/10",
      ])
      assert.deepStrictEqual(yield* part("bytes=2-4", { "if-range": '"another"' }), [
        200,
        "0123456789",
        null,
      ])
    }),
  )
})
