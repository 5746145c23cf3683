/**
 * Files that people send: what of a message leads to one, and how it is fetched and unsealed. The library checks
 * neither seal nor hashes nor length, and follows addresses that the sender wrote, so none of its download is
 * used.
 */
import { createDecipheriv, createHash, createHmac, timingSafeEqual } from "node:crypto"
import { lookup } from "node:dns"
import type { IncomingMessage } from "node:http"
import { get } from "node:https"
import type { Agent } from "node:https"
import type { LookupFunction } from "node:net"
import { FileUnavailable, isLoopback, isPublicAddress } from "@messaging-service/core"
import type { FileRequest } from "@messaging-service/core"
import { getMediaKeys } from "baileys"
import type { proto, WAMessageKey, WASocket } from "baileys"

/** The kinds of seals. */
const sealKinds = ["image", "video", "audio", "document", "sticker"] as const

export type SealKind = (typeof sealKinds)[number]

/** What leads to a file, as JSON holds it; bytes in base64. */
interface Source {
  readonly kind: SealKind
  readonly mediaKey: string
  readonly directPath: string
  readonly sealedSha256: string
  readonly key: WAMessageKey
}

interface FilePart {
  readonly mediaKey?: Uint8Array | null
  readonly directPath?: string | null
  readonly fileEncSha256?: Uint8Array | null
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")

/** Null where the message does not lead to its file. */
export const toFileSource = (
  kind: SealKind,
  { directPath, fileEncSha256, mediaKey }: FilePart,
  key: WAMessageKey,
): string | null =>
  mediaKey && directPath && fileEncSha256
    ? JSON.stringify({
        kind,
        mediaKey: toBase64(mediaKey),
        directPath,
        sealedSha256: toBase64(fileEncSha256),
        key,
      } satisfies Source)
    : null

// Fetching

export interface FileAccess {
  readonly socket: WASocket
  /** Null without a proxy and own certificates. */
  readonly agent: Agent | null
  /** Resolves names and refuses addresses inside this network; the proxy does it itself. */
  readonly lookup: LookupFunction | null
  /** Whether the host is one of WhatsApp's. */
  readonly isHost: (hostname: string) => boolean
}

const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const allowed = addresses.filter(({ address }) => isPublicAddress(address))
    const [first] = allowed
    if (error !== null) callback(error, "")
    else if (first === undefined) callback(new Error("the address is not public"), "")
    else if (options.all === true) callback(null, allowed)
    else callback(null, first.address, first.family)
  })
}

/** `server`: that of the connection; tests have theirs on this machine. */
export const toFileAccess = (
  socket: WASocket,
  server: URL,
  agent: Agent | undefined,
  proxy: string | null,
): FileAccess => ({
  socket,
  agent: agent ?? null,
  lookup: proxy === null && !isLoopback(server.hostname) ? publicLookup : null,
  isHost: (hostname) => isLoopback(server.hostname) || hostname.endsWith(".whatsapp.net"),
})

const unavailable = (reason: FileUnavailable["reason"]) => new FileUnavailable({ reason })

const answerMillis = 20_000

/** The answer of WhatsApp's own host for that path. */
const request = (
  { agent, isHost, lookup: resolve }: FileAccess,
  host: string,
  path: string,
  signal: AbortSignal,
): Promise<IncomingMessage> =>
  new Promise((taken, failed) => {
    const url = path.startsWith("/") ? URL.parse(`https://${host}${path}`) : null
    if (url === null || url.host !== host || url.username !== "")
      return failed(unavailable("refused"))
    if (!isHost(url.hostname)) return failed(unavailable("refused"))
    const options = {
      signal,
      timeout: answerMillis,
      headers: { origin: "https://web.whatsapp.com" },
      ...(agent === null ? {} : { agent }),
      ...(resolve === null ? {} : { lookup: resolve }),
    }
    const call = get(url, options, taken)
    call.on("error", failed)
    call.on("timeout", () => call.destroy(new Error("the file's host does not answer")))
  })

/** The link has ended. */
const endedStatuses = [403, 404, 410]

/** How long the phone may take to give a new link, in real time. */
const renewalMillis = 20_000

const giveUpAfter = (millis: number, signal: AbortSignal): Promise<never> =>
  new Promise((_, failed) => {
    const timer = setTimeout(() => failed(unavailable("later")), millis)
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true })
  })

const statusCode = (error: unknown): unknown =>
  (error as { readonly output?: { readonly statusCode?: unknown } } | null)?.output?.statusCode

/** Asks the phone for a new link. Fails with `gone` when the phone does not have the file. */
const renewed = async ({ socket }: FileAccess, source: Source, signal: AbortSignal) => {
  const part: proto.Message.IDocumentMessage = {
    mediaKey: Buffer.from(source.mediaKey, "base64"),
    directPath: source.directPath,
  }
  const renewal = socket.updateMediaMessage({
    key: source.key,
    message: { documentMessage: part },
  } as Parameters<WASocket["updateMediaMessage"]>[0])
  try {
    await Promise.race([renewal, giveUpAfter(renewalMillis, signal)])
  } catch (error) {
    if (error instanceof FileUnavailable) throw error
    throw unavailable(statusCode(error) === 404 ? "gone" : "later")
  }
  return part.directPath ?? source.directPath
}

const opened = async (access: FileAccess, source: Source, signal: AbortSignal) => {
  const { hosts } = await access.socket.refreshMediaConn(false)
  const host = hosts[0]?.hostname ?? ""
  const first = await request(access, host, source.directPath, signal)
  if (!endedStatuses.includes(first.statusCode ?? 0)) return first
  first.destroy()
  return request(access, host, await renewed(access, source, signal), signal)
}

// Unsealing

const blockLength = 16
const macLength = 10

/** The length of a sealed file. */
const sealedLength = (length: number): number =>
  length - (length % blockLength) + blockLength + macLength

const isSame = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)

/** The file of a sealed one; fails at the end when seal, hash or length are wrong. */
const unsealed = async function* unsealed(
  body: AsyncIterable<Buffer>,
  source: Source,
  { maximumBytes, size }: Pick<FileRequest, "maximumBytes" | "size">,
) {
  const keys = await getMediaKeys(Buffer.from(source.mediaKey, "base64"), source.kind)
  const decipher = createDecipheriv("aes-256-cbc", keys.cipherKey, keys.iv)
  const seal = createHmac("sha256", Buffer.from(keys.macKey ?? [])).update(keys.iv)
  const hash = createHash("sha256")
  const maximum = sealedLength(size ?? maximumBytes)
  let length = 0
  let rest = Buffer.alloc(0)
  for await (const chunk of body) {
    length += chunk.length
    if (length > maximum) throw unavailable(size === null ? "too_large" : "refused")
    hash.update(chunk)
    const whole = Buffer.concat([rest, chunk])
    const sealed = whole.subarray(0, Math.max(0, whole.length - macLength))
    rest = whole.subarray(sealed.length)
    seal.update(sealed)
    if (sealed.length > 0) yield decipher.update(sealed)
  }
  const isWhole =
    isSame(seal.digest().subarray(0, macLength), rest) &&
    isSame(hash.digest(), Buffer.from(source.sealedSha256, "base64"))
  if (!isWhole) throw unavailable("refused")
  yield decipher.final()
}

/** The bytes of a file. Each call fetches it; what fails without a reason may work later. */
export const fetchFile = async function* fetchFile(
  access: FileAccess,
  file: Pick<FileRequest, "source" | "maximumBytes" | "size">,
): AsyncGenerator<Uint8Array> {
  const source = JSON.parse(file.source) as Source
  const abort = new AbortController()
  try {
    const answer = await opened(access, source, abort.signal)
    const { statusCode: status = 0 } = answer
    if (endedStatuses.includes(status)) throw unavailable("gone")
    if (status !== 200) throw unavailable("later")
    yield* unsealed(answer, source, file)
  } finally {
    abort.abort()
  }
}

/** Why it failed. */
export const toUnavailable = (error: unknown): FileUnavailable =>
  error instanceof FileUnavailable ? error : unavailable("later")
