import { assert, describe, it } from "@effect/vitest"
import { QrImages } from "@messaging-service/core"
import { Effect } from "effect"
import jsQR from "jsqr"
import { PNG } from "pngjs"
import { layerQrCodeImages } from "../src/index.ts"

const drawn = (text: string) => QrImages.use((images) => images.png(text))

const read = (png: Uint8Array): string | undefined => {
  const { data, height, width } = PNG.sync.read(Buffer.from(png))
  return jsQR.default(new Uint8ClampedArray(data), width, height)?.data
}

describe("QR images", () => {
  for (const [what, text] of [
    ["a short text", "2@x"],
    ["a text as long as a link's", `2@${"aZ09+/=,".repeat(35)}`],
    ["text beyond ASCII", "Grüße ☎"],
  ] as const) {
    it.effect(`${what} is read back from its PNG`, () =>
      Effect.gen(function* () {
        assert.strictEqual(read(yield* drawn(text)), text)
      }).pipe(Effect.provide(layerQrCodeImages)),
    )
  }
})
