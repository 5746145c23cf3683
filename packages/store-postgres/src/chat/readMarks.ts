/** How far chats are read, and what remotes know of it. */
import type {
  ChatId,
  ChatStore,
  DueReadMark,
  NumberId,
  Platform,
  ReceivedMessageId,
  SettledReadMark,
} from "@messaging-service/core"
import type { DatabaseService } from "../database/Database.ts"
import { statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"
import { toOwnedParams } from "../queue/lanes.ts"
import { toClaimParams } from "../request/idempotency.ts"
import { toPerson } from "./rows.ts"

const markRead = statement("mark_read")
const claimMarks = statement("readMark.claim")
const settleMark = statement("readMark.settle")
const postponeMark = statement("readMark.postpone")
const marksOfNumber = statement("readMark.ofNumber")

/** Messages of one mark. */
const mostMessages = 100

const toDueMark = (row: Row<"readMark.claim">): DueReadMark => ({
  chatId: Number(row.id) as ChatId,
  numberId: Number(row.number_id) as NumberId,
  platform: row.platform as Platform,
  upTo: Number(row.read_up_to) as ReceivedMessageId,
  group: row.group_id,
  person: row.group_id === null ? toPerson(row) : null,
  messages: row.messages as DueReadMark["messages"],
})

const toSettledMark = (row: Row<"readMark.ofNumber">): SettledReadMark => ({
  chatId: Number(row.id) as ChatId,
  upTo: Number(row.marked_up_to) as ReceivedMessageId,
  at: row.marked_at.getTime(),
})

type ReadMarkMethods = Pick<
  ChatStore,
  "markRead" | "claimReadMarks" | "settleReadMark" | "postponeReadMark" | "settledReadMarks"
>

export const readMarkMethods = (database: DatabaseService): ReadMarkMethods => ({
  markRead({ mode, restriction, workspaceId }, id, upTo, now, claim) {
    const caller = { workspaceId, mode, numbers: restriction }
    const params = { ...caller, id, upTo, now, ...toClaimParams(claim) }
    return markRead.one(database, params, ({ guard, up_to: readUpTo }) =>
      guard === null
        ? { _tag: "Marked", upTo: Number(readUpTo) as ReceivedMessageId }
        : { _tag: "Refused", guard: guard as "idempotency" | "chat" | "message" },
    )
  },
  claimReadMarks(now, until, owned, limit) {
    const params = { now, until, ...toOwnedParams(owned), limit, most: mostMessages }
    return claimMarks.all(database, params, toDueMark)
  },
  settleReadMark({ at, chatId, upTo }) {
    return settleMark.run(database, { chatId, upTo, at })
  },
  postponeReadMark(chatId, until) {
    return postponeMark.run(database, { chatId, until })
  },
  settledReadMarks(numberId) {
    return marksOfNumber.all(database, { numberId }, toSettledMark)
  },
})
