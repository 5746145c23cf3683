/**
 * `Ids` from the system's cryptographic source. Random bytes are drawn by the pool, because a call
 * for each symbol would cost more than everything else an id needs; what does not divide evenly is
 * thrown away, so that every symbol is as likely as any other.
 */
import { Ids, fromIndexes } from "@messaging-service/core"
import { Layer } from "effect"
import { randomFillSync } from "node:crypto"

const poolBytes = 4096

/** The values of a byte. */
const byteValues = 256

/**
 * A source of uniform integers in `[0, bound)` for bounds of 1 to 256, from bytes that `fill` makes
 * random.
 */
export const uniformIndexes = (fill: (pool: Uint8Array) => void): ((bound: number) => number) => {
  const pool = new Uint8Array(poolBytes)
  let used = poolBytes
  return (bound) => {
    // The largest multiple of `bound` that bytes reach: beyond it some remainders would come up more often.
    const usable = byteValues - (byteValues % bound)
    for (;;) {
      if (used === poolBytes) {
        fill(pool)
        used = 0
      }
      const byte = pool[used++] ?? byteValues
      if (byte < usable) return byte % bound
    }
  }
}

/** Ids that cannot be guessed. */
export const layerCryptoIds: Layer.Layer<Ids> = Layer.sync(Ids, () =>
  Ids.of(fromIndexes(uniformIndexes(randomFillSync))),
)
