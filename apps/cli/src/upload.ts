/** Uploads a file and shows its progress. */
import { createReadStream } from "node:fs"
import { access, constants, stat } from "node:fs/promises"
import { basename } from "node:path"
import type { MediaFile } from "@messaging-service/client"
import type { Tools } from "./Command.ts"
import { usageError } from "./ending.ts"

export const upload = async (
  path: string,
  { caller, output }: Pick<Tools, "caller" | "output">,
  idempotencyKey?: string,
): Promise<MediaFile> => {
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
  const file = await caller().media.upload(
    { file: () => pieces(), file_name: name },
    idempotencyKey === undefined ? {} : { idempotencyKey },
  )
  output.progress(undefined)
  return file
}
