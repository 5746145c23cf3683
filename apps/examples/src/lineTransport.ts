/**
 * A transport with connections of its own: each number keeps a line open to the remote server, on which both speak
 * in lines of JSON. The remote server is made up; what counts is what is left to write here, since
 * `makeLiveNumbers` does the rest. `docs/writing-a-transport.md` goes through it.
 *
 * The number says `login` with its secret, and is answered `welcome` with its phone, or `bye` with a
 * reason. A message is `send` with its id, `part` for each piece of its media, and `end`; the remote server says
 * `ack`, `nack` or, when it was read, `read`. It shows one copy for each id, however often it comes.
 */
import {
  SessionVault,
  WhatsAppTransport,
  makeLiveNumbers,
  outcomeOnceExpired,
  sleepInRealTime,
} from "@messaging-service/core"
import type {
  AfterClose,
  Connecting,
  LiveConnection,
  LiveNumber,
  LiveSettings,
  OutgoingMessage,
  SendOutcome,
  TransportId,
} from "@messaging-service/core"
import { Clock, Deferred, Effect, Layer, Option, Queue, Schema, Stream } from "effect"
import { connect as connectTo } from "node:net"
import { createInterface } from "node:readline"

/** What the remote server says, one kind in a line. */
const Word = Schema.Struct({
  welcome: Schema.optionalKey(Schema.String),
  bye: Schema.optionalKey(Schema.String),
  ack: Schema.optionalKey(Schema.String),
  nack: Schema.optionalKey(Schema.String),
  why: Schema.optionalKey(Schema.String),
  read: Schema.optionalKey(Schema.String),
})

const decodeWord = Schema.decodeUnknownOption(Schema.fromJsonString(Word))

/** An unreadable line ends the connection: what follows it may be anything. */
const wordIn = (line: string): typeof Word.Type =>
  Option.getOrElse(decodeWord(line), () => ({ bye: "cannot be read" }))

/** An open line, with the state of sends over it. */
interface Line extends LiveConnection {
  readonly say: (word: object) => void
  /** By message id: takes the remote server's answer. */
  readonly waiting: Map<string, (outcome: SendOutcome) => void>
}

/** The meaning of each end: some are permanent, others wait. */
const ends: ReadonlyMap<string, AfterClose> = new Map([
  ["unknown secret", { _tag: "Stop", reason: "logged_out", wipe: true }],
  ["in use elsewhere", { _tag: "Stop", reason: "replaced", wipe: false }],
  ["too many lines", { _tag: "Pause", reason: "restricted", millis: 60_000 }],
])

/** After any other end, such as one without a word, it retries after a pause. */
const afterClose = (reason: string): AfterClose => ends.get(reason) ?? { _tag: "Again" }

const refused = (code: "recipient_not_found" | "send_failed", message: string): SendOutcome => ({
  _tag: "Refused",
  error: { code, message },
  againstNumber: false,
})

/** One line from its start to its end, closed with its scope. Its end is always its last word. */
const openLine = Effect.fnUntraced(function* openLine(port: number) {
  const words = yield* Queue.unbounded<typeof Word.Type>()
  const clock = yield* Clock.Clock
  let lastWordAt: number | null = null
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => connectTo(port, "127.0.0.1")),
    (open) => Effect.sync(() => open.destroy()),
  )
  socket.on("error", () => undefined)
  socket.on("close", () => Queue.offerUnsafe(words, { bye: "without a word" }))
  createInterface({ input: socket }).on("line", (line) => {
    lastWordAt = clock.currentTimeMillisUnsafe()
    Queue.offerUnsafe(words, wordIn(line))
  })
  const line: Line = {
    over: yield* Deferred.make<void>(),
    lastWordAt: () => lastWordAt,
    say: (word) => void socket.write(`${JSON.stringify(word)}\n`),
    waiting: new Map(),
  }
  return { line, words }
})

/** Connects a number once, and classifies how that ends. */
const makeConnect = Effect.fnUntraced(function* makeConnect(port: number) {
  const vault = yield* SessionVault
  return (live: LiveNumber<Line>, connecting: Connecting<Line>) =>
    Effect.gen(function* () {
      const secret = yield* vault.credentials(live.numberId)
      if (secret === null) return null
      const { proxy } = yield* connecting.ready
      // This line knows no proxies, and must not bypass one.
      if (proxy !== null) return { _tag: "Stop", reason: "restricted", wipe: false } as const
      const { line, words } = yield* openLine(port)
      line.say({ login: secret })
      for (;;) {
        const { ack, bye, nack, read, welcome, why = "" } = yield* Queue.take(words)
        if (welcome !== undefined) yield* connecting.opened(line, welcome)
        if (ack !== undefined) line.waiting.get(ack)?.({ _tag: "Accepted" })
        if (nack !== undefined) {
          const code = why === "no such phone" ? "recipient_not_found" : "send_failed"
          line.waiting.get(nack)?.(refused(code, why))
        }
        if (read !== undefined) {
          const tick = {
            _tag: "Tick",
            numberId: live.numberId,
            transportId: read as TransportId,
            status: "read",
          } as const
          yield* Effect.forkScoped(connecting.take(tick))
        }
        if (bye !== undefined) return afterClose(bye)
      }
    })
})

const soon: SendOutcome = { _tag: "Postponed", afterMillis: 5000 }

/** One attempt over an open line. It ends with the remote server's answer, or with the line. */
const sendOver = (line: Line, message: OutgoingMessage) =>
  Effect.gen(function* () {
    const { media, text, to, transportId: id } = message
    // It may have expired while the line was opened.
    const late = outcomeOnceExpired(message, yield* Clock.currentTimeMillis)
    if (late !== null) return late
    if (to.kind !== "phone") return refused("recipient_not_found", "Only phones are reached.")
    const word = yield* Deferred.make<SendOutcome>()
    line.waiting.set(id, (outcome) => Deferred.doneUnsafe(word, Effect.succeed(outcome)))
    const file = media && { name: media.fileName, type: media.mimeType }
    line.say({ send: id, to: to.phone, text, file })
    yield* Stream.runForEach(media?.content ?? Stream.empty, (bytes) =>
      Effect.sync(() => line.say({ part: id, bytes: Buffer.from(bytes).toString("base64") })),
    )
    line.say({ end: id })
    return yield* Effect.raceFirst(
      Deferred.await(word),
      Effect.as(Deferred.await(line.over), { _tag: "Unknown" } as const),
    )
  }).pipe(
    Effect.orElseSucceed(() => soon),
    // Leaves nothing behind when it is interrupted, or the file is interrupted.
    Effect.ensuring(
      Effect.sync(() => {
        line.waiting.delete(message.transportId)
        line.say({ forget: message.transportId })
      }),
    ),
  )

/** How long a send waits for an opening line, in real time. */
const openMillis = 15_000

/** WhatsApp numbers, each over its own line to that port of this machine. */
export const layerLine = (port: number, settings: LiveSettings) =>
  Layer.effect(
    WhatsAppTransport,
    Effect.gen(function* () {
      const numbers = yield* makeLiveNumbers({
        platform: "whatsapp",
        settings,
        keptKeys: {},
        connect: yield* makeConnect(port),
        remembersWiped: false,
        meansLoggedOut: ["logged_out"],
        // The remote server answers by closing the line.
        logOut: (line: Line) =>
          Effect.as(
            Effect.andThen(
              Effect.sync(() => line.say({ logout: true })),
              Deferred.await(line.over),
            ),
            true,
          ),
      })
      return WhatsAppTransport.of({
        dropsCopies: true,
        send: Effect.fnUntraced(function* send(message) {
          const line = yield* Effect.raceFirst(
            numbers.open(message.numberId),
            Effect.as(sleepInRealTime(openMillis), "connection_lost" as const),
          )
          // Nothing was sent: the line is still opening, or another worker has the number.
          if (line === "connection_lost" || line === "elsewhere") return soon
          if (line === null || typeof line === "string") return { _tag: "NotConnected" }
          // A frozen process wakes up here, when another may have the number.
          return numbers.owns(message.numberId) ? yield* sendOver(line, message) : soon
        }),
        listen: numbers.listen,
        connections: numbers.reports,
      })
    }),
  )
