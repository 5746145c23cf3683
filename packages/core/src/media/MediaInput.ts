/** `media` in a request: exactly one of `url` and `media_id` (contract: Media reference). */
import { Result, Schema } from "effect"
import type { OutboundRule } from "../egress/Egress.ts"
import { parseOutboundUrl } from "../egress/PublicAddress.ts"
import { problem } from "../error/Refusal.ts"
import type { Problem } from "../error/Refusal.ts"
import { textBetween } from "../request/Input.ts"

/** Longer links are no use to any receiver and are refused as `invalid_media_url`. */
const maximumUrlLength = 2048

export const MediaInput = Schema.Struct({
  url: Schema.optionalKey(Schema.String),
  media_id: Schema.optionalKey(Schema.Int),
  type: Schema.optionalKey(Schema.Literals(["image", "file"])),
  file_name: Schema.optionalKey(textBetween(1, 255)),
}).check(
  Schema.makeFilter((media) =>
    (media.url === undefined) !== (media.media_id === undefined)
      ? undefined
      : "must have exactly one of url and media_id",
  ),
)

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
