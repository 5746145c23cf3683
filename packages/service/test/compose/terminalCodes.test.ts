/** A phone can scan QR codes from a terminal, which shows nothing else of linking. */
import { assert, it } from "@effect/vitest"
import { NumberLinking } from "@messaging-service/core"
import type { LinkingEvent, NumberId } from "@messaging-service/core"
import { Effect, Layer, Stream } from "effect"
import jsQR from "jsqr"
import { layerTerminalCodes } from "../../src/compose/transports.ts"

/** Pixels across a module. */
const scale = 4

/** The terminal as a scanner sees it: black on white, two rows of modules per line. */
const scanned = (printed: string): string | undefined => {
  const lines = printed
    .split("\n")
    .filter((line) => line.startsWith("\u001b[30;107m"))
    .map((line) => line.slice("\u001b[30;107m".length, -"\u001b[0m".length))
  const rows = lines.flatMap((line) => [
    [...line].map((block) => "█▀".includes(block)),
    [...line].map((block) => "█▄".includes(block)),
  ])
  const width = Math.max(...rows.map((row) => row.length)) * scale
  const pixels = new Uint8ClampedArray(rows.length * scale * width * 4).fill(255)
  for (const [y, row] of rows.entries()) {
    for (const [x, isDark] of row.entries()) {
      if (!isDark) continue
      for (let at = 0; at < scale * scale; at++) {
        const pixel = (y * scale + Math.floor(at / scale)) * width + x * scale + (at % scale)
        pixels.fill(0, pixel * 4, pixel * 4 + 3)
      }
    }
  }
  return jsQR.default(pixels, width, rows.length * scale)?.data
}

const secret = `2@${"aB3/+".repeat(30)},${"c".repeat(44)},${"d".repeat(44)},${"e".repeat(44)},1`

it.effect("a code is written so that it can be scanned, and reported as before", () =>
  Effect.gen(function* () {
    const events: ReadonlyArray<LinkingEvent> = [
      { _tag: "QrShown", text: secret, expiresAt: 0 },
      { _tag: "Taken" },
      { _tag: "Linked", phone: "15550100001" },
    ]
    const printed: Array<string> = []
    const layer = layerTerminalCodes((text) => printed.push(text)).pipe(
      Layer.provide(Layer.succeed(NumberLinking, { link: () => Stream.fromIterable(events) })),
    )
    const shown = yield* NumberLinking.use(({ link }) =>
      Stream.runCollect(link({ numberId: 7 as NumberId, method: "qr", phone: null })),
    ).pipe(Effect.provide(layer))
    assert.deepStrictEqual([...shown], events)
    assert.lengthOf(printed, 1)
    assert.match(printed[0] ?? "", /^Scan this to link number 7:\n/)
    assert.strictEqual(scanned(printed[0] ?? ""), secret)
  }),
)
