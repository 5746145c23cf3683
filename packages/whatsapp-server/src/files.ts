/**
 * Files that people send: sealed and put where their link leads, with the faults that a test orders. A phone
 * that is asked gives a file a new link when the old one has ended.
 */
import {
  aesEncryptGCM,
  aesEncrypWithIV,
  getMediaKeys,
  hkdf,
  hmacSign,
  proto,
  sha256,
} from "baileys"
import type { BinaryNode } from "baileys"
import { randomBytes } from "node:crypto"
import { find, node } from "./nodes.ts"
import { nowSeconds } from "./ServerState.ts"
import type { Device, ServerState } from "./ServerState.ts"

export interface SentFile {
  readonly kind: "image" | "video" | "audio" | "voice" | "document" | "sticker"
  readonly bytes: Uint8Array
  readonly mimetype?: string
  readonly fileName?: string
  readonly caption?: string
  readonly seconds?: number
  /** What does not match the file. */
  readonly wrong?: "seal" | "sealed hash" | "hash" | "length"
  /** The link answers with this status from the start. */
  readonly ended?: number
  /** What the phone answers when it is asked for a new link. Default: one that works. */
  readonly renewal?: "link" | "not found" | "nothing"
  /** Fields of the message, instead of those that lead to the file. */
  readonly pointer?: { readonly url?: string; readonly directPath?: string }
}

/** A file behind its link. */
export interface Published {
  readonly content: proto.IMessage
  readonly sealed: Buffer
  readonly mediaKey: Uint8Array
  path: string
  readonly renewal: NonNullable<SentFile["renewal"]>
}

const mimetypes: Readonly<Record<SentFile["kind"], string>> = {
  image: "image/jpeg",
  video: "video/mp4",
  audio: "audio/mpeg",
  voice: "audio/ogg; codecs=opus",
  document: "application/octet-stream",
  sticker: "image/webp",
}

const macLength = 10

const seal = async ({ bytes, kind, wrong }: SentFile, mediaKey: Uint8Array) => {
  const { cipherKey, iv, macKey } = await getMediaKeys(mediaKey, kind === "voice" ? "ptt" : kind)
  const body = aesEncrypWithIV(Buffer.from(bytes), Buffer.from(cipherKey), Buffer.from(iv))
  const signed = Buffer.concat([iv, body, Buffer.from(wrong === "seal" ? "wrong" : "")])
  const mac = hmacSign(signed, macKey ?? Buffer.alloc(0)).subarray(0, macLength)
  return Buffer.concat([body, mac])
}

const put = (state: ServerState, sealed: Buffer) => {
  const path = `/v/t62.7118-24/${randomBytes(12).toString("hex")}`
  state.media.set(path, sealed)
  return path
}

const toContent = (file: SentFile, pointer: object): proto.IMessage => {
  const { caption, fileName, kind, seconds } = file
  const common = { ...pointer, mimetype: file.mimetype ?? mimetypes[kind] }
  if (kind === "document") {
    return { documentMessage: { ...common, fileName: fileName ?? null, caption: caption ?? null } }
  }
  if (kind === "image") return { imageMessage: { ...common, caption: caption ?? null } }
  if (kind === "sticker") return { stickerMessage: common }
  const timed = { ...common, seconds: seconds ?? null }
  if (kind === "video") return { videoMessage: { ...timed, caption: caption ?? null } }
  return { audioMessage: { ...timed, ptt: kind === "voice" } }
}

export const publish = async (
  state: ServerState,
  mediaHost: string,
  file: SentFile,
): Promise<Published> => {
  const mediaKey = randomBytes(32)
  const sealed = await seal(file, mediaKey)
  const path = put(state, sealed)
  if (file.ended !== undefined) state.endedLinks.set(path, file.ended)
  const other = Buffer.alloc(32, 1)
  const content = toContent(file, {
    mediaKey,
    url: `https://${mediaHost}${path}`,
    directPath: path,
    fileSha256: file.wrong === "hash" ? other : sha256(Buffer.from(file.bytes)),
    fileEncSha256: file.wrong === "sealed hash" ? other : sha256(sealed),
    fileLength: file.bytes.length + (file.wrong === "length" ? 1 : 0),
    mediaKeyTimestamp: Number(nowSeconds()),
    ...file.pointer,
  })
  return { content, sealed, mediaKey, path, renewal: file.renewal ?? "link" }
}

/** The phone's answer to a device that asks for a new link. */
export const renew = (state: ServerState, device: Device, request: BinaryNode, file: Published) => {
  if (file.renewal === "nothing") return
  const id = request.attrs["id"] ?? ""
  const result = proto.MediaRetryNotification.ResultType
  const isFound = file.renewal === "link"
  if (isFound) file.path = put(state, file.sealed)
  const plain = proto.MediaRetryNotification.encode({
    stanzaId: id,
    result: isFound ? result.SUCCESS : result.NOT_FOUND,
    ...(isFound ? { directPath: file.path } : {}),
  }).finish()
  const key = hkdf(file.mediaKey, 32, { info: "WhatsApp Media Retry Notification" })
  const iv = randomBytes(12)
  const sealed = aesEncryptGCM(plain, key, iv, Buffer.from(id))
  const attrs = { id, type: "mediaretry", from: device.account.pn, t: nowSeconds() }
  const about = node("rmr", find(request, "rmr")?.attrs)
  const encrypt = node("encrypt", {}, [node("enc_p", {}, sealed), node("enc_iv", {}, iv)])
  device.mailbox.add(node("notification", attrs, [encrypt, about]))
}
