/**
 * A PGlite made to look like a server: the PostgreSQL client speaks its own wire protocol to it,
 * over streams inside the process. So one SQL text and one client serve both databases.
 *
 * PGlite has a single backend session. The client that opens a transaction owns it until the
 * transaction is over, while the others wait; and since all clients share the session, they must
 * not name their prepared statements, and settings made by one hold for all.
 */
import type { PGlite } from "@electric-sql/pglite"
import { Duplex } from "node:stream"

export class PgliteServer {
  readonly #database: PGlite
  readonly #waiting: Array<PgliteStream> = []
  /** The connection whose transaction is open. */
  #owner: PgliteStream | undefined
  /** The owner went away in the middle of its transaction. */
  #abandoned = false
  #working = false

  constructor(database: PGlite) {
    this.#database = database
  }

  /** A new connection. */
  readonly connect = () => new PgliteStream(this)

  /** The connection has sent something complete. */
  enqueue(connection: PgliteStream): void {
    if (!this.#waiting.includes(connection)) this.#waiting.push(connection)
    this.#work()
  }

  /** The connection is closed. */
  release(connection: PgliteStream): void {
    const at = this.#waiting.indexOf(connection)
    if (at >= 0) this.#waiting.splice(at, 1)
    if (this.#owner === connection) {
      this.#abandoned = true
      this.#work()
    }
  }

  #work(): void {
    if (this.#working) return
    this.#working = true
    void this.#turns()
  }

  /**
   * One turn after the other: of the owner, if there is one, else of the client that has waited
   * longest.
   */
  async #turns(): Promise<void> {
    for (;;) {
      if (this.#abandoned) await this.#rollBack()
      const at = this.#owner === undefined ? 0 : this.#waiting.indexOf(this.#owner)
      const next = at < 0 ? undefined : this.#waiting.splice(at, 1)[0]
      if (next === undefined) {
        // In the same turn as the look: a client that comes next must find that no turn is running.
        this.#working = false
        return
      }
      await this.#turn(next)
    }
  }

  async #turn(connection: PgliteStream): Promise<void> {
    try {
      const answer: Array<Buffer> = []
      // Not execProtocolRaw: that parses each answer too, and keeps what it has parsed for ever.
      await this.#database.runExclusive(() =>
        this.#database.execProtocolRawStream(connection.takeTurn(), {
          // The bytes are PGlite's own memory, which it writes over.
          onRawData: (bytes) => void answer.push(Buffer.from(bytes)),
        }),
      )
      if (!connection.destroyed) connection.push(Buffer.concat(answer))
    } catch (cause) {
      connection.destroy(cause instanceof Error ? cause : new Error(String(cause)))
    }
    this.#owner = this.#database.isInTransaction() ? connection : undefined
    this.#abandoned = this.#owner?.destroyed ?? false
  }

  /** What its owner left open; a session that cannot even do that is of no use any more. */
  async #rollBack(): Promise<void> {
    try {
      if (this.#database.isInTransaction()) await this.#database.exec("rollback")
    } catch (cause) {
      for (const connection of this.#waiting.slice()) connection.destroy(new Error(String(cause)))
    }
    this.#abandoned = false
    this.#owner = undefined
  }
}

/** Sent in place of a start-up message, on a connection of its own, to cancel a statement. */
const cancelRequest = 80_877_102

const terminate = 0x58
/** Sync, Query and Flush: what a client ends its turn with. */
const turnEnds = new Set([0x53, 0x51, 0x48])

/** The client's end of a connection: gathers whole messages until the client ends its turn. */
class PgliteStream extends Duplex {
  readonly #server: PgliteServer
  #received: Buffer = Buffer.alloc(0)
  #complete: Array<Buffer> = []
  #started = false

  constructor(server: PgliteServer) {
    super()
    this.#server = server
  }

  /** Everything up to the last end of a turn. */
  takeTurn(): Uint8Array {
    const taken = Buffer.concat(this.#complete)
    this.#complete = []
    return taken
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#received = Buffer.concat([this.#received, chunk])
    let at = 0
    let complete = 0
    for (;;) {
      const length = this.#messageLength(at)
      if (length === undefined || this.#received.length - at < length) break
      const kind = this.#started ? this.#received[at] : undefined
      const isCancel = !this.#started && this.#received.readInt32BE(at + 4) === cancelRequest
      // One backend works off one statement at a time: by now there is nothing to cancel.
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
      this.#complete.push(this.#received.subarray(0, complete))
      this.#received = this.#received.subarray(complete)
      this.#server.enqueue(this)
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
    this.#server.release(this)
    this.push(null)
    done(error)
  }
}
