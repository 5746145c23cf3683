/**
 * What an account may do with people it does not know: the answers to its questions about it (`w:mex`), the
 * notices without a question, and the refusal of messages while new chats are closed.
 */
import { QueryIds } from "baileys"
import type { ClosedChats } from "./orders.ts"
import type { BinaryNode } from "baileys"
import { errorTo, answerTo, node, serverJid } from "./nodes.ts"
import { nowSeconds } from "./ServerState.ts"
import type { Account, ChatCap, Device, ServerState, Standing } from "./ServerState.ts"

/** Devices get a notice, one that leaves the end out, or none. */
export type Notice = "whole" | "without end" | "none"

export const freshStanding = (): Standing => ({
  closed: undefined,
  cap: undefined,
  known: new Set(),
})

const toSeconds = (millis: number) => String(Math.floor(millis / 1000))

const isClosed = ({ closed }: Standing) =>
  closed !== undefined && (closed.until === undefined || closed.until > Date.now())

/** Two people have a chat from now on. */
export const acquaint = (one: Account, other: Account) => {
  one.standing.known.add(other.number)
  other.standing.known.add(one.number)
}

/** Whether the account may not write to this person now; groups stay open. */
export const isTooNew = ({ number, standing }: Account, to: Account | undefined) =>
  to !== undefined && to.number !== number && isClosed(standing) && !standing.known.has(to.number)

const closedFields = (standing: Standing, notice: Notice = "whole") => {
  const { reason = "DEFAULT", until } = standing.closed ?? {}
  if (!isClosed(standing)) return { is_active: false }
  const end =
    until === undefined || notice === "without end"
      ? {}
      : { time_enforcement_ends: toSeconds(until) }
  return { is_active: true, enforcement_type: reason, ...end }
}

const capFields = ({ cap }: Standing) => ({
  total_quota: cap?.limit ?? -1,
  used_quota: cap?.used ?? 0,
  cycle_start_timestamp: toSeconds(cap?.from ?? 0),
  cycle_end_timestamp: toSeconds(cap?.until ?? 0),
  server_sent_timestamp: nowSeconds(),
  ote_status: "NOT_ELIGIBLE",
  mv_status: "NOT_ELIGIBLE",
  capping_status: cap?.status ?? "NONE",
})

const questions = {
  [QueryIds.REACHOUT_TIMELOCK]: {
    step: "closed chats",
    data: (standing: Standing) => ({
      xwa2_fetch_account_reachout_timelock: closedFields(standing),
    }),
  },
  [QueryIds.MESSAGE_CAPPING_INFO]: {
    step: "chat cap",
    data: (standing: Standing) => ({ xwa2_message_capping_info: capFields(standing) }),
  },
} as const

/** A refusal is an error inside the answer. */
export const answerMex = (
  state: ServerState,
  { account }: Device,
  query: BinaryNode,
  about: BinaryNode | undefined,
) => {
  const id = about?.attrs["query_id"] ?? ""
  const [, question] = Object.entries(questions).find(([known]) => known === id) ?? []
  if (question === undefined) {
    state.complaints.push(`a question ${id}`)
    return errorTo(query, 501)
  }
  const refused = state.orders.refusal(question.step)
  const answer =
    refused === undefined
      ? { data: question.data(account.standing) }
      : { errors: [{ message: "refused", extensions: { error_code: refused } }] }
  return answerTo(query, [node("result", {}, Buffer.from(JSON.stringify(answer)))])
}

let lastNotice = 0

const notify = ({ devices }: Account, operation: string, data: object) => {
  const attrs = { from: serverJid, type: "mex", id: `mex-${++lastNotice}`, t: nowSeconds() }
  const update = node("update", { op_name: operation }, Buffer.from(JSON.stringify({ data })))
  for (const { mailbox } of devices.values()) mailbox.add(node("notification", attrs, [update]))
}

/** Closes new chats, or opens them. */
export const setClosed = (
  account: Account,
  closed: ClosedChats | undefined,
  notice: Notice = "whole",
) => {
  account.standing.closed = closed
  if (notice === "none") return
  notify(account, "NotificationUserReachoutTimelockUpdate", {
    xwa2_notify_account_reachout_timelock: closedFields(account.standing, notice),
  })
}

export const setCap = (account: Account, cap: ChatCap, notice: Notice = "whole") => {
  account.standing.cap = cap
  if (notice === "none") return
  notify(account, "MessageCappingInfoNotification", {
    xwa2_notify_new_chat_messages_capping_info_update: capFields(account.standing),
  })
}
