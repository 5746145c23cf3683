/** A client's connection: how much data it passes on, and how far the client reads responses. */
import { assert, describe, it } from "@effect/vitest"
import { sharedLimits } from "@messaging-service/core"
import { Effect } from "effect"
import { EventEmitter } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Duplex } from "node:stream"
import { ClientConnection } from "../src/HttpListener.ts"

const max = sharedLimits.pipelinedRequests.whole

/** A socket with a remote end that the test plays. */
class FakeSocket extends Duplex {
  readonly remoteAddress = "127.0.0.1"
  /** Unread bytes of each write, and the callback for reading them. */
  readonly unread: Array<{ readonly bytes: number; readonly read: () => void }> = []

  override _read() {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void) {
    this.unread.push({ bytes: chunk.length, read: done })
  }

  arrive(bytes: Buffer) {
    this.push(bytes)
  }

  setTimeout() {
    return this
  }
}

/** Enough turns of the event loop to pass on everything possible. */
const ticks = Effect.repeat(
  Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
  { times: 40 },
)

/** A connection with a request in each slice, as the test decides. */
const aConnection = (getHeaders: () => Record<string, string> = () => ({})) => {
  const socket = new FakeSocket()
  const connection = new ClientConnection(socket as unknown as Socket)
  const slices: Array<number> = []
  const started: Array<EventEmitter> = []
  connection.on("data", (slice: Buffer) => {
    slices.push(slice.length)
    const response = new EventEmitter()
    const request = { headers: getHeaders() }
    connection.schedule(request as IncomingMessage, response as unknown as ServerResponse, () =>
      started.push(response),
    )
  })
  return { socket, connection, slices, started }
}

describe("a client's connection", () => {
  it.effect("passes on nothing more at its maximum of requests in flight", () =>
    Effect.gen(function* () {
      const { started, slices, socket } = aConnection()
      for (let chunk = 0; chunk < 3; chunk++) socket.arrive(Buffer.alloc(65_536))
      yield* ticks
      assert.strictEqual(started.length, max)
      assert.deepStrictEqual(
        slices,
        Array.from({ length: max }, () => 1024),
      )
      assert.isTrue(socket.isPaused())

      started[0]!.emit("close")
      started[1]!.emit("close")
      yield* ticks
      assert.strictEqual(started.length, max + 2)
      assert.strictEqual(slices.length, max + 2)
      assert.isTrue(socket.isPaused())
    }),
  )

  it.effect("takes turns with other connections, a slice at a time", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      for (const name of ["a", "b"]) {
        const socket = new FakeSocket()
        const connection = new ClientConnection(socket as unknown as Socket)
        connection.on("data", () => {
          order.push(name)
          const response = new EventEmitter()
          const request = { headers: {} } as IncomingMessage
          // Responds at once, so only the turns hold it back.
          connection.schedule(request, response as unknown as ServerResponse, () =>
            response.emit("close"),
          )
          response.emit("close")
        })
        socket.arrive(Buffer.alloc(20 * 1024))
      }
      yield* ticks
      assert.lengthOf(order, 40)
      assert.isBelow(order.indexOf("b"), 3)
      for (let index = 4; index < 36; index += 2) {
        assert.sameMembers(order.slice(index, index + 2), ["a", "b"])
      }
    }),
  )

  it.effect("queues requests that came in one slice, in their order", () =>
    Effect.gen(function* () {
      const socket = new FakeSocket()
      const connection = new ClientConnection(socket as unknown as Socket)
      const started: Array<number> = []
      const responses = Array.from({ length: 30 }, () => new EventEmitter())
      connection.once("data", () => {
        for (const [index, response] of responses.entries()) {
          const request = { headers: {} } as IncomingMessage
          connection.schedule(request, response as unknown as ServerResponse, () =>
            started.push(index),
          )
        }
      })
      socket.arrive(Buffer.alloc(2000))
      yield* ticks
      for (let answered = 0; answered < responses.length; answered++) {
        assert.strictEqual(started.length, Math.min(answered + max, responses.length))
        responses[answered]!.emit("close")
      }
      assert.deepStrictEqual(started, [...responses.keys()])
    }),
  )

  it.effect("passes on a body in one go, up to where another request could begin", () =>
    Effect.gen(function* () {
      const bodies = ["40000", "0"]
      const { slices, socket } = aConnection(() => ({ "content-length": bodies.shift() ?? "0" }))
      socket.arrive(Buffer.alloc(50_000))
      yield* ticks
      // Data after the head may have been body, so much of the 40,000 may be past it.
      assert.deepStrictEqual(slices.slice(0, 3), [1024, 40_000 - 1024, 1024])
    }),
  )

  it.effect("passes on larger slices of a body of unknown length", () =>
    Effect.gen(function* () {
      const requests = [{ "transfer-encoding": "chunked" }]
      const { slices, socket } = aConnection(() => requests[0]!)
      socket.arrive(Buffer.alloc(20_000))
      yield* ticks
      assert.deepStrictEqual(slices.slice(0, 3), [1024, 4096, 4096])
    }),
  )

  it.effect(
    "reports no progress when the client read nothing of a response between two checks",
    () =>
      Effect.gen(function* () {
        const { connection, socket } = aConnection()
        connection.isStalled()
        assert.isFalse(connection.isStalled(), "nothing to read")
        connection.write("a".repeat(50_000), "latin1")
        yield* ticks
        connection.isStalled()
        assert.isTrue(connection.isStalled(), "nothing read")
        socket.unread[0]!.read()
        yield* ticks
        assert.isFalse(connection.isStalled(), "a piece was read")
        assert.isTrue(connection.isStalled(), "and no other")
        for (let piece = 1; piece < 4; piece++) {
          socket.unread[piece]!.read()
          yield* ticks
        }
        assert.deepStrictEqual(
          socket.unread.map(({ bytes }) => bytes),
          [16_384, 16_384, 16_384, 50_000 - 3 * 16_384],
        )
        connection.isStalled()
        assert.isFalse(connection.isStalled(), "all read")
      }),
  )
})
