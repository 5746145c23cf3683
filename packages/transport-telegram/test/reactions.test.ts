/** What a state of reactions, or of an edited message, says of each person. */
import { assert, describe, it } from "@effect/vitest"
import type { Collected } from "../src/Inbox.ts"
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { makeInbox } from "../src/Inbox.ts"

const [selfId, ann, bob] = [1, 7, 8]
const [date, now] = [1_700_000_000, 1_800_000_000_000]
const withAnn = { _: "peerUser", userId: ann } as const
const inGroup = { _: "peerChat", chatId: 70 } as const
const inCrowd = { _: "peerChannel", channelId: 80 } as const
const peers = { users: new Map<number, tl.TypeUser>(), chats: new Map<number, tl.TypeChat>() }

const emoji = (emoticon: string): tl.RawReactionEmoji => ({ _: "reactionEmoji", emoticon })

const by = (
  userId: number,
  reaction: tl.TypeReaction,
  known: Partial<tl.RawMessagePeerReaction> = {},
): tl.RawMessagePeerReaction => ({
  _: "messagePeerReaction",
  peerId: { _: "peerUser", userId },
  date,
  reaction,
  ...known,
})

const counted = (emoticon: string, count: number, chosenOrder?: number): tl.RawReactionCount => ({
  _: "reactionCount",
  reaction: emoji(emoticon),
  count,
  ...(chosenOrder === undefined ? {} : { chosenOrder }),
})

const state = (known: Partial<tl.RawMessageReactions> = {}): tl.RawMessageReactions => ({
  _: "messageReactions",
  results: [],
  ...known,
})

const update = (
  peer: tl.TypePeer,
  reactions: tl.RawMessageReactions,
): tl.RawUpdateMessageReactions => ({ _: "updateMessageReactions", peer, msgId: 5, reactions })

const toReacted = (each: Collected) =>
  each._tag === "Change" && each.change.type === "reaction"
    ? [each.fromMe ? "me" : Number(each.person?.userId), each.change.emoji, each.at - date * 1000]
    : each

/** What an account collects of each state in turn. */
const collect = (...updates: ReadonlyArray<tl.TypeUpdate>) => {
  const inbox = makeInbox({ selfId, now: () => now })
  return updates.map((each) => {
    inbox.addUpdate(each, peers)
    return inbox.take().map(toReacted)
  })
}

const later = now - date * 1000

describe("reactions", () => {
  it("of a private chat are those of both sides", () => {
    const listed = [by(ann, emoji("👍")), by(selfId, emoji("❤"), { my: true, date: date + 1 })]
    assert.deepStrictEqual(
      collect(
        update(withAnn, state({ results: [counted("👍", 1)], recentReactions: listed })),
        update(withAnn, state({ results: [counted("👍", 1)], recentReactions: listed })),
        update(withAnn, state({ recentReactions: [by(ann, emoji("🎉"))] })),
        update(withAnn, state({ results: [counted("👀", 2, 1)] })),
        update(withAnn, state({ results: [counted("👀", 1)], min: true })),
        update(withAnn, state()),
      ),
      [
        [
          [ann, "👍", 0],
          ["me", "❤", 1000],
        ],
        [],
        [
          [ann, "🎉", 1],
          ["me", null, later],
        ],
        [
          ["me", "👀", later + 1],
          [ann, "👀", later],
        ],
        [],
        [
          ["me", null, later + 2],
          [ann, null, later + 1],
        ],
      ],
    )
  })

  it("of a group are those that are listed, and ends where the list is whole", () => {
    const whole = [by(ann, emoji("👍")), by(bob, emoji("👍"))]
    assert.deepStrictEqual(
      collect(
        update(inGroup, state({ results: [counted("👍", 2)], recentReactions: whole })),
        update(
          inGroup,
          state({ results: [counted("👍", 9)], recentReactions: whole.slice(0, 1), min: true }),
        ),
        update(
          inGroup,
          state({ results: [counted("👍", 1)], recentReactions: whole.slice(0, 1), min: true }),
        ),
      ),
      [
        [
          [ann, "👍", 0],
          [bob, "👍", 0],
          ["me", null, later],
        ],
        [],
        [[bob, null, later]],
      ],
    )
  })

  it("of Telegram's own emoji have names, and the latest of a person counts", () => {
    const custom = { _: "reactionCustomEmoji", documentId: Long.fromNumber(42) } as const
    const reactions = state({
      min: true,
      recentReactions: [
        by(ann, custom, { date: date + 2 }),
        by(ann, emoji("👍"), { date: date + 1 }),
        by(bob, { _: "reactionPaid" }),
      ],
      results: [counted("👍", 9)],
    })
    assert.deepStrictEqual(collect(update(inCrowd, reactions)), [
      [
        [ann, "custom:42", 2000],
        [bob, "⭐", 0],
      ],
    ])
  })

  it("to notes and in news channels are none", () => {
    const news: tl.RawChannel = {
      _: "channel",
      id: 90,
      title: "News",
      photo: { _: "chatPhotoEmpty" },
      date: 0,
      broadcast: true,
    }
    peers.chats.set(news.id, news)
    const reactions = state({ recentReactions: [by(ann, emoji("👍"))] })
    assert.deepStrictEqual(
      collect(
        update({ _: "peerUser", userId: selfId }, reactions),
        update(withAnn, { ...reactions, reactionsAsTags: true }),
        update({ _: "peerChannel", channelId: news.id }, reactions),
      ),
      [[], [], []],
    )
  })
})

describe("an edited message", () => {
  const edited = (known: Partial<tl.RawMessage>): tl.RawUpdateEditMessage => ({
    _: "updateEditMessage",
    message: { _: "message", id: 5, peerId: withAnn, date, message: "Hello", ...known },
    pts: 1,
    ptsCount: 1,
  })

  it("whose edit Telegram hides has other reactions only", () => {
    const reactions = state({
      results: [counted("👍", 1)],
      recentReactions: [by(ann, emoji("👍"))],
    })
    assert.deepStrictEqual(collect(edited({ editDate: date, editHide: true, reactions })), [
      [
        [ann, "👍", 0],
        ["me", null, later],
      ],
    ])
  })

  it("is collected once for each text, in order within a second", () => {
    const inbox = makeInbox({ selfId, now: () => now })
    const texts = ["One", "One", "Two", "One"]
    for (const message of texts) inbox.addUpdate(edited({ editDate: date, message }), peers)
    inbox.addUpdate(edited({ message: "Not edited" }), peers)
    assert.deepStrictEqual(
      inbox.take().flatMap((each) => (each._tag === "Change" ? [[each.change, each.at]] : [])),
      [
        [{ type: "edit", text: "One" }, date * 1000],
        [{ type: "edit", text: "Two" }, date * 1000],
        [{ type: "edit", text: "One" }, date * 1000],
      ],
    )
  })
})
