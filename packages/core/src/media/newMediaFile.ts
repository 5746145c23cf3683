/** The record of a file that is about to be kept: whose it is, and what its content tells. */
import type { ApiKey } from "../key/ApiKey.ts"
import type { MediaFile } from "./Media.ts"
import type { SpooledContent } from "./MediaFiles.ts"
import { mediaTypeOf } from "./mediaType.ts"

export const newMediaFile = (
  { mode, workspaceId }: Pick<ApiKey, "workspaceId" | "mode">,
  { mimeType, size, storageKey }: Pick<SpooledContent, "mimeType" | "size" | "storageKey">,
  fileName: string,
  createdAt: number,
): Omit<MediaFile, "id"> => ({
  workspaceId,
  mode,
  fileName,
  type: mediaTypeOf(mimeType),
  mimeType,
  size,
  storageKey,
  createdAt,
})
