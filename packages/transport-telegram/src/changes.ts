/** What happens to messages, in the core's form: edits, deletions and reactions. Pure. */
import type { IncomingChange, ChatContext } from "@messaging-service/core"
import type { tl } from "@mtcute/node"
import { toggleChannelIdMark } from "@mtcute/node/utils.js"
import { isSupergroup, toGroup, toPerson, toPlace, toRemoteId } from "./incoming.ts"
import type { KnownPeers } from "./incoming.ts"

/** Telegram lets only those change a message who may. */
const verified = { _tag: "Change", mode: "live", isVerified: true } as const

/** Null for a message as it was written, and for one with changed reactions, buttons or votes. */
export const toEdit = (
  message: tl.TypeMessage,
  peers: KnownPeers,
  selfId: number,
): IncomingChange | null => {
  if (message._ !== "message" || message.editDate === undefined || message.editHide) return null
  const found = toPlace(message, peers, selfId)
  return (
    found && {
      ...found,
      ...verified,
      target: { remoteId: toRemoteId(message.peerId, message.id), fromMe: found.fromMe },
      change: { type: "edit", text: message.message },
      at: message.editDate * 1000,
    }
  )
}

/** Telegram names neither author nor time, and outside of channels no chat. */
export const toDeletions = (
  update: tl.RawUpdateDeleteMessages | tl.RawUpdateDeleteChannelMessages,
  { chats }: KnownPeers,
  now: number,
): ReadonlyArray<IncomingChange> => {
  const isChannels = update._ === "updateDeleteChannelMessages"
  const chat = isChannels ? chats.get(update.channelId) : undefined
  if (chat !== undefined && !isSupergroup(chat)) return []
  const remoteId = isChannels ? String(toggleChannelIdMark(update.channelId)) : null
  return update.messages.map((id) => ({
    ...verified,
    fromMe: false,
    group: remoteId === null ? null : { remoteId, name: null },
    person: null,
    target: {
      remoteId: isChannels
        ? toRemoteId({ _: "peerChannel", channelId: update.channelId }, id)
        : String(id),
      fromMe: null,
    },
    change: { type: "revocation" },
    at: now,
  }))
}

// Reactions

/** An emoji of Telegram's own has an id only. */
const toEmoji = (reaction: tl.TypeReaction): string | null => {
  switch (reaction._) {
    case "reactionEmoji":
      return reaction.emoticon
    case "reactionCustomEmoji":
      return `custom:${reaction.documentId.toString()}`
    case "reactionPaid":
      return "⭐"
    case "reactionEmpty":
      return null
  }
}

interface Reacted {
  readonly emoji: string | null
  readonly at: number
}

/** Of a person's reactions the latest counts. */
const findListed = (
  { recentReactions = [] }: tl.RawMessageReactions,
  selfId: number,
): Map<number, Reacted> => {
  const found = new Map<number, Reacted>()
  for (const { date, my = false, peerId, reaction } of recentReactions) {
    if (!my && peerId._ !== "peerUser") continue
    const userId = my || peerId._ !== "peerUser" ? selfId : peerId.userId
    const at = date * 1000
    if ((found.get(userId)?.at ?? 0) <= at) found.set(userId, { emoji: toEmoji(reaction), at })
  }
  return found
}

/** Who reacted, with null for those who are known to have no reaction. */
const findReacted = (
  { peer, reactions }: Pick<tl.RawUpdateMessageReactions, "peer" | "reactions">,
  before: Iterable<number>,
  selfId: number,
  now: number,
): ReadonlyMap<number, Reacted> => {
  const { min = false, recentReactions, results } = reactions
  const found = findListed(reactions, selfId)
  const isOwn = results.some(({ chosenOrder }) => chosenOrder !== undefined)
  const missing: Array<number> = []
  if (!min && !isOwn) missing.push(selfId)
  if (peer._ === "peerUser") {
    // The counts name both sides where the list is missing.
    for (const { chosenOrder, count, reaction } of recentReactions === undefined ? results : []) {
      const isMine = chosenOrder !== undefined
      const one = { emoji: toEmoji(reaction), at: now }
      if (isMine) found.set(selfId, one)
      if (count > (isMine ? 1 : 0)) found.set(peer.userId, one)
    }
    missing.push(peer.userId)
  } else {
    const count = results.reduce((sum, each) => sum + each.count, 0)
    if (count === (recentReactions?.length ?? 0)) missing.push(...before)
  }
  for (const userId of missing) {
    if (!found.has(userId)) found.set(userId, { emoji: null, at: now })
  }
  return found
}

/** A reaction, or its end, with the id of the person who did it. */
export type ReactionChange = readonly [userId: number, change: IncomingChange]

/**
 * What the state of a message's reactions says of each person. Telegram does not report the end of a reaction: in a chat
 * of two, and for the account itself, it is missing; in a group it may be that of one of those before.
 */
export const toReactions = (
  update: Pick<tl.RawUpdateMessageReactions, "peer" | "msgId" | "reactions">,
  peers: KnownPeers,
  {
    before,
    now,
    selfId,
  }: {
    /** Who had reacted, as far as that is known. */
    readonly before: Iterable<number>
    readonly now: number
    readonly selfId: number
  },
): ReadonlyArray<ReactionChange> => {
  const { msgId, peer, reactions } = update
  const group = peer._ === "peerUser" ? null : toGroup(peer, peers)
  const isStored = peer._ === "peerUser" ? peer.userId !== selfId : group !== null
  // Those to notes are tags.
  if (!isStored || reactions.reactionsAsTags) return []
  const target = { remoteId: toRemoteId(peer, msgId), fromMe: null }
  const toReactor = (userId: number): Omit<ChatContext, "mode"> => {
    const fromMe = userId === selfId
    const otherId = peer._ === "peerUser" ? peer.userId : fromMe ? null : userId
    return { fromMe, group, person: otherId === null ? null : toPerson(peers, otherId) }
  }
  return [...findReacted(update, before, selfId, now)].map(([userId, { at, emoji }]) => [
    userId,
    { ...verified, ...toReactor(userId), target, change: { type: "reaction", emoji }, at },
  ])
}
