/** The media directory: its storage, lists, repeats, and messages with its files. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Disk } from "../Disk.ts"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aKey, aSender, expectBody, operate, settle } from "../Records.ts"
import type { MessageBody, PageBody } from "../Records.ts"
import {
  aPart,
  follow,
  getId,
  path,
  png,
  post,
  remove,
  sha256,
  upload,
  plan,
  list,
  toIds,
  keyed,
  refusal,
} from "./Uploading.ts"
import { get } from "./Asking.ts"
import type { FileBody } from "./Uploading.ts"
import { Store } from "@messaging-service/core"

layer(layerService())("the media directory", (it) => {
  it.effect("accepts a file that just fits, and answers the next one storage_full", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender({ workspace: plan(1000) })
      yield* upload(token, { bytes: Buffer.alloc(600) })
      const last = yield* upload(token, { bytes: Buffer.alloc(400) })
      const answer = yield* post(token, [aPart({ bytes: "x" })])
      assert.strictEqual(answer.status, 403)
      const { code, field, limit: room, used } = errorBody(answer)
      assert.deepStrictEqual([code, field, used, room], ["storage_full", null, 1000, 1000])
      assert.lengthOf((yield* list(token)).data, 2)
      yield* remove(token, last.id)
      const tooBig = errorBody(yield* post(token, [aPart({ bytes: Buffer.alloc(401) })]))
      assert.deepStrictEqual([tooBig["used"], tooBig["limit"]], [600, 1000])
      // Both modes of the workspace share the plan's storage.
      const test = yield* aKey(workspace, { mode: "test" })
      yield* upload(test.key, { bytes: Buffer.alloc(400) })
      assert.strictEqual(errorBody(yield* post(token, [aPart()])).code, "storage_full")
    }),
  )

  it.effect("has no storage in a workspace without a plan", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender({ workspace: { plan: null } })
      const { code, limit: room, used } = errorBody(yield* post(token, [aPart()]))
      assert.deepStrictEqual([code, used, room], ["storage_full", 0, 0])
    }),
  )

  it.effect("counts concurrent uploads and deletions to the byte", () =>
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
      const full = errorBody(yield* post(token, [aPart({ bytes: Buffer.alloc(10_001) })]))
      assert.strictEqual(full["used"], used)
      yield* upload(token, { bytes: Buffer.alloc(10_000 - used) })
    }),
  )

  it.effect("removes a deleted file from the directory, the disk and its link", () =>
    Effect.gen(function* () {
      const disk = yield* Disk
      const { token } = yield* aSender()
      const before = yield* disk.files
      const file = yield* upload(token)
      assert.lengthOf((yield* disk.files).stored, before.stored.length + 1)
      const deleted = yield* remove(token, file.id)
      assert.deepStrictEqual(expectBody(deleted, 200), { id: file.id, deleted: true })
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

  it.effect("is separate for each mode and workspace, and has the scope media", () =>
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
      assert.strictEqual(errorBody(answer)["required_scope"], "media")
    }),
  )

  it.effect("pages its list newest first, filtered by type", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const image = { bytes: png }
      const other = { bytes: "text", fileName: "a.txt" }
      const ids: Array<number> = []
      for (const part of [image, other, image, image, other]) {
        ids.unshift((yield* upload(token, part)).id)
      }
      const [e, d, c, b, a] = ids
      assert.deepStrictEqual(toIds(yield* list(token)), ids)
      assert.deepStrictEqual(toIds(yield* list(token, "?type=file")), [e, b])
      const first = yield* list(token, "?type=image&limit=2")
      assert.deepStrictEqual(toIds(first), [d, c])
      const next = `&cursor=${first.next_cursor}`
      const second = yield* list(token, `?type=image&limit=1${next}`)
      assert.deepStrictEqual([toIds(second), second.next_cursor], [[a], null])
      for (const [query, code] of [
        [`?type=file${next}`, "invalid_cursor"],
        [`?cursor=${first.next_cursor}`, "invalid_cursor"],
        ["?type=video", "validation_failed"],
        ["?type=", "validation_failed"],
        ["?type=file&type=file", "validation_failed"],
        ["?name=x", "validation_failed"],
        ["?limit=0", "validation_failed"],
      ]) {
        assert.strictEqual(errorBody(yield* get(token, `${path}${query}`)).code, code, query)
      }
    }),
  )
})

layer(layerService())("an idempotent upload", (it) => {
  it.effect("a repeat shows the first answer with a fresh link, and stores nothing twice", () =>
    Effect.gen(function* () {
      const disk = yield* Disk
      const { token } = yield* aSender({ workspace: plan(png.length) })
      const first = expectBody<FileBody>(yield* post(token, [aPart()], keyed("k")), 201)
      const stored = yield* disk.files
      yield* TestClock.adjust("23 hours")
      // The storage is full by now: a repeat takes none.
      const repeat = yield* post(token, [aPart({ contentType: "image/png" })], keyed("k"))
      assert.strictEqual(repeat.headers["idempotent-replayed"], "true")
      const again = expectBody<FileBody>(repeat, 201)
      assert.deepStrictEqual({ ...again, url: "" }, { ...first, url: "" })
      assert.notStrictEqual(again.url, first.url)
      assert.deepStrictEqual(yield* disk.files, stored)
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
      assert.strictEqual(errorBody(refused).code, "storage_full")
      yield* remove(token, held.id)
      const answer = yield* post(token, [aPart({ bytes: "smaller" })], keyed("k"))
      assert.strictEqual(answer.status, 201)
      assert.notProperty(answer.headers, "idempotent-replayed")
    }),
  )

  it.effect("a repeat after the file was deleted still shows the first answer", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const id = getId(yield* post(token, [aPart()], keyed("k")))
      yield* remove(token, id)
      const repeat = yield* post(token, [aPart()], keyed("k"))
      assert.strictEqual(getId(repeat), id)
      assert.strictEqual((yield* get(token, `${path}/${id}`)).status, 404)
    }),
  )

  it.effect("keeps one of many concurrent uploads; the others repeat it or have to wait", () =>
    Effect.gen(function* () {
      const disk = yield* Disk
      const before = (yield* disk.files).stored.length
      const { token } = yield* aSender()
      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => post(token, [aPart()], keyed("k"))),
        { concurrency: "unbounded" },
      )
      const [file] = (yield* list(token)).data
      assert.lengthOf((yield* list(token)).data, 1)
      for (const answer of answers) {
        if (answer.status === 201) assert.strictEqual(getId(answer), file?.id)
        else assert.deepStrictEqual(refusal(answer), [409, "idempotency_in_progress", null])
      }
      assert.deepStrictEqual(
        [(yield* disk.files).stored.length, (yield* disk.files).temporary],
        [before + 1, []],
      )
    }),
  )
})

layer(layerService())("a message with a stored file", (it) => {
  const send = (token: string, fields: Readonly<Record<string, unknown>>) =>
    Effect.flatMap(HttpTestClients, ({ socket }) =>
      Effect.map(
        socket.call({
          method: "POST",
          path: "/api/v2/messages",
          token,
          json: { to: { phone: "+15550001234" }, ...fields },
        }),
        (answer) => expectBody<MessageBody>(answer, 202),
      ),
    )

  const message = (token: string, id: number) =>
    Effect.map(get(token, `/api/v2/messages/${id}`), (answer) =>
      expectBody<MessageBody>(answer, 200),
    )

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
      const [copy] = expectBody<PageBody<{ readonly media: unknown }>>(sent, 200).data
      const { url: link = "", ...shown } = (copy?.media ?? {}) as { readonly url?: string }
      assert.match(link, /\/media\/[\w-]+\/photo\.png$/)
      assert.deepStrictEqual<unknown>(shown, {
        file_name: "photo.png",
        mime_type: "image/png",
        size: png.length,
        sha256: sha256(png),
      })

      const events = yield* Store.use(({ webhooks: outbox }) => outbox.readEvents(0, 1000))
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

  it.effect("fails with media_unavailable when it is no image although the send says so", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const file = yield* upload(token, {
        bytes: "<svg xmlns='http://www.w3.org/2000/svg'/>",
        fileName: "drawing.svg",
      })
      const request = { media_id: file.id }
      const { id } = yield* send(token, { media: { ...request, type: "image" } })
      const fine = yield* send(token, { media: request })
      yield* settle
      const failed = yield* message(token, id)
      assert.deepInclude(failed["error"], { code: "media_unavailable" })
      assert.strictEqual((yield* message(token, fine.id)).status, "sent")
    }),
  )

  it.effect("fails with media_unavailable when it is deleted while the message waits", () =>
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

  it.effect("shows no link to a deleted file, in messages and in later events", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const file = yield* upload(token)
      const media = { media_id: file.id, type: "image", file_name: "photo.png" }
      const sends = (fields: Readonly<Record<string, unknown>>) =>
        send(token, { media: { media_id: file.id }, ...fields })
      const sent = yield* sends({})
      yield* settle
      const late = yield* sends({ send_at: "2031-01-01T00:00:00Z" })
      const cancelled = yield* sends({ send_at: "2032-01-01T00:00:00Z" })
      yield* remove(token, file.id)
      const gone = { ...media, url: null }
      assert.deepStrictEqual<unknown>((yield* message(token, sent.id))["media"], gone)
      const page = expectBody<PageBody<MessageBody>>(yield* get(token, "/api/v2/messages"), 200)
      assert.deepStrictEqual<unknown>(
        page.data.map((each) => each["media"]),
        page.data.map(() => gone),
      )
      const path = `/api/v2/messages/${cancelled.id}`
      const { socket } = yield* HttpTestClients
      const answer = yield* socket.call({ method: "DELETE", path, token })
      assert.deepStrictEqual<unknown>(expectBody<MessageBody>(answer, 200)["media"], gone)
      yield* TestClock.setTime(Date.UTC(2031, 0, 1))
      yield* settle
      const events = yield* Store.use(({ webhooks: outbox }) => outbox.readEvents(0, 1000))
      for (const [{ id }, type] of [
        [late, "message.failed"],
        [cancelled, "message.cancelled"],
      ] as const) {
        const event = events.find((each) => each.messageId === id)
        assert.strictEqual(event?.type, type)
        assert.deepStrictEqual(JSON.parse(event?.body ?? "").data.message.media, gone)
      }
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
        const { socket } = yield* HttpTestClients
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
