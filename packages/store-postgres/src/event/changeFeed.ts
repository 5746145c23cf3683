/** What open pages learn of. */
import type {
  MessageId,
  ChangeFeedMark,
  ChangeFeedStore,
  ChangeFeedTopic,
  WorkspaceId,
} from "@messaging-service/core"
import type { DatabaseService } from "../database/Database.ts"
import { statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"

const readMarks = statement("news.marks")
const readChanged = statement("news.changedMessages")

const toMark = (row: Row<"news.marks">): ChangeFeedMark => ({
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  topic: row.topic as ChangeFeedTopic,
  id: Number(row.id),
  mark: row.mark,
})

export const changeFeedStore = (database: DatabaseService): ChangeFeedStore => ({
  marks(workspaces, limits) {
    return readMarks.all(database, { workspaces, ...limits }, toMark)
  },
  changedMessages(query) {
    return readChanged.all(database, query, ({ id }) => Number(id) as MessageId)
  },
})
