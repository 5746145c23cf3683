/** The record of a file that is about to be kept: whose it is, and what its content and name tell. */
import type { Sender } from "../key/Caller.ts"
import { mimeTypeOf } from "./contentType.ts"
import type { MediaFile } from "./Media.ts"
import type { SpooledContent } from "./MediaFiles.ts"
import { mediaTypeOf } from "./mediaType.ts"

export const newMediaFile = (
  { mode, workspaceId }: Pick<Sender, "workspaceId" | "mode">,
  { mimeType: sniffed, size, storageKey }: Pick<SpooledContent, "mimeType" | "size" | "storageKey">,
  fileName: string,
  createdAt: number,
): Omit<MediaFile, "id"> => {
  const mimeType = mimeTypeOf(sniffed, fileName)
  const type = mediaTypeOf(mimeType)
  return { workspaceId, mode, fileName, type, mimeType, size, storageKey, createdAt }
}
