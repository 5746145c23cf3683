/**
 * Signed links to stored files: every holder of one can read the file for 26 hours, without a key
 * (contract: Stored files). A link says by itself which file it means, under which name and until
 * when; nothing is kept for it.
 */
import { Context, Effect, Layer, Result } from "effect"
import type { MediaId } from "../Ids.ts"
import { PublicUrl } from "../request/Answer.ts"
import { sameSecret, signatureOf } from "../secret/hashing.ts"
import { Secrets } from "../secret/Secrets.ts"

/** How long a link works, from the answer or the event that shows it. */
export const linkKeptMillis = 26 * 60 * 60 * 1000

/** Makes a link to a stored file that works for 26 hours from `now`. Without a name it is `file`. */
export type MediaLink = (id: MediaId, fileName: string | null, now: number) => string

/** What a link leads to. */
export interface LinkedFile {
  readonly id: MediaId
  /** As the link's last segment shows it. */
  readonly fileName: string
}

/** A name that is one segment of a path, which no client splits or takes for a step. */
const linkName = (fileName: string): string => {
  const name = fileName.toWellFormed().replaceAll(/[/\\\p{Cc}]/gu, "_")
  return /^\.{0,2}$/.test(name) ? "file" : name
}

const makeToken = (secret: string, id: MediaId, expires: number, name: string): string =>
  `${id.toString(36)}-${expires.toString(36)}-${signatureOf(secret, [id, expires, name])}`

/** The path of a link that works until `expires`, in epoch seconds. */
export const makeLinkPath = (
  secret: string,
  id: MediaId,
  fileName: string | null,
  expires: number,
): string => {
  const name = linkName(fileName ?? "")
  return `/media/${makeToken(secret, id, expires, name)}/${encodeURIComponent(name)}`
}

const decodeSegment = (segment: string): string | undefined =>
  Result.getOrUndefined(Result.try(() => decodeURIComponent(segment)))

/**
 * What the two segments of a link's path behind `/media` lead to at `now`; undefined when they were
 * not given out, or when their time is over.
 */
export const readLinkPath = (
  secret: string,
  token: string,
  segment: string,
  now: number,
): LinkedFile | undefined => {
  const [id, expires] = token.split("-").map((part) => Number.parseInt(part, 36))
  const fileName = decodeSegment(segment)
  if (!Number.isSafeInteger(id) || !Number.isSafeInteger(expires)) return undefined
  if (id === undefined || expires === undefined || fileName === undefined) return undefined
  if (!sameSecret(token, makeToken(secret, id as MediaId, expires, fileName))) return undefined
  return expires * 1000 > now ? { id: id as MediaId, fileName } : undefined
}

export class MediaLinks extends Context.Service<
  MediaLinks,
  {
    readonly link: MediaLink
    /** As `readLinkPath`. */
    read(token: string, segment: string, now: number): LinkedFile | undefined
  }
>()("core/MediaLinks") {
  static readonly layer: Layer.Layer<MediaLinks, never, Secrets> = Layer.effect(
    MediaLinks,
    Effect.gen(function* () {
      const origin = yield* PublicUrl
      const secret = (yield* Secrets).keys.mediaLinks
      return MediaLinks.of({
        link: lastRemembered(
          (id, fileName, expires) => `${origin}${makeLinkPath(secret, id, fileName, expires)}`,
        ),
        read: (token, segment, now) => readLinkPath(secret, token, segment, now),
      })
    }),
  )
}

/** A batch shows one file a thousand times: its link is made once. */
const lastRemembered = (
  make: (id: MediaId, fileName: string | null, expires: number) => string,
): MediaLink => {
  let last: { readonly of: string; readonly link: string } | undefined
  return (id, fileName, now) => {
    const expires = Math.ceil((now + linkKeptMillis) / 1000)
    const of = JSON.stringify([id, expires, fileName])
    if (last?.of !== of) last = { of, link: make(id, fileName, expires) }
    return last.link
  }
}
