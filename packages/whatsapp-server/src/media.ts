/**
 * Media over TLS: sealed files go up with a token that the media connection gave, and come down from
 * the path that the upload answered. Phones open what a message points at with the key in it.
 */
import { aesDecryptWithIV, getMediaKeys, hmacSign, sha256 } from "baileys"
import type { proto } from "baileys"
import { createServer } from "node:https"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Certificate } from "./certificate.ts"
import type { ServerState } from "./ServerState.ts"

export interface Media {
  readonly kind: "image" | "video" | "document" | "audio"
  readonly mimetype: string | undefined
  readonly fileName: string | undefined
  /** The file as it was before sealing; `undefined` if it is not there or does not open. */
  readonly bytes: Uint8Array | undefined
}

interface Pointer {
  readonly mediaKey?: Uint8Array | null
  readonly directPath?: string | null
  readonly fileSha256?: Uint8Array | null
  readonly fileEncSha256?: Uint8Array | null
}

const macLength = 10

const isSame = (bytes: Uint8Array, expected: Uint8Array | null | undefined) =>
  Buffer.compare(bytes, expected ?? Buffer.alloc(0)) === 0

/** The file behind a pointer, if it is all that the pointer says of it. */
const openFile = async (
  kind: Media["kind"],
  pointer: Pointer,
  files: ReadonlyMap<string, Buffer>,
): Promise<Uint8Array | undefined> => {
  const sealed = files.get(pointer.directPath ?? "")
  if (sealed === undefined || !isSame(sha256(sealed), pointer.fileEncSha256)) return undefined
  const { cipherKey, iv, macKey } = await getMediaKeys(pointer.mediaKey, kind)
  const body = sealed.subarray(0, -macLength)
  const mac = hmacSign(Buffer.concat([iv, body]), macKey ?? Buffer.alloc(0)).subarray(0, macLength)
  if (!isSame(mac, sealed.subarray(-macLength))) return undefined
  const plain = aesDecryptWithIV(body, Buffer.from(cipherKey), Buffer.from(iv))
  return isSame(sha256(plain), pointer.fileSha256) ? plain : undefined
}

export const openMedia = async (
  content: proto.IMessage,
  files: ReadonlyMap<string, Buffer>,
): Promise<Media | undefined> => {
  const found = (
    [
      ["image", content.imageMessage],
      ["video", content.videoMessage],
      ["document", content.documentMessage],
      ["audio", content.audioMessage],
    ] as const
  ).find(([, pointer]) => pointer !== null && pointer !== undefined)
  if (!found?.[1]) return undefined
  const [kind, pointer] = found
  return {
    kind,
    mimetype: pointer.mimetype ?? undefined,
    fileName: "fileName" in pointer ? (pointer.fileName ?? undefined) : undefined,
    bytes: await openFile(kind, pointer, files),
  }
}

/** What the media connection hands out and every upload must bring. */
export const uploadAuth = "loopback"

const readAll = async (request: IncomingMessage) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const answer = (response: ServerResponse, status: number, body: object) => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

const takeUpload = async (
  state: ServerState,
  request: IncomingMessage,
  response: ServerResponse,
) => {
  const url = new URL(request.url ?? "/", `https://${request.headers.host ?? "127.0.0.1"}`)
  const sealed = await readAll(request)
  const refused = state.orders.refusal("upload")
  if (refused !== undefined) return answer(response, refused, { error: refused })
  if (url.searchParams.get("auth") !== uploadAuth) return answer(response, 401, { error: 401 })
  const path = `/o1/v/${url.searchParams.get("token") ?? ""}`
  state.media.set(path, sealed)
  state.changed()
  answer(response, 200, { url: `https://${url.host}${path}`, direct_path: path })
}

const giveFile = (state: ServerState, request: IncomingMessage, response: ServerResponse) => {
  const file = state.media.get(request.url ?? "")
  if (file === undefined) return answer(response, 404, { error: 404 })
  response.writeHead(200, { "content-type": "application/octet-stream" })
  response.end(file)
}

export const makeMediaServer = (state: ServerState, { cert, key }: Certificate) =>
  createServer({ cert, key }, (request, response) => {
    if (request.method === "POST") {
      takeUpload(state, request, response).catch((error: unknown) => {
        state.complaints.push(`an upload broke off: ${String(error)}`)
      })
    } else {
      giveFile(state, request, response)
    }
  })
