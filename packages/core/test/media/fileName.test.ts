import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { uploadedFileName } from "../../src/model/Media.ts"
import { codePointLength } from "../../src/model/Input.ts"

describe("the name of an uploaded file", () => {
  const names: ReadonlyArray<readonly [given: string, name: string | undefined]> = [
    ["photo.png", "photo.png"],
    ["größe 写真 🌻.png", "größe 写真 🌻.png"],
    ["/home/me/photo.png", "photo.png"],
    ["C:\\Users\\me\\photo.png", "photo.png"],
    ["../../photo.png", "photo.png"],
    ['a\\"b\\".png', 'a"b".png'],
    ["line\r\nbreak\u0000\u0085.png", "linebreak.png"],
    ["  photo.png ", "photo.png"],
    ["\uD800.png", "\uFFFD.png"],
    ["n".repeat(255), "n".repeat(255)],
    ["🌻".repeat(255), "🌻".repeat(255)],
    ["n".repeat(256), undefined],
    ["", undefined],
    ["   ", undefined],
    ["a/", undefined],
    ["\u0000\n", undefined],
  ]
  it.effect.each(names)("turns %j into %j", ([text, name]) =>
    Effect.sync(() => assert.strictEqual(uploadedFileName(text), name)),
  )

  it.effect.prop(
    "is one path segment of 1 to 255 characters, whatever the input",
    [Schema.String],
    ([text]) =>
      Effect.sync(() => {
        const name = uploadedFileName(text)
        if (name === undefined) return
        assert.notMatch(name, /[/\\\p{Cc}]/u)
        assert.isTrue(codePointLength(name) >= 1 && codePointLength(name) <= 255)
        assert.strictEqual(uploadedFileName(name), name)
      }),
  )
})
