/**
 * The client's end of a connection to PGlite: the PostgreSQL client speaks its own wire protocol over it, as to
 * a server. So one SQL text and one client serve both databases.
 */
import { Duplex } from "node:stream"

/** Where the turns of a connection go. */
export interface TurnTaker {
  /** Whole messages, up to where the client waits for the answer. */
  readonly turn: (bytes: Uint8Array<ArrayBuffer>) => void
  /** The connection is closed. */
  readonly released: () => void
}

/** Sent in place of a start-up message, on a connection of its own, to cancel a statement. */
const cancelRequest = 80_877_102

const terminate = 0x58
/** Sync, Query and Flush: what a client ends its turn with. */
const turnEnds = new Set([0x53, 0x51, 0x48])

/** Gathers whole messages until the client ends its turn. */
export class PgliteConnection extends Duplex {
  readonly #taker: TurnTaker
  #received: Buffer = Buffer.alloc(0)
  #started = false

  constructor(taker: TurnTaker) {
    super()
    this.#taker = taker
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    let at = 0
    let complete = 0
    for (;;) {
      const length = this.#messageLength(at)
      if (length === undefined || this.#received.length - at < length) break
      const kind = this.#started ? this.#received[at] : undefined
      const isCancel = !this.#started && this.#received.readInt32BE(at + 4) === cancelRequest
      // One backend processes one statement at a time: by now there is nothing to cancel.
      if (kind === terminate || isCancel) {
        done()
        this.destroy()
        return
      }
      at += length
      if (kind === undefined || turnEnds.has(kind)) complete = at
      this.#started = true
    }
    if (complete > 0) {
      // A copy of its own: Node's small buffers share a larger one.
      this.#taker.turn(new Uint8Array(this.#received.subarray(0, complete)))
      this.#received = this.#received.subarray(complete)
    }
    done()
  }

  /** Bytes of the message that begins there, when enough of it has come to tell. */
  #messageLength(at: number): number | undefined {
    const rest = this.#received.length - at
    if (this.#started) return rest < 5 ? undefined : 1 + this.#received.readInt32BE(at + 1)
    return rest < 8 ? undefined : this.#received.readInt32BE(at)
  }

  override _final(done: () => void): void {
    done()
    this.destroy()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#taker.released()
    this.push(null)
    done(error)
  }
}
