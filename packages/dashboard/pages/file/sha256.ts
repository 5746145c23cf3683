/**
 * SHA-256 (FIPS 180-4), hexadecimal. The browser's own needs https or this machine's address, and the dashboard is
 * also served over plain http within a network.
 */

import type { Slices } from "./turns.ts"

/** The first 32 bits of the fractional parts of a root of the first primes: how the standard makes its constants. */
const fractions = (count: number, root: (prime: number) => number): Uint32Array => {
  const primes: Array<number> = []
  for (let candidate = 2; primes.length < count; candidate += 1)
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate)
  return Uint32Array.from(primes, (prime) => (root(prime) % 1) * 2 ** 32)
}

const initial = fractions(8, Math.sqrt)
const constants = fractions(64, Math.cbrt)

const rotate = (label: number, by: number): number => (label >>> by) | (label << (32 - by))

/** With the bit 1, zeros and the length, in whole blocks of 64 bytes. */
const padded = (bytes: Uint8Array): DataView => {
  const view = new DataView(new ArrayBuffer((((bytes.length + 8) >> 6) + 1) << 6))
  new Uint8Array(view.buffer).set(bytes)
  view.setUint8(bytes.length, 0x80)
  view.setBigUint64(view.byteLength - 8, BigInt(bytes.length) * 8n)
  return view
}

const schedule = (view: DataView, block: number, labels: Uint32Array): void => {
  for (let t = 0; t < 16; t += 1) labels[t] = view.getUint32(block + t * 4)
  for (let t = 16; t < 64; t += 1) {
    const [a = 0, b = 0, c = 0, d = 0] = [
      labels[t - 15],
      labels[t - 2],
      labels[t - 16],
      labels[t - 7],
    ]
    const small = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3)
    const large = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10)
    labels[t] = c + small + d + large
  }
}

export const digest = function* (content: Uint8Array): Slices<string> {
  const view = padded(content)
  const state = Uint32Array.from(initial)
  const labels = new Uint32Array(64)
  for (let block = 0; block < view.byteLength; block += 64) {
    schedule(view, block, labels)
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
    for (let t = 0; t < 64; t += 1) {
      const first =
        (h +
          (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
          ((e & f) ^ (~e & g)) +
          (constants[t] ?? 0) +
          (labels[t] ?? 0)) |
        0
      const second =
        ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
      ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
    }
    for (const [index, label] of [a, b, c, d, e, f, g, h].entries())
      state[index] = (state[index] ?? 0) + label
    yield
  }
  return [...state].map((label) => label.toString(16).padStart(8, "0")).join("")
}
