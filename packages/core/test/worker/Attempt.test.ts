import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer, Logger, Random, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/model/Refusal.ts"
import { Ids } from "../../src/model/Ids.ts"
import type { MediaId } from "../../src/model/Ids.ts"
import { MediaFilesError, MediaLinks } from "../../src/model/Media.ts"
import type { MediaReference } from "../../src/model/Media.ts"
import { LinksBusy, MediaUnavailable } from "../../src/service/MediaDirectory.ts"
import {
  FileUnavailable,
  makeAttempt,
  NoRoom,
  OutgoingMediaSource,
} from "../../src/worker/Dispatcher.ts"
import type { Message } from "../../src/model/Message.ts"
import type { NumberStore, ConnectionFacts } from "../../src/store/NumberStore.ts"
import { noFailures } from "../../src/model/SendingNumber.ts"
import { Numbers } from "../../src/service/Numbers.ts"
import { unpaced } from "../../src/model/Pacing.ts"
import type { Settlement } from "../../src/model/Lane.ts"
import { TelegramTransport, WhatsAppTransport } from "../../src/store/Transport.ts"
import type {
  OutgoingMedia,
  OutgoingMessage,
  SendOutcome,
  Transport,
} from "../../src/store/Transport.ts"
import {
  noon,
  accepted,
  refused,
  notRegistered,
  notConnected,
  unknown,
  claim,
  aMessage,
} from "./claimedMessage.ts"
import { storeWith } from "@messaging-service/testkit"

const second = 1000

describe("an attempt", () => {
  const reference: MediaReference = {
    mediaId: 71 as MediaId,
    attachmentId: null,
    url: null,
    type: null,
    fileName: null,
  }
  const image: OutgoingMedia = {
    type: "image",
    fileName: "photo.png",
    mimeType: "image/png",
    size: 3,
    sha256: "abc",
    content: Stream.empty,
  }

  /** WhatsApp's refusal of someone who never wrote to the number. */
  const noNewChat: SendOutcome = {
    _tag: "Refused",
    error: { code: "send_failed", message: "463" },
    againstNumber: true,
    refusesNewChat: true,
  }

  interface Setup {
    /** Null: the store does not answer. */
    readonly mayAwaitNewChats?: boolean | null
    readonly send?: (message: OutgoingMessage) => Effect.Effect<SendOutcome>
    readonly dropsCopies?: boolean
    readonly media?: ReturnType<(typeof OutgoingMediaSource.Service)["open"]>
    /** What the store says of the number after the media was opened; null once it is removed. */
    readonly connection?: ReturnType<NumberStore["connection"]>
  }

  const facts: ConnectionFacts = {
    number: claim().number,
    changed: null,
    report: null,
    waiting: 0,
    sent: 0,
    lastSentAt: null,
    pause: null,
    isDisabled: false,
    isSending: true,
    firstDueAt: null,
    pacedUntil: null,
    limitedUntil: null,
    noRoomUntil: null,
  }

  /** Attempts over transports that record their calls. */
  const setup = ({
    connection,
    dropsCopies = true,
    mayAwaitNewChats = false,
    media,
    send = () => Effect.succeed(accepted),
  }: Setup) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(noon)
      const handed: Array<readonly [platform: string, message: OutgoingMessage]> = []
      const reported: Array<ReadonlyArray<unknown>> = []
      const requests: Array<ReadonlyArray<unknown>> = []
      const transport = (platform: string): Transport => ({
        dropsCopies,
        send: (message) => {
          handed.push([platform, message])
          return send(message)
        },
        listen: () => Effect.never,
      })
      const make = yield* Effect.provide(
        makeAttempt,
        Layer.mergeAll(
          Ids.layerRandom,
          Layer.succeed(MediaLinks, {
            link: (id) => `link to ${id}`,
            receivedLink: (id) => `link to file ${id}`,
            read: () => undefined,
          }),
          Layer.succeed(WhatsAppTransport, transport("whatsapp")),
          Layer.succeed(TelegramTransport, transport("telegram")),
          Layer.succeed(OutgoingMediaSource, { open: () => media ?? Effect.succeed(image) }),
          storeWith({
            media: { missing: () => Effect.succeed(new Set()) },
            queue: {
              mayAwaitNewChats: (...question) => {
                requests.push(question)
                return mayAwaitNewChats === null
                  ? Effect.fail(new StoreUnavailable({ operation: "queue", cause: null }))
                  : Effect.succeed(mayAwaitNewChats)
              },
            },
            numbers: {
              connection: (workspaceId, id) => {
                requests.push([workspaceId, id])
                return connection ?? Effect.succeed(facts)
              },
            },
          }),
          Layer.mock(Numbers, {
            connectionChanged: (...change) =>
              Effect.sync(() => {
                reported.push(change)
                return null
              }),
          }),
        ),
      ).pipe(Random.withSeed("attempt"))
      return { make, handed, reported, requests }
    })

  const ended = (settlement: Settlement) => {
    assert.strictEqual(settlement._tag, "Ended")
    return settlement._tag === "Ended" ? settlement : assert.fail()
  }

  it.effect("hands over the message under the id that was stored before", () =>
    Effect.gen(function* () {
      const { handed, make } = yield* setup({})
      const settlement = ended(yield* make(claim()))
      assert.deepStrictEqual<unknown>(handed, [
        [
          "whatsapp",
          {
            numberId: 7,
            transportId: "0000000000000000002A",
            to: { kind: "phone", phone: "+15550000001" },
            text: "Hello",
            media: null,
            mayHaveLeft: false,
            expiresAt: null,
          },
        ],
      ])
      yield* make(claim({ interruptions: 1 }))
      assert.strictEqual(handed.at(-1)?.[1].mayHaveLeft, true)
      yield* make(claim({ message: aMessage({ expiresAt: noon + 1000 }) }))
      assert.strictEqual(handed.at(-1)?.[1].expiresAt, noon + 1000)
      assert.strictEqual(settlement.numberId, 7)
      assert.strictEqual(settlement.lease, 3)
      assert.deepStrictEqual(settlement.change.message, aMessage({ state: "sent", sentAt: noon }))
      assert.strictEqual(settlement.change.event.type, "message.sent")
    }),
  )

  it.effect("starts a paced lane's rest once the remote server may have seen the message", () =>
    Effect.gen(function* () {
      const paced = { ...unpaced, minIntervalMillis: 700 }
      const rest = (outcome: SendOutcome) =>
        Effect.gen(function* () {
          const { make } = yield* setup({ send: () => Effect.succeed(outcome) })
          return (yield* make(claim({ pacing: paced }))).notBefore
        })
      assert.strictEqual(yield* rest(accepted), noon + 700)
      assert.strictEqual(yield* rest(refused), noon + 700)
      assert.strictEqual(yield* rest(unknown), noon + 700)
      assert.isNull(yield* rest(notConnected))
      assert.strictEqual(yield* rest({ _tag: "Postponed", afterMillis: 5 }), noon + 5)
    }),
  )

  it.effect("keeps the remote server's wait when the message has expired", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({
        send: () => Effect.as(Effect.sleep(2 * second), { _tag: "Postponed", afterMillis: 5000 }),
      })
      const repeat = claim({ interruptions: 1, message: { expiresAt: noon + second } })
      const created = yield* Effect.forkChild(make(repeat))
      yield* TestClock.adjust(2 * second)
      assert.deepInclude(yield* Fiber.join(created), { _tag: "Ended", notBefore: noon + 7000 })
    }),
  )

  it.effect("doubles the number's rest while the disk is full, up to 5 minutes", () =>
    Effect.gen(function* () {
      const { handed, make } = yield* setup({ media: Effect.fail(new NoRoom()) })
      const media = { ...reference, mediaId: null, url: "https://example.com/photo.png" }
      const rests: Array<number | undefined> = []
      let diskFailuresInARow = 0
      for (let attempt = 0; attempt < 11; attempt++) {
        const settlement = yield* make(claim({ message: { media }, diskFailuresInARow }))
        assert.deepInclude(settlement, { _tag: "Again", unfinished: "no_room", notBefore: null })
        const { diskRest } = settlement
        rests.push(diskRest === null ? undefined : (diskRest.until - noon) / second)
        diskFailuresInARow = diskRest?.inARow ?? 0
      }
      assert.deepStrictEqual(rests, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
      assert.isEmpty(handed)
    }),
  )

  it.effect("rests as long while the disk does not give the file", () =>
    Effect.gen(function* () {
      const unavailable = new FileUnavailable({
        cause: new MediaFilesError({ reason: "io", cause: "no disk" }),
      })
      const { handed, make } = yield* setup({ media: Effect.fail(unavailable) })
      const settlement = yield* make(
        claim({ message: { media: reference }, diskFailuresInARow: 2 }),
      )
      assert.deepInclude(settlement, {
        _tag: "Again",
        unfinished: "no_file",
        notBefore: null,
        diskRest: { until: noon + 4 * second, inARow: 3 },
        endsTurn: false,
      })
      assert.isEmpty(handed)
    }),
  )

  it.effect("names message and number in what it logs while the file is away", () =>
    Effect.gen(function* () {
      const logged: Array<Readonly<Record<string, unknown>>> = []
      const logger = Logger.make(({ fiber }) => {
        logged.push(fiber.getRef(References.CurrentLogAnnotations))
      })
      const { make } = yield* setup({
        media: Effect.andThen(Effect.logWarning("a line"), Effect.fail(new NoRoom())),
      })
      const claimed = claim({ message: { media: reference } })
      yield* make(claimed).pipe(Effect.provide(Logger.layer([logger])))
      assert.deepInclude(logged[0], { message_id: claimed.message.id, number: claimed.number.id })
    }),
  )

  it.effect("counts the number's failures", () =>
    Effect.gen(function* () {
      const against: SendOutcome = { _tag: "Refused", error: notRegistered, againstNumber: true }
      const { make } = yield* setup({ send: () => Effect.succeed(against) })
      const fifth = yield* make(claim({ failures: { refusals: 4, pauses: 1 } }))
      assert.deepInclude(fifth.breaker, {
        failures: { refusals: 0, pauses: 2 },
        pause: { until: noon + 7200 * second, reason: "restricted" },
      })
      const sending = yield* setup({})
      const sent = ended(yield* sending.make(claim({ failures: { refusals: 4, pauses: 1 } })))
      assert.deepInclude(sent.breaker, { failures: noFailures, pause: null })
    }),
  )

  it.effect("uses the transport of the number's platform", () =>
    Effect.gen(function* () {
      const { handed, make } = yield* setup({})
      yield* make(
        claim({
          number: { ...claim().number, platform: "telegram" },
          message: { to: { kind: "username", username: "https://t.me/jane_doe" } },
        }),
      )
      yield* make(
        claim({
          number: { ...claim().number, platform: "telegram" },
          message: { to: { kind: "username", username: "tg:42" } },
        }),
      )
      assert.deepStrictEqual<unknown>(
        handed.map(([platform, { to }]) => [platform, to]),
        [
          ["telegram", { kind: "username", username: "jane_doe" }],
          ["telegram", { kind: "user_id", userId: 42 }],
        ],
      )
    }),
  )

  it.effect("takes sent_at from the remote server", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({
        send: () => Effect.as(TestClock.adjust(5 * second), accepted),
      })
      const { change } = ended(yield* make(claim()))
      assert.strictEqual(change.message.sentAt, noon + 5 * second)
    }),
  )

  it.effect("a refused message fails with the reason", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({ send: () => Effect.succeed(refused) })
      const { change } = ended(yield* make(claim()))
      assert.deepStrictEqual(change.message, aMessage({ state: "failed", error: notRegistered }))
      assert.strictEqual(change.event.type, "message.failed")
    }),
  )

  it.effect("a refusal says nothing of an earlier copy that may have left", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({ send: () => Effect.succeed(refused) })
      const { change } = ended(yield* make(claim({ interruptions: 1 })))
      assert.strictEqual(change.message.error?.code, "outcome_unknown")
    }),
  )

  it.effect("a new recipient that was refused waits for new chats where the store says so", () =>
    Effect.gen(function* () {
      const { make, requests } = yield* setup({
        send: () => Effect.succeed(noNewChat),
        mayAwaitNewChats: true,
      })
      const settlement = yield* make(claim())
      assert.deepStrictEqual(requests, [[7, claim().message.id, noon]])
      assert.strictEqual(settlement._tag, "Again")
      assert.strictEqual(
        settlement._tag === "Again" ? settlement.unfinished : null,
        "new_chats_closed",
      )
      assert.isNull(settlement.breaker)
      // An earlier copy may have left: only its end is known.
      const repeat = ended(yield* make(claim({ interruptions: 1 })))
      assert.strictEqual(repeat.change.message.error?.code, "outcome_unknown")
    }),
  )

  it.effect.each([false, null])("else it fails, and counts for the breaker (%s)", (answer) =>
    Effect.gen(function* () {
      const { make } = yield* setup({
        send: () => Effect.succeed(noNewChat),
        mayAwaitNewChats: answer,
      })
      const settlement = ended(yield* make(claim()))
      assert.strictEqual(settlement.change.message.error?.message, "463")
      assert.strictEqual(settlement.breaker?.failures.refusals, 1)
    }),
  )

  it.effect("the store is asked about refused new recipients alone", () =>
    Effect.gen(function* () {
      const { make, requests } = yield* setup({
        send: () => Effect.succeed(refused),
        mayAwaitNewChats: true,
      })
      ended(yield* make(claim()))
      assert.deepStrictEqual(requests, [])
    }),
  )

  it.effect("reaches no transport when the last check forbids it", () =>
    Effect.gen(function* () {
      const { handed, make } = yield* setup({})
      const expired = ended(yield* make(claim({ message: { expiresAt: noon } })))
      const removed = ended(yield* make(claim({ removed: true })))
      const abandoned = ended(yield* make(claim({ interruptions: 3 })))
      assert.deepStrictEqual(
        [expired, removed, abandoned].map(({ change }) => change.event.type),
        ["message.expired", "message.cancelled", "message.failed"],
      )
      assert.deepStrictEqual(handed, [])
    }),
  )

  it.effect("counts a transport without an answer for 60 s as interrupted", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({ send: () => Effect.never })
      const fiber = yield* Effect.forkChild(make(claim()))
      yield* TestClock.adjust(60 * second - 1)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), {
        _tag: "Again",
        numberId: 7,
        diskRest: null,
        endsTurn: false,
        lease: 3,
        messageId: 42,
        notBefore: null,
        breaker: null,
        unfinished: "interrupted",
      })
    }),
  )

  it.effect("treats a failing adapter as a possible send", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({ send: () => Effect.die(new Error("a bug")) })
      const settlement = yield* make(claim())
      assert.strictEqual(settlement._tag === "Again" && settlement.unfinished, "interrupted")
      const { make: makeOnce } = yield* setup({
        dropsCopies: false,
        send: () => Effect.die(new Error("a bug")),
      })
      assert.strictEqual(
        ended(yield* makeOnce(claim())).change.message.error?.code,
        "outcome_unknown",
      )
    }),
  )

  it.effect("marks a number as logged out that turns out not to be connected", () =>
    Effect.gen(function* () {
      const { make, reported } = yield* setup({ send: () => Effect.succeed(notConnected) })
      const settlement = yield* make(claim())
      assert.strictEqual(settlement._tag === "Again" && settlement.unfinished, "not_connected")
      assert.deepStrictEqual(reported, [[7, "disconnected", null]])
    }),
  )

  describe("with media", () => {
    const withMedia = (overrides: Partial<Message> = {}) =>
      claim({ message: { media: reference, ...overrides } })

    it.effect("hands over the opened file", () =>
      Effect.gen(function* () {
        const { handed, make } = yield* setup({})
        yield* make(withMedia())
        assert.strictEqual(handed[0]?.[1].media, image)
      }),
    )

    it.effect("keeps the file open until the transport answers", () =>
      Effect.gen(function* () {
        const closed = yield* Deferred.make<void>()
        let openWhileSending = false
        const { make } = yield* setup({
          media: Effect.acquireRelease(Effect.succeed(image), () =>
            Deferred.succeed(closed, undefined),
          ),
          send: () =>
            Effect.gen(function* () {
              openWhileSending = !(yield* Deferred.isDone(closed))
              return accepted
            }),
        })
        yield* make(withMedia())
        assert.isTrue(openWhileSending)
        assert.isTrue(yield* Deferred.isDone(closed))
      }),
    )

    it.effect("fails the message with media_unavailable when there is none", () =>
      Effect.gen(function* () {
        const { handed, make } = yield* setup({
          media: Effect.fail(new MediaUnavailable({ message: "The media file was deleted." })),
        })
        assert.deepStrictEqual(ended(yield* make(withMedia())).change.message.error, {
          code: "media_unavailable",
          message: "The media file was deleted.",
        })
        assert.deepStrictEqual(handed, [])
      }),
    )

    it.effect.each([new StoreUnavailable({ operation: "media", cause: null }), new LinksBusy()])(
      "waits a second: $message",
      (failure) =>
        Effect.gen(function* () {
          const { handed, make } = yield* setup({ media: Effect.fail(failure) })
          const settlement = yield* make(withMedia())
          assert.deepStrictEqual<unknown>(settlement, {
            _tag: "Again",
            numberId: 7,
            diskRest: null,
            endsTurn: false,
            lease: 3,
            messageId: 42,
            notBefore: noon + second,
            breaker: null,
            unfinished: "postponed",
          })
          assert.deepStrictEqual(handed, [])
        }),
    )

    const paused = { until: null, reason: "paused" } as const
    const elapsed = { until: noon, reason: "paused" } as const

    it.effect.each<readonly [string, ConnectionFacts | null]>([
      ["was removed", null],
      ["was paused", { ...facts, pause: paused }],
      ["belongs to a workspace that was disabled", { ...facts, isDisabled: true }],
    ])("puts off a message whose number %s while its media loaded", ([, now]) =>
      Effect.gen(function* () {
        const { requests, handed, make } = yield* setup({ connection: Effect.succeed(now) })
        const settlement = yield* make(withMedia())
        assert.deepStrictEqual<unknown>(settlement, {
          _tag: "Again",
          numberId: 7,
          diskRest: null,
          endsTurn: false,
          lease: 3,
          messageId: 42,
          notBefore: noon + second,
          breaker: null,
          unfinished: "postponed",
        })
        assert.deepStrictEqual<unknown>(requests, [[1, 7]])
        assert.deepStrictEqual(handed, [])
      }),
    )

    it.effect("hands over once a pause has ended", () =>
      Effect.gen(function* () {
        const { handed, make } = yield* setup({
          connection: Effect.succeed({ ...facts, pause: elapsed }),
        })
        ended(yield* make(withMedia()))
        assert.strictEqual(handed.length, 1)
      }),
    )

    it.effect("puts off a message while the store does not answer for its number", () =>
      Effect.gen(function* () {
        const { handed, make } = yield* setup({
          connection: Effect.fail(
            new StoreUnavailable({ operation: "number.connection", cause: null }),
          ),
        })
        assert.strictEqual((yield* make(withMedia())).notBefore, noon + second)
        assert.deepStrictEqual(handed, [])
      }),
    )

    it.effect("reads the number again for messages with media alone", () =>
      Effect.gen(function* () {
        const { requests, handed, make } = yield* setup({})
        yield* make(claim())
        assert.strictEqual(handed.length, 1)
        assert.deepStrictEqual(requests, [])
      }),
    )

    it.effect("does not hand over a message that expired while its media loaded", () =>
      Effect.gen(function* () {
        const { handed, make } = yield* setup({
          media: Effect.as(TestClock.adjust(10 * second), image),
        })
        const { change } = ended(yield* make(withMedia({ expiresAt: noon + 10 * second })))
        assert.strictEqual(change.event.type, "message.expired")
        assert.strictEqual(yield* Clock.currentTimeMillis, noon + 10 * second)
        assert.deepStrictEqual(handed, [])
      }),
    )
  })
})
