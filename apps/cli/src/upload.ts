/** Uploads a file and shows its progress. */
import { createReadStream } from "node:fs"
import { access, constants, stat } from "node:fs/promises"
import { basename } from "node:path"
import type { MediaFile, Upload } from "@messaging-service/client"
import type { Tools } from "./Command.ts"
import type { Output } from "./Output.ts"
import { usageError } from "./ending.ts"

/** The file to upload; reports its progress. */
export const openFile = async (path: string, output: Output): Promise<Upload> => {
  const found = await access(path, constants.R_OK)
    .then(() => stat(path))
    .catch((error: Error) => {
      throw usageError(`cannot read ${path}: ${error.message}`)
    })
  if (found.isDirectory()) throw usageError(`cannot read ${path}: it is a directory`)
  const { size } = found
  const name = basename(path)
  async function* pieces() {
    let sent = 0
    for await (const piece of createReadStream(path) as AsyncIterable<Uint8Array>) {
      yield piece
      sent += piece.length
      output.progress(`${name}: ${Math.floor((sent / size) * 100)} % of ${size} bytes`)
    }
  }
  return { file: () => pieces(), file_name: name }
}

export const upload = async (
  path: string,
  { caller, output }: Pick<Tools, "caller" | "output">,
  idempotencyKey?: string,
): Promise<MediaFile> => {
  const file = await caller().media.upload(
    await openFile(path, output),
    idempotencyKey === undefined ? {} : { idempotencyKey },
  )
  output.progress(undefined)
  return file
}
