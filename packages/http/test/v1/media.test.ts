/** The media directory shared by version 1 and version 2. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerService } from "../Service.ts"
import { aKey } from "../Records.ts"
import type { PageBody } from "../Records.ts"
import { get } from "../v2/Asking.ts"
import { follow, path, png, remove, upload } from "../v2/Uploading.ts"
import type { FileBody, FormPart } from "../v2/Uploading.ts"
import { aClient, answered, request, call, kinds, assertRefusedV1, withFile } from "./Asking.ts"
import type { Client, Fields } from "./Asking.ts"

interface FileV1 {
  readonly id: number
  readonly file_name: string
  readonly file_url: string
  readonly [field: string]: unknown
}

interface ListV1 {
  readonly status: 1
  readonly data: {
    readonly total_count: number
    readonly page: number
    readonly limit: number
    readonly media_files: ReadonlyArray<FileV1>
  }
}

const uploads = ({ credentials }: Client, overrides: Partial<FormPart> = {}) =>
  Effect.map(
    call("media/upload/", withFile({ ...credentials }, [overrides])),
    (answer) => answered<{ readonly data: FileV1 }>(answer).data,
  )

const list = ({ credentials }: Client, fields: Fields = {}) =>
  Effect.map(
    request("media/list/", { ...credentials, ...fields }),
    (answer) => answered<ListV1>(answer).data,
  )

const ids = (files: ReadonlyArray<{ readonly id: number }>) => files.map(({ id }) => id)

layer(layerService())("media/upload/", (it) => {
  it.effect.each(["", " \t"])("names a part `file` with the file name %j `file`", (fileName) =>
    Effect.gen(function* () {
      const client = yield* aClient()
      assert.strictEqual((yield* uploads(client, { name: "file", fileName })).file_name, "file")
    }),
  )

  it.effect.each(["file", "media_file"])("takes the file in the part %s", (name) =>
    Effect.gen(function* () {
      const { credentials, workspace } = yield* aClient()
      const answer = yield* call("media/upload/", withFile({ ...credentials }, [{ name }]))
      const body = answered<{ readonly message: string; readonly data: FileV1 }>(answer)
      const { file_url, id } = body.data
      assert.deepStrictEqual<unknown>(body, {
        status: 1,
        message: "Media uploaded",
        data: {
          id,
          file_name: "photo.png",
          file_url,
          file_type: "image",
          file_size: png.length,
          mime_type: "image/png",
          created_at: "1970-01-01T00:00:00Z",
        },
      })
      assert.deepStrictEqual((yield* follow(file_url)).bytes, png)
      const { key } = yield* aKey(workspace)
      const read = answered<FileBody>(yield* get(key, `${path}/${id}`))
      assert.deepStrictEqual(
        [read.file_name, read.type, read.size],
        ["photo.png", "image", png.length],
      )
    }),
  )

  it.effect("detects type and MIME type from the content", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const file = yield* uploads(client, { fileName: "photo.png", bytes: "plain words" })
      assert.deepStrictEqual(
        [file["file_type"], file["mime_type"]],
        ["file", "application/octet-stream"],
      )
    }),
  )
})

layer(layerService())("media/list/", (it) => {
  it.effect("shows both versions' uploads, newest first, page by page with the total", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const { key } = yield* aKey(client.workspace)
      const created = [
        (yield* uploads(client)).id,
        (yield* upload(key)).id,
        (yield* uploads(client, { bytes: "words" })).id,
      ].toReversed()
      yield* upload((yield* aKey(client.workspace, { mode: "test" })).key)
      const all = yield* list(client)
      assert.deepStrictEqual([all.total_count, all.page, all.limit], [3, 1, 20])
      assert.deepStrictEqual(ids(all.media_files), created)
      const second = yield* list(client, { page: 2, limit: 2 })
      assert.deepStrictEqual<unknown>(
        { ...second, media_files: ids(second.media_files) },
        { total_count: 3, page: 2, limit: 2, media_files: created.slice(2) },
      )
      const beyond = yield* list(client, { page: 9 })
      assert.deepStrictEqual([beyond.total_count, beyond.media_files], [3, []])
      const images = yield* list(client, { file_type: "image" })
      assert.deepStrictEqual([images.total_count, ids(images.media_files)], [2, created.slice(1)])
      assert.strictEqual((yield* list(client, { file_type: "file" })).total_count, 1)
      const read = answered<PageBody<FileBody>>(yield* get(key, path))
      assert.deepStrictEqual(ids(read.data), created)
    }),
  )

  it.effect.each(kinds)("accepts its numbers in %s", (kind) =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const fields = { ...client.credentials, page: "2", limit: "1000", nonsense: "ignored" }
      const { data } = answered<ListV1>(yield* request("media/list", fields, kind))
      // "limit (20, at most 100)"
      assert.deepStrictEqual(data, { total_count: 0, page: 2, limit: 100, media_files: [] })
    }),
  )
})

layer(layerService())("media/delete/", (it) => {
  it.effect("deletes for version 2 too, whichever version uploaded it", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const { credentials, workspace } = client
      const { key } = yield* aKey(workspace)
      for (const id of [(yield* uploads(client)).id, (yield* upload(key)).id]) {
        const fields = { ...credentials, media_id: String(id) }
        assert.deepStrictEqual(answered(yield* request("media/delete/", fields, "form")), {
          status: 1,
          message: "Media deleted",
        })
        assert.strictEqual((yield* get(key, `${path}/${id}`)).status, 404)
        assertRefusedV1(yield* request("media/delete/", fields), 400, "Invalid media id")
      }
      const third = yield* uploads(client)
      yield* remove(key, third.id)
      assert.strictEqual((yield* list(client)).total_count, 0)
    }),
  )

  it.effect("ignores files of another workspace", () =>
    Effect.gen(function* () {
      const owner = yield* aClient()
      const { id } = yield* uploads(owner)
      const { credentials } = yield* aClient()
      const answer = yield* request("media/delete/", { ...credentials, media_id: id })
      assertRefusedV1(answer, 400, "Invalid media id")
      assert.strictEqual((yield* list(owner)).total_count, 1)
    }),
  )
})
