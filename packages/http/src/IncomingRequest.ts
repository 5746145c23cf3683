/**
 * One request on its way to its answer: target, headers, client address and answer. Headers of the answer are
 * recorded as soon as they are known, so every answer carries them, refusals and faults included.
 */
import { problem, refuse, refuseAll, requestId, sharedLimits } from "@messaging-service/core"
import type {
  Details,
  Ids,
  Refusal,
  RejectingBulkhead,
  IdempotentResult,
  StoreUnavailable,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Option, Result, Scope, Stream } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { jsonName, toRequestField } from "./JsonNames.ts"

/** The route of a request that matches none. */
export const none = "none"

export interface IncomingRequest extends Target {
  readonly request: HttpServerRequest
  /** `req_` and 24 characters; also in the answer's `X-Request-Id`. */
  readonly id: string
  /** The path of the matching route, as in its table; `none` until then. */
  route: string
  /** What a command was made from, once it was read: refusals name fields as it does. */
  source: "json" | "query" | null
  /** Set where an earlier request did what this one asks for: its success is then a 200. */
  isDoneAlready: boolean
  /** Lower-case names. */
  readonly answerHeaders: Record<string, string>
}

const printable = /^[\x20-\x7e]{1,100}$/

/** The client's own `X-Request-Id`, when it can be sent back; else undefined. */
const clientRequestId = (request: HttpServerRequest): string | undefined => {
  const value = request.headers["x-request-id"]
  return value !== undefined && printable.test(value) ? value : undefined
}

export const receive = (request: HttpServerRequest, ids: typeof Ids.Service): IncomingRequest => {
  const { path, query } = parseTarget(request.url)
  const id = requestId(ids)
  const answerHeaders: Record<string, string> = {
    "x-request-id": id,
    "cache-control": "no-store",
  }
  const clients = clientRequestId(request)
  if (clients !== undefined) answerHeaders["x-client-request-id"] = clients
  return {
    request,
    path,
    query,
    id,
    route: none,
    source: null,
    isDoneAlready: false,
    answerHeaders,
  }
}

/** The answer to a request that nothing refuses. */
export type Reply =
  | WholeReply
  /** Opened once the part's place is free again, in the scope of the request. */
  | { readonly status: 200; readonly streamed: Streamed }

/** An answer with a known end. */
export type WholeReply =
  /** The body is written as JSON. */
  | { readonly status: number; readonly body: unknown }
  | { readonly status: number; readonly json: string }
  | { readonly status: number; readonly content: Content }
  /** Without a body: the caller has a copy. */
  | { readonly status: 304 }

/** An answer of unknown length. */
export interface Streamed {
  readonly contentType: string
  /** Opens the stream, which holds places of its own. One that fails breaks the connection. */
  readonly open: Effect.Effect<
    Stream.Stream<Uint8Array, unknown>,
    Refusal | StoreUnavailable,
    Scope.Scope
  >
}

/** A body that is not JSON. */
interface Content {
  readonly contentType: string
  /** Length in bytes. */
  readonly length: number
  readonly bytes: Stream.Stream<Uint8Array, unknown>
}

/** Answers the requests of one part of the interface, under one prefix. */
export type Handler<R = never> = (
  incoming: IncomingRequest,
) => Effect.Effect<Reply, Refusal | StoreUnavailable, R>

/** A reply with bytes in memory. */
export const bytesReply = (contentType: string, bytes: Uint8Array, status = 200): WholeReply => ({
  status,
  content: { contentType, length: bytes.length, bytes: Stream.make(bytes) },
})

export const htmlType = "text/html; charset=utf-8"

/** The answer; one that repeats an earlier answer says so in its headers. */
export const repeatedAnswer = <A>(
  { answerHeaders }: IncomingRequest,
  { answer, replayed }: IdempotentResult<A>,
): A => {
  if (replayed) answerHeaders["idempotent-replayed"] = "true"
  return answer
}

/** Headers of an HTML page; `policy` is its `Content-Security-Policy`. */
export const pageHeaders = ({ answerHeaders }: IncomingRequest, policy: string): void => {
  answerHeaders["content-security-policy"] = policy
  answerHeaders["x-content-type-options"] = "nosniff"
}

export const htmlReply = (
  incoming: IncomingRequest,
  html: Uint8Array,
  policy: string,
  status: number,
): WholeReply => {
  pageHeaders(incoming, policy)
  return bytesReply(htmlType, html, status)
}

/** Where the error catalogue explains a code. */
const errorDocsUrl = (publicUrl: string, code: string): string => `${publicUrl}/docs/errors#${code}`

/** Code points of a name in a message; `field` holds longer ones in full. */
const longestName = 40

const short = (name: string): string => {
  const points = [...name]
  return points.length <= longestName ? name : `${points.slice(0, longestName).join("")}…`
}

/** A parameter is named in its message too, once. */
const parameterProblem = (field: string, message: string) => ({
  field,
  message: message.startsWith(`${field}: `) ? message : `${short(field)}: ${message}`,
})

/** Field and message of a problem, the field as the request spells it. */
const problemJson = (
  { field, message }: Pick<Refusal, "field" | "message">,
  source: IncomingRequest["source"],
) => {
  if (field === null || source === null) return { field, message }
  const written = toRequestField(field)
  return source === "json" ? { field: written, message } : parameterProblem(written, message)
}

const detailsJson = (details: Details) =>
  Object.fromEntries(Object.entries(details).map(([name, value]) => [jsonName(name), value]))

const errorBody = (refusal: Refusal, { id, source }: IncomingRequest, publicUrl: string) => {
  const { field, message } = problemJson(refusal, source)
  const errors = refusal.errors.map((each) => problemJson(each, source))
  return {
    error: {
      code: refusal.code,
      message,
      field,
      docs: errorDocsUrl(publicUrl, refusal.code),
      request_id: id,
      ...(errors.length === 0 ? {} : { errors }),
      ...detailsJson(refusal.details),
    },
  }
}

/** The answer to a refused request; sets its headers. */
export const refusalReply = (
  incoming: IncomingRequest,
  refusal: Refusal,
  publicUrl: string,
): WholeReply => {
  if (refusal.status === 401) incoming.answerHeaders["www-authenticate"] = 'Bearer realm="service"'
  if (refusal.retryAfter !== null)
    incoming.answerHeaders["retry-after"] = String(refusal.retryAfter)
  return { status: refusal.status, body: errorBody(refusal, incoming, publicUrl) }
}

/** The service has no capacity for the request now, but may have in a second. */
export const serviceBusy = refuse("service_unavailable", { retryAfter: 1 })

const shareUsedUp = refuse("service_unavailable", {
  message:
    "The workspace has too many requests under way. Retry after the seconds of `Retry-After`.",
  retryAfter: 1,
})

/**
 * Takes a permit of the workspace's share of requests in flight until the scope closes; fails when
 * none is left. So slow requests of one workspace (uploads, downloads of media links) leave permits
 * to others. `Effect.acquireRelease` would merge all services of the request again for the release.
 */
export const takeWorkspaceShare = (
  permits: RejectingBulkhead<WorkspaceId>,
  workspace: WorkspaceId,
): Effect.Effect<void, Refusal, Scope.Scope> => {
  const release = Effect.sync(function giveBackShare() {
    permits.releaseShare(workspace)
  })
  return Effect.flatMap(Effect.scope, function takeShare(scope) {
    return permits.tryAcquireShare(workspace)
      ? Scope.addFinalizer(scope, release)
      : Effect.fail(shareUsedUp)
  }).pipe(Effect.uninterruptible)
}

// Target: the path as routes know it, and the query, decoded strictly.

interface Target {
  /** Without query; one trailing slash is tolerated and removed. */
  readonly path: string
  /** As sent, without the question mark. */
  readonly query: string
}

export const parseTarget = (url: string): Target => {
  const mark = url.indexOf("?")
  const path = mark === -1 ? url : url.slice(0, mark)
  return {
    path: path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path,
    query: mark === -1 ? "" : url.slice(mark + 1),
  }
}

/** The decoded parameters of a query string, in order. */
export type QueryEntries = ReadonlyArray<readonly [string, string]>

/** Why parameters could not be read. */
type EntriesProblem = "malformed" | "too_many"

const Plus = 0x2b

const Space = 0x20

const Ampersand = 0x26

const encoder = new TextEncoder()

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** As in forms: clients write an offset's plus sign as %2B. */
const withSpaces = (text: string): string => {
  if (!text.includes("+")) return text
  // Byte by byte: replacing in a text of many pluses takes a hundred times as long.
  const bytes = encoder.encode(text)
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === Plus) bytes[at] = Space
  return decoder.decode(bytes)
}

const decode = (text: string): Result.Result<string, EntriesProblem> =>
  Result.try({ try: () => decodeURIComponent(withSpaces(text)), catch: () => "malformed" })

/** The parameters of a query or a form, in order; reads no more than the maximum. */
export const parseEntries = (text: string): Result.Result<QueryEntries, EntriesProblem> => {
  const entries: Array<readonly [string, string]> = []
  for (let at = 0; at < text.length;) {
    if (text.charCodeAt(at) === Ampersand) {
      at++
      continue
    }
    const ampersand = text.indexOf("&", at)
    const part = text.slice(at, ampersand === -1 ? text.length : ampersand)
    at += part.length + 1
    if (entries.length === sharedLimits.formEntries.whole) return Result.fail("too_many")
    const equals = part.indexOf("=")
    const name = decode(equals === -1 ? part : part.slice(0, equals))
    const value = decode(equals === -1 ? "" : part.slice(equals + 1))
    if (Result.isFailure(name)) return Result.fail(name.failure)
    if (Result.isFailure(value)) return Result.fail(value.failure)
    entries.push([name.success, value.success])
  }
  return Result.succeed(entries)
}

const tooMany = refuse("validation_failed", {
  message: `The query string has more than ${sharedLimits.formEntries.whole} parameters.`,
})

/** Names the parameter; as sent when even its name is unreadable. */
const malformed = (query: string): Refusal => {
  const part = query.split("&").find((each) => Result.isFailure(decode(each))) ?? ""
  const [sent = ""] = part.split("=")
  const name = Result.getOrElse(decode(sent), () => sent)
  return refuse("validation_failed", {
    field: name,
    message: `${name}: is not percent-encoded UTF-8`,
  })
}

/** The parameters of a query. Fails with `validation_failed`. */
export const parseQuery = (query: string): Result.Result<QueryEntries, Refusal> =>
  Result.mapError(parseEntries(query), (reason) =>
    reason === "too_many" ? tooMany : malformed(query),
  )

const wrong = (name: string, rule: string) => {
  const { field, message } = parameterProblem(name, rule)
  return problem("validation_failed", field, message)
}

const refuseUnknown = ([first = "", ...others]: ReadonlyArray<string>): Refusal =>
  refuseAll(
    wrong(first, "is not a known field"),
    others.map((name) => wrong(name, "is not a known field")),
  )

export type QueryRecord = Readonly<Record<string, string>>

/** The parameters by name, each at most once. Fails with `validation_failed`. */
export const queryRecord = (entries: QueryEntries): Result.Result<QueryRecord, Refusal> => {
  const record: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of entries) {
    if (name in record) {
      return Result.fail(refuseAll(wrong(name, "must be given only once"), []))
    }
    record[name] = value
  }
  return Result.succeed(record)
}

/** The query of an operation without parameters: any parameter is unknown, on every path. */
export const refuseQuery = (entries: QueryEntries): Result.Result<void, Refusal> =>
  entries.length === 0 ? Result.void : Result.fail(refuseUnknown(entries.map(([name]) => name)))

// Decisive headers, read so that a second value is never overlooked. Node drops a repeated
// `Authorization` and joins most other headers with a comma; its raw list still has them all.
// Web-standard headers arrive joined, and cannot be separated again.

const hasRawHeaders = (source: object): source is { readonly rawHeaders: ReadonlyArray<string> } =>
  "rawHeaders" in source && Array.isArray(source.rawHeaders)

/** Every value of a header, by its lower-case name, as sent where the platform tells. */
export const headerValues = (request: HttpServerRequest, name: string): ReadonlyArray<string> => {
  const known = request.headers[name]
  if (known === undefined) return []
  if (!hasRawHeaders(request.source)) return [known]
  const raw = request.source.rawHeaders
  const values: Array<string> = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const candidate = raw[at] ?? ""
    if (candidate.length === name.length && candidate.toLowerCase() === name) {
      values.push(raw[at + 1] ?? "")
    }
  }
  return values.length === 0 ? [known] : values
}

/**
 * The `Authorization` header. Two of them join to a list, which is not a valid key: a proxy in
 * front and this service might each read a different one.
 */
export const findAuthorization = (request: HttpServerRequest): string | undefined => {
  const values = headerValues(request, "authorization")
  return values.length === 0 ? undefined : values.join(", ")
}

/** Whether a body is uncompressed: compressed ones are not read. */
export const isPlain = (contentEncoding: string | undefined): boolean =>
  contentEncoding === undefined || contentEncoding.trim().toLowerCase() === "identity"

/** Whether the client announces a body longer than that many bytes. */
export const declaresMoreThan = (contentLength: string | undefined, bytes: number): boolean =>
  contentLength !== undefined && /^\d+$/.test(contentLength) && Number(contentLength) > bytes

// Client address: the socket's, or the last `X-Forwarded-For` entry behind a trusted proxy (`TRUST_PROXY`;
// contract: Configuration). It identifies senders of wrong keys, and keys show it as their last use.

/** The source of the client's address. */
export interface ClientAddressSettings {
  /** Whether the client's address is the last `X-Forwarded-For` entry. */
  readonly trustProxy: boolean
  /**
   * The client's address of a web-standard request, which carries none itself. A server that knows
   * its sockets does not need it.
   */
  readonly clientAddress?: (request: Request) => string
}

/** The client's address of a request. */
export type ClientAddressOf = (request: HttpServerRequest) => string

/** Represents an unknown address, such as a client's on a Unix socket. */
const unknownAddress = "0.0.0.0"

/** Null when unknown. */
export const knownAddress = (address: string): string | null =>
  address === unknownAddress ? null : address

const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"

const ipv4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`)

const mappedPrefix = "::ffff:"

const mappedGroups = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

const withoutMapping = (canonical: string): string => {
  const groups = mappedGroups.exec(canonical)
  if (groups === null) return canonical
  const bytes = [groups[1], groups[2]].flatMap((group) => {
    const value = Number.parseInt(group ?? "0", 16)
    return [value >> 8, value & 0xff]
  })
  return bytes.join(".")
}

/**
 * The canonical spelling of an IP literal, an IPv4 address inside IPv6 as IPv4; undefined for anything else.
 */
export const normalAddress = (text: string): string | undefined => {
  if (ipv4.test(text)) return text
  if (!/^[0-9a-f:.]+$/i.test(text) || !text.includes(":")) return undefined
  const url = `http://[${text}]/`
  return URL.canParse(url) ? withoutMapping(new URL(url).hostname.slice(1, -1)) : undefined
}

/** An IPv6 address in brackets, or an IPv4 address; some proxies write the client's port behind. */
const forwardedForm = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/

/** The address in an entry of `X-Forwarded-For`; undefined when it cannot be read. */
const forwardedAddress = (entry: string): string | undefined => {
  const [, bracketed, plain] = forwardedForm.exec(entry) ?? []
  return normalAddress(bracketed ?? plain ?? entry)
}

/** The entry that the proxy wrote; undefined without one. */
const lastForwarded = ({ headers }: HttpServerRequest): string | undefined => {
  const forwarded = headers["x-forwarded-for"]
  return forwarded?.slice(forwarded.lastIndexOf(",") + 1).trim() || undefined
}

/** What the proxy wrote in place of an address; undefined when it can be read. */
export const unreadableForwarded = (request: HttpServerRequest): string | undefined => {
  const entry = lastForwarded(request)
  return entry === undefined || forwardedAddress(entry) !== undefined ? undefined : entry
}

/** Sockets already use one spelling, except for dual-stack mappings. */
const socketAddress = (address: string): string => {
  if (address === "") return unknownAddress
  if (!address.startsWith(mappedPrefix)) return address
  const inner = address.slice(mappedPrefix.length)
  return ipv4.test(inner) ? inner : address
}

const peerAddress = (
  request: HttpServerRequest,
  ofWebRequest: ClientAddressSettings["clientAddress"],
): string => {
  if (ofWebRequest !== undefined && request.source instanceof Request) {
    return socketAddress(ofWebRequest(request.source))
  }
  return Option.match(request.remoteAddress, {
    onNone: () => unknownAddress,
    onSome: socketAddress,
  })
}

export const clientAddressReader = ({
  trustProxy,
  clientAddress,
}: ClientAddressSettings): ClientAddressOf => {
  const peer = (request: HttpServerRequest) => peerAddress(request, clientAddress)
  if (!trustProxy) return peer
  return (request) => {
    const last = lastForwarded(request)
    // Entries before an unreadable one may be the client's own invention.
    return (last === undefined ? undefined : forwardedAddress(last)) ?? peer(request)
  }
}
