/** Uploading files for messages, and downloading those of messages. */
import type { Long, tl } from "@mtcute/node"
import { createHash } from "node:crypto"
import { describeUpload, getFilePart } from "../files.ts"
import type { Call, Method } from "../sessions.ts"
import { getCaller, Refused } from "../ServerState.ts"
import type { Media, Person } from "../ServerState.ts"

/** The maximum size of a file's part. */
const partBytes = 512 * 1024

const keepPart = (
  {
    bytes,
    fileId,
    filePart,
  }: Pick<tl.upload.RawSaveFilePartRequest, "fileId" | "filePart" | "bytes">,
  call: Call,
): boolean => {
  const { uploads } = getCaller(call.key)
  if (bytes.length === 0) throw new Refused(400, "FILE_PART_EMPTY")
  if (bytes.length > partBytes) throw new Refused(400, "FILE_PART_TOO_BIG")
  const name = fileId.toString()
  const parts = uploads.get(name) ?? new Map<number, Uint8Array>()
  uploads.set(name, parts)
  parts.set(filePart, Buffer.from(bytes))
  return true
}

/** The parts of a file, which are removed with it. */
const takeFile = (
  { uploads }: Person,
  { id, parts: count }: { readonly id: Long; readonly parts: number },
): ReadonlyArray<Uint8Array> => {
  const parts = uploads.get(id.toString())
  if (parts === undefined || count < 1) throw new Refused(400, "FILE_PARTS_INVALID")
  const found = Array.from({ length: count }, (_, index) => {
    const part = parts.get(index)
    if (part === undefined) throw new Refused(400, `FILE_PART_${index}_MISSING`)
    return part
  })
  uploads.delete(id.toString())
  return found
}

const pictures: ReadonlyArray<readonly [string, string]> = [
  ["89504e47", "image/png"],
  ["ffd8ff", "image/jpeg"],
  ["47494638", "image/gif"],
  ["52494646", "image/webp"],
]

/** The kind of a picture, by its content. */
const pictureType = (bytes: Uint8Array): string => {
  const start = Buffer.from(bytes.subarray(0, 4)).toString("hex")
  const found = pictures.find(([magic]) => start.startsWith(magic))
  if (found === undefined) throw new Refused(400, "IMAGE_PROCESS_FAILED")
  return found[1]
}

/** The media of a message, of a file that the sender has uploaded. */
export const takeUpload = (sender: Person, media: tl.TypeInputMedia): Media => {
  const isPhoto = media._ === "inputMediaUploadedPhoto"
  if (!isPhoto && media._ !== "inputMediaUploadedDocument") throw new Refused(400, "MEDIA_INVALID")
  const { file } = media
  if (file._ !== "inputFile" && file._ !== "inputFileBig") throw new Refused(400, "MEDIA_INVALID")
  const hash = createHash("sha256")
  let size = 0
  const parts = takeFile(sender, file)
  for (const part of parts) {
    hash.update(part)
    size += part.length
  }
  const sha256 = hash.digest("hex")
  if (isPhoto) {
    const mimeType = pictureType(parts[0] ?? new Uint8Array())
    const displayed = { kind: "photo", fileName: null, mimeType, size, sha256 } as const
    return describeUpload(sender.dcId, displayed, [])
  }
  const { attributes, mimeType } = media
  const named = attributes.find((attribute) => attribute._ === "documentAttributeFilename")
  const fileName = named?.fileName ?? null
  const displayed = { kind: "document", fileName, mimeType, size, sha256 } as const
  return describeUpload(sender.dcId, displayed, attributes)
}

const getFile = (request: tl.upload.RawGetFileRequest, call: Call): tl.upload.RawFile => {
  getCaller(call.key)
  return getFilePart(call.state, call.key.dcId, request)
}

export const fileMethods: Readonly<Record<string, Method>> = {
  "upload.saveFilePart": keepPart,
  "upload.saveBigFilePart": keepPart,
  "upload.getFile": getFile,
}
