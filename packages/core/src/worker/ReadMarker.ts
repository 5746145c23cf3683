/**
 * The loop of read marks: marks chats as read at the remote, through the worker that owns the number.
 * The mark is stored first. A crash in between repeats it, which does no harm.
 */
import { Clock, Effect } from "effect"
import { Numbers } from "../service/Numbers.ts"
import { NumberOwnership } from "../service/NumberOwnership.ts"
import type { DueReadMark } from "../store/ChatStore.ts"
import { WakeUp } from "../store/DueWork.ts"
import { Store } from "../store/Store.ts"
import { TelegramTransport, WhatsAppTransport } from "../store/Transport.ts"
import type { ReadMarkOutcome } from "../store/Transport.ts"
import { runLoop } from "./LeaseLoop.ts"

/** Marks of one round. */
const batch = 200

/** Marks under way at once. */
const atOnce = 8

/** A remote without an answer for this long counts as interrupted. */
const timeoutMillis = 20_000

/** When a mark is due again that a worker did not settle. */
const leaseMillis = 30_000

/** Before a mark is repeated, unless the remote names a pause. */
const retryMillis = 15_000

const retry: ReadMarkOutcome = { _tag: "Unknown" }

/** `runOnce` carries out what is due, one batch at most, and returns how much that was. */
export const makeReadMarker = Effect.gen(function* makeReadMarker() {
  const { chats } = yield* Store
  const numbers = yield* Numbers
  const ownership = yield* NumberOwnership
  const transports = { whatsapp: yield* WhatsAppTransport, telegram: yield* TelegramTransport }
  const context = yield* Effect.context<WakeUp | Store>()

  const attempt = (mark: DueReadMark): Effect.Effect<ReadMarkOutcome> => {
    const { markRead } = transports[mark.platform]
    // The messages may have been erased, and a remote may know no marks.
    if (markRead === undefined || mark.messages.length === 0) {
      return Effect.succeed({ _tag: "Marked" })
    }
    return markRead(mark).pipe(
      Effect.timeoutOrElse({
        duration: timeoutMillis,
        orElse: () => Effect.succeed(retry),
      }),
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("a read mark failed", defect), retry),
      ),
    )
  }

  const carryOut = Effect.fn("ReadMarker.carryOut")(function* carryOut(mark: DueReadMark) {
    const { chatId, numberId, upTo } = mark
    const outcome = yield* attempt(mark)
    const now = yield* Clock.currentTimeMillis
    if (outcome._tag === "Marked") return yield* chats.settleReadMark({ chatId, upTo, at: now })
    if (outcome._tag === "NotConnected") {
      yield* Effect.ignore(numbers.connectionChanged(numberId, "disconnected", null))
    }
    const pause = outcome._tag === "Postponed" ? outcome.afterMillis : retryMillis
    yield* chats.postponeReadMark(chatId, now + pause)
  })

  const runOnce = Effect.gen(function* runOnce() {
    const now = yield* Clock.currentTimeMillis
    const owned = yield* ownership.owned
    const due = yield* chats.claimReadMarks(now, now + leaseMillis, owned, batch)
    yield* Effect.forEach(due, carryOut, { concurrency: atOnce, discard: true })
    return due.length
  })
  const run = runLoop({
    work: "read_marks",
    runOnce: Effect.map(runOnce, (done) => done > 0),
    owned: ownership.owned,
  })
  return { runOnce, run: Effect.provideContext(run, context) }
})
