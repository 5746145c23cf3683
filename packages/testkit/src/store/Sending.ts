/** The operations of a worker in a test: claim, settle, end; with defaults for everything else. */
import { assert } from "@effect/vitest"
import { endMessage, unchangedLane, Store } from "@messaging-service/core"
import type {
  LaneUpdate,
  ClaimedMessage,
  ClaimQuery,
  Ending,
  MediaLink,
  Message,
  MessageChange,
  MessageError,
  MessageId,
  Owned,
  SendingNumber,
  Settlement,
  StoreUnavailable,
  UnfinishedAttempt,
} from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "./Expect.ts"
import { anEventId, day, minute, noon } from "./Records.ts"

export const sendFailed: MessageError = { code: "send_failed", message: "The send failed." }

/** A link to a stored file, valid for a store. */
export const aLink: MediaLink = (id) => `https://example.com/media/${id}`

/** A message's end as the core decides it. */
export const change = (message: Message, ending: Ending, now = noon): MessageChange =>
  present(endMessage(message, ending, anEventId(), now, aLink))

export const cancelled = (message: Message, now = noon) =>
  change(message, { trigger: "cancel" }, now)

export const expired = (message: Message, now = noon) => change(message, { trigger: "expire" }, now)

/** Ends messages outside of a lease; returns the ids of those that still waited. */
export const end = (...changes: ReadonlyArray<MessageChange>) =>
  Effect.map(
    Store.use(({ messages: store }) => store.end(changes)),
    (ended) => [...ended].toSorted((a, b) => a - b),
  )

/** Only these numbers, each in its own shard. */
export const onlyThese = (numbers: ReadonlyArray<SendingNumber>): Owned => ({
  of: Number.MAX_SAFE_INTEGER,
  shards: numbers.map(({ id }) => id),
})

export const aClaimQuery = (
  numbers: ReadonlyArray<SendingNumber>,
  overrides: Partial<Omit<ClaimQuery, "owned">> = {},
): ClaimQuery => {
  const now = overrides.now ?? noon
  return {
    now,
    leaseUntil: now + minute,
    limit: 100,
    owned: onlyThese(numbers),
    dailyLimit: { messages: 1000, windowMillis: day },
    turn: 1,
    dueSince: null,
    perWorkspace: 1000,
    held: new Map(),
    ...overrides,
  }
}

/** Claims only from these numbers, so tests do not take each other's messages. */
export const claim = (
  numbers: ReadonlyArray<SendingNumber>,
  overrides: Partial<Omit<ClaimQuery, "owned">> = {},
) => Store.use(({ queue }) => queue.claim(aClaimQuery(numbers, overrides)))

/** Claims the one message that this number must have. */
export const claimOne = (
  number: SendingNumber,
  overrides: Partial<Omit<ClaimQuery, "owned">> = {},
) => Effect.map(claim([number], overrides), only)

export const endedAs = (
  claimed: ClaimedMessage,
  ending: Ending,
  now = noon,
  overrides: Partial<LaneUpdate> = {},
): Settlement => ({
  _tag: "Ended",
  numberId: claimed.number.id,
  lease: claimed.lease,
  change: change(claimed.message, ending, now),
  ...unchangedLane,
  ...overrides,
})

export const sent = (
  claimed: ClaimedMessage,
  now = noon,
  overrides: Partial<LaneUpdate> = {},
): Settlement => endedAs(claimed, { trigger: "send_succeeded" }, now, overrides)

export const failed = (claimed: ClaimedMessage, now = noon): Settlement =>
  endedAs(claimed, { trigger: "send_failed", error: sendFailed }, now)

export const again = (
  claimed: ClaimedMessage,
  {
    interrupted = false,
    unfinished = interrupted ? "interrupted" : null,
    ...overrides
  }: Partial<LaneUpdate> & {
    readonly interrupted?: boolean
    readonly unfinished?: UnfinishedAttempt | null
  } = {},
): Settlement => ({
  _tag: "Again",
  numberId: claimed.number.id,
  lease: claimed.lease,
  ...unchangedLane,
  messageId: claimed.message.id,
  unfinished,
  ...overrides,
})

/** Settles, again what a lock blocked, as a worker does; returns the ids of the settled messages. */
export const settle = (
  settlements: ReadonlyArray<Settlement>,
  now = noon,
): Effect.Effect<ReadonlyArray<MessageId>, StoreUnavailable, Store> =>
  Effect.gen(function* () {
    const { blockedByLock, settled } = yield* Store.use(({ queue }) =>
      queue.settle(settlements, now),
    )
    const later = blockedByLock.length === 0 ? [] : yield* settle(blockedByLock, now)
    return [...settled, ...later].toSorted((a, b) => a - b)
  })

/** Sends the number's next message at `now`, from claim to settlement, and returns it. */
export const sendNext = (number: SendingNumber, now = noon) =>
  Effect.gen(function* () {
    const claimed = yield* claimOne(number, { now })
    assert.deepStrictEqual(yield* settle([sent(claimed, now)], now), [claimed.message.id])
    return claimed.message
  })

/** Renews leases; returns the numbers with a lease that continues. */
export const renew = (claimed: ReadonlyArray<ClaimedMessage>, leaseUntil: number) =>
  Effect.map(
    Store.use(({ queue }) =>
      queue.renew(
        claimed.map((each) => ({ numberId: each.number.id, lease: each.lease })),
        leaseUntil,
      ),
    ),
    (renewed) => [...renewed].toSorted((a, b) => a - b),
  )

/** The send cap of tests that read a connection. */
export const dailyLimit = { messages: 1000, windowMillis: day }

export const connectionFacts = (number: SendingNumber, now = noon) =>
  Effect.map(
    Store.use(({ numbers: store }) =>
      store.connection(number.workspaceId, number.id, now, dailyLimit),
    ),
    present,
  )
