/**
 * The MIME type of a content, found from its first bytes and never from its name or from what the
 * client says.
 */
import { unknownMimeType } from "@messaging-service/core"
import { Effect } from "effect"
import { fileTypeFromBuffer } from "file-type"

/** How many first bytes are looked at; enough for every format that is told by them. */
export const sniffedBytes = 4100

/**
 * The MIME type that these bytes begin, without parameters. Text of every kind, HTML, SVG and scripts
 * among it, has no first bytes that tell it apart: of that nothing is known here.
 */
export const sniffMimeType = (firstBytes: Uint8Array): Effect.Effect<string> =>
  // A sample that breaks off in the middle of a header may make a parser give up.
  Effect.tryPromise(() => fileTypeFromBuffer(firstBytes)).pipe(
    Effect.map((found) => found?.mime.split(";", 1)[0] ?? unknownMimeType),
    Effect.orElseSucceed(() => unknownMimeType),
  )
