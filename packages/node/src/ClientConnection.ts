/**
 * A client's connection, between the socket and Node's HTTP server. Node parses all that has arrived,
 * and answers pipelined requests all at once; this passes on small slices, and none while the
 * connection has as many requests under way as it may, so that neither handlers nor parsed requests
 * pile up. The rest stays with the system, and TCP holds the client back.
 *
 * It also knows how far the client has read its answers, so that one that does not can be found.
 */
import { sharedResources } from "@messaging-service/core"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Duplex } from "node:stream"

/**
 * Bytes that are parsed at once: fewer than fifty requests, however short they are. What is known to
 * be a body goes faster.
 */
const sliceBytes = 1024

/** The same behind the head of a body of unknown length, which must not take one turn for each KiB. */
const chunkedSliceBytes = 4096

/** Bytes that the socket takes at once; each such piece is progress. */
const pieceBytes = 16 * 1024

type Done = (error?: Error | null) => void

/** A request with its answer, and what begins it. */
interface Asked {
  readonly response: ServerResponse
  readonly begin: () => void
}

/** As a stream is given them. */
interface Chunk {
  readonly chunk: string | Buffer
  readonly encoding: BufferEncoding
}

const piecesOf = ({ chunk, encoding }: Chunk): ReadonlyArray<Chunk> => {
  if (chunk.length <= pieceBytes) return [{ chunk, encoding }]
  const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) => ({
    chunk: bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
    encoding,
  }))
}

export class ClientConnection extends Duplex {
  readonly #socket: Socket
  /** In the order of asking, which is that of answering. */
  readonly #underWay = new Set<ServerResponse>()
  #waiting: Array<Asked> = []
  /** What has arrived and is not parsed yet. */
  #held: Buffer | null = null
  /** Bytes of the present body that no other request can begin in. */
  #bodyBytes = 0
  #sliceBytes = sliceBytes
  #isWanted = false
  #isPassingOn = false
  #willPassOn = false
  #hasEnded = false
  #isLast = false
  #isWriting = false
  #pieces = 0
  #piecesSeen = 0

  constructor(socket: Socket) {
    super({ decodeStrings: false, readableHighWaterMark: 1 })
    this.#socket = socket
    socket.on("data", (bytes: Buffer) => {
      this.#held = this.#held === null ? bytes : Buffer.concat([this.#held, bytes])
      this.#passOn()
      if (this.#held !== null) socket.pause()
    })
    socket.once("end", () => {
      this.#hasEnded = true
      this.#passOn()
    })
    socket.on("timeout", () => this.emit("timeout"))
    socket.once("error", (error) => this.destroy(error))
    socket.once("close", () => this.destroy())
    this.once("close", () => this.#abandon())
  }

  // What Node's HTTP server and its users ask of a socket.

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress
  }

  setTimeout(millis: number): this {
    this.#socket.setTimeout(millis)
    return this
  }

  /** Closes once everything is written, as that of a socket does. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once("finish", () => this.destroy())
  }

  /** Begins the request, or has it wait until one before it is answered. */
  ask(request: IncomingMessage, response: ServerResponse, begin: () => void): void {
    // The slice that holds the request's head holds some of its body too, a slice at most.
    this.#bodyBytes = Math.max(0, Number(request.headers["content-length"] ?? 0) - sliceBytes)
    this.#sliceBytes =
      request.headers["transfer-encoding"] === undefined ? sliceBytes : chunkedSliceBytes
    const asked = { response, begin }
    if (this.#isFull() || this.#waiting.length > 0) this.#waiting.push(asked)
    else this.#begin(asked)
  }

  /** Takes no more requests: the connection closes with the last answer under way. */
  makeLast(): void {
    this.#isLast = true
    this.#waiting = []
    const last = [...this.#underWay].at(-1)
    if (last !== undefined) last.shouldKeepAlive = false
  }

  /** Whether it has no request under way: it may be closed, and nothing is lost. */
  get isIdle(): boolean {
    return this.#underWay.size === 0 && this.#waiting.length === 0
  }

  /** Whether the client has read nothing of what waits for it since this was asked before. */
  standsStill(): boolean {
    const stands = this.#isWriting && this.#pieces === this.#piecesSeen
    this.#piecesSeen = this.#pieces
    return stands
  }

  #isFull(): boolean {
    return this.#underWay.size >= sharedResources.pipelinedRequests.whole
  }

  #begin({ begin, response }: Asked): void {
    this.#underWay.add(response)
    response.once("close", () => {
      this.#underWay.delete(response)
      this.#beginWaiting()
      this.#passOnLater()
    })
    begin()
  }

  #beginWaiting(): void {
    while (!this.#isFull()) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#begin(next)
    }
  }

  /** Tells those that answer that the client went away; Node tells only the one that writes. */
  #abandon(): void {
    this.#waiting = []
    this.#held = null
    this.#socket.destroy()
    for (const response of this.#underWay) {
      response.destroy()
      response.emit("close")
    }
  }

  #nextSlice(): Buffer | null {
    const held = this.#held
    if (held === null) return null
    const size = this.#bodyBytes > 0 ? this.#bodyBytes : this.#sliceBytes
    const slice = held.subarray(0, size)
    this.#bodyBytes = Math.max(0, this.#bodyBytes - slice.length)
    this.#held = held.length > slice.length ? held.subarray(slice.length) : null
    return slice
  }

  #passOn(): void {
    if (this.#isPassingOn) return
    this.#isPassingOn = true
    if (this.#isWanted && !this.#isLast && !this.#isFull() && !this.destroyed) {
      const slice = this.#nextSlice()
      if (slice !== null) this.#isWanted = this.push(slice)
      if (this.#held !== null && this.#isWanted) this.#passOnLater()
    }
    this.#isPassingOn = false
    if (this.#held !== null || this.destroyed) return
    // With nothing held back it goes on reading, however many are under way: so it learns of the end.
    if (this.#hasEnded) {
      this.#hasEnded = false
      this.push(null)
    } else if (this.#socket.isPaused()) this.#socket.resume()
  }

  override _read(): void {
    this.#isWanted = true
    // A stream asks for more before it has handed on what it has, and keeps what it is given at once;
    // a slice must be parsed before the next one, for only then is it known what it held.
    if (this.#held === null) this.#passOn()
    else this.#passOnLater()
  }

  /**
   * The next slice has its turn after those of all other connections: what one client sent ahead holds
   * up no other one.
   */
  #passOnLater(): void {
    if (this.#willPassOn) return
    this.#willPassOn = true
    setImmediate(() => {
      this.#willPassOn = false
      this.#passOn()
    })
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: Done): void {
    this.#writeAll([{ chunk, encoding }], done)
  }

  override _writev(chunks: ReadonlyArray<Chunk>, done: Done): void {
    this.#writeAll(chunks, done)
  }

  #writeAll(chunks: ReadonlyArray<Chunk>, done: Done): void {
    this.#isWriting = true
    this.#writeNext(chunks.flatMap(piecesOf), (error) => {
      this.#isWriting = false
      done(error)
    })
  }

  /** As much as one piece may hold, so that head and body of a short answer leave in one go. */
  #writeNext(pieces: ReadonlyArray<Chunk>, done: Done): void {
    let bytes = 0
    const over = pieces.findIndex(({ chunk }, index) => {
      bytes += chunk.length
      return index > 0 && bytes > pieceBytes
    })
    const now = over === -1 ? pieces : pieces.slice(0, over)
    const written: Done = (error) => {
      this.#pieces++
      const rest = pieces.slice(now.length)
      if ((error !== null && error !== undefined) || rest.length === 0) done(error)
      else this.#writeNext(rest, done)
    }
    this.#socket.cork()
    for (const [index, { chunk, encoding }] of now.entries()) {
      this.#socket.write(chunk, encoding, index === now.length - 1 ? written : undefined)
    }
    this.#socket.uncork()
  }

  override _final(done: Done): void {
    this.#socket.end(() => done())
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.destroy()
    done(error)
  }
}
