/** Answers of the operations on the media directory (contract: Version 1: media). */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { aPlan } from "../../Records.ts"
import { layerService } from "../../Service.ts"
import { png } from "../../v2/Uploading.ts"
import { aClient, request, call, kinds, assertRefusedV1, withFile } from "../Asking.ts"
import { says } from "./Cases.ts"

says("version 1 refuses uploads and queries about files", [
  { operation: "media/upload/", fields: {}, message: "File cant be null" },

  { operation: "media/list/", fields: { page: 0 }, message: "Invalid page" },
  { operation: "media/list/", fields: { page: "last" }, message: "Invalid page" },
  { operation: "media/list/", fields: { limit: 0 }, message: "Invalid limit" },
  { operation: "media/list/", fields: { limit: -5 }, message: "Invalid limit" },
  { operation: "media/list/", fields: { limit: "all" }, message: "Invalid limit" },
  { operation: "media/list/", fields: { file_type: "video" }, message: "Invalid file_type" },
  { operation: "media/list/", fields: { file_type: 1 }, message: "Invalid file_type" },

  { operation: "media/delete/", fields: {}, message: "Invalid media id" },
  { operation: "media/delete/", fields: { media_id: "" }, message: "Invalid media id" },
  { operation: "media/delete/", fields: { media_id: "first" }, message: "Invalid media id" },
  { operation: "media/delete/", fields: { media_id: 0 }, message: "Invalid media id" },
  { operation: "media/delete/", fields: { media_id: -1 }, message: "Invalid media id" },
  { operation: "media/delete/", fields: { media_id: 999_999_999 }, message: "Invalid media id" },
])

layer(layerService())("an upload that is", (it) => {
  const uploads = [
    ["empty", [{ bytes: "" }], "File cant be null"],
    ["in another part", [{ name: "photo" }], "File cant be null"],
    ["two files", [{}, {}], "Only one file can be sent"],
    ["two files under its two names", [{}, { name: "media_file" }], "Only one file can be sent"],
    ["under a name with nothing in it", [{ fileName: "a/" }], "Invalid file name"],
    ["under a name of 256 characters", [{ fileName: "x".repeat(256) }], "Invalid file name"],
  ] as const
  it.effect("a text in JSON or a plain form", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const fields = { ...credentials, file: "photo.png" }
      for (const kind of kinds.filter((one) => one !== "multipart")) {
        assertRefusedV1(yield* request("media/upload/", fields, kind), 400, "File cant be null")
      }
    }),
  )

  it.effect.each(uploads)("%s", ([, files, message]) =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      assertRefusedV1(
        yield* call("media/upload/", withFile({ ...credentials }, files)),
        400,
        message,
      )
    }),
  )

  it.effect("more than the plan's storage has room for", () =>
    Effect.gen(function* () {
      const plan = aPlan({ media_storage_bytes: png.length })
      const { credentials } = yield* aClient({ workspace: { plan } })
      const upload = call("media/upload/", withFile({ ...credentials }, [{}]))
      assert.strictEqual((yield* upload).status, 200)
      assertRefusedV1(yield* upload, 400, "Media storage is full")
    }),
  )

  it.effect("more than 64 MiB", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const bytes = Buffer.alloc(64 * 1024 * 1024 + 1)
      const answer = yield* call("media/upload/", withFile({ ...credentials }, [{ bytes }]))
      assertRefusedV1(answer, 413, "Request too large")
    }),
  )
})
