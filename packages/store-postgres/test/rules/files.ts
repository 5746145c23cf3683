/** The rules of what is kept for a time: media files, the room that they take, and the log of reminders' runs. */
import type { Vitest } from "@effect/vitest"
import {
  fileStates,
  fitsRoom,
  isFileEnded,
  isFileThere,
  isRunForgotten,
  isUnneeded,
  reservedSpace,
  sweptTo,
  unusedSinceAfter,
} from "@messaging-service/core"
import { noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { isRunForgotten as isRunForgottenSql } from "../../src/reminder/reminders.ts"
import { compare, draw, iso, toMillisSql } from "./compare.ts"
import { aMessage } from "./lanes.ts"

/** What a row of `media_files` must have. */
const aFileRow = {
  mode: "live",
  file_name: "",
  type: "file",
  mime_type: "",
  size: 1,
  storage_key: "",
  created_at: iso(noon),
  has_bytes: true,
}

const aWorkspace = Effect.gen(function* () {
  const id = yield* draw.id
  const deletedAt = yield* draw.maybe(draw.time)
  return {
    id,
    row: {
      id,
      name: "",
      demo: false,
      account_disabled: false,
      api_v2_enabled: true,
      admits: true,
      admits_v1: true,
      plan_reminders: false,
      plan_qr_code_api: false,
      plan_media_storage_bytes: 0,
      created_at: iso(noon),
      deleted_at: iso(deletedAt),
    },
    isOfDeleted: deletedAt !== null,
  }
})

export const fileRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("whether a file has room, and what attachments and received files take", () =>
    compare("room", {
      rows: { q: "(workspace bigint, size bigint, most bigint)" },
      inserted: ["media_files"],
      sql: `json_build_array(
        fits_room((select a.bytes from attached_bytes(q.workspace) a), q.size, q.most),
        fits_room((select a.bytes from received_bytes(q.workspace) a), q.size, q.most)
      )`,
      draw: Effect.gen(function* () {
        const files = yield* Effect.replicateEffect(
          Effect.all({
            id: draw.id,
            isOwn: draw.flag,
            state: draw.from(fileStates),
            size: draw.below(4),
          }),
          yield* draw.below(9),
        )
        const workspaceId = yield* draw.id
        const [size, most] = [yield* draw.below(4), yield* draw.below(9)]
        const getUsed = (space: "attachments" | "received") =>
          files
            .filter(({ isOwn, state }) => isOwn && reservedSpace(state) === space)
            .reduce((sum, file) => sum + file.size, 0)
        return {
          facts: {
            q: { workspace: workspaceId, size, most },
            media_files: files.map((file) => ({
              ...aFileRow,
              id: file.id,
              workspace_id: file.isOwn ? workspaceId : -workspaceId,
              state: file.state,
              size: file.size,
            })),
          },
          core: [
            fitsRoom(getUsed("attachments"), size, most),
            fitsRoom(getUsed("received"), size, most),
          ],
        }
      }),
    }),
  )

  it.effect("since when an attachment is unused, and whether it is needed", () =>
    compare("attachments", {
      rows: { m: "media_files", q: "(now timestamptz, unused_by timestamptz)" },
      inserted: ["messages", "workspaces"],
      sql: `(
        select case
          when is_swept(m, held.used, held.gone, q.unused_by)
          then json_build_array(
            ${toMillisSql("unused_since_after(m, held.used, q.now)")},
            is_unneeded(m, held.used, held.gone, q.unused_by)
          )
          else json_build_array(${toMillisSql("m.unused_since")}, false)
        end
        from (
          select
            exists (select from waiting_for_attachment(m.id)) as used,
            exists (select from deleted_workspace(m.workspace_id)) as gone
        ) held
      )`,
      draw: Effect.gen(function* () {
        const { id: workspaceId, isOfDeleted, row } = yield* aWorkspace
        const fileId = yield* draw.id
        const messages = yield* Effect.replicateEffect(
          Effect.all({
            id: draw.id,
            attachment_id: draw.from([fileId, -fileId, null]),
            state: draw.from(["waiting", "sent", "failed", "cancelled"]),
          }),
          yield* draw.below(4),
        )
        const unusedSince = yield* draw.maybe(draw.time)
        const [now, unusedBy] = [yield* draw.time, yield* draw.time]
        const isUsed = messages.some(
          (message) => message.attachment_id === fileId && message.state === "waiting",
        )
        const standing = { unusedSince, isUsed, isOfDeleted }
        return {
          facts: {
            m: { id: fileId, workspace_id: workspaceId, unused_since: iso(unusedSince) },
            q: { now: iso(now), unused_by: iso(unusedBy) },
            messages: messages.map((one) => ({ ...aMessage, number_id: one.id, ...one })),
            workspaces: [row],
          },
          core: [unusedSinceAfter(standing, now), isUnneeded(standing, unusedBy)],
        }
      }),
    }),
  )

  it.effect("how the sweep ends a file, and whether it has ended", () =>
    compare("swept files", {
      rows: { m: "media_files", q: "(reserved_before timestamptz)" },
      inserted: ["workspaces"],
      sql: `json_build_array(
        swept_to(m, q.reserved_before, exists (select from deleted_workspace(m.workspace_id))),
        is_file_ended(m), is_file_there(m)
      )`,
      draw: Effect.gen(function* () {
        const { id: workspaceId, isOfDeleted, row } = yield* aWorkspace
        const state = yield* draw.from(fileStates)
        const [createdAt, reservedBefore] = [yield* draw.time, yield* draw.time]
        return {
          facts: {
            m: { workspace_id: workspaceId, state, created_at: iso(createdAt) },
            q: { reserved_before: iso(reservedBefore) },
            workspaces: [row],
          },
          core: [
            sweptTo({ state, createdAt, isOfDeleted }, reservedBefore),
            isFileEnded(state),
            isFileThere(state),
          ],
        }
      }),
    }),
  )

  it.effect("which lines of a reminder's log are dropped", () =>
    compare("forgotten runs", {
      rows: { q: "(before timestamptz)" },
      tables: ["reminder_runs", "reminders"],
      sql: `(
        select json_agg(${isRunForgottenSql("run", "q.before")} order by run.id)
        from reminder_runs run
      )`,
      draw: Effect.gen(function* () {
        const times = yield* Effect.replicateEffect(draw.time, 1 + (yield* draw.below(4)))
        const removedAt = yield* draw.maybe(draw.time)
        const before = yield* draw.time
        return {
          facts: {
            q: { before: iso(before) },
            reminder_runs: times.map((at, index) => ({
              id: index + 1,
              reminder_id: 1,
              ran_at: iso(at),
            })),
            reminders: [{ id: 1, removed_at: iso(removedAt) }],
          },
          core: times.map((ranAt, index) =>
            isRunForgotten(
              { ranAt, isLatest: index === times.length - 1 },
              { removed: removedAt !== null },
              before,
            ),
          ),
        }
      }),
    }),
  )
}
