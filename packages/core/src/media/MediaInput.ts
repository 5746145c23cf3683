/** `media` in a request: exactly one of `url` and `media_id` (contract: Media reference). */
import { Result, Schema } from "effect"
import type { OutboundRule } from "../egress/Egress.ts"
import { parseOutboundUrl } from "../egress/PublicAddress.ts"
import { problem } from "../error/Refusal.ts"
import type { Problem } from "../error/Refusal.ts"
import { described } from "../request/Described.ts"
import { textBetween } from "../request/Input.ts"

/** Longer links are no use to any receiver and are refused as `invalid_media_url`. */
const maximumUrlLength = 2048

export const MediaInput = Schema.Struct({
  url: described(
    Schema.optionalKey(Schema.String),
    `Public http or https link of at most ${maximumUrlLength} characters; fetched when the message is sent.`,
  ),
  media_id: described(Schema.optionalKey(Schema.Int), "Id of a file in the media directory."),
  type: described(
    Schema.optionalKey(Schema.Literals(["image", "file"])),
    "Used when the link does not reveal the kind.",
  ),
  file_name: described(Schema.optionalKey(textBetween(1, 255)), "For files."),
})
  .check(
    Schema.makeFilter(
      (media) =>
        (media.url === undefined) !== (media.media_id === undefined)
          ? undefined
          : "must have exactly one of url and media_id",
      { toJsonSchema: () => ({ oneOf: [{ required: ["url"] }, { required: ["media_id"] }] }) },
    ),
  )
  .annotate({
    identifier: "MediaReference",
    description: "An image or a file: exactly one of `url` and `media_id`.",
  })

/** The problem of a media link by its text alone, if any; what it resolves to is checked later. */
export const mediaUrlProblems = (media: unknown, rule: OutboundRule): ReadonlyArray<Problem> => {
  if (typeof media !== "object" || media === null || !Object.hasOwn(media, "url")) return []
  const url = (media as { readonly url: unknown }).url
  if (typeof url !== "string") return []
  const readable =
    url.length <= maximumUrlLength &&
    Result.isSuccess(parseOutboundUrl(url, { allowHttp: true, allowPrivate: rule.allowPrivate }))
  return readable ? [] : [problem("invalid_media_url", "media.url")]
}
