/**
 * Processes that end, and storms against the remote server, on a store in memory and on PostgreSQL. Numbers
 * send while connections break at every point, the remote server is busy, garbles, leaves and returns, the
 * store fails, and the adapter restarts. Afterwards each outcome must be true, no recipient may have seen a
 * message twice, no tick may be lost, and each number must be its original device. `TEST_SEED` repeats one.
 * The simulation's transport follows the rules of its port: this is the real one, with its protocol.
 */
import { assert, layer } from "@effect/vitest"
import { WhatsAppTransport, Store } from "@messaging-service/core"
import type { OutgoingMessage, SendOutcome, TransportEvent } from "@messaging-service/core"
import { layer as memoryStore } from "@messaging-service/store-memory"
import { layer as layerPostgres } from "@messaging-service/store-postgres"
import { EmbeddedPostgres, testSeed } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { MessageOutcome } from "@messaging-service/whatsapp-server"
import { Effect, Fiber, Layer, Random } from "effect"
import {
  aLinkedNumber,
  anUnlinkedNumber,
  aPerson,
  aText,
  getDevices,
  hasCredentials,
  inTrouble,
  layerAdapter,
  layerNotTold,
  layerServer,
  layerStoresOn,
  scanning,
  sendNow,
  tags,
  to,
  Told,
  Trouble,
  until,
  untilSo,
} from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"

const settings = { lookMillis: 200, keepAliveMillis: 1000, resendMillis: 100 }

const layerStormy = layerAdapter(settings, layerNotTold)

/** Attempts that may have left, after which the core does not repeat a message. */
const maxUnknown = 3

/** The core's timeout of an attempt, shortened. */
const patienceMillis = 1500

interface Sent {
  readonly message: OutgoingMessage
  /** Digits of the person, or null for the group. */
  readonly person: string | null
  end: "Accepted" | "Refused" | "Unknown" | null
  unknown: number
}

const between = (min: number, max: number) => Random.nextIntBetween(min, max)

const oneOf = <A>(items: ReadonlyArray<A>) =>
  Effect.map(between(0, items.length - 1), (index) => items[index] as A)

/** One attempt, by an adapter that may end meanwhile: then it may have left. What cannot be lost has no timeout. */
const attempt = (
  sent: Sent,
  mayBeLost: boolean,
): Effect.Effect<SendOutcome, never, typeof WhatsAppTransport.Identifier> =>
  WhatsAppTransport.use(({ send }) => send(sent.message)).pipe(
    Effect.timeoutOrElse({
      duration: mayBeLost ? patienceMillis : "Infinity",
      orElse: () => Effect.succeed<SendOutcome>({ _tag: "Unknown" }),
    }),
    Effect.onInterrupt(() => Effect.sync(() => void sent.unknown++)),
  )

/** Sends unfinished messages one after the other, like a lane of the core. */
const sendAll = (lane: ReadonlyArray<Sent>, mayBeLost: () => boolean) =>
  Effect.forEach(
    lane,
    (sent) =>
      Effect.gen(function* () {
        while (sent.end === null) {
          const { _tag } = yield* attempt(sent, mayBeLost())
          if (_tag === "Accepted") sent.end = "Accepted"
          // A refusal says nothing of the attempts before it.
          else if (_tag === "Refused") sent.end = sent.unknown > 0 ? "Unknown" : "Refused"
          else if (_tag === "Unknown") sent.unknown++
          if (sent.end === null && sent.unknown >= maxUnknown) sent.end = "Unknown"
          if (sent.end === null) yield* Effect.sleep(20)
        }
      }),
    { discard: true },
  )

const faults: ReadonlyArray<MessageOutcome> = [
  { drop: "before work" },
  { drop: "before ack" },
  { drop: "after ack" },
  { nack: 463 },
  { nack: 500 },
  { nack: 503 },
  "lose",
]

/** One fault. */
const oneFault = (numbers: ReadonlyArray<LinkedNumber>) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    const trouble = yield* Trouble
    const { digits } = yield* oneOf(numbers)
    const fails = (operations: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        trouble.meets = (operation) => operations.includes(operation)
        yield* Effect.sleep(yield* between(50, 400))
        trouble.meets = () => false
      })
    yield* yield* oneOf<Effect.Effect<void>>([
      server.drop(digits),
      server.garble(digits),
      server.end(yield* oneOf([500, 503, 515]), digits),
      server.nextConnection("drop"),
      server.nextConnection({ status: 503 }),
      server.refuseNext("usync result", 503),
      server.refuseNext("devices result", 503),
      server.refuseNext("group", 503),
      Effect.andThen(server.down, Effect.andThen(Effect.sleep(200), server.up)),
      fails(["write"]),
      fails(["keys", "credentials", "list"]),
      ...faults.map((outcome) => server.nextMessage({ from: digits, outcome })),
    ])
    yield* Effect.sleep(yield* between(0, 150))
  })

const runLoad = (messages: number, lives: number) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    const trouble = yield* Trouble
    const received: Array<TransportEvent> = []

    const people = yield* Effect.replicateEffect(
      Effect.tap(aPerson, (digits) => server.person(digits, { receipts: ["delivered", "read"] })),
      3,
    )
    const numbers = yield* Effect.provide(
      Effect.replicateEffect(aLinkedNumber, 2),
      layerAdapter(settings),
    )
    for (const { digits } of numbers) {
      yield* server.group({ subject: `Crew of ${digits}`, participants: [digits, ...people] })
    }

    const lanes = yield* Effect.forEach(numbers, (number) =>
      Effect.replicateEffect(
        Effect.gen(function* () {
          const person = yield* oneOf([...people, null])
          const target =
            person === null
              ? ({ kind: "group", group: `Crew of ${number.digits}` } as const)
              : to(person)
          const sent: Sent = { message: aText(number, target), person, end: null, unknown: 0 }
          return sent
        }),
        messages,
      ),
    )

    /** The adapter from its start to its end, however far it came. */
    const aLife = (isLast: boolean) =>
      Effect.gen(function* () {
        const { listen } = yield* WhatsAppTransport
        yield* Effect.forkScoped(
          listen((event) =>
            Effect.gen(function* () {
              yield* Effect.sleep(yield* between(0, 30))
              received.push(event)
            }),
          ),
        )
        const sending = yield* Effect.forkScoped(
          Effect.forEach(
            lanes,
            (lane, index) =>
              sendAll(lane, () => !isLast || server.ordersLeft(numbers[index]!.digits) > 0),
            { concurrency: "unbounded", discard: true },
          ),
        )
        if (isLast) return yield* Fiber.join(sending)
        yield* Effect.sleep(yield* between(500, 1500))
      }).pipe(Effect.scoped, Effect.provide(layerStormy))

    const faulty = yield* Effect.forkScoped(Effect.forever(oneFault(numbers)))
    for (let life = 1; life < lives; life++) yield* aLife(false)
    yield* Fiber.interrupt(faulty)
    trouble.meets = () => false
    yield* server.up
    yield* aLife(true)

    const readBy = (sent: Sent) =>
      received.some(
        (event) =>
          event._tag === "Tick" &&
          event.status === "read" &&
          event.transportId === sent.message.transportId,
      )
    const recipients = ({ person }: Sent) => (person === null ? people : [person])
    const copies = (digits: string, { message }: Sent) =>
      server.decrypted(digits).filter(({ id }) => id === message.transportId).length
    const accepted = lanes.flat().filter(({ end }) => end === "Accepted")
    // Reports that the remote server could not deliver go to the next connection. One member has read a
    // group's message while another still requests what it could not decrypt.
    yield* Effect.gen(function* () {
      const { listen } = yield* WhatsAppTransport
      yield* Effect.forkScoped(listen((event) => Effect.sync(() => void received.push(event))))
      yield* until(() =>
        accepted.every(
          (sent) => readBy(sent) && recipients(sent).every((digits) => copies(digits, sent) > 0),
        ),
      )
    }).pipe(Effect.scoped, Effect.provide(layerStormy))

    for (const sent of lanes.flat()) {
      const { end, message, person, unknown } = sent
      const scenario = `${message.transportId} to ${person ?? "the group"}: ${end}, ${unknown} times unknown`
      for (const digits of recipients(sent)) {
        const visible = copies(digits, sent)
        if (end === "Accepted") assert.strictEqual(visible, 1, scenario)
        else if (end === "Refused") assert.strictEqual(visible, 0, scenario)
        else assert.isAtMost(visible, 1, scenario)
      }
    }
    for (const { digits } of numbers) assert.lengthOf(server.sessions(digits), 1)
    // A storm in which nothing got through proves nothing.
    assert.isAbove(accepted.length, messages / 2)
    return accepted.length
  }).pipe(Effect.scoped, Random.withSeed(testSeed()))

const layerChecking = layerAdapter({ lookMillis: 100 })

/** Links a number, and ends the process after the phone took the code, before that was reported. */
const brokenOff = Effect.gen(function* () {
  const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
  yield* Effect.gen(function* () {
    const server = yield* WhatsAppServer
    let isStored = false
    yield* inTrouble((operation) => {
      isStored ||= operation === "replace"
      return isStored && operation === "credentials"
    })
    const linking = yield* Effect.forkChild(scanning(id, digits))
    yield* server.until(() => server.sessions(digits).length === 1)
    yield* until(() => isStored)
    yield* Fiber.interrupt(linking)
  }).pipe(Effect.scoped, Effect.provide(layerChecking))
  return { digits, id }
})

const accepted = { _tag: "Accepted" } as const

const layerOnPostgres = Layer.unwrap(
  Effect.gen(function* () {
    const { database, path, username } = yield* (yield* EmbeddedPostgres).createDatabase()
    return layerPostgres({ database, path, username })
  }),
).pipe(Layer.provide(EmbeddedPostgres.layer()))

/** The stores, and the size of each storm: messages of each number, lives of the adapter. */
const stores: ReadonlyArray<
  readonly [name: string, layer: Layer.Layer<Store>, messages: number, lives: number]
> = [
  ["memory", memoryStore, 25, 4],
  ["PostgreSQL", Layer.orDie(layerOnPostgres), 15, 3],
]

for (const [name, store, messages, lives] of stores) {
  const world = Layer.provideMerge(layerStoresOn(store), layerServer)
  layer(world, { excludeTestServices: true })(`a process on ${name} that ends`, (it) => {
    it.effect("while a number is linked continues with the completed link", () =>
      Effect.gen(function* () {
        const { digits, id } = yield* brokenOff
        const visible = yield* Effect.provide(scanning(id, digits), layerChecking)
        assert.deepStrictEqual(tags(visible), ["Taken", "Linked"])
        assert.strictEqual((yield* getDevices(digits))(), 1)
      }),
    )

    it.effect("while a number is linked leaves no device when the attempt was over meanwhile", () =>
      Effect.gen(function* () {
        const { digits, id } = yield* brokenOff
        yield* (yield* Store).numbers.setStatus(id, "disconnected", undefined, 0)
        const devices = yield* getDevices(digits)
        yield* Effect.gen(function* () {
          yield* Told
          yield* until(() => devices() === 0)
          yield* untilSo(Effect.map(hasCredentials(id), (has) => !has))
        }).pipe(Effect.provide(layerChecking))
      }),
    )

    it.effect("before a tick is stored reports the tick again", () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const other = yield* aPerson
        const number = yield* Effect.provide(aLinkedNumber, layerChecking)
        const message = aText(number, to(other))
        const ids = [message.transportId]
        yield* Effect.gen(function* () {
          let isTold = false
          const { listen } = yield* WhatsAppTransport
          yield* Effect.forkScoped(
            listen((event) => {
              if (event._tag !== "Tick") return Effect.void
              isTold = true
              return Effect.never
            }),
          )
          assert.deepStrictEqual(yield* sendNow(message), accepted)
          yield* server.receipt({ by: other, ids, type: "delivered" })
          yield* until(() => isTold)
        }).pipe(Effect.scoped, Effect.provide(layerAdapter({}, layerNotTold)))
        yield* Effect.gen(function* () {
          const received = yield* Told
          yield* until(() =>
            received.some(
              (event) => event._tag === "Tick" && event.transportId === message.transportId,
            ),
          )
        }).pipe(Effect.provide(layerChecking))
      }),
    )

    it.effect(
      `again and again in a storm reports true outcomes, shows no message twice and loses no tick (seed ${testSeed()})`,
      () => runLoad(messages, lives),
    )
  })
}
