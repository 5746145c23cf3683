/**
 * The contract of all transports. A transport tells the truth about each attempt. Accepted means that the
 * remote server said so; Refused that nothing was or will be shown, and why; Unknown that it cannot be known;
 * NotConnected that nothing was sent. A transport's own tests call `transportContract` with a layer of the
 * transport and of its remote server; every test takes its own number.
 */
import { assert, layer } from "@effect/vitest"
import { MediaFilesError } from "@messaging-service/core"
import type {
  NumberId,
  OutgoingMedia,
  OutgoingMessage,
  Transport,
  TransportId,
} from "@messaging-service/core"
import { Clock, Effect, Fiber, Schema, Stream } from "effect"
import type { Context, Layer } from "effect"
import { createHash } from "node:crypto"
import { RemoteServer } from "./RemoteServer.ts"
import type { ReceivedCopy } from "./RemoteServer.ts"

export interface TransportContractOptions {
  /** How many random courses to run; fewer where each takes long. Default 100. */
  readonly runs?: number
}

export const transportContract = <I, E>(
  name: string,
  transport: Context.Service<I, Transport>,
  world: Layer.Layer<I | RemoteServer, E>,
  { runs = 100 }: TransportContractOptions = {},
): void => {
  const send = (message: OutgoingMessage) =>
    Effect.flatMap(transport, (adapter) => adapter.send(message))

  layer(world)(`${name} keeps the transport contract`, (it) => {
    it.effect("an acknowledged message is Accepted, and its recipient sees it unchanged", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        for (const { target, displayedAs } of remoteServer.recipients) {
          const message = { ...(yield* aMessage(numberId)), to: target, text: "Grüße *👋*\n\n  " }
          assert.deepStrictEqual(yield* send(message), { _tag: "Accepted" })
          const received = yield* remoteServer.seen(numberId)
          assert.deepStrictEqual(received.at(-1), toCopy(message, displayedAs))
        }
        assert.strictEqual(
          (yield* remoteServer.seen(numberId)).length,
          remoteServer.recipients.length,
        )
      }),
    )

    it.effect("media arrives with its name, its type and every byte, with a text or without", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        const { displayedAs } = yield* firstRecipient
        for (const media of [aPicture, { ...aPicture, type: "file" as const }]) {
          const fileName =
            media.type === "file" || remoteServer.namesPictures ? media.fileName : null
          for (const text of ["A caption", ""]) {
            const message = { ...(yield* aMessage(numberId)), text, media }
            assert.deepStrictEqual(yield* send(message), { _tag: "Accepted" })
            const copy = toCopy(message, displayedAs)
            assert.deepStrictEqual((yield* remoteServer.seen(numberId)).at(-1), {
              ...copy,
              media: copy.media === null ? null : { ...copy.media, fileName },
            })
          }
        }
      }),
    )

    it.effect("a file that breaks off while it is read fails no message for good", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const { dropsCopies } = yield* transport
        const numberId = yield* remoteServer.aNumber
        const message = { ...(yield* aMessage(numberId)), media: aPicture }
        const brokenOff = Stream.concat(
          Stream.take(aPicture.content, 1),
          Stream.fail(new MediaFilesError({ reason: "io" })),
        )
        const { _tag } = yield* send({ ...message, media: { ...aPicture, content: brokenOff } })
        assert.include(["Postponed", "Unknown"], _tag)
        assert.deepStrictEqual(yield* remoteServer.seen(numberId), [])
        // A possibly sent message is not repeated where copies are not dropped.
        if (_tag === "Unknown" && !dropsCopies) return
        assert.deepStrictEqual(yield* send(message), { _tag: "Accepted" })
        const [seen, ...others] = yield* remoteServer.seen(numberId)
        assert.deepStrictEqual([seen?.media?.sha256, others.length], [aPicture.sha256, 0])
      }),
    )

    it.effect("messages sent one after the other are seen in that order", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        const messages = yield* Effect.replicateEffect(aMessage(numberId), 5)
        for (const message of messages) yield* send(message)
        assert.deepStrictEqual(
          yield* receivedIds(numberId),
          messages.map(({ transportId }) => transportId),
        )
      }),
    )

    it.effect("the same text sent twice as two messages is seen twice", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        yield* send({ ...(yield* aMessage(numberId)), text: "Again" })
        yield* send({ ...(yield* aMessage(numberId)), text: "Again" })
        assert.strictEqual((yield* remoteServer.seen(numberId)).length, 2)
      }),
    )

    it.effect("a message that expired while its adapter waited is not handed over", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        const expiresAt = yield* Clock.currentTimeMillis
        assert.deepStrictEqual(yield* send({ ...(yield* aMessage(numberId)), expiresAt }), {
          _tag: "Postponed",
          afterMillis: 0,
        })
        const later = { ...(yield* aMessage(numberId)), expiresAt: expiresAt + 60_000 }
        assert.deepStrictEqual(yield* send(later), { _tag: "Accepted" })
        assert.deepStrictEqual(yield* receivedIds(numberId), [later.transportId])
      }),
    )

    it.effect("a refusal is Refused with a reason, and no recipient sees the message", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        yield* remoteServer.take(numberId, "refuse")
        const outcome = yield* send(yield* aMessage(numberId))
        assert.strictEqual(outcome._tag, "Refused")
        if (outcome._tag === "Refused") {
          assert.strictEqual(outcome.error.code, "send_failed")
          assert.isAbove(outcome.error.message.trim().length, 0)
        }
        assert.deepStrictEqual(yield* remoteServer.seen(numberId), [])
      }),
    )

    it.effect("a recipient that does not exist is Refused, and says so", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        for (const { target, code } of remoteServer.strangers) {
          const outcome = yield* send({ ...(yield* aMessage(numberId)), to: target })
          assert.strictEqual(outcome._tag === "Refused" && outcome.error.code, code)
          assert.isFalse(outcome._tag === "Refused" && outcome.againstNumber)
        }
        assert.deepStrictEqual(yield* remoteServer.seen(numberId), [])
      }),
    )

    it.effect("a connection that breaks before the acknowledgement leaves it Unknown", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        yield* remoteServer.take(numberId, "break_before_ack")
        const message = yield* aMessage(numberId)
        assert.deepStrictEqual(yield* send(message), { _tag: "Unknown" })
        assert.deepStrictEqual(yield* receivedIds(numberId), [message.transportId])
      }),
    )

    it.effect(
      "a repeat under the same id never shows a second copy, if the transport says so",
      () =>
        Effect.gen(function* () {
          const { dropsCopies } = yield* transport
          // Where copies are not dropped, a possibly sent message is never repeated.
          if (!dropsCopies) return
          const remoteServer = yield* RemoteServer
          const numberId = yield* remoteServer.aNumber
          for (const taking of ["acknowledge", "break_before_ack"] as const) {
            yield* remoteServer.take(numberId, taking)
            const message = yield* aMessage(numberId)
            yield* send(message)
            assert.deepStrictEqual(yield* send(message), { _tag: "Accepted" })
            assert.deepStrictEqual(yield* send(message), { _tag: "Accepted" })
            const copies = (yield* receivedIds(numberId)).filter((id) => id === message.transportId)
            assert.strictEqual(copies.length, 1)
          }
        }),
    )

    it.effect("a number that is not connected sends nothing, and sends again once it is", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        yield* remoteServer.logOut(numberId)
        const message = yield* aMessage(numberId)
        assert.deepStrictEqual(yield* send(message), { _tag: "NotConnected" })
        assert.deepStrictEqual(yield* remoteServer.seen(numberId), [])
        yield* remoteServer.logIn(numberId)
        assert.deepStrictEqual(yield* send(message), { _tag: "Accepted" })
        assert.deepStrictEqual(yield* receivedIds(numberId), [message.transportId])
      }),
    )

    it.effect("an unknown number is NotConnected", () =>
      Effect.gen(function* () {
        const outcome = yield* send(yield* aMessage(unknownNumber))
        assert.deepStrictEqual(outcome, { _tag: "NotConnected" })
      }),
    )

    it.effect("an attempt without an answer returns none until it is interrupted", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        yield* remoteServer.take(numberId, "stay_silent")
        const attempt = yield* Effect.forkChild(send(yield* aMessage(numberId)))
        yield* eventually(remoteServer.waiting(numberId))
        assert.isUndefined(attempt.pollUnsafe())
        yield* Fiber.interrupt(attempt)
      }),
    )

    it.effect("interrupting an attempt leaves nothing running, and the next one succeeds", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const numberId = yield* remoteServer.aNumber
        yield* remoteServer.take(numberId, "stay_silent")
        const interrupted = yield* aMessage(numberId)
        const attempt = yield* Effect.forkChild(send(interrupted))
        yield* eventually(remoteServer.waiting(numberId))
        yield* Fiber.interrupt(attempt)
        // Over a socket the remote server learns of it a moment later.
        yield* eventually(Effect.map(remoteServer.waiting(numberId), (waiting) => !waiting))
        yield* remoteServer.take(numberId, "acknowledge")
        const next = yield* aMessage(numberId)
        assert.deepStrictEqual(yield* send(next), { _tag: "Accepted" })
        assert.deepStrictEqual(yield* receivedIds(numberId), [next.transportId])
      }),
    )

    it.effect("a number without an answer delays no other one", () =>
      Effect.gen(function* () {
        const remoteServer = yield* RemoteServer
        const [silent, other] = [yield* remoteServer.aNumber, yield* remoteServer.aNumber]
        yield* remoteServer.take(silent, "stay_silent")
        const attempt = yield* Effect.forkChild(send(yield* aMessage(silent)))
        yield* eventually(remoteServer.waiting(silent))
        assert.deepStrictEqual(yield* send(yield* aMessage(other)), { _tag: "Accepted" })
        assert.isFalse(yield* remoteServer.waiting(other))
        yield* Fiber.interrupt(attempt)
      }),
    )

    it.effect.prop(
      "each outcome is true and no message is seen twice, whatever happens in between",
      [Schema.Array(Step).check(Schema.isMaxLength(12))],
      ([steps]) =>
        Effect.gen(function* () {
          const remoteServer = yield* RemoteServer
          const { dropsCopies } = yield* transport
          const numberId = yield* remoteServer.aNumber
          const messages = yield* Effect.replicateEffect(aMessage(numberId), 15)
          const arrived = new Set<TransportId>()
          for (const [index, step] of steps.entries()) {
            const message = messages[dropsCopies ? step.message : index + 3]
            assert.isDefined(message)
            // A remote server that has shown a message does not refuse it afterwards.
            if (step.taking === "refuse" && arrived.has(message.transportId)) continue
            yield* step.connected ? remoteServer.logIn(numberId) : remoteServer.logOut(numberId)
            yield* remoteServer.take(numberId, step.taking)
            const { _tag } = yield* send(message)
            assert.strictEqual(_tag, step.connected ? outcomes[step.taking] : "NotConnected")
            if (_tag === "Accepted" || _tag === "Unknown") arrived.add(message.transportId)
          }
          assert.deepStrictEqual(yield* receivedIds(numberId), [...arrived])
        }),
      { arbitrary: { runs } },
    )
  })
}

const Step = Schema.Struct({
  message: Schema.Literals([0, 1, 2]),
  connected: Schema.Boolean,
  taking: Schema.Literals(["acknowledge", "refuse", "break_before_ack"]),
})

const outcomes = {
  acknowledge: "Accepted",
  refuse: "Refused",
  break_before_ack: "Unknown",
} as const

const unknownNumber = 2_000_000_000 as NumberId

let createdCount = 0

const firstRecipient = Effect.map(RemoteServer, ({ recipients }) => {
  const [first] = recipients
  assert.isDefined(first, "the remote server names at least one recipient")
  return first
})

const aMessage = (numberId: NumberId): Effect.Effect<OutgoingMessage, never, RemoteServer> =>
  Effect.map(firstRecipient, ({ target }) => ({
    numberId,
    transportId: (++createdCount).toString(16).toUpperCase().padStart(20, "A") as TransportId,
    to: target,
    text: "Hello",
    media: null,
  }))

const pictureBytes = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
)

const aPicture: OutgoingMedia = {
  type: "image",
  fileName: "a picture – größer.png",
  mimeType: "image/png",
  size: pictureBytes.length,
  sha256: createHash("sha256").update(pictureBytes).digest("hex"),
  content: Stream.make(pictureBytes.subarray(0, 20), pictureBytes.subarray(20)),
}

const toCopy = (
  { transportId, text, media }: OutgoingMessage,
  displayedAs: string,
): ReceivedCopy => ({
  transportId,
  to: displayedAs,
  text,
  media:
    media === null
      ? null
      : {
          fileName: media.fileName,
          mimeType: media.mimeType,
          size: media.size,
          sha256: media.sha256,
        },
})

const receivedIds = (numberId: NumberId) =>
  Effect.flatMap(RemoteServer, (remoteServer) => remoteServer.seen(numberId)).pipe(
    Effect.map((copies) => copies.map(({ transportId }) => transportId)),
  )

/** Lets everything else of the process run, sockets too. */
const aTick = Effect.callback<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

const eventually = (condition: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let iterations = 0; iterations < 100_000; iterations++) {
      if (yield* condition) return
      yield* aTick
    }
    assert.fail("the remote server never came to that")
  })
