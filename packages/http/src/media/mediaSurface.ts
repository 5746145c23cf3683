/**
 * Links to stored files (contract: Stored files): open to everybody who has one, for as long as it
 * says. The bytes are streamed from where they are kept.
 */
import { MediaDirectory } from "@messaging-service/core"
import type { OpenedFile } from "@messaging-service/core"
import { Effect, Stream } from "effect"
import type { Exchange, Reply, Surface } from "../answer/Exchange.ts"
import { findRoute } from "../route/findRoute.ts"
import { routeMatcher } from "../route/RouteTable.ts"
import { byteRange } from "./byteRange.ts"
import { contentDisposition, servedMimeType } from "./safeContent.ts"

/** A part is sent only of the content that the client has the rest of. */
const rangeHeader = ({ request }: Exchange, etag: string): string | undefined => {
  const condition = request.headers["if-range"]
  return condition === undefined || condition === etag ? request.headers["range"] : undefined
}

const serve = (exchange: Exchange, { content, fileName, mimeType }: OpenedFile): Reply => {
  const { headers } = exchange
  const { size } = content
  const contentType = servedMimeType(mimeType)
  const etag = `"${content.sha256}"`
  headers["content-disposition"] = contentDisposition(contentType, fileName)
  headers["x-content-type-options"] = "nosniff"
  headers["content-security-policy"] = "default-src 'none'; sandbox"
  headers["accept-ranges"] = "bytes"
  headers["etag"] = etag
  const range = byteRange(rangeHeader(exchange, etag), size)
  if (range === undefined) {
    return { status: 200, content: { contentType, length: size, bytes: content.content } }
  }
  if (range === null) {
    headers["content-range"] = `bytes */${size}`
    return { status: 416, content: { contentType, length: 0, bytes: Stream.empty } }
  }
  const { end, start } = range
  headers["content-range"] = `bytes ${start}-${end - 1}/${size}`
  const part = { contentType, length: end - start, bytes: content.part(start, end) }
  return { status: 206, content: part }
}

/** `/media/{token}/{name}`. */
export const mediaSurface = Effect.gen(function* () {
  const media = yield* MediaDirectory
  const match = routeMatcher([{ method: "GET", path: "/media/{token}/{name}" }])

  const surface: Surface = Effect.fnUntraced(function* (exchange) {
    const { parameter } = yield* Effect.fromResult(findRoute(match, exchange))
    const file = yield* media.open(parameter("token"), parameter("name"))
    return serve(exchange, file)
  })
  return surface
})
