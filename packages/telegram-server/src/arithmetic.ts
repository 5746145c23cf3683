/** Arithmetic with numbers of 2048 bits, for the key exchange and passwords. */

export const toBigInt = (bytes: Uint8Array): bigint =>
  bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString("hex")}`)

/** Big-endian, padded with zeros on the left. */
export const toBytes = (value: bigint, length: number): Uint8Array =>
  Buffer.from(value.toString(16).padStart(length * 2, "0"), "hex")

export const modPow = (base: bigint, exponent: bigint, modulus: bigint): bigint => {
  let result = 1n
  let square = base % modulus
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

/** The same without zeros on the left. */
export const toShortestBytes = (value: bigint): Uint8Array =>
  toBytes(value, Math.ceil(value.toString(16).length / 2))

/** The safe prime of Telegram's servers: clients know it, and need not check it again. */
export const dhPrime = BigInt(
  [
    "0xc71caeb9c6b1c9048e6c522f70f13f73980d40238e3e21c14934d037563d930f",
    "48198a0aa7c14058229493d22530f4dbfa336f6e0ac925139543aed44cce7c37",
    "20fd51f69458705ac68cd4fe6b6b13abdc9746512969328454f18faf8c595f64",
    "2477fe96bb2a941d5bcd1d4ac8cc49880708fa9b378e3c4f3a9060bee67cf9a4",
    "a4a695811051907e162753b56b0f6b410dba74d8a84b2a14b3144e0ef1284754",
    "fd17ed950d5965b4b9dd46582db1178d169c6bc465b0d6ff9ca3928fef5b9ae4",
    "e418fc15e83ebea0f87fa9ff5eed70050ded2849f47bf959d956850ce929851f",
    "0d8115f635b105ee2e4e15d04b2454bf6f4fadf034b10403119cd8e3b92fcc5b",
  ].join(""),
)

export const dhGenerator = 3

/** The length of the prime. */
export const dhBytes = 256
