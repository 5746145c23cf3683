/**
 * What the server has for one linked device: each stanza stays until the device has answered it, and is
 * sent again after each login, oldest first. The device says when it is ready (`offline_batch`).
 *
 * A message that the device refused with an error comes first, and the messages behind it wait until the
 * device has accepted it.
 */
import { areJidsSameUser, jidDecode } from "baileys"
import type { BinaryNode } from "baileys"
import { idsIn, node, serverJid } from "./nodes.ts"

interface Pending {
  readonly stanza: BinaryNode
  /** The device answered it with an error. */
  refused: boolean
  /** Sent on the present connection. */
  sent: boolean
  /** Copies that it replaced and that were sent on the present connection: each has an answer of its own. */
  unanswered: number
}

/** After a login the device gets nothing until it is active, and then until it asks; later stanzas come at once. */
type Phase = "silent" | "announced" | "catching up" | "live"

export interface Mailbox {
  /** A later copy of a message takes the place of the earlier one. */
  readonly add: (stanza: BinaryNode) => void
  /** A new connection: what came before may never have arrived. */
  readonly restart: () => void
  /** The device is active: it hears how much waits for it. */
  readonly announce: () => void
  /** The device wants what waits. */
  readonly release: () => void
  /** The device's receipt or ack. */
  readonly answered: (answer: BinaryNode) => void
  /** Ids of the messages without an answer, oldest first. */
  readonly messages: () => ReadonlyArray<string>
  /** Those of them that the device answered with an error. */
  readonly refused: () => ReadonlyArray<string>
  /** How many receipts have no answer. */
  readonly receipts: () => number
  /** How often a message with this id was sent. */
  readonly deliveries: (id: string) => number
}

/** The device's own addresses, by which a stanza of its own phone may come. */
interface Own {
  readonly pn: string
  readonly lid: string
}

/** One name for each author, whichever of their devices wrote. */
const toAuthor = (own: Own, jid: string | undefined) =>
  jid === undefined || areJidsSameUser(jid, own.pn) || areJidsSameUser(jid, own.lid)
    ? "own"
    : (jidDecode(jid)?.user ?? jid)

/** Names a stanza, from itself or from its answer; `from` is the other side in both. */
const toKey = (own: Own, tag: string, attrs: BinaryNode["attrs"], from: string | undefined) =>
  tag === "message"
    ? `message ${attrs["id"]} ${toAuthor(own, attrs["participant"] ?? from)}`
    : [tag, attrs["id"], attrs["type"], attrs["participant"], from].join(" ")

/** Receipts of these types say nothing about a message's arrival. */
const unrelated = ["retry", "server-error", "hist_sync", "read", "read-self"]

/** Whether a receipt or ack is a device's answer to a message. */
export const answersMessage = ({ attrs, tag }: BinaryNode) =>
  tag === "ack" ? attrs["class"] === "message" : !unrelated.includes(attrs["type"] ?? "")

interface MailboxState {
  readonly own: Own
  /** Answers whether there is a connection. */
  readonly send: (stanza: BinaryNode) => boolean
  readonly pending: Map<string, Pending>
  readonly deliveries: Map<string, number>
  phase: Phase
}

const deliver = ({ deliveries, phase, send }: MailboxState, each: Pending) => {
  const { attrs, tag } = each.stanza
  const id = attrs["id"] ?? ""
  const late = { ...each.stanza, attrs: { ...attrs, offline: "0" } }
  each.sent = send(phase === "live" ? each.stanza : late)
  if (each.sent && tag === "message") deliveries.set(id, (deliveries.get(id) ?? 0) + 1)
}

const goLive = (box: MailboxState) => {
  box.phase = "live"
  const count = String(box.pending.size)
  box.send(node("ib", { from: serverJid }, [node("offline", { count })]))
}

const catchUp = (box: MailboxState) => {
  if (box.phase !== "catching up") return
  const refused = [...box.pending.values()].find((each) => each.refused)
  if (refused?.sent === false) deliver(box, refused)
  for (const each of box.pending.values()) {
    const isHeldBack = refused !== undefined && each.stanza.tag === "message"
    if (!each.sent && !isHeldBack) deliver(box, each)
  }
  if (refused === undefined) goLive(box)
}

const ofTag = ({ pending }: MailboxState, tag: string) =>
  [...pending.values()].filter(({ stanza }) => stanza.tag === tag)

const add = (box: MailboxState, stanza: BinaryNode) => {
  const key = toKey(box.own, stanza.tag, stanza.attrs, stanza.attrs["from"])
  const before = box.pending.get(key)
  const isCopy = before?.sent === true
  const isUnanswered = isCopy && !before.refused
  const unanswered = before === undefined ? 0 : before.unanswered + Number(isUnanswered)
  const added = { stanza, refused: false, sent: false, unanswered }
  box.pending.set(key, added)
  if (box.phase === "live" || (box.phase === "catching up" && isCopy)) deliver(box, added)
  else catchUp(box)
}

const announce = (box: MailboxState) => {
  const { size } = box.pending
  if (size === 0) return goLive(box)
  box.phase = "announced"
  const [messages, receipts] = [ofTag(box, "message").length, ofTag(box, "receipt").length]
  const counts = {
    count: String(size),
    message: String(messages),
    receipt: String(receipts),
    notification: String(size - messages - receipts),
  }
  box.send(node("ib", { from: serverJid }, [node("offline_preview", counts)]))
}

const settle = ({ pending }: MailboxState, key: string, isRefused: boolean) => {
  const found = pending.get(key)
  if (found === undefined) return
  if (found.unanswered > 0) found.unanswered -= 1
  else if (isRefused) found.refused = true
  else pending.delete(key)
}

const takeAnswer = (box: MailboxState, answer: BinaryNode) => {
  const { attrs, tag } = answer
  if (tag === "ack") {
    const isRefused = attrs["error"] !== undefined
    settle(box, toKey(box.own, attrs["class"] ?? "", attrs, attrs["to"]), isRefused)
  } else if (answersMessage(answer)) {
    for (const id of idsIn(answer)) {
      settle(box, toKey(box.own, "message", { ...attrs, id }, attrs["to"]), false)
    }
  }
  catchUp(box)
}

/** `send` answers whether there is a connection. */
export const makeMailbox = (own: Own, send: MailboxState["send"]): Mailbox => {
  const [pending, deliveries] = [new Map<string, Pending>(), new Map<string, number>()]
  const box: MailboxState = { own, send, pending, deliveries, phase: "silent" }
  return {
    add: (stanza) => add(box, stanza),
    restart: () => {
      box.phase = "silent"
      for (const each of pending.values()) Object.assign(each, { sent: false, unanswered: 0 })
    },
    announce: () => announce(box),
    release: () => {
      if (box.phase === "announced") box.phase = "catching up"
      catchUp(box)
    },
    answered: (answer) => takeAnswer(box, answer),
    messages: () => ofTag(box, "message").map(({ stanza }) => stanza.attrs["id"] ?? ""),
    refused: () =>
      [...pending.values()].flatMap(({ refused, stanza }) =>
        refused ? (stanza.attrs["id"] ?? []) : [],
      ),
    receipts: () => ofTag(box, "receipt").length,
    deliveries: (id) => deliveries.get(id) ?? 0,
  }
}
