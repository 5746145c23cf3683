/** The rules of what is kept for a time: media files, the room that they take, and the log of reminders' runs. */
import type { Vitest } from "@effect/vitest"
import {
  fileStates,
  fitsRoom,
  isFileEnded,
  isFileThere,
  isRunForgotten,
  isUnneeded,
  roomOf,
  sweptTo,
  unusedSinceAfter,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { attachedBytes, fitsRoom as fitsRoomSql } from "../../src/media/incomingFiles.ts"
import * as sql from "../../src/media/PostgresMedia.ts"
import { isRunForgotten as isRunForgottenSql } from "../../src/reminder/PostgresReminders.ts"
import { compare, draw, iso, moment } from "./compare.ts"

const aWorkspace = Effect.map(draw.maybe(draw.time), (deletedAt) => ({
  row: { id: 1, deleted_at: iso(deletedAt) },
  isOfDeleted: deletedAt !== null,
}))

export const fileRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("whether a file has room, and what attachments take", () =>
    compare("room", {
      rows: { q: "(workspace bigint, size bigint, most bigint)" },
      tables: ["media_files"],
      sql: fitsRoomSql(attachedBytes("q.workspace"), "q.size", "q.most"),
      draw: Effect.gen(function* () {
        const files = yield* Effect.replicateEffect(
          Effect.all({
            workspaceId: draw.from([1, 2]),
            state: draw.from(fileStates),
            size: draw.below(4),
          }),
          yield* draw.below(9),
        )
        const [size, most] = [yield* draw.below(4), yield* draw.below(9)]
        const used = files
          .filter(({ state, workspaceId }) => workspaceId === 1 && roomOf(state) === "attachments")
          .reduce((sum, file) => sum + file.size, 0)
        return {
          facts: {
            q: { workspace: 1, size, most },
            media_files: files.map((file) => ({
              workspace_id: file.workspaceId,
              state: file.state,
              size: file.size,
            })),
          },
          core: fitsRoom(used, size, most),
        }
      }),
    }),
  )

  it.effect("since when an attachment is unused, and whether it is needed", () =>
    compare("attachments", {
      rows: { m: "media_files", q: "(now timestamptz, unused_by timestamptz)" },
      tables: ["messages", "workspaces"],
      sql: `(
        select case
          when ${sql.isSwept("m", "held", "q.unused_by")}
          then json_build_array(
            ${moment(sql.unusedSinceAfter("m", "held", "q.now"))},
            ${sql.isUnneeded("m", "held", "q.unused_by")}
          )
          else json_build_array(${moment("m.unused_since")}, false)
        end
        from (select ${sql.isUsed("m")} as used, ${sql.isOfDeleted("m")} as gone) held
      )`,
      draw: Effect.gen(function* () {
        const { isOfDeleted, row } = yield* aWorkspace
        const messages = yield* Effect.replicateEffect(
          Effect.all({
            attachment_id: draw.from([1, 2, null]),
            state: draw.from(["waiting", "sent", "failed", "cancelled"]),
          }),
          yield* draw.below(4),
        )
        const unusedSince = yield* draw.maybe(draw.time)
        const [now, unusedBy] = [yield* draw.time, yield* draw.time]
        const isUsed = messages.some(
          (message) => message.attachment_id === 1 && message.state === "waiting",
        )
        const standing = { unusedSince, isUsed, isOfDeleted }
        return {
          facts: {
            m: { id: 1, workspace_id: 1, unused_since: iso(unusedSince) },
            q: { now: iso(now), unused_by: iso(unusedBy) },
            messages,
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
      tables: ["workspaces"],
      sql: `json_build_array(${sql.sweptTo("m", "q.reserved_before")}, ${sql.isFileEnded("m")}, ${sql.isFileThere("m")})`,
      draw: Effect.gen(function* () {
        const { isOfDeleted, row } = yield* aWorkspace
        const state = yield* draw.from(fileStates)
        const [createdAt, reservedBefore] = [yield* draw.time, yield* draw.time]
        return {
          facts: {
            m: { workspace_id: 1, state, created_at: iso(createdAt) },
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
            reminder_runs: times.map((at, place) => ({
              id: place + 1,
              reminder_id: 1,
              ran_at: iso(at),
            })),
            reminders: [{ id: 1, removed_at: iso(removedAt) }],
          },
          core: times.map((ranAt, place) =>
            isRunForgotten(
              { ranAt, isLatest: place === times.length - 1 },
              { removed: removedAt !== null },
              before,
            ),
          ),
        }
      }),
    }),
  )
}
