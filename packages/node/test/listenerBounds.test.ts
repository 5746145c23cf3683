/** Resources that clients can make the listener hold: requests, connections, unread responses. */
import { assert, describe, it } from "@effect/vitest"
import { sharedLimits } from "@messaging-service/core"
import { processes } from "@messaging-service/testkit"
import { Effect, Latch, Stream } from "effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import { stream, text, uint8Array } from "effect/http/HttpServerResponse"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { connect } from "node:net"
import type { Socket } from "node:net"
import { listen } from "../src/HttpListener.ts"
import type { HttpListener } from "../src/HttpListener.ts"

const { connections, pipelinedRequests } = sharedLimits

/** A connection to the listener, open or refused, until the scope closes. */
const aConnection = ({ url }: HttpListener, localAddress = "127.0.0.1") =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const port = Number(new URL(url).port)
      const socket = connect({ port, host: "127.0.0.1", localAddress }, () =>
        resume(Effect.succeed(socket)),
      )
      socket.on("error", () => undefined)
    }),
    (socket) => Effect.sync(() => socket.destroy()),
  )

/** Waits until the connection has received that many responses. */
const received = (socket: Socket) => {
  let all = ""
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    all += chunk
  })
  return (answers: number) =>
    processes.waitUntil(
      `${answers} answers`,
      Effect.sync(() => (all.split("HTTP/1.1 200").length - 1 === answers ? all : undefined)),
    )
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

/** An app with responses that wait for the test, with its numbers of started, ended and running handlers. */
const aSlowApp = Effect.gen(function* () {
  const latch = yield* Latch.make(false)
  const counts = { started: 0, underWay: 0, max: 0 }
  const app = Effect.acquireUseRelease(
    Effect.sync(() => {
      counts.started++
      counts.max = Math.max(counts.max, ++counts.underWay)
    }),
    () =>
      Effect.andThen(
        latch.await,
        Effect.map(HttpServerRequest, ({ url }) => text(url)),
      ),
    () => Effect.sync(() => counts.underWay--),
  ).pipe(Effect.interruptible)
  return { app, counts, release: latch.open }
})

const until = (what: string, holds: () => boolean) =>
  processes.waitUntil(
    what,
    Effect.sync(() => (holds() ? true : undefined)),
  )

describe("the listener", () => {
  it.effect("answers 5,000 pipelined requests of a connection, 8 at a time, in their order", () =>
    Effect.gen(function* () {
      const { app, counts, release } = yield* aSlowApp
      const listener = yield* listen("127.0.0.1", 0)
      yield* Effect.forkChild(listener.serve(app))
      const socket = yield* aConnection(listener)
      const answers = received(socket)
      const paths = Array.from({ length: 5000 }, (_, index) => `/${index}`)
      socket.write(paths.map(get).join(""))
      yield* until(
        "all that may be are under way",
        () => counts.started === pipelinedRequests.whole,
      )
      // Another connection gets its turn meanwhile, so no more requests of the first start.
      const other = yield* aConnection(listener)
      other.write(get("/other"))
      yield* until("the other's is under way", () => counts.started === pipelinedRequests.whole + 1)

      yield* release
      const all = yield* answers(paths.length)
      assert.deepStrictEqual(all.match(/(?<=\r\n\r\n)\/\d+/g), paths)
      assert.strictEqual(counts.max, pipelinedRequests.whole + 1)
    }),
  )

  it.effect("ends all of a client's requests when it goes away", () =>
    Effect.gen(function* () {
      const { app, counts } = yield* aSlowApp
      const listener = yield* listen("127.0.0.1", 0)
      yield* Effect.forkChild(listener.serve(app))
      const socket = yield* aConnection(listener)
      socket.write(get("/").repeat(pipelinedRequests.whole))
      yield* until("handlers are under way", () => counts.underWay === pipelinedRequests.whole)
      socket.destroy()
      yield* until("none is under way", () => counts.underWay === 0)
      assert.strictEqual(counts.started, pipelinedRequests.whole)
    }),
  )

  it.effect(
    "reads whole bodies, with a length or without, and requests pipelined behind them",
    () =>
      Effect.gen(function* () {
        const listener = yield* listen("127.0.0.1", 0)
        const digest = Effect.gen(function* () {
          const body = new Uint8Array(yield* (yield* HttpServerRequest).arrayBuffer)
          return text(createHash("sha256").update(body).digest("hex"))
        }).pipe(Effect.orDie)
        yield* Effect.forkChild(listener.serve(digest))
        const socket = yield* aConnection(listener)
        const answers = received(socket)
        const bodies = [0, 1, 1000, 1024, 70_000, 3_000_000].map((size) =>
          Buffer.from(Array.from({ length: size }, (_, index) => index % 251)),
        )
        for (const body of bodies) {
          const head = "POST / HTTP/1.1\r\nHost: x\r\n"
          socket.write(`${head}Content-Length: ${body.length}\r\n\r\n`)
          socket.write(body)
          socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
          if (body.length > 0) {
            socket.write(`${body.length.toString(16)}\r\n`)
            socket.write(body)
            socket.write("\r\n")
          }
          socket.write("0\r\n\r\n")
        }
        const all = yield* answers(2 * bodies.length)
        const digests = bodies.map((body) => createHash("sha256").update(body).digest("hex"))
        assert.deepStrictEqual(
          all.match(/[0-9a-f]{64}/g),
          digests.flatMap((each) => [each, each]),
        )
      }),
  )

  const answersInFull = {
    "in one piece": uint8Array(new Uint8Array(64 * 1024 * 1024)),
    "as a stream": stream(
      Stream.fromIterable(Array.from({ length: 1024 }, () => new Uint8Array(65_536))),
    ),
  }
  for (const [how, answer] of Object.entries(answersInFull)) {
    it.effect(`ends a response ${how} when the client reads nothing of it for 30 s`, () =>
      Effect.gen(function* () {
        const listener = yield* listen("127.0.0.1", 0)
        yield* Effect.forkChild(listener.serve(Effect.succeed(answer)))
        const socket = yield* aConnection(listener)
        const ends: Array<string> = []
        socket.once("close", () => ends.push("closed"))
        socket.pause()
        socket.write(get("/"))
        // An idle connection stays open.
        const idle = yield* aConnection(listener)
        idle.resume()
        let checks = 0
        while (ends.length === 0) {
          yield* TestClock.adjust("5 seconds")
          checks++
          // A client that does not read detects the end when it writes; this is not a request.
          socket.write("\r\n")
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        }
        assert.isAtLeast(checks, 6)
        assert.isBelow(socket.bytesRead, 64 * 1024 * 1024)
        assert.isFalse(idle.destroyed)
      }),
    )
  }

  it.effect("limits connections of one address, and closes further ones", () =>
    Effect.gen(function* () {
      const listener = yield* listen("127.0.0.1", 0)
      yield* Effect.forkChild(listener.serve(Effect.succeed(text("hello"))))
      const request = Effect.fnUntraced(function* (socket: Socket) {
        const ended = Effect.promise(() => once(socket, "close"))
        socket.write(get("/"))
        const first = Effect.promise(() => once(socket, "data"))
        return yield* Effect.raceFirst(Effect.as(first, "answered"), Effect.as(ended, "closed"))
      })
      const all: Array<Socket> = []
      for (let count = 0; count < connections.share.most; count++) {
        const socket = yield* aConnection(listener)
        all.push(socket)
        assert.strictEqual(yield* request(socket), "answered")
      }
      assert.strictEqual(yield* request(yield* aConnection(listener)), "closed")
      all[0]!.destroy()
      yield* processes.waitUntil(
        "there is room again",
        Effect.gen(function* () {
          const outcome = yield* request(yield* aConnection(listener))
          return outcome === "answered" ? true : undefined
        }),
      )
    }),
  )

  it.effect("limits connections in all, and of one proxy keeps the newest", () =>
    Effect.gen(function* () {
      const listener = yield* listen("127.0.0.1", 0, { behindProxy: true })
      yield* Effect.forkChild(listener.serve(Effect.succeed(text("hello"))))
      const opened: Array<Socket> = []
      const closed: Array<Socket> = []
      for (let count = 0; count < connections.whole + 5; count++) {
        const socket = yield* aConnection(listener)
        opened.push(socket)
        socket.once("close", () => closed.push(socket))
      }
      yield* until("the oldest are closed", () => closed.length === 5)
      yield* TestClock.adjust("5 seconds")
      assert.sameMembers(closed, opened.slice(0, 5))
    }),
  )

  // Other systems have one loopback address.
  it.effect.skipIf(process.platform !== "linux")(
    "stays open for an address when others hold all connections idle",
    () =>
      Effect.gen(function* () {
        const listener = yield* listen("127.0.0.1", 0)
        const { app, counts, release } = yield* aSlowApp
        yield* Effect.forkChild(listener.serve(app))
        const busy = yield* aConnection(listener, "127.0.0.2")
        busy.write(get("/busy"))
        yield* until("one is busy", () => counts.underWay === 1)
        let closed = 0
        const holders = connections.whole / connections.share.most
        for (let owner = 0; owner < holders; owner++) {
          const mine = owner === 0 ? connections.share.most - 1 : connections.share.most
          for (let count = 0; count < mine; count++) {
            const socket = yield* aConnection(listener, `127.0.0.${2 + owner}`)
            socket.once("close", () => closed++)
          }
        }
        const other = yield* aConnection(listener)
        other.write(get("/other"))
        yield* until("the other is answered too", () => counts.underWay === 2)
        assert.strictEqual(closed, 1)
        const answer = received(busy)
        yield* release
        yield* answer(1)
      }),
  )
})
