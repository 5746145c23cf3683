/** Uploads into the media directory: the form, the file's name, and its size. */
import { assert, layer } from "@effect/vitest"
import { Effect, Random } from "effect"
import { request as nodeRequest } from "node:http"
import { Disk } from "../Disk.ts"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { layerService, publicUrl } from "../Service.ts"
import { aSender, expectBody } from "../Records.ts"
import type { PageBody } from "../Records.ts"
import {
  aPart,
  boundary,
  follow,
  form,
  multipart,
  path,
  png,
  post,
  remove,
  sha256,
  upload,
  plan,
  list,
  refusal,
} from "./Uploading.ts"
import { get } from "./Asking.ts"
import type { FileBody, FormPart } from "./Uploading.ts"

const mebibyte = 1024 * 1024
const limit = 64 * mebibyte

const notAFile = [400, "validation_failed", "file"] as const

/** Lets everything else of the process run, sockets and files too. */
const aTick = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const eventually = (what: string, condition: Effect.Effect<boolean, never, Disk>) =>
  Effect.gen(function* () {
    for (let iterations = 0; iterations < 20_000; iterations++) {
      if (yield* condition) return
      yield* aTick
    }
    assert.fail(`never: ${what}`)
  })

layer(layerService())("an upload to the media directory", (it) => {
  it.effect("answers 201 with the file, detected from its content", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const answer = yield* post(token, [
        aPart({ fileName: "holiday.txt", contentType: "text/plain" }),
      ])
      const { url, ...file } = expectBody<FileBody>(answer, 201)
      assert.deepStrictEqual(file, {
        id: file.id,
        file_name: "holiday.txt",
        type: "image",
        mime_type: "image/png",
        size: png.length,
        created_at: "1970-01-01T00:00:00Z",
      })
      assert.isTrue(url.startsWith(`${publicUrl}/media/`), url)
      assert.isTrue(url.endsWith("/holiday.txt"), url)
      const shown = expectBody<FileBody>(yield* get(token, `${path}/${file.id}`), 200)
      assert.deepStrictEqual({ ...shown, url }, { ...file, url })
      assert.deepStrictEqual(yield* list(token), { data: [shown], next_cursor: null })
    }),
  )

  const contents: ReadonlyArray<
    readonly [what: string, bytes: string | Uint8Array, type: string, mimeType: string]
  > = [
    [
      "a page that calls itself a picture",
      "<html><script>1</script>",
      "file",
      "application/octet-stream",
    ],
    ["an SVG", "<svg xmlns='http://www.w3.org/2000/svg'/>", "file", "application/octet-stream"],
    ["a PDF", "%PDF-1.7\n%âãÏÓ\n", "file", "application/pdf"],
    ["a GIF", "GIF89a\u0001\u0000\u0001\u0000", "image", "image/gif"],
    ["a single byte", "x", "file", "application/octet-stream"],
  ]
  for (const [what, bytes, type, mimeType] of contents) {
    it.effect(`${what} is ${type}, ${mimeType}`, () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const file = yield* upload(token, { bytes, contentType: "image/jpeg", fileName: "a.jpg" })
        assert.deepStrictEqual([file.type, file.mime_type], [type, mimeType])
        assert.strictEqual(file.size, Buffer.from(bytes).length)
      }),
    )
  }

  const called: ReadonlyArray<
    readonly [fileName: string, bytes: string, type: string, mimeType: string]
  > = [
    ["notes.txt", "Hello", "file", "text/plain"],
    ["list.CSV", "a,b\n1,2\n", "file", "text/csv"],
    ["data.json", "{}", "file", "application/json"],
    ["drawing.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>", "file", "image/svg+xml"],
    ["drawing.svg", "<?xml version='1.0'?><svg/>", "file", "image/svg+xml"],
    ["notes.pdf", "Hello", "file", "application/octet-stream"],
    ["notes.txt", "%PDF-1.7\n", "file", "application/pdf"],
    ["notes", "Hello", "file", "application/octet-stream"],
  ]
  for (const [fileName, bytes, type, mimeType] of called) {
    it.effect(`${bytes.slice(0, 9).trim()}… called ${fileName} is ${type}, ${mimeType}`, () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const file = yield* upload(token, { bytes, fileName, contentType: "image/png" })
        assert.deepStrictEqual([file.type, file.mime_type], [type, mimeType])
        const { data } = expectBody<PageBody<FileBody>>(
          yield* get(token, `${path}?type=${type}`),
          200,
        )
        assert.deepStrictEqual(
          data.map(({ id, mime_type }) => [id, mime_type]),
          [[file.id, mimeType]],
        )
      }),
    )
  }

  const names: ReadonlyArray<readonly [given: string, kept: string]> = [
    ["größe – 写真.png", "größe – 写真.png"],
    ["C:\\Users\\me\\photo.png", "photo.png"],
    ["../../etc/passwd", "passwd"],
    ['we\\"ird.png', 'we"ird.png'],
    [`${"n".repeat(251)}.png`, `${"n".repeat(251)}.png`],
    ["..", ".."],
    ["Offer %22spring%22%0D%0A.txt", 'Offer "spring".txt'],
    [`x"; filename*=UTF-8''100%2522.txt; note="`, "100%22.txt"],
    ["100% %2f%0a%2522 %20.txt", "100% %2f%0a%2522 %20.txt"],
  ]
  for (const [text, kept] of names) {
    it.effect(`a file uploaded as ${text} is called ${kept}, and its link works`, () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const file = yield* upload(token, { fileName: text })
        assert.strictEqual(file.file_name, kept)
        assert.deepStrictEqual((yield* follow(file.url)).bytes, png)
      }),
    )
  }

  it.effect("names a part `file` without a file name and a content type `file`", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const answer = yield* post(token, [{ name: "file", fileName: null, bytes: png }])
      const file = expectBody<FileBody>(answer, 201)
      assert.deepStrictEqual([file.file_name, file.mime_type], ["file", "image/png"])
      assert.deepStrictEqual((yield* follow(file.url)).bytes, png)
    }),
  )

  for (const fileName of ["", " ", "\t "]) {
    it.effect(
      `a part \`file\` with the file name ${JSON.stringify(fileName)} is called \`file\``,
      () =>
        Effect.gen(function* () {
          const { token } = yield* aSender()
          const answer = yield* post(token, [aPart({ fileName })])
          assert.strictEqual(expectBody<FileBody>(answer, 201).file_name, "file")
        }),
    )
  }

  const wrongForms: ReadonlyArray<readonly [what: string, parts: ReadonlyArray<FormPart>]> = [
    ["missing", []],
    ["in another field", [aPart({ name: "media" })]],
    ["not chosen", [aPart({ fileName: "", bytes: "" })]],
    ["empty", [aPart({ bytes: "" })]],
    ["doubled", [aPart(), aPart()]],
    ["followed by a field", [aPart(), aPart({ name: "caption", fileName: null, bytes: "x" })]],
    ["behind a field", [aPart({ name: "caption", fileName: null, bytes: "x" }), aPart()]],
    ["followed by another file", [aPart(), aPart({ name: "other" })]],
    [
      "behind a large field",
      [
        aPart({
          name: "a",
          fileName: null,
          contentType: "text/plain",
          bytes: "x".repeat(200_000),
        }),
        aPart(),
      ],
    ],
    ["among many parts", [aPart(), ...Array.from({ length: 30 }, () => aPart({ name: "x" }))]],
    ["called by 256 characters", [aPart({ fileName: "n".repeat(256) })]],
  ]
  for (const [what, parts] of wrongForms) {
    it.effect(`a file that is ${what} is validation_failed on file, and nothing is kept`, () =>
      Effect.gen(function* () {
        const before = yield* (yield* Disk).files
        const { token } = yield* aSender()
        assert.deepStrictEqual(refusal(yield* post(token, parts)), notAFile)
        assert.deepStrictEqual(yield* (yield* Disk).files, before)
        assert.deepStrictEqual((yield* list(token)).data, [])
      }),
    )
  }

  const whole = form([aPart()])
  const wrongBodies: ReadonlyArray<readonly [what: string, body: string | Buffer]> = [
    ["empty", ""],
    ["no form", "file=photo.png"],
    ["cut off before its last boundary", whole.subarray(0, whole.length - boundary.length - 8)],
    ["cut off inside the file", whole.subarray(0, whole.length - boundary.length - 40)],
    ["cut off inside the headers", whole.subarray(0, 60)],
    ["with a part that has no disposition", `--${boundary}\r\n\r\nx\r\n--${boundary}--\r\n`],
  ]
  for (const [what, body] of wrongBodies) {
    it.effect(`a body that is ${what} is validation_failed on file, and nothing is kept`, () =>
      Effect.gen(function* () {
        const before = yield* (yield* Disk).files
        const { token } = yield* aSender()
        assert.deepStrictEqual(refusal(yield* post(token, [], { body })), notAFile)
        assert.deepStrictEqual(yield* (yield* Disk).files, before)
        assert.deepStrictEqual((yield* list(token)).data, [])
      }),
    )
  }

  const contentTypes: ReadonlyArray<readonly [sent: string | null, status: number]> = [
    [null, 415],
    ["application/json", 415],
    ["application/x-www-form-urlencoded", 415],
    ["multipart/mixed; boundary=x", 415],
    ["multipart/form-data-x; boundary=x", 415],
    [`Multipart/Form-Data; charset=utf-8; boundary="${boundary}"`, 201],
    ["multipart/form-data", 400],
  ]
  for (const [sent, status] of contentTypes) {
    it.effect(`the content type ${sent} is answered ${status}`, () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        const { token } = yield* aSender()
        const answer = yield* socket.call({
          method: "POST",
          path,
          token,
          headers: sent === null ? [] : [["content-type", sent]],
          body: form([aPart()]),
        })
        assert.strictEqual(answer.status, status, answer.text)
        if (status === 415) assert.strictEqual(errorBody(answer).code, "unsupported_content_type")
      }),
    )
  }

  it.effect("accepts a file of 64 MiB, and refuses one byte more as request_too_large", () =>
    Effect.gen(function* () {
      const before = yield* (yield* Disk).files
      const { token } = yield* aSender()
      const bytes = Buffer.alloc(limit + 1, "abcdefghij")
      for (const chunked of [false, true]) {
        const answer = yield* post(token, [aPart({ bytes })], { chunked })
        assert.deepStrictEqual(refusal(answer), [413, "request_too_large", null])
      }
      assert.deepStrictEqual(yield* (yield* Disk).files, before)
      const file = yield* upload(token, { bytes: bytes.subarray(0, limit) })
      assert.strictEqual(file.size, limit)
      const got = yield* follow(file.url)
      assert.strictEqual(sha256(got.bytes), sha256(bytes.subarray(0, limit)))
      yield* remove(token, file.id)
    }),
  )

  it.effect(
    "refuses more bytes than that as request_too_large, however the client sends them",
    () =>
      Effect.gen(function* () {
        const { port, socket, web } = yield* HttpTestClients
        const { token } = yield* aSender()
        const body = form([aPart({ bytes: Buffer.alloc(limit + 200_000) })])
        const call = { method: "POST", path, token, headers: [multipart], body }
        assert.strictEqual((yield* socket.call(call)).status, 413)
        assert.strictEqual((yield* web.call(call)).status, 413)
        const status = yield* Effect.promise(async () => {
          const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, [multipart[0]]: multipart[1] },
            body,
          })
          await answer.text()
          return answer.status
        })
        assert.strictEqual(status, 413)
      }),
  )

  it.effect("checks the Idempotency-Key before the content type, and that before the size", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender()
      const call = { method: "POST", path, token, body: Buffer.alloc(limit + 200_000) }
      const json = ["content-type", "application/json"] as const
      const first = yield* socket.call({ ...call, headers: [json, ["idempotency-key", ""]] })
      assert.strictEqual(errorBody(first).code, "invalid_idempotency_key")
      const second = yield* socket.call({ ...call, headers: [json] })
      assert.strictEqual(errorBody(second).code, "unsupported_content_type")
    }),
  )

  it.effect("leaves nothing when cut off, and was never in memory whole", () =>
    Effect.gen(function* () {
      const disk = yield* Disk
      const { port } = yield* HttpTestClients
      const { token } = yield* aSender({ workspace: plan(limit) })
      const before = yield* disk.files
      const bytes = Buffer.alloc(20 * mebibyte, "0123456789")
      const outgoing = nodeRequest({
        host: "127.0.0.1",
        port,
        method: "POST",
        path,
        headers: { authorization: `Bearer ${token}`, [multipart[0]]: multipart[1] },
      })
      outgoing.on("error", () => undefined)
      outgoing.write(form([aPart({ bytes })]).subarray(0, bytes.length))
      yield* eventually(
        "what has come so far is on the disk",
        Effect.map(disk.spooledBytes, (spooled) => spooled > 19 * mebibyte),
      )
      outgoing.destroy()
      yield* eventually(
        "the temporary file is gone",
        Effect.map(disk.files, ({ temporary }) => temporary.length === 0),
      )
      assert.deepStrictEqual(yield* disk.files, before)
      const full = errorBody(yield* post(token, [aPart({ bytes: Buffer.alloc(limit) }), aPart()]))
      assert.strictEqual(full.code, "validation_failed")
      yield* upload(token, { bytes: Buffer.alloc(limit) })
    }),
  )

  it.effect("stores the same file however the body is cut into pieces", () =>
    Effect.gen(function* () {
      const { web } = yield* HttpTestClients
      const { token } = yield* aSender()
      // Full of texts like the beginning of a boundary.
      const bytes = Buffer.from(`\r\n--${boundary.slice(0, -1)}\r\n-\r\n--a`.repeat(50))
      const body = form([aPart({ bytes, fileName: "tricky – größe.bin" })])
      for (let round = 0; round < 40; round++) {
        const largest = yield* Random.nextIntBetween(1, round < 5 ? 3 : 200)
        const pieces: Array<Uint8Array> = []
        for (let at = 0; at < body.length;) {
          const size = yield* Random.nextIntBetween(1, largest + 1)
          pieces.push(body.subarray(at, at + size))
          at += size
        }
        const answer = yield* web.call({
          method: "POST",
          path,
          token,
          headers: [multipart],
          pieces,
        })
        const file = expectBody<FileBody>(answer, 201)
        assert.strictEqual(file.file_name, "tricky – größe.bin")
        assert.deepStrictEqual((yield* follow(file.url)).bytes, bytes)
      }
    }),
  )
})
