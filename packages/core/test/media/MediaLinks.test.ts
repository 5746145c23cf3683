import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import type { MediaId } from "../../src/model/Ids.ts"
import { PublicUrl } from "../../src/model/Input.ts"
import {
  linkLifetimeMillis,
  makeLinkPath,
  MediaLinks,
  readLinkPath,
} from "../../src/model/Media.ts"
import { layerSecrets } from "../secret/layerSecrets.ts"

const secret = "a".repeat(64)
const noon = Date.UTC(2026, 2, 2, 12, 0, 0, 250)
const hour = 60 * 60 * 1000
const id = 71 as MediaId
const later = Math.ceil((noon + hour) / 1000)

/** The two segments after `/media`. */
const segments = (path: string): readonly [token: string, name: string] => {
  const [empty, media, token, name, ...rest] = path.split("/")
  assert.deepStrictEqual([empty, media, rest], ["", "media", []])
  return [token ?? "", name ?? ""]
}

/** The target of a link with that name. */
const leadsTo = (fileName: string | null) => {
  const [token, name] = segments(makeLinkPath(secret, id, fileName, later))
  return readLinkPath(secret, token, name, noon)
}

describe("the path of a link to a stored file", () => {
  it.effect("leads to its file until it expires", () =>
    Effect.sync(() => {
      const [token, name] = segments(makeLinkPath(secret, id, "photo.png", later))
      const file = { id, fileName: "photo.png" }
      assert.deepStrictEqual(readLinkPath(secret, token, name, noon), file)
      assert.deepStrictEqual(readLinkPath(secret, token, name, later * 1000 - 1), file)
      assert.isUndefined(readLinkPath(secret, token, name, later * 1000))
    }),
  )

  it.effect("is invalid after any alteration", () =>
    Effect.sync(() => {
      const [token, name] = segments(makeLinkPath(secret, id, "photo.png", later))
      const [a, b, signature] = token.split("-")
      const other = ((id + 1) as MediaId).toString(36)
      for (const forged of [
        `${other}-${b}-${signature}`,
        `${a}-${(later + 1).toString(36)}-${signature}`,
        `${a}-${b}-${signature}0`,
        `${a}-${b}-${signature}-`,
        `${a}-${b}-${signature?.slice(1)}`,
        `${a}-${b}-${signature?.toUpperCase()}A`,
        ` ${token}`,
        `0${token}`,
        `${a}-${b}`,
        "",
        "--",
        "nonsense",
      ]) {
        assert.isUndefined(readLinkPath(secret, forged, name, noon), forged)
      }
      for (const forged of ["photo.jpg", "", "photo.png%", "photo.png%00", "%E0%A4%A"]) {
        assert.isUndefined(readLinkPath(secret, token, forged, noon), forged)
      }
      assert.isUndefined(readLinkPath("b".repeat(64), token, name, noon))
    }),
  )

  it.effect("accepts its name in every spelling of the same text", () =>
    Effect.sync(() => {
      const [token] = segments(makeLinkPath(secret, id, "größe (1).pdf", later))
      for (const spelling of [
        "gr%C3%B6%C3%9Fe%20(1).pdf",
        "gr%c3%b6%c3%9fe%20%281%29.pdf",
        "größe (1).pdf",
      ]) {
        assert.isDefined(readLinkPath(secret, token, spelling, noon), spelling)
      }
    }),
  )

  const names: ReadonlyArray<readonly [given: string | null, shown: string]> = [
    [null, "file"],
    ["", "file"],
    [".", "file"],
    ["..", "file"],
    ["...", "..."],
    ["a/b\\c.png", "a_b_c.png"],
    ["line\nbreak\u0000.txt", "line_break_.txt"],
    ["\uD800.png", "\uFFFD.png"],
    ['quote".png', 'quote".png'],
    ["100%?#&.png", "100%?#&.png"],
  ]
  it.effect.each(names)("encodes the name %s as the one segment %s", ([text, shown]) =>
    Effect.sync(() => assert.deepStrictEqual(leadsTo(text), { id, fileName: shown })),
  )

  it.effect.prop(
    "survives every client as one segment of a URL, whatever the name",
    [Schema.String],
    ([fileName]) =>
      Effect.sync(() => {
        const path = makeLinkPath(secret, id, fileName, later)
        assert.strictEqual(new URL(`https://example.com${path}`).pathname, path)
        assert.isDefined(leadsTo(fileName))
      }),
  )
})

describe("a link to a stored file", () => {
  const links = (origin: string) =>
    Effect.gen(function* () {
      const layer = MediaLinks.layer.pipe(
        Layer.provide([layerSecrets(), Layer.succeed(PublicUrl, origin)]),
      )
      return yield* Effect.provide(MediaLinks, layer)
    })

  const read = ({ read: readPath }: typeof MediaLinks.Service, url: string, now: number) => {
    const [token, name] = segments(new URL(url).pathname)
    return readPath(token, name, now)
  }

  it.effect("starts with the public origin and works for 26 hours", () =>
    Effect.gen(function* () {
      const created = yield* links("https://messages.example.com")
      const url = created.link(id, "photo.png", noon)
      assert.isTrue(url.startsWith("https://messages.example.com/media/"), url)
      assert.strictEqual(linkLifetimeMillis, 26 * hour)
      assert.deepStrictEqual(read(created, url, noon + 26 * hour - 1), {
        id,
        fileName: "photo.png",
      })
      assert.isUndefined(read(created, url, noon + 26 * hour + 1000))
    }),
  )

  it.effect("changes with the file, the name and the time", () =>
    Effect.gen(function* () {
      const { link } = yield* links("https://messages.example.com")
      const url = link(id, "photo.png", noon)
      assert.strictEqual(link(id, "photo.png", noon), url)
      const others = [
        link(72 as MediaId, "photo.png", noon),
        link(id, "photo", noon),
        link(id, null, noon),
        link(id, "photo.png", noon + 1000),
      ]
      assert.lengthOf(new Set([url, ...others]), 5)
      assert.strictEqual(link(id, "photo.png", noon), url)
    }),
  )
})
