/** Marks chats as read at Telegram: by the id of the latest message, which reads all before it. */
import type { ReadMark, ReadMarkOutcome } from "@messaging-service/core"
import type { tl } from "@mtcute/node"
import { toInputChannel } from "@mtcute/node/utils.js"
import { Deferred, Effect } from "effect"
import type { OpenAccount } from "./Account.ts"
import { notConnected, soon, toClosedReason, toOutcome, unknown } from "./Client.ts"
import { toMessageId } from "./incoming.ts"
import { resolve, resolveGroup } from "./recipients.ts"
import type { Resolved } from "./recipients.ts"

const marked = { _tag: "Marked" } as const

const whole = /^[1-9]\d{0,15}$/

/** Null where the chat has no id of Telegram's. */
const getPeer = Effect.fnUntraced(function* getPeer(
  account: OpenAccount,
  { group, person }: ReadMark,
) {
  let resolved: Resolved | null = null
  if (group !== null) resolved = yield* resolveGroup(account, group)
  else if (person?.userId != null && whole.test(person.userId)) {
    const target = { kind: "user_id", userId: Number(person.userId) } as const
    resolved = yield* resolve(account, target, { force: false, mayHaveLeft: false })
  }
  return resolved !== null && "peer" in resolved ? resolved.peer : null
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
    const ids = mark.messages.map(({ remoteId }) => toMessageId(remoteId))
    const maxId = Math.max(0, ...ids.filter((id) => Number.isSafeInteger(id)))
    if (peer === null || maxId === 0) return marked
    if (peer._ === "inputPeerChannel") {
      // It changes no box.
      const read = { _: "channels.readHistory", channel: toInputChannel(peer), maxId } as const
      yield* questions.request((abortSignal) => client.call(read, { abortSignal }))
      return marked
    }
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
