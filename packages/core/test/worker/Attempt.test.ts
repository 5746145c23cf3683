import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer, Random, Stream } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/error/StoreUnavailable.ts"
import { Ids } from "../../src/id/Ids.ts"
import type { MediaId, MessageId, NumberId, TransportId, WorkspaceId } from "../../src/id/Ids.ts"
import type { MediaReference } from "../../src/media/Media.ts"
import { MediaLinks } from "../../src/media/MediaLinks.ts"
import { LinksBusy } from "../../src/media/LinkDownload.ts"
import { MediaUnavailable, OutgoingMediaSource } from "../../src/media/OutgoingMediaSource.ts"
import {
  attemptTimeoutMillis,
  judgeAttempt,
  lastCheck,
  maximumInterruptions,
} from "../../src/message/attemptOutcome.ts"
import type { Ending } from "../../src/message/MessageChange.ts"
import type { Message } from "../../src/message/Message.ts"
import { Numbers } from "../../src/number/Numbers.ts"
import type { ClaimedMessage, Settlement } from "../../src/queue/LaneQueue.ts"
import type { Phone } from "../../src/recipient/Phone.ts"
import { TelegramTransport, WhatsAppTransport } from "../../src/transport/Transport.ts"
import type {
  OutgoingMedia,
  OutgoingMessage,
  SendOutcome,
  Transport,
} from "../../src/transport/Transport.ts"
import { Attempt } from "../../src/worker/Attempt.ts"

const noon = Date.UTC(2026, 2, 2, 12)
const second = 1000

const aMessage = (given: Partial<Message> = {}): Message => ({
  id: 42 as MessageId,
  workspaceId: 1 as WorkspaceId,
  mode: "live",
  state: "waiting",
  from: { id: 7 as NumberId, phone: "15550000007", platform: "whatsapp" },
  phoneAtAcceptance: "15550000007",
  to: { kind: "phone", phone: "+15550000001" as Phone, contactId: null },
  text: "Hello",
  media: null,
  foundMediaType: null,
  sendAt: null,
  expiresAt: null,
  createdAt: noon,
  dueAt: noon,
  sentAt: null,
  error: null,
  transportId: "0000000000000000002A" as TransportId,
  callbackUrl: null,
  ...given,
})

const claim = (
  given: Partial<Omit<ClaimedMessage, "message">> & { readonly message?: Partial<Message> } = {},
): ClaimedMessage => ({
  number: {
    id: 7 as NumberId,
    workspaceId: 1 as WorkspaceId,
    phone: "15550000007",
    label: "",
    platform: "whatsapp",
    status: "connected",
    loginMethod: "qr",
    mode: "live",
    createdAt: noon,
  },
  removed: false,
  lease: 3,
  interruptions: 0,
  ...given,
  message: aMessage(given.message),
})

const accepted: SendOutcome = { _tag: "Accepted" }
const unknown: SendOutcome = { _tag: "Unknown" }
const notConnected: SendOutcome = { _tag: "NotConnected" }
const notRegistered = { code: "recipient_not_found", message: "Not registered." } as const
const refused: SendOutcome = { _tag: "Refused", error: notRegistered }

/** The trigger and, for a failure, the code. */
const end = (ending: Ending) =>
  ending.trigger === "send_failed" ? ending.error.code : ending.trigger

describe("what the outcome of an attempt means", () => {
  const judged = (
    outcome: Parameters<typeof judgeAttempt>[1],
    interruptions: number,
    dropsCopies = true,
    expiresAt: number | null = null,
  ) => {
    const verdict = judgeAttempt(
      { interruptions, message: { expiresAt } },
      outcome,
      dropsCopies,
      noon,
    )
    return verdict._tag === "End" ? end(verdict.ending) : verdict
  }
  const again = (interrupted: boolean, notBefore: number | null = null) =>
    ({ _tag: "Again", notBefore, interrupted }) as const
  const unsendable = {
    _tag: "Unsendable",
    error: { code: "media_unavailable", message: "Gone." },
  } as const
  const postponed: SendOutcome = { _tag: "Postponed", afterMillis: 5000 }

  const table: ReadonlyArray<
    readonly [
      what: string,
      outcome: Parameters<typeof judgeAttempt>[1],
      byInterruptions: readonly [none: unknown, one: unknown, two: unknown],
    ]
  > = [
    [
      "the far side's word is believed, whatever came before",
      accepted,
      ["send_succeeded", "send_succeeded", "send_succeeded"],
    ],
    [
      "a refusal is the reason, but of a repeat says nothing about the attempts before it",
      refused,
      ["recipient_not_found", "outcome_unknown", "outcome_unknown"],
    ],
    [
      "media that cannot be had fails the message, if nothing can have left before",
      unsendable,
      ["media_unavailable", "outcome_unknown", "outcome_unknown"],
    ],
    [
      "what expired before it was handed over is expired, if nothing can have left before",
      { _tag: "TooLate" },
      ["expire", "outcome_unknown", "outcome_unknown"],
    ],
    [
      "a flood wait lets the lane rest and is no interruption",
      postponed,
      [again(false, noon + 5000), again(false, noon + 5000), again(false, noon + 5000)],
    ],
    [
      "a number that is not connected goes on waiting",
      notConnected,
      [again(false), again(false), again(false)],
    ],
    [
      "not knowing is repeated with the same id, three times in all",
      unknown,
      [again(true), again(true), "outcome_unknown"],
    ],
  ]
  it.effect.each(table)("%s", ([, outcome, expected]) =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        [0, 1, 2].map((interruptions) => judged(outcome, interruptions)),
        [...expected],
      ),
    ),
  )

  it.effect("where the transport cannot drop copies, not knowing ends the message at once", () =>
    Effect.sync(() => {
      assert.strictEqual(judged(unknown, 0, false), "outcome_unknown")
      assert.strictEqual(judged(refused, 0, false), "recipient_not_found")
      assert.strictEqual(judged(accepted, 0, false), "send_succeeded")
    }),
  )

  it.effect("what may have left and expired meanwhile is not sent again: outcome_unknown", () =>
    Effect.sync(() => {
      const over = (outcome: Parameters<typeof judgeAttempt>[1], interruptions: number) =>
        judged(outcome, interruptions, true, noon)
      assert.strictEqual(over(unknown, 0), "outcome_unknown")
      assert.strictEqual(over(postponed, 1), "outcome_unknown")
      assert.strictEqual(over(notConnected, 1), "outcome_unknown")
      assert.strictEqual(over(accepted, 1), "send_succeeded")
      // Nothing can have left: it goes back, and the sweep expires it.
      assert.deepStrictEqual(over(postponed, 0), again(false, noon + 5000))
      assert.deepStrictEqual(over(notConnected, 0), again(false))
      assert.deepStrictEqual(judged(unknown, 0, true, noon + 1), again(true))
    }),
  )

  it.effect("a transport has 60 s, and three interrupted attempts are the end", () =>
    Effect.sync(() =>
      assert.deepStrictEqual([attemptTimeoutMillis, maximumInterruptions], [60_000, 3]),
    ),
  )
})

describe("the last check before a message is handed over", () => {
  const past = noon
  const ahead = noon + 1
  type Row = readonly [
    what: string,
    claimed: { interruptions?: number; removed?: boolean; expiresAt?: number },
    dropping: string | null,
    notDropping: string | null,
  ]
  const table: ReadonlyArray<Row> = [
    ["a message that may go", {}, null, null],
    ["one that expires later", { expiresAt: ahead }, null, null],
    ["one that expired", { expiresAt: past }, "expire", "expire"],
    ["one whose number was removed", { removed: true }, "cancel", "cancel"],
    ["removed and expired", { removed: true, expiresAt: past }, "cancel", "cancel"],
    ["interrupted once", { interruptions: 1 }, null, "outcome_unknown"],
    ["interrupted twice", { interruptions: 2 }, null, "outcome_unknown"],
    ["interrupted three times", { interruptions: 3 }, "outcome_unknown", "outcome_unknown"],
    ["interrupted, expires later", { interruptions: 1, expiresAt: ahead }, null, "outcome_unknown"],
    [
      "interrupted, then expired: neither expired nor sent would be the truth",
      { interruptions: 1, expiresAt: past },
      "outcome_unknown",
      "outcome_unknown",
    ],
    [
      "interrupted, then removed: cancelled would not be the truth",
      { interruptions: 1, removed: true },
      "outcome_unknown",
      "outcome_unknown",
    ],
  ]
  it.effect.each(table)("%s", ([, { expiresAt, ...rest }, dropping, notDropping]) =>
    Effect.sync(() => {
      const claimed = claim({ ...rest, message: { expiresAt: expiresAt ?? null } })
      const checked = (dropsCopies: boolean) => {
        const ending = lastCheck(claimed, dropsCopies, noon)
        return ending === undefined ? null : end(ending)
      }
      assert.deepStrictEqual([checked(true), checked(false)], [dropping, notDropping])
    }),
  )
})

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

  interface Setup {
    readonly send?: (message: OutgoingMessage) => Effect.Effect<SendOutcome>
    readonly dropsCopies?: boolean
    readonly media?: ReturnType<(typeof OutgoingMediaSource.Service)["open"]>
  }

  /** Attempts over transports that note what they are given. */
  const setup = ({ dropsCopies = true, media, send = () => Effect.succeed(accepted) }: Setup) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(noon)
      const handed: Array<readonly [platform: string, message: OutgoingMessage]> = []
      const reported: Array<ReadonlyArray<unknown>> = []
      const transport = (platform: string): Transport => ({
        dropsCopies,
        send: (message) => {
          handed.push([platform, message])
          return send(message)
        },
        events: Stream.never,
      })
      const attempt = yield* Effect.provide(
        Attempt,
        Attempt.layer.pipe(
          Layer.provide([
            Ids.layerRandom,
            Layer.succeed(MediaLinks, { link: (id) => `link to ${id}`, read: () => undefined }),
            Layer.succeed(WhatsAppTransport, transport("whatsapp")),
            Layer.succeed(TelegramTransport, transport("telegram")),
            Layer.succeed(OutgoingMediaSource, { open: () => media ?? Effect.succeed(image) }),
            Layer.mock(Numbers, {
              connectionChanged: (...change) =>
                Effect.sync(() => {
                  reported.push(change)
                  return null
                }),
            }),
          ]),
        ),
      ).pipe(Random.withSeed("attempt"))
      return { make: attempt.make, handed, reported }
    })

  const ended = (settlement: Settlement) => {
    assert.strictEqual(settlement._tag, "Ended")
    return settlement._tag === "Ended" ? settlement : assert.fail()
  }

  it.effect("hands over what is to be sent, under the id that was stored before", () =>
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
          },
        ],
      ])
      assert.strictEqual(settlement.numberId, 7)
      assert.strictEqual(settlement.lease, 3)
      assert.deepStrictEqual(settlement.change.message, aMessage({ state: "sent", sentAt: noon }))
      assert.strictEqual(settlement.change.event.type, "message.sent")
    }),
  )

  it.effect("asks the transport of the number's platform", () =>
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

  it.effect("sent_at is the time at which the far side said so", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({
        send: () => Effect.as(TestClock.adjust(5 * second), accepted),
      })
      const { change } = ended(yield* make(claim()))
      assert.strictEqual(change.message.sentAt, noon + 5 * second)
    }),
  )

  it.effect("a refused message is failed, with the reason", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({ send: () => Effect.succeed(refused) })
      const { change } = ended(yield* make(claim()))
      assert.deepStrictEqual(change.message, aMessage({ state: "failed", error: notRegistered }))
      assert.strictEqual(change.event.type, "message.failed")
    }),
  )

  it.effect("reaches no transport when the last check forbids it", () =>
    Effect.gen(function* () {
      const { handed, make } = yield* setup({})
      const expired = ended(yield* make(claim({ message: { expiresAt: noon } })))
      const removed = ended(yield* make(claim({ removed: true })))
      const givenUp = ended(yield* make(claim({ interruptions: 3 })))
      assert.deepStrictEqual(
        [expired, removed, givenUp].map(({ change }) => change.event.type),
        ["message.expired", "message.cancelled", "message.failed"],
      )
      assert.deepStrictEqual(handed, [])
    }),
  )

  it.effect("a transport that does not answer for 60 s counts as interrupted", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({ send: () => Effect.never })
      const fiber = yield* Effect.forkChild(make(claim()))
      yield* TestClock.adjust(60 * second - 1)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), {
        _tag: "Again",
        numberId: 7,
        lease: 3,
        messageId: 42,
        notBefore: null,
        interrupted: true,
      })
    }),
  )

  it.effect("an adapter that breaks may have sent it", () =>
    Effect.gen(function* () {
      const { make } = yield* setup({ send: () => Effect.die(new Error("a bug")) })
      const settlement = yield* make(claim())
      assert.strictEqual(settlement._tag === "Again" && settlement.interrupted, true)
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

  it.effect("a number that turns out not to be connected is noted as logged out", () =>
    Effect.gen(function* () {
      const { make, reported } = yield* setup({ send: () => Effect.succeed(notConnected) })
      const settlement = yield* make(claim())
      assert.strictEqual(settlement._tag === "Again" && !settlement.interrupted, true)
      assert.deepStrictEqual(reported, [[7, "disconnected", null]])
    }),
  )

  describe("with media", () => {
    const withMedia = (given: Partial<Message> = {}) =>
      claim({ message: { media: reference, ...given } })

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

    it.effect("that cannot be had fails the message with media_unavailable", () =>
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
            lease: 3,
            messageId: 42,
            notBefore: noon + second,
            interrupted: false,
          })
          assert.deepStrictEqual(handed, [])
        }),
    )

    it.effect("that took so long that the message expired is not handed over any more", () =>
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
