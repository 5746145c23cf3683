/** The operations of version 1 on the media directory (contract: Version 1: media). */
import {
  MediaDirectory,
  MediaLinks,
  Version1Lists,
  described,
  formatInstant,
  mediaTypes,
  offsetOfPage,
} from "@messaging-service/core"
import type { MediaFile, MediaId } from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { failV1 } from "./FailureV1.ts"
import {
  file,
  idOf,
  integer,
  limitField,
  limitOf,
  oneOf,
  pageField,
  pageOf,
  string,
} from "./FieldsV1.ts"
import { DateTime, DoneAnswer, done, routeV1, succeeded, successV1 } from "./RouteV1.ts"

const FileV1 = Schema.Struct({
  id: described(Schema.Int, "The `media_id` of version 2."),
  file_name: Schema.String,
  file_url: described(
    Schema.String,
    "Works for 26 hours from the answer on; two answers within a second may carry the same one.",
  ),
  file_type: Schema.Literals(mediaTypes),
  file_size: described(Schema.Int, "Bytes."),
  mime_type: described(Schema.String, "Found from the content."),
  created_at: DateTime,
}).annotate({ identifier: "MediaFileV1" })

const limits = { otherwise: 20, most: 100 }

export const mediaRoutes = Effect.gen(function* () {
  const directory = yield* MediaDirectory
  const lists = yield* Version1Lists
  const { link } = yield* MediaLinks

  const shown = Effect.map(
    Clock.currentTimeMillis,
    (now) =>
      (record: MediaFile): typeof FileV1.Type => ({
        id: record.id,
        file_name: record.fileName,
        file_url: link(record.id, record.fileName, now),
        file_type: record.type,
        file_size: record.size,
        mime_type: record.mimeType,
        created_at: formatInstant(record.createdAt),
      }),
  )

  return [
    routeV1("POST /api/v1/media/upload", {
      summary: "Put a file into the media directory",
      fields: {
        file: file("The file, in a multipart form; at most 64 MiB."),
        media_file: file("Another name of `file`."),
      },
      answer: successV1({ message: Schema.String, data: FileV1 }),
      handler: Effect.fnUntraced(function* ({ caller, file: uploaded }) {
        if (uploaded === null) return yield* failV1("no_upload")
        const { content, fileName } = uploaded
        if (fileName === null) return yield* failV1("invalid_file_name")
        const { answer } = yield* directory.upload(caller, { content, fileName }, null)
        return { status: succeeded, message: "Media uploaded", data: (yield* shown)(answer) }
      }),
    }),
    routeV1("POST /api/v1/media/list", {
      summary: "Files of the media directory",
      fields: {
        page: pageField,
        limit: limitField(limits),
        file_type: string("`image` or `file`; both when left out."),
      },
      example: { limit: 50, file_type: "image" },
      answer: successV1({
        data: Schema.Struct({
          total_count: described(Schema.Int, "Of all pages."),
          page: Schema.Int,
          limit: Schema.Int,
          media_files: described(Schema.Array(FileV1), "Newest first."),
        }),
      }),
      handler: Effect.fnUntraced(function* ({ caller, fields }) {
        const page = yield* Effect.fromResult(pageOf(fields.page))
        const limit = yield* Effect.fromResult(limitOf(fields.limit, limits))
        const type = yield* Effect.fromResult(
          oneOf(fields.file_type, mediaTypes, "invalid_file_type"),
        )
        const { items, total } = yield* lists.media(caller, type, offsetOfPage(page, limit))
        return {
          status: succeeded,
          data: { total_count: total, page, limit, media_files: items.map(yield* shown) },
        }
      }),
    }),
    routeV1("POST /api/v1/media/delete", {
      summary: "Delete a file of the media directory",
      fields: { media_id: integer("The file's id.", { required: true }) },
      example: { media_id: 8 },
      answer: DoneAnswer,
      handler: ({ caller, fields }) =>
        Effect.as(directory.delete(caller, idOf<MediaId>(fields.media_id)), done("Media deleted")),
    }),
  ]
})
