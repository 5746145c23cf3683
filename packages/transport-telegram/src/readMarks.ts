/** Marks chats as read at Telegram: by the id of the latest message, which reads all before it. */
import type { ReadMark, ReadMarkOutcome } from "@messaging-service/core"
import type { tl } from "@mtcute/node"
import { Deferred, Effect } from "effect"
import type { OpenAccount } from "./Account.ts"
import { notConnected, soon, toClosedReason, toOutcome, unknown } from "./Client.ts"
import { resolve } from "./recipients.ts"

const marked = { _tag: "Marked" } as const

const whole = /^[1-9]\d{0,15}$/

/** Null where the chat has no id of Telegram's. */
const getPeer = (account: OpenAccount, { group, person }: ReadMark) =>
  Effect.gen(function* () {
    if (group !== null) {
      return whole.test(group) ? ({ _: "inputPeerChat", chatId: Number(group) } as const) : null
    }
    if (person?.userId == null || !whole.test(person.userId)) return null
    const target = { kind: "user_id", userId: Number(person.userId) } as const
    const resolved = yield* resolve(account, target, { force: false, mayHaveLeft: false })
    return "peer" in resolved ? resolved.peer : null
  })

/** What the library counts, so that it does not ask for what came in between. */
const toChange = ({ pts, ptsCount }: tl.messages.RawAffectedMessages): tl.TypeUpdates => ({
  _: "updates",
  updates: [{ _: "mtcute.dummyUpdate", channelId: 0, pts, ptsCount }],
  users: [],
  chats: [],
  date: 0,
  seq: 0,
})

/** Marks over that account. */
export const markOver = (account: OpenAccount, mark: ReadMark): Effect.Effect<ReadMarkOutcome> =>
  Effect.gen(function* markHistory() {
    const { client, ownChanges, questions } = account
    const peer = yield* getPeer(account, mark)
    const ids = mark.messages.map(({ remoteId }) => remoteId).filter((id) => whole.test(id))
    if (peer === null || ids.length === 0) return marked
    const maxId = Math.max(...ids.map(Number))
    const change = yield* questions.request((abortSignal) =>
      client.call({ _: "messages.readHistory", peer, maxId }, { abortSignal }),
    )
    ownChanges.add(toChange(change))
    return marked
  }).pipe(
    Effect.catchTags({
      CallFailed: (failed) => {
        if (failed.code === 0 && Deferred.isDoneUnsafe(account.over)) {
          return Effect.succeed(unknown)
        }
        const ending = toClosedReason(failed)
        if (ending !== null) {
          account.ended(ending)
          return Effect.succeed(notConnected)
        }
        const outcome = toOutcome(failed, true)
        // What Telegram refuses for good it never hears.
        return Effect.succeed(
          outcome._tag === "Refused" || outcome._tag === "Accepted" ? marked : outcome,
        )
      },
      NotStored: () => Effect.succeed(soon),
    }),
  )
