/** The body of a version 2 request, read as its operation takes it. */
import type { JsonValue, MediaFiles, Refusal, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { readJson } from "../request/JsonBody.ts"
import { readUpload } from "../request/UploadedFile.ts"
import type { HandlerV2, InputV2, RouteV2 } from "./RouteV2.ts"

interface ReadBody {
  /** What must be the same for a repeat, beside method and path (decisions: Idempotency). */
  readonly fingerprinted: JsonValue
  /** The operation's handler, given the body. */
  readonly handle: HandlerV2<Omit<InputV2, "body">>
}

/** Checks content type, size and grammar, in that order; an upload stays until the scope closes. */
export const readBody = (
  route: RouteV2,
  request: HttpServerRequest,
  files: typeof MediaFiles.Service,
  fullDisk: Effect.Effect<Refusal, StoreUnavailable>,
): Effect.Effect<ReadBody, Refusal | StoreUnavailable, Scope.Scope> => {
  switch (route.takes) {
    case "json":
      return Effect.map(readJson(request), (body) => ({
        fingerprinted: body,
        handle: (input) => route.handler({ ...input, body }),
      }))
    case "file":
      return Effect.map(readUpload(request, files, fullDisk), (upload) => ({
        fingerprinted: { file_name: upload.fileName, sha256: upload.content.sha256 },
        handle: (input) => route.handler({ ...input, body: undefined, upload }),
      }))
    default:
      return Effect.succeed({
        fingerprinted: null,
        handle: (input) => route.handler({ ...input, body: undefined }),
      })
  }
}
