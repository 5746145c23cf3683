/** Operations and observations for tests: sends, answers, events and stored records. */
import { assert } from "@effect/vitest"
import { Emulator } from "@messaging-service/emulator"
import { Clock, Effect } from "effect"
import {
  dailyQuota,
  everyMessage,
  MediaLinks,
  messageJson,
  Messages,
  Numbers,
  Store,
  Workspaces,
} from "../../src/index.ts"
import type {
  Caller,
  Message,
  MessageId,
  MessageJson,
  NumberId,
  Refusal,
  Sent,
  SentCopy,
  StoreUnavailable,
  WorkspaceId,
} from "../../src/index.ts"

export { aPhone } from "@messaging-service/testkit/world"

const body = (overrides: Readonly<Record<string, unknown>>) => ({
  to: { phone: "+15550000001" },
  text: "Hello",
  ...overrides,
})

const keyed = (key: string | null, fingerprint = "same") =>
  key === null ? null : { key, fingerprint }

/** Messages as answers show them now. */
export const shown = (messages: ReadonlyArray<Message>) =>
  Effect.gen(function* () {
    const { link } = yield* MediaLinks
    const now = yield* Clock.currentTimeMillis
    return messages.map((message) => messageJson(message, now, link))
  })

/** The accepted messages, as the answer shows them. */
const accepted = ({ messages, replayed }: Sent) =>
  Effect.map(MediaLinks, ({ link }) => ({
    messages: messages.map((message) => messageJson(message, message.createdAt, link)),
    replayed,
  }))

/** Sends, and returns the answer with whether it was a replay. */
export const answer = (
  caller: Caller,
  overrides: Readonly<Record<string, unknown>> = {},
  idempotencyKey: string | null = null,
  fingerprint?: string,
) =>
  Effect.flatMap(
    Messages.use((messages) =>
      messages.send(caller, body(overrides), keyed(idempotencyKey, fingerprint)),
    ),
    accepted,
  )

/** Sends, and returns the Message. */
export const send = (
  caller: Caller,
  overrides: Readonly<Record<string, unknown>> = {},
  idempotencyKey: string | null = null,
) => Effect.map(answer(caller, overrides, idempotencyKey), ({ messages }) => the(messages))

/** Sends a batch to that many recipients. */
export const sendBatch = (
  caller: Caller,
  count: number,
  overrides: Readonly<Record<string, unknown>> = {},
  idempotencyKey: string | null = null,
) =>
  Messages.use((messages) =>
    messages.sendBatch(
      caller,
      {
        ...body({}),
        to: Array.from({ length: count }, () => ({ phone: "+15550000001" })),
        ...overrides,
      },
      keyed(idempotencyKey),
    ),
  ).pipe(
    Effect.flatMap(accepted),
    Effect.map((sent) => sent.messages),
  )

export const get = (caller: Caller, message: Pick<MessageJson, "id">) =>
  Messages.use((messages) => messages.get(caller, message.id)).pipe(
    Effect.flatMap((found) => shown([found])),
    Effect.map(the),
  )

export const cancel = (caller: Caller, message: Pick<MessageJson, "id">) =>
  Messages.use((messages) => messages.cancel(caller, message.id)).pipe(
    Effect.flatMap((found) => shown([found])),
    Effect.map(the),
  )

export const statuses = (caller: Caller, messages: ReadonlyArray<Pick<MessageJson, "id">>) =>
  Effect.forEach(messages, (message) => Effect.map(get(caller, message), ({ status }) => status))

export const status = (caller: Caller, message: Pick<MessageJson, "id">) =>
  Effect.map(get(caller, message), (read) => read.status)

/** Replaces the whole behaviour of a simulated phone. */
export const behave = (number: NumberId, overrides: Readonly<Record<string, unknown>>) =>
  Emulator.use((emulator) => emulator.setBehaviour(number, overrides))

export const logOut = (number: NumberId) => Emulator.use((emulator) => emulator.logout(number))

export const reconnect = (number: NumberId) =>
  Numbers.use((numbers) => numbers.connectionChanged(number, "connected", null))

/** Claims messages like a worker that dies before it sends anything. */
export const claimAndDie = Effect.fnUntraced(function* (limit = 100, leaseMillis = 30_000) {
  const now = yield* Clock.currentTimeMillis
  return yield* Store.use(({ queue: lanes }) =>
    lanes.claim({
      now,
      leaseUntil: now + leaseMillis,
      limit,
      owned: "all",
      dailyLimit: dailyQuota,
      turn: 1,
      dueSince: null,
      perWorkspace: 100,
      held: new Map(),
    }),
  )
})

/** What recipients saw, oldest first. */
export const copies = (number: NumberId | null = null) =>
  Effect.gen(function* () {
    const simulated = (yield* Store).phones
    const all: Array<SentCopy> = []
    let before: number | null = null
    do {
      const page: { items: ReadonlyArray<SentCopy>; next: number | null } = yield* simulated.sent(
        { numberId: number, workspaceId: null, to: null },
        { before, limit: 1000 },
      )
      all.push(...page.items)
      before = page.next
    } while (before !== null)
    return all.toReversed()
  })

/** The messages that recipients saw, in order of arrival. */
export const arrived = (number: NumberId | null = null) =>
  Effect.map(copies(number), (all) => all.map(({ messageId }) => messageId))

/** A message's events in the outbox, in order. */
export const events = (message: Pick<MessageJson, "id">) =>
  Effect.map(allEvents, (all) =>
    all.flatMap(({ messageId, type }) => (messageId === message.id ? [type] : [])),
  )

/** All messages of a workspace, in the order of their ids. */
export const listMessages = (workspaceId: WorkspaceId) =>
  Effect.gen(function* () {
    const store = (yield* Store).messages
    const now = yield* Clock.currentTimeMillis
    const filter = everyMessage
    const page = { before: null, limit: Number.MAX_SAFE_INTEGER }
    const lists = yield* Effect.forEach(["live", "test"] as const, (mode) =>
      store.list({ workspaceId, mode, restriction: null }, filter, page, now),
    )
    return lists.flatMap(({ items }) => items).toSorted((a, b) => a.id - b.id)
  })

export const allEvents = Effect.gen(function* () {
  const outbox = (yield* Store).webhooks
  return yield* outbox.readEvents(0, Number.MAX_SAFE_INTEGER)
})

/** The remaining messages of a workspace's plan. */
export const remaining = (workspace: WorkspaceId) =>
  Effect.map(
    Workspaces.use((workspaces) => workspaces.get(workspace)),
    ({ plan }) => plan?.messagesRemaining ?? null,
  )

/** The stored message. */
export const stored = (
  message: Pick<MessageJson, "id">,
): Effect.Effect<Message, StoreUnavailable, Store> =>
  Effect.map(
    Store.use(({ messages: store }) => store.byIds([message.id as MessageId])),
    the,
  )

/** The refusal with which an operation must fail. */
export const refusal = <A, R>(
  operation: Effect.Effect<A, Refusal | StoreUnavailable, R>,
): Effect.Effect<Refusal, A, R> =>
  Effect.map(Effect.flip(operation), (error) =>
    error._tag === "Refusal" ? error : assert.fail("the store did not answer"),
  )

/** The code of the refusal with which an operation must fail. */
export const code = <A, R>(operation: Effect.Effect<A, Refusal | StoreUnavailable, R>) =>
  Effect.map(refusal(operation), (refused) => refused.code)

/** The only item of a list that must have exactly one. */
export const the = <A>(items: ReadonlyArray<A>): A => {
  assert.lengthOf(items, 1)
  return items[0] as A
}
