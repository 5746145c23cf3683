/** The media directory of version 2 (contract: Media). */
import {
  DeletedJson,
  MediaDirectory,
  MediaFileJson,
  MediaQuery,
  pageJson,
} from "@messaging-service/core"
import { Effect } from "effect"
import { examples, pageOf } from "../openapi/examples.ts"
import type { Refused } from "../openapi/errors.ts"
import { asGiven, file, query } from "../route/Entry.ts"
import { routeV2 } from "./RouteV2.ts"

const common = { tag: "Media" } as const

const missing: Refused = { code: "media_not_found", inPath: true }

export const mediaRoutes = Effect.gen(function* () {
  const media = yield* MediaDirectory

  return [
    routeV2({
      ...common,
      method: "POST",
      path: "/api/v2/media",
      idempotent: true,
      id: "uploadMedia",
      summary: "Upload a file",
      about:
        "One part alone, the file in the field `file`. Its id is then the `media_id` of messages.",
      request: file,
      status: 201,
      success: "The file.",
      answer: MediaFileJson,
      example: examples.mediaFile,
      refused: ["storage_full"],
      handler: ({ caller, idempotency, request }) => media.upload(caller, request, idempotency),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/media",
      id: "listMedia",
      summary: "List files",
      about: "Newest first.",
      request: query(MediaQuery, asGiven),
      success: "A page of files.",
      answer: pageJson(MediaFileJson),
      example: pageOf(examples.mediaFile),
      handler: ({ caller, request }) => media.list(caller, request),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/media/{id}",
      id: "getMedia",
      summary: "Read a file's record",
      success: "The record, with a fresh link.",
      answer: MediaFileJson,
      example: examples.mediaFile,
      refused: [missing],
      handler: ({ caller, id }) => media.get(caller, id("id")),
    }),
    routeV2({
      ...common,
      method: "DELETE",
      path: "/api/v2/media/{id}",
      id: "deleteMedia",
      summary: "Delete a file",
      about: "A waiting message with this file then fails with `media_unavailable`.",
      success: "It is gone.",
      answer: DeletedJson,
      example: { id: 8, deleted: true },
      refused: [missing],
      handler: ({ caller, id }) => media.delete(caller, id("id")),
    }),
  ]
})
