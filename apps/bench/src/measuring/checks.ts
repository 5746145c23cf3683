/** What is checked of a run before its figure counts. */
import { Data, Effect } from "effect"
import type { BenchDatabase } from "../database/BenchDatabase.ts"

/** The figure of a run does not measure the work that it names. */
export class CheckFailed extends Data.TaggedError("CheckFailed")<{ readonly message: string }> {}

export const check = (what: string, found: number, expected: number) =>
  found === expected
    ? Effect.void
    : Effect.fail(new CheckFailed({ message: `${what}: ${found} instead of ${expected}` }))

/** Each send left one message, and took allowance and quota. */
export const checkAccepted = Effect.fnUntraced(function* checkAccepted(
  database: BenchDatabase,
  expected: number,
) {
  yield* check("messages", yield* database.count("select count(*) from messages"), expected)
  yield* check("quota taken", yield* database.count("select sum(quota_bound) from lanes"), expected)
  yield* check(
    "allowance taken",
    yield* database.count("select sum(1000000000 - plan_messages_remaining) from workspaces"),
    expected,
  )
})

/** Each message was handed over once, is sent, and was reported once. */
export const checkSent = Effect.fnUntraced(function* checkSent(
  database: BenchDatabase,
  expected: number,
  handedOver: number,
) {
  yield* check("messages handed over", handedOver, expected)
  yield* check(
    "messages sent",
    yield* database.count("select count(*) from messages where state = 'sent'"),
    expected,
  )
  yield* check(
    "messages told of",
    yield* database.count(
      "select count(distinct message_id) from outbox where type = 'message.sent'",
    ),
    expected,
  )
  yield* check(
    "events of sends",
    yield* database.count("select count(*) from outbox where type = 'message.sent'"),
    expected,
  )
})
