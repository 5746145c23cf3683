/** Sizes in variables (contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { byteSize, readVariables } from "../src/Environment.ts"

const sizes: ReadonlyArray<readonly [text: string, bytes: number]> = [
  ["0", 0],
  ["1", 1],
  ["1048576", 1_048_576],
  ["16KiB", 16_384],
  ["512MiB", 536_870_912],
  ["1GiB", 1_073_741_824],
  ["2TiB", 2_199_023_255_552],
]

const wrong = ["1GB", "1 GiB", "1.5GiB", "-1", "GiB", "1gib", "9007199254740993", "99999999TiB"]

describe("a size", () => {
  for (const [text, bytes] of sizes) {
    it.effect(`${text} is ${bytes} bytes`, () =>
      Effect.gen(function* () {
        const input = yield* readVariables({ SIZE: byteSize }, { SIZE: text })
        assert.strictEqual(input.SIZE, bytes)
      }),
    )
  }

  for (const text of wrong) {
    it.effect(`${text} stops the start with a line that names the variable`, () =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(readVariables({ SIZE: byteSize }, { SIZE: text }))
        assert.strictEqual(
          message,
          "SIZE must be a size such as 512MiB or 1GiB, or a number of bytes",
        )
      }),
    )
  }
})
