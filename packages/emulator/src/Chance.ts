/** Chance from a seed: sfc32, in 32-bit integer arithmetic, so that every engine draws the same numbers. */
export class Chance {
  readonly #seed: string
  #a = 0x9e3779b9
  #b = 0x243f6a88
  #c = 0xb7e15162
  #d = 1

  constructor(seed: string) {
    this.#seed = seed
    for (let i = 0; i < seed.length; i++) {
      this.#c = Math.imul(this.#c ^ seed.charCodeAt(i), 0x01000193)
    }
    for (let i = 0; i < 16; i++) this.word()
  }

  /** A stream of its own, which draws from the others do not change. */
  stream(name: string): Chance {
    return new Chance(`${this.#seed}/${name}`)
  }

  /** An unsigned integer of 32 bits. */
  word(): number {
    const word = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (this.#c << 21) | (this.#c >>> 11)
    this.#c = (this.#c + word) | 0
    return word >>> 0
  }

  /** From 0 to below 1. */
  next(): number {
    return this.word() / 4_294_967_296
  }

  /** A whole number from 0 to below `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }
}
