/** Messages of a caller. */
import {
  CallersTransactions,
  CannotJoin,
  MediaLinks,
  Messages,
  refuse,
} from "@messaging-service/core"
import type {
  Caller,
  Failure,
  ListMessages,
  Message,
  MessageId,
  SendBatch,
  SendMessage,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { SendOptions, Transaction } from "../api/common.ts"
import type { MessagesApi } from "../api/messages.ts"
import type { ComposedService } from "../compose/index.ts"
import { bodyOf } from "../names.ts"
import { idOf, listingOf, made, repeatable, showingNow } from "./asking.ts"
import type { CallerApi, Calling } from "./Calls.ts"
import { messageShown } from "./records.ts"
import { anything, fields } from "./rules.ts"

const shownNow = showingNow(messageShown)

/** A message as it was accepted, which a repeat shows again. */
const shownAsAccepted = Effect.map(
  MediaLinks,
  ({ link }) =>
    (message: Message) =>
      messageShown(message, message.createdAt, link),
)

/** What a caller does, as part of the program's own transaction if one is given. */
const acting =
  ({ caller, isTrusted, joins }: Calling, transaction: Transaction | undefined) =>
  <A>(
    act: (who: Caller) => Effect.Effect<A, Failure, ComposedService>,
  ): Effect.Effect<A, Failure, ComposedService> => {
    if (transaction === undefined) return Effect.flatMap(caller, act)
    if (!joins) return Effect.fail(noTransactions)
    if (typeof transaction?.query !== "function") return Effect.fail(noQuery)
    const joined = <B>(effect: Effect.Effect<B, Failure, ComposedService>) =>
      CallersTransactions.use(({ join }) => join(transaction, effect)).pipe(
        Effect.catchTag("CannotJoin", ({ message }: CannotJoin) =>
          Effect.fail(refuse("validation_failed", { field: "transaction", message })),
        ),
      )
    // A pool may have no second client to look the workspace up on. That a request of a key was
    // counted is no part of the transaction.
    return isTrusted
      ? joined(Effect.flatMap(caller, act))
      : Effect.flatMap(caller, (who) => joined(act(who)))
  }

const noTransactions = refuse("validation_failed", {
  field: "transaction",
  message: "A transaction needs a store on PostgreSQL, which this service does not have.",
})

const noQuery = refuse("validation_failed", {
  field: "transaction",
  message:
    "A transaction has a function query: a client of pg is one, and for other libraries the guide to embedding shows one.",
})

const sendOptions = fields<SendOptions>({ idempotencyKey: anything, transaction: anything })

export const messagesApi: CallerApi<MessagesApi> = (calling) => {
  const { caller, run } = calling
  return {
    send: (command, options) =>
      run(
        Effect.gen(function* () {
          const body = bodyOf<SendMessage>(command)
          const repeat = repeatable(options, "/api/v2/messages", body, sendOptions)
          const { messages, replayed } = yield* acting(
            calling,
            options?.transaction,
          )((who) =>
            Effect.flatMap(repeat, (key) => Messages.use((all) => all.send(who, body, key))),
          )
          const shown = messages.map(yield* shownAsAccepted)
          const [only] = shown
          return only === undefined
            ? yield* Effect.die(new Error("A single send made no message"))
            : made(only, replayed)
        }),
      ),
    sendBatch: (command, options) =>
      run(
        Effect.gen(function* () {
          const body = bodyOf<SendBatch>(command)
          const repeat = repeatable(options, "/api/v2/messages/batch", body, sendOptions)
          const { messages, replayed } = yield* acting(
            calling,
            options?.transaction,
          )((who) =>
            Effect.flatMap(repeat, (key) => Messages.use((all) => all.sendBatch(who, body, key))),
          )
          return { messages: messages.map(yield* shownAsAccepted), replayed }
        }),
      ),
    get: (id) =>
      run(
        Effect.gen(function* () {
          const message = yield* (yield* Messages).get(yield* caller, idOf<MessageId>(id))
          return (yield* shownNow)(message)
        }),
      ),
    list: (query) =>
      listingOf(
        calling,
        query,
        (who, asked) => Messages.use((messages) => messages.list(who, bodyOf<ListMessages>(asked))),
        shownNow,
      ),
    cancel: (id) =>
      run(
        Effect.gen(function* () {
          const message = yield* (yield* Messages).cancel(yield* caller, idOf<MessageId>(id))
          return (yield* shownNow)(message)
        }),
      ),
  }
}
