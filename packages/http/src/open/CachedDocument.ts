/**
 * A document that is the same for every caller until the process is replaced. It is compressed and
 * tagged once, when it is made. Caches keep it and ask each time whether the tag still holds.
 */
import { Effect } from "effect"
import { header, commonHeaders } from "../openapi/headers.ts"
import type { Answer, Content, Header } from "../openapi/Operation.ts"
import { bytesReply } from "../route/IncomingRequest.ts"
import type { IncomingRequest, Reply } from "../route/IncomingRequest.ts"

export interface CachedDocument {
  readonly contentType: string
  readonly plain: Uint8Array
  readonly gzipped: Uint8Array
  /** Weak: the same for both encodings. */
  readonly tag: string
}

const gzip = (bytes: Uint8Array<ArrayBuffer>): Effect.Effect<Uint8Array> =>
  Effect.promise(async () => {
    const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))
    return new Uint8Array(await new Response(stream).arrayBuffer())
  })

export const cachedDocument = Effect.fn("cachedDocument")(function* (
  contentType: string,
  text: string,
) {
  const plain = new TextEncoder().encode(text)
  const digest = yield* Effect.promise(() => crypto.subtle.digest("SHA-256", plain))
  const document: CachedDocument = {
    contentType,
    plain,
    gzipped: yield* gzip(plain),
    tag: `W/"${Buffer.from(digest).toString("base64url")}"`,
  }
  return document
})

/** Whether `Accept-Encoding` names gzip, or any encoding, with a weight above 0. */
const acceptsGzip = (acceptEncoding = ""): boolean => {
  const weights = new Map(
    acceptEncoding.split(",").map((each) => {
      const [coding = "", ...parameters] = each.toLowerCase().split(";")
      const weight = parameters.map((parameter) => /^\s*q\s*=\s*([\d.]+)\s*$/.exec(parameter)?.[1])
      return [coding.trim(), Number(weight.find((value) => value !== undefined) ?? 1)] as const
    }),
  )
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0
}

/** Whether `If-None-Match` holds the tag. The comparison is weak, as RFC 9110 (13.1.2) wants it. */
const holdsTag = (ifNoneMatch: string | undefined, tag: string): boolean => {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === "*") return true
  const opaque = (each: string) => each.trim().replace(/^W\//, "")
  // Base64 has no comma, so a split at commas cannot cut this tag.
  return ifNoneMatch.split(",").some((each) => opaque(each) === opaque(tag))
}

/** The document, compressed for a caller that accepts it; 304 for a caller that has it. */
export const cachedReply = (
  { answerHeaders, request }: IncomingRequest,
  { contentType, gzipped, plain, tag }: CachedDocument,
): Reply => {
  answerHeaders["cache-control"] = "no-cache"
  answerHeaders["etag"] = tag
  answerHeaders["vary"] = "Accept-Encoding"
  if (holdsTag(request.headers["if-none-match"], tag)) return { status: 304 }
  if (!acceptsGzip(request.headers["accept-encoding"])) return bytesReply(contentType, plain)
  answerHeaders["content-encoding"] = "gzip"
  return bytesReply(contentType, gzipped)
}

const cacheHeaders: ReadonlyArray<Header> = [
  ...commonHeaders.filter(({ name }) => name !== "Cache-Control"),
  header("Cache-Control", "A copy may be kept, and is checked by its tag before each use.", {
    type: "string",
    const: "no-cache",
  }),
  header("ETag", "The tag of this version of the document."),
  header("Vary", "The document is compressed only for callers that accept it.", {
    type: "string",
    const: "Accept-Encoding",
  }),
]

/** The answers that `cachedReply` gives, with those headers beside its own. */
export const cachedAnswers = (
  description: string,
  content: Content,
  more: ReadonlyArray<Header> = [],
): ReadonlyArray<Answer> => [
  {
    status: 200,
    description,
    headers: [
      ...cacheHeaders,
      header("Content-Encoding", "`gzip`, where the caller accepts it.", {
        type: "string",
        const: "gzip",
      }),
      ...more,
    ],
    content,
  },
  {
    status: 304,
    description: "The caller's copy, named in `If-None-Match`, is this version of the document.",
    headers: [...cacheHeaders, ...more],
    content: undefined,
  },
]

/** What callers send to check a copy. */
export const ifNoneMatch = header("If-None-Match", "Tags of the copies that the caller has.")
