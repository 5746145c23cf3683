/** What the operator sees of reminders: what became of their runs (contract: Reminder log). */
import { Context, Effect, Layer } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { ReminderId, WorkspaceId } from "../id/Ids.ts"
import { Cursors } from "../request/Cursor.ts"
import type { JsonPage } from "../request/Page.ts"
import { parsePageRequest } from "../request/PageInput.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { requireRole } from "../workspace/Role.ts"
import type { Role } from "../workspace/Role.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { runJson } from "./ReminderRun.ts"
import type { RunJson } from "./ReminderRun.ts"
import { ReminderStore } from "./ReminderStore.ts"

export class ReminderOperations extends Context.Service<
  ReminderOperations,
  {
    /**
     * GET /workspaces/{id}/reminders/{reminder_id}/runs: the log, newest first, of a reminder of
     * either mode. Fails with `workspace_not_found`, `reminder_not_found`.
     */
    runs(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: ReminderId | undefined,
      query: QueryEntries,
    ): Effect.Effect<JsonPage<RunJson>, Refusal | StoreUnavailable>
  }
>()("core/ReminderOperations") {
  static readonly layer = Layer.effect(
    ReminderOperations,
    Effect.gen(function* () {
      const store = yield* ReminderStore
      const workspaces = yield* Workspaces
      const cursors = yield* Cursors

      return ReminderOperations.of({
        runs: Effect.fn("ReminderOperations.runs")(function* (role, workspaceId, id, query) {
          const request = yield* Effect.fromResult(parsePageRequest(query))
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "reminders")
          const scope = { workspaceId: workspace.id, mode: null, restriction: null }
          const found = id === undefined ? null : yield* store.get(scope, id)
          const reminder = found ?? (yield* refuse("reminder_not_found"))
          const binding = ["reminder_runs", reminder.id]
          const before = yield* cursors.read(request.cursor, binding)
          const page = yield* store.runs(reminder.id, { before, limit: request.limit })
          return { data: page.items.map(runJson), next_cursor: cursors.make(page.next, binding) }
        }),
      })
    }),
  )
}
