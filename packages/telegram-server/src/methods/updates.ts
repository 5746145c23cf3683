/** What a client has missed: the differences of its account's box and of channels. */
import type { tl } from "@mtcute/node"
import { getHistory, toDialog, toDifference, toMessage, toPeers } from "../boxes.ts"
import type { Call, Method } from "../sessions.ts"
import { channelSeen, getCaller, Refused, secondsNow } from "../ServerState.ts"
import type { Box, BoxEvent, Channel, Person, ServerState } from "../ServerState.ts"

export const toState = ({ box, seq }: Person, pts = box.pts): tl.updates.RawState => ({
  _: "updates.state",
  pts,
  qts: 0,
  date: secondsNow(),
  seq,
  unreadCount: 0,
})

const getState = (_: tl.updates.RawGetStateRequest, call: Call): tl.updates.RawState =>
  toState(getCaller(call.key))

/** The events after that state. A client cannot be further than the box. */
const getMissed = ({ events, pts: latest }: Box, pts: number): ReadonlyArray<BoxEvent> => {
  if (pts < 1 || pts > latest) throw new Refused(400, "PERSISTENT_TIMESTAMP_INVALID")
  const first = events.findIndex((event) => event.pts > pts)
  return first === -1 ? [] : events.slice(first)
}

/**
 * The account's channels that have changed since that time, which have differences of their own. What changed
 * within the same second counts once more.
 */
const findChanged = ({ groups }: ServerState, person: Person, date: number) =>
  groups.filter(
    (group): group is Channel =>
      group.kind !== "small" &&
      group.members.has(person) &&
      (group.box.events.at(-1)?.date ?? -1) >= date,
  )

const getDifference = (
  { date, pts }: tl.updates.RawGetDifferenceRequest,
  call: Call,
): tl.updates.TypeDifference => {
  const person = getCaller(call.key)
  const { state } = call
  const { slice, tooLong } = state.limits
  const missed = getMissed(person.box, pts)
  const changed = findChanged(state, person, date)
  if (missed.length === 0 && changed.length === 0) {
    return { _: "updates.differenceEmpty", date: secondsNow(), seq: person.seq }
  }
  if (missed.length > tooLong) return { _: "updates.differenceTooLong", pts: person.box.pts }
  const isWhole = missed.length <= slice
  const events = missed.slice(0, slice)
  const { involved, newMessages, otherUpdates } = toDifference(state, person.box, events, person)
  const common = { newMessages, newEncryptedMessages: [] }
  if (!isWhole) {
    const intermediateState = toState(person, events.at(-1)?.pts)
    const peers = toPeers(person, involved)
    return { _: "updates.differenceSlice", ...common, otherUpdates, ...peers, intermediateState }
  }
  const channels = changed.map(({ box, id }): tl.RawUpdateChannelTooLong => ({
    _: "updateChannelTooLong",
    channelId: id,
    pts: box.pts,
  }))
  return {
    _: "updates.difference",
    ...common,
    otherUpdates: [...otherUpdates, ...channels],
    ...toPeers(person, [...involved, ...changed]),
    state: toState(person),
  }
}

/** The server skips what was missed: the latest messages, and the state after them. */
const toTooLong = (
  state: ServerState,
  person: Person,
  channel: Channel,
  limit: number,
): tl.updates.RawChannelDifferenceTooLong => {
  const latest = getHistory(person, channel).slice(0, limit)
  return {
    _: "updates.channelDifferenceTooLong",
    final: true,
    dialog: toDialog(person, channel),
    messages: latest.map((message) => toMessage(state, channel.box, message, person)),
    ...toPeers(person, [channel, ...latest.map(({ by }) => by)]),
  }
}

const getChannelDifference = (
  { channel, limit, pts }: tl.updates.RawGetChannelDifferenceRequest,
  { key, state }: Call,
): tl.updates.TypeChannelDifference => {
  const person = getCaller(key)
  const found = channelSeen(state, person, channel)
  const { box } = found
  const missed = getMissed(box, pts)
  const end = { final: true, pts: box.pts }
  if (missed.length === 0) return { _: "updates.channelDifferenceEmpty", ...end }
  if (missed.length > state.limits.tooLong) return toTooLong(state, person, found, limit)
  const events = missed.slice(0, Math.max(1, Math.min(limit, state.limits.slice)))
  const { involved, newMessages, otherUpdates } = toDifference(state, box, events, person)
  return {
    _: "updates.channelDifference",
    ...(events.length === missed.length ? { final: true } : {}),
    pts: events.at(-1)?.pts ?? box.pts,
    newMessages,
    otherUpdates,
    ...toPeers(person, [...involved, found]),
  }
}

export const updateMethods: Readonly<Record<string, Method>> = {
  "updates.getState": getState,
  "updates.getDifference": getDifference,
  "updates.getChannelDifference": getChannelDifference,
}
