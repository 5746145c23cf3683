/** The media directory of version 2 (contract: Media). */
import {
  MediaDirectory,
  MediaLinks,
  MediaQuery,
  described,
  mediaTypes,
} from "@messaging-service/core"
import type { ListMedia, MediaFile } from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import type { Refused } from "../openapi/Operation.ts"
import {
  jsonBody,
  deleted,
  DeletedJson,
  file,
  pageBody,
  query,
  answerJson,
  pageJson,
  IdJson,
  Time,
} from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

const MediaFileJson = Schema.Struct({
  id: described(IdJson, "The `media_id` of a message."),
  fileName: Schema.String,
  type: Schema.Literals(mediaTypes),
  mimeType: described(
    Schema.String,
    "Detected from the content; for text, from the ending of the name.",
  ),
  size: described(Schema.Int, "Bytes."),
  url: described(
    Schema.String,
    "Link to the file, valid for 26 hours; two answers within a second may have the same one.",
  ),
  createdAt: Time,
}).annotate({ identifier: "MediaFile" })

const route = routeV2("Media")

const missing: Refused = { code: "media_not_found", inPath: true }

/** The files as shown now, with fresh links. */
const shownNow = Effect.gen(function* shownNow() {
  const { link } = yield* MediaLinks
  const now = yield* Clock.currentTimeMillis
  return function shownFile(record: MediaFile): typeof MediaFileJson.Type {
    return { ...record, url: link(record.id, record.fileName, now) }
  }
})

export const mediaRoutes: ReadonlyArray<RouteV2> = [
  route("POST /api/v2/media", {
    idempotent: true,
    id: "uploadMedia",
    summary: "Upload a file",
    about:
      "The form has one part: the file, in the field `file`. Its id is the `media_id` of messages.",
    request: file,
    status: 201,
    success: "The file.",
    answer: jsonBody(MediaFileJson, examples.mediaFile),
    refused: ["storage_full"],
    handler: Effect.fnUntraced(function* uploadMedia({ caller, idempotency, request }) {
      const media = yield* MediaDirectory
      const uploaded = yield* media.upload(caller, request, idempotency)
      return answerJson(uploaded, yield* shownNow)
    }),
  }),
  route("GET /api/v2/media", {
    id: "listMedia",
    summary: "List files",
    about: "Newest first.",
    request: query<ListMedia>()(MediaQuery),
    success: "A page of files.",
    answer: pageBody(MediaFileJson, examples.mediaFile),
    handler: Effect.fnUntraced(function* listMedia({ caller, request }) {
      const media = yield* MediaDirectory
      const page = yield* media.list(caller, request)
      return pageJson(page, yield* shownNow)
    }),
  }),
  route("GET /api/v2/media/{id}", {
    id: "getMedia",
    summary: "Read a file's record",
    success: "The record, with a fresh link.",
    answer: jsonBody(MediaFileJson, examples.mediaFile),
    refused: [missing],
    handler: Effect.fnUntraced(function* getMedia({ caller, id }) {
      const media = yield* MediaDirectory
      const found = yield* media.get(caller, id("id"))
      return (yield* shownNow)(found)
    }),
  }),
  route("DELETE /api/v2/media/{id}", {
    id: "deleteMedia",
    summary: "Delete a file",
    about: "Waiting messages with this file fail with `media_unavailable`.",
    success: "Deleted.",
    answer: jsonBody(DeletedJson, deleted(8)),
    refused: [missing],
    handler: Effect.fnUntraced(function* deleteMedia({ caller, id }) {
      const media = yield* MediaDirectory
      return deleted(yield* media.delete(caller, id("id")))
    }),
  }),
]
