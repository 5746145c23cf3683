/** What version 1 sends: text, an image or a file, by `msg_type` (contract: Version 1: sends). */
import { uploadedFileName } from "@messaging-service/core"
import type { MediaType, Message } from "@messaging-service/core"
import { Result } from "effect"
import { failV1 } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import { file, strictInteger, string } from "./FieldsV1.ts"
import type { ReadFieldsV1 } from "./FieldsV1.ts"
import type { UploadV1 } from "./RouteV1.ts"

export const contentFields = {
  msg_type: strictInteger("0 text (the default), 1 image, 2 file."),
  msg: string("The text, up to 3,000 characters; the caption of an image or a file."),
  message: string("Another name of `msg`."),
  img_url: string("Link of an image, which is downloaded during the call."),
  file_url: string("Link of a file, which is downloaded during the call; at most 100 MiB."),
  file_name: string("The file's name."),
  file: file("The file itself, instead of `file_url`, in a multipart form; at most 64 MiB."),
}

type Fields = ReadFieldsV1<typeof contentFields>

/** Null for text. */
export const kindOf = ({ msg_type }: Fields): Result.Result<MediaType | null, FailureV1> => {
  switch (msg_type) {
    case null:
    case 0:
      return Result.succeed(null)
    case 1:
      return Result.succeed("image")
    case 2:
      return Result.succeed("file")
    default:
      return Result.fail(failV1("invalid_msg_type"))
  }
}

/** The number of `msg_type` for what a message carries. */
export const msgTypeOf = ({
  foundMediaType,
  media,
}: Pick<Message, "foundMediaType" | "media">): 0 | 1 | 2 => {
  if (media === null) return 0
  return (media.type ?? foundMediaType) === "image" ? 1 : 2
}

export const textOfContent = ({ message, msg }: Fields): string => msg ?? message ?? ""

/** Where the image or the file comes from. */
export type SourceV1 =
  | { readonly _tag: "Link"; readonly url: string; readonly fileName: string | null }
  | { readonly _tag: "Upload"; readonly upload: UploadV1; readonly fileName: string }

/** The name of a file that came without one. */
const unnamed = "file"

/** An uploaded file wins over a link. */
export const sourceOf = (
  kind: MediaType,
  fields: Fields,
  upload: UploadV1 | null,
): Result.Result<SourceV1, FailureV1> => {
  const { file_name, file_url, img_url } = fields
  const link = kind === "image" ? img_url : file_url
  const uploaded = kind === "file" ? upload : null
  if (link === null && uploaded === null) {
    return Result.fail(failV1(kind === "image" ? "no_image" : "no_file"))
  }
  const fileName = file_name === null ? null : uploadedFileName(file_name)
  if (fileName === undefined) return Result.fail(failV1("invalid_file_name"))
  return Result.succeed(
    uploaded === null
      ? { _tag: "Link", url: link ?? "", fileName }
      : { _tag: "Upload", upload: uploaded, fileName: fileName ?? uploaded.fileName ?? unnamed },
  )
}
