/** The media directory of version 2 (contract: Media). */
import {
  IdJson,
  MediaDirectory,
  MediaLinks,
  MediaQuery,
  TimeJson,
  described,
  formatInstant,
  mediaTypes,
} from "@messaging-service/core"
import type { ListMedia, MediaFile } from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import type { Refused } from "../openapi/Operation.ts"
import {
  asCommand,
  bodyOf,
  deleted,
  DeletedJson,
  file,
  pageOf,
  query,
  shownAnswer,
  shownPage,
} from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"

const MediaFileJson = Schema.Struct({
  id: described(IdJson, "The `media_id` of a message."),
  file_name: Schema.String,
  type: Schema.Literals(mediaTypes),
  mime_type: described(
    Schema.String,
    "Found from the content; of text, whose content does not tell it, from the ending of the name.",
  ),
  size: described(Schema.Int, "Bytes."),
  url: described(
    Schema.String,
    "Works for 26 hours from the answer on; two answers within a second may carry the same one.",
  ),
  created_at: TimeJson,
}).annotate({ identifier: "MediaFile" })

const route = routeV2("Media")

const missing: Refused = { code: "media_not_found", inPath: true }

export const mediaRoutes = Effect.gen(function* () {
  const media = yield* MediaDirectory
  const { link } = yield* MediaLinks

  /** How files are shown now, with fresh links. */
  const shown = Effect.map(
    Clock.currentTimeMillis,
    (now) =>
      (record: MediaFile): typeof MediaFileJson.Type => ({
        id: record.id,
        file_name: record.fileName,
        type: record.type,
        mime_type: record.mimeType,
        size: record.size,
        url: link(record.id, record.fileName, now),
        created_at: formatInstant(record.createdAt),
      }),
  )

  return [
    route("POST /api/v2/media", {
      idempotent: true,
      id: "uploadMedia",
      summary: "Upload a file",
      about:
        "One part alone, the file in the field `file`. Its id is then the `media_id` of messages.",
      request: file,
      status: 201,
      success: "The file.",
      answer: bodyOf(MediaFileJson, examples.mediaFile),
      refused: ["storage_full"],
      handler: Effect.fnUntraced(function* ({ caller, idempotency, request }) {
        const kept = yield* media.upload(caller, request, idempotency)
        return shownAnswer(yield* shown)(kept)
      }),
    }),
    route("GET /api/v2/media", {
      id: "listMedia",
      summary: "List files",
      about: "Newest first.",
      request: query(MediaQuery, asCommand<ListMedia>),
      success: "A page of files.",
      answer: pageOf(MediaFileJson, examples.mediaFile),
      handler: Effect.fnUntraced(function* ({ caller, request }) {
        const page = yield* media.list(caller, request)
        return shownPage(yield* shown)(page)
      }),
    }),
    route("GET /api/v2/media/{id}", {
      id: "getMedia",
      summary: "Read a file's record",
      success: "The record, with a fresh link.",
      answer: bodyOf(MediaFileJson, examples.mediaFile),
      refused: [missing],
      handler: Effect.fnUntraced(function* ({ caller, id }) {
        const found = yield* media.get(caller, id("id"))
        return (yield* shown)(found)
      }),
    }),
    route("DELETE /api/v2/media/{id}", {
      id: "deleteMedia",
      summary: "Delete a file",
      about: "A waiting message with this file then fails with `media_unavailable`.",
      success: "It is gone.",
      answer: bodyOf(DeletedJson, deleted(8)),
      refused: [missing],
      handler: ({ caller, id }) => Effect.map(media.delete(caller, id("id")), deleted),
    }),
  ]
})
