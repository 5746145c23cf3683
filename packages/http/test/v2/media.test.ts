import { assert, layer } from "@effect/vitest"
import { Outbox } from "@messaging-service/core/ports"
import { Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import { request as nodeRequest } from "node:http"
import { Disk } from "../Disk.ts"
import { Doors, errorOf } from "../Doors.ts"
import { layerService, publicUrl } from "../Service.ts"
import { aKey, aSender, bodyOf, operate, settle } from "../Records.ts"
import type { MessageBody, PageBody } from "../Records.ts"
import {
  aPart,
  boundary,
  follow,
  form,
  idOf,
  multipart,
  path,
  png,
  post,
  remove,
  sha256,
  upload,
} from "./Uploading.ts"
import type { FileBody, FormPart } from "./Uploading.ts"

const mebibyte = 1024 * 1024
const limit = 64 * mebibyte

const plan = (media_storage_bytes: number) => ({
  plan: {
    name: "Small",
    messages_remaining: null,
    reminders: true,
    qr_code_api: true,
    max_numbers: null,
    media_storage_bytes,
  },
})

const get = (token: string, at = path) =>
  Effect.flatMap(Doors, ({ socket }) => socket.call({ path: at, token }))

const list = (token: string, query = "") =>
  Effect.map(get(token, `${path}${query}`), (answer) => bodyOf<PageBody<FileBody>>(answer, 200))

const idsOf = (page: PageBody<FileBody>) => page.data.map(({ id }) => id)

const keyed = (key: string) => ({ headers: [["idempotency-key", key] as const] })

const refusal = (answer: Parameters<typeof errorOf>[0]) => {
  const { code, field } = errorOf(answer)
  return [answer.status, code, field] as const
}

const notAFile = [400, "validation_failed", "file"] as const

/** Lets everything else of the process run, sockets and files too. */
const aTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const eventually = (what: string, condition: Effect.Effect<boolean, never, Disk>) =>
  Effect.gen(function* () {
    for (let turns = 0; turns < 20_000; turns++) {
      if (yield* condition) return
      yield* aTurn
    }
    assert.fail(`never: ${what}`)
  })

layer(layerService())("the media directory", (it) => {
  it.effect("an upload answers 201 with the file, found from its content", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const answer = yield* post(token, [
        aPart({ fileName: "holiday.txt", contentType: "text/plain" }),
      ])
      const { url, ...file } = bodyOf<FileBody>(answer, 201)
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
      const shown = bodyOf<FileBody>(yield* get(token, `${path}/${file.id}`), 200)
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
        const { data } = bodyOf<PageBody<FileBody>>(yield* get(token, `${path}?type=${type}`), 200)
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
  ]
  for (const [given, kept] of names) {
    it.effect(`a file uploaded as ${given} is called ${kept}, and its link works`, () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const file = yield* upload(token, { fileName: given })
        assert.strictEqual(file.file_name, kept)
        assert.deepStrictEqual((yield* follow(file.url)).bytes, png)
      }),
    )
  }

  const wrongForms: ReadonlyArray<readonly [what: string, parts: ReadonlyArray<FormPart>]> = [
    ["missing", []],
    ["in another field", [aPart({ name: "media" })]],
    ["a plain field", [{ name: "file", fileName: null, bytes: "x" }]],
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
        const { socket } = yield* Doors
        const { token } = yield* aSender()
        const answer = yield* socket.call({
          method: "POST",
          path,
          token,
          headers: sent === null ? [] : [["content-type", sent]],
          body: form([aPart()]),
        })
        assert.strictEqual(answer.status, status, answer.text)
        if (status === 415) assert.strictEqual(errorOf(answer).code, "unsupported_content_type")
      }),
    )
  }

  it.effect("a file of 64 MiB is accepted, and one byte more is request_too_large", () =>
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

  for (const size of [limit + 200_000, 100 * mebibyte]) {
    it.effect(`${size} bytes are request_too_large, however the client sends them`, () =>
      Effect.gen(function* () {
        const { port, socket, web } = yield* Doors
        const { token } = yield* aSender()
        const body = form([aPart({ bytes: Buffer.alloc(size) })])
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
  }

  it.effect("a wrong Idempotency-Key comes before the content type, and that before the size", () =>
    Effect.gen(function* () {
      const { socket } = yield* Doors
      const { token } = yield* aSender()
      const call = { method: "POST", path, token, body: Buffer.alloc(limit + 200_000) }
      const json = ["content-type", "application/json"] as const
      const first = yield* socket.call({ ...call, headers: [json, ["idempotency-key", ""]] })
      assert.strictEqual(errorOf(first).code, "invalid_idempotency_key")
      const second = yield* socket.call({ ...call, headers: [json] })
      assert.strictEqual(errorOf(second).code, "unsupported_content_type")
    }),
  )

  it.effect("a file that just fits is accepted, the next one is storage_full", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender({ workspace: plan(1000) })
      yield* upload(token, { bytes: Buffer.alloc(600) })
      const last = yield* upload(token, { bytes: Buffer.alloc(400) })
      const answer = yield* post(token, [aPart({ bytes: "x" })])
      assert.strictEqual(answer.status, 403)
      const { code, field, limit: room, used } = errorOf(answer)
      assert.deepStrictEqual([code, field, used, room], ["storage_full", null, 1000, 1000])
      assert.lengthOf((yield* list(token)).data, 2)
      yield* remove(token, last.id)
      const tooBig = errorOf(yield* post(token, [aPart({ bytes: Buffer.alloc(401) })]))
      assert.deepStrictEqual([tooBig["used"], tooBig["limit"]], [600, 1000])
      // The plan's storage is shared by both worlds of the workspace.
      const test = yield* aKey(workspace, { mode: "test" })
      yield* upload(test.key, { bytes: Buffer.alloc(400) })
      assert.strictEqual(errorOf(yield* post(token, [aPart()])).code, "storage_full")
    }),
  )

  it.effect("a workspace without a plan has no storage", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender({ workspace: { plan: null } })
      const { code, limit: room, used } = errorOf(yield* post(token, [aPart()]))
      assert.deepStrictEqual([code, used, room], ["storage_full", 0, 0])
    }),
  )

  it.effect("uploads and deletions at once are counted to the byte", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender({ workspace: plan(10_000) })
      const doomed = yield* Effect.replicateEffect(upload(token, { bytes: Buffer.alloc(500) }), 5)
      const sizes = Array.from({ length: 20 }, (_, index) => 300 + index * 37)
      const [answers] = yield* Effect.all(
        [
          Effect.forEach(sizes, (size) => post(token, [aPart({ bytes: Buffer.alloc(size) })]), {
            concurrency: "unbounded",
          }),
          Effect.forEach(doomed, ({ id }) => remove(token, id), { concurrency: "unbounded" }),
        ],
        { concurrency: "unbounded" },
      )
      for (const answer of answers) assert.include([201, 403], answer.status)
      const used = (yield* list(token)).data.reduce((sum, { size }) => sum + size, 0)
      const full = errorOf(yield* post(token, [aPart({ bytes: Buffer.alloc(10_001) })]))
      assert.strictEqual(full["used"], used)
      yield* upload(token, { bytes: Buffer.alloc(10_000 - used) })
    }),
  )

  it.effect("a deleted file is gone: from the directory, from the disk, behind its link", () =>
    Effect.gen(function* () {
      const disk = yield* Disk
      const { token } = yield* aSender()
      const before = yield* disk.files
      const file = yield* upload(token)
      assert.lengthOf((yield* disk.files).kept, before.kept.length + 1)
      const deleted = yield* remove(token, file.id)
      assert.deepStrictEqual(bodyOf(deleted, 200), { id: file.id, deleted: true })
      assert.deepStrictEqual(yield* disk.files, before)
      assert.strictEqual((yield* follow(file.url)).status, 404)
      for (const answer of [
        yield* get(token, `${path}/${file.id}`),
        yield* remove(token, file.id),
        yield* get(token, `${path}/nonsense`),
      ]) {
        assert.deepStrictEqual(refusal(answer), [404, "media_not_found", null])
      }
    }),
  )

  it.effect("each mode and each workspace has its own directory, and the scope is media", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const test = (yield* aKey(workspace, { mode: "test" })).key
      const foreign = (yield* aSender()).token
      const file = yield* upload(token)
      for (const other of [test, foreign]) {
        assert.deepStrictEqual((yield* list(other)).data, [])
        assert.strictEqual((yield* get(other, `${path}/${file.id}`)).status, 404)
        assert.strictEqual((yield* remove(other, file.id)).status, 404)
      }
      const without = (yield* aKey(workspace, { scopes: ["messages:send", "contacts"] })).key
      const answer = yield* post(without, [aPart()])
      assert.strictEqual(answer.status, 403)
      assert.strictEqual(errorOf(answer)["required_scope"], "media")
    }),
  )

  it.effect("the list is paged newest first, and filtered by type", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const image = { bytes: png }
      const other = { bytes: "text", fileName: "a.txt" }
      const ids: Array<number> = []
      for (const part of [image, other, image, image, other]) {
        ids.unshift((yield* upload(token, part)).id)
      }
      const [e, d, c, b, a] = ids
      assert.deepStrictEqual(idsOf(yield* list(token)), ids)
      assert.deepStrictEqual(idsOf(yield* list(token, "?type=file")), [e, b])
      const first = yield* list(token, "?type=image&limit=2")
      assert.deepStrictEqual(idsOf(first), [d, c])
      const next = `&cursor=${first.next_cursor}`
      const second = yield* list(token, `?type=image&limit=1${next}`)
      assert.deepStrictEqual([idsOf(second), second.next_cursor], [[a], null])
      for (const [query, code] of [
        [`?type=file${next}`, "invalid_cursor"],
        [`?cursor=${first.next_cursor}`, "invalid_cursor"],
        ["?type=video", "validation_failed"],
        ["?type=", "validation_failed"],
        ["?type=file&type=file", "validation_failed"],
        ["?name=x", "validation_failed"],
        ["?limit=0", "validation_failed"],
      ]) {
        assert.strictEqual(errorOf(yield* get(token, `${path}${query}`)).code, code, query)
      }
    }),
  )

  it.effect("an upload that is cut off leaves nothing behind, and was never in memory whole", () =>
    Effect.gen(function* () {
      const disk = yield* Disk
      const { port } = yield* Doors
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
      const full = errorOf(yield* post(token, [aPart({ bytes: Buffer.alloc(limit) }), aPart()]))
      assert.strictEqual(full.code, "validation_failed")
      yield* upload(token, { bytes: Buffer.alloc(limit) })
    }),
  )

  it.effect("however the body is cut into pieces, the same file arrives", () =>
    Effect.gen(function* () {
      const { web } = yield* Doors
      const { token } = yield* aSender()
      // Full of what looks like the beginning of a boundary.
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
        const file = bodyOf<FileBody>(answer, 201)
        assert.strictEqual(file.file_name, "tricky – größe.bin")
        assert.deepStrictEqual((yield* follow(file.url)).bytes, bytes)
      }
    }),
  )
})

layer(layerService())("an idempotent upload", (it) => {
  it.effect("a repeat shows the first answer with a fresh link, and keeps nothing twice", () =>
    Effect.gen(function* () {
      const disk = yield* Disk
      const { token } = yield* aSender({ workspace: plan(png.length) })
      const first = bodyOf<FileBody>(yield* post(token, [aPart()], keyed("k")), 201)
      const kept = yield* disk.files
      yield* TestClock.adjust("23 hours")
      // The storage is full by now: a repeat does not ask for room.
      const repeat = yield* post(token, [aPart({ contentType: "image/png" })], keyed("k"))
      assert.strictEqual(repeat.headers["idempotent-replayed"], "true")
      const again = bodyOf<FileBody>(repeat, 201)
      assert.deepStrictEqual({ ...again, url: "" }, { ...first, url: "" })
      assert.notStrictEqual(again.url, first.url)
      assert.deepStrictEqual(yield* disk.files, kept)
      assert.lengthOf((yield* list(token)).data, 1)
      yield* TestClock.adjust("4 hours")
      assert.strictEqual((yield* follow(first.url)).status, 404)
      assert.deepStrictEqual((yield* follow(again.url)).bytes, png)
    }),
  )

  it.effect("another content or name with the same key is idempotency_key_reused", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      yield* post(token, [aPart()], keyed("k"))
      for (const part of [aPart({ bytes: "other" }), aPart({ fileName: "other.png" })]) {
        const answer = yield* post(token, [part], keyed("k"))
        assert.deepStrictEqual(refusal(answer), [422, "idempotency_key_reused", null])
      }
      assert.lengthOf((yield* list(token)).data, 1)
    }),
  )

  it.effect("a refused upload frees the key", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender({ workspace: plan(100) })
      const held = yield* upload(token, { bytes: Buffer.alloc(100) })
      const refused = yield* post(token, [aPart()], keyed("k"))
      assert.strictEqual(errorOf(refused).code, "storage_full")
      yield* remove(token, held.id)
      const answer = yield* post(token, [aPart({ bytes: "smaller" })], keyed("k"))
      assert.strictEqual(answer.status, 201)
      assert.notProperty(answer.headers, "idempotent-replayed")
    }),
  )

  it.effect("a repeat after the file was deleted still shows the first answer", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const id = idOf(yield* post(token, [aPart()], keyed("k")))
      yield* remove(token, id)
      const repeat = yield* post(token, [aPart()], keyed("k"))
      assert.strictEqual(idOf(repeat), id)
      assert.strictEqual((yield* get(token, `${path}/${id}`)).status, 404)
    }),
  )

  it.effect("of many at once one is kept; the others repeat it or are told to wait", () =>
    Effect.gen(function* () {
      const disk = yield* Disk
      const before = (yield* disk.files).kept.length
      const { token } = yield* aSender()
      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => post(token, [aPart()], keyed("k"))),
        { concurrency: "unbounded" },
      )
      const [file] = (yield* list(token)).data
      assert.lengthOf((yield* list(token)).data, 1)
      for (const answer of answers) {
        if (answer.status === 201) assert.strictEqual(idOf(answer), file?.id)
        else assert.deepStrictEqual(refusal(answer), [409, "idempotency_in_progress", null])
      }
      assert.deepStrictEqual(
        [(yield* disk.files).kept.length, (yield* disk.files).temporary],
        [before + 1, []],
      )
    }),
  )
})

layer(layerService())("a link to a stored file", (it) => {
  it.effect("works without a key for 26 hours, and is fresh in each answer", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const file = yield* upload(token)
      yield* TestClock.adjust("25 hours")
      const fresh = bodyOf<FileBody>(yield* get(token, `${path}/${file.id}`), 200).url
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

  it.effect("that was forged is not_found", () =>
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

  it.effect("shows a picture as itself, in a page that asks for it", () =>
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
    it.effect(`hands over ${what} as an attachment, ${contentType}`, () =>
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

  it.effect("gives a part of the file when one is asked for", () =>
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

layer(layerService())("a message with a stored file", (it) => {
  const send = (token: string, fields: Readonly<Record<string, unknown>>) =>
    Effect.flatMap(Doors, ({ socket }) =>
      Effect.map(
        socket.call({
          method: "POST",
          path: "/api/v2/messages",
          token,
          json: { to: { phone: "+15550001234" }, ...fields },
        }),
        (answer) => bodyOf<MessageBody>(answer, 202),
      ),
    )

  const message = (token: string, id: number) =>
    Effect.map(get(token, `/api/v2/messages/${id}`), (answer) => bodyOf<MessageBody>(answer, 200))

  it.effect("shows it by a link in answers and in its event, where it works for 26 hours", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender()
      const file = yield* upload(token)
      const accepted = yield* send(token, { media: { media_id: file.id } })
      const { url, ...media } = accepted["media"] as { readonly url: string }
      assert.deepStrictEqual<unknown>(media, {
        media_id: file.id,
        type: "image",
        file_name: "photo.png",
      })
      assert.deepStrictEqual((yield* follow(url)).bytes, png)

      yield* settle
      assert.strictEqual((yield* message(token, accepted.id)).status, "sent")
      const sent = yield* operate({ path: `/admin/v1/simulator/sent?number_id=${number.id}` })
      const [copy] = bodyOf<PageBody<{ readonly media: unknown }>>(sent, 200).data
      assert.deepStrictEqual<unknown>(copy?.media, {
        file_name: "photo.png",
        mime_type: "image/png",
        size: png.length,
        sha256: sha256(png),
      })

      const events = yield* Outbox.use((outbox) => outbox.read(0, 1000))
      const event = events.find(
        ({ messageId, type }) => messageId === accepted.id && type === "message.sent",
      )
      const { data } = JSON.parse(event?.body ?? "") as {
        readonly data: { readonly message: { readonly media: { readonly url: string } } }
      }
      yield* TestClock.adjust("25 hours")
      yield* TestClock.adjust("59 minutes")
      assert.deepStrictEqual((yield* follow(data.message.media.url)).bytes, png)
    }),
  )

  it.effect("that is no image although the send says so fails it with media_unavailable", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const file = yield* upload(token, {
        bytes: "<svg xmlns='http://www.w3.org/2000/svg'/>",
        fileName: "drawing.svg",
      })
      const asked = { media_id: file.id }
      const { id } = yield* send(token, { media: { ...asked, type: "image" } })
      const fine = yield* send(token, { media: asked })
      yield* settle
      const failed = yield* message(token, id)
      assert.deepInclude(failed["error"], { code: "media_unavailable" })
      assert.strictEqual((yield* message(token, fine.id)).status, "sent")
    }),
  )

  it.effect("that is deleted while the message waits fails it with media_unavailable", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const file = yield* upload(token)
      const { id } = yield* send(token, {
        media: { media_id: file.id },
        send_at: "2030-01-01T00:00:00Z",
      })
      yield* remove(token, file.id)
      assert.strictEqual((yield* message(token, id)).status, "scheduled")
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      yield* settle
      const failed = yield* message(token, id)
      assert.strictEqual(failed.status, "failed")
      assert.strictEqual((failed["error"] as { readonly code: string }).code, "media_unavailable")
    }),
  )

  it.effect("of the other mode or another workspace is media_not_found, 422", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const foreign = yield* upload((yield* aSender()).token)
      const test = yield* upload((yield* aKey(workspace, { mode: "test" })).key)
      const deleted = yield* upload(token)
      yield* remove(token, deleted.id)
      for (const { id } of [foreign, test, deleted]) {
        const { socket } = yield* Doors
        const answer = yield* socket.call({
          method: "POST",
          path: "/api/v2/messages",
          token,
          json: { to: { phone: "+15550001234" }, media: { media_id: id } },
        })
        assert.deepStrictEqual(refusal(answer), [422, "media_not_found", "media.media_id"])
      }
    }),
  )
})
