/** The records of media files, and what they take of their workspace's storage. */
import { MediaStore, pageOf } from "@messaging-service/core"
import type { MediaFile, MediaId, MediaType, Mode, WorkspaceId } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint, bigints, idBefore, instant, integer, text } from "../database/parameters.ts"
import { attach, detach, sweepAttachments } from "./attachments.ts"
import { commitFile } from "./commitFile.ts"
import { leftOverFiles } from "./leftOverFiles.ts"
import { reservationParameters, reserveFile, toReservation } from "./reserveFile.ts"
import type { ReservationRow } from "./reserveFile.ts"

export interface MediaRow {
  readonly id: bigint
  readonly workspace_id: bigint
  readonly mode: string
  readonly file_name: string
  readonly type: string
  readonly mime_type: string
  readonly size: bigint
  readonly storage_key: string
  readonly created_at: Date
}

const reserveStatement = `
select r.id, r.used
from ${reserveFile.name}($1, $2, $3, $4, $5, $6, $7, $8, $9) r`

const commitStatement = `select ${commitFile.name}($1, $2, $3, $4, $5, $6) as guard`

/** A file leaves the directory, and its room is free again, in one statement. */
const endFile = (state: "deleted" | "discarded", which: string) => `
with ended as (
  update media_files m
  set state = '${state}'
  where ${which}
  returning m.*
),
freed as (
  update media_usage u
  set bytes = u.bytes - ended.size
  from ended
  where u.workspace_id = ended.workspace_id
)
select ended.*
from ended`

const discardFile = endFile("discarded", "m.id = $1 and m.state = 'reserved'")

const deleteFile = endFile(
  "deleted",
  "m.id = $3 and m.workspace_id = $1 and m.mode = $2 and m.state = 'kept'",
)

const getFile = `
select m.*
from media_files m
where m.id = $3
  and m.workspace_id = $1
  and m.mode = $2
  and m.state = 'kept'`

/** Index media_files_by_type for one type, media_files_kept for all. */
const listFiles = (narrowed: boolean) => `
select m.*
from media_files m
where m.workspace_id = $1
  and m.mode = $2
  and m.state = 'kept'
  and m.id < $3
  ${narrowed ? "and m.type = $5" : ""}
order by m.id desc
limit $4`

const findFile = `
select m.*, m.state = 'deleted' as deleted
from media_files m
where m.id = $1
  and m.state in ('kept', 'attached', 'deleted')`

const leftOverStatement = `
select l.id, l.storage_key
from ${leftOverFiles.name}($1, $2) l`

const bytesRemoved = `
update media_files m
set has_bytes = false
where m.id = any ($1)
  and m.state in ('deleted', 'discarded')`

// Index media_files_remembered.
const forgetFiles = `
delete from media_files m
where m.created_at < $1
  and m.state in ('deleted', 'discarded')
  and not m.has_bytes`

export const layerMedia = Layer.effect(
  MediaStore,
  Effect.gen(function* () {
    const database = yield* Database
    return MediaStore.of({
      reserve: (file, limitBytes) =>
        Effect.map(
          database.query<ReservationRow>(
            "media.reserve",
            reserveStatement,
            reservationParameters(file, limitBytes),
          ),
          toReservation,
        ),
      commit: (id, idempotency, now) =>
        Effect.map(
          database.query<{ readonly guard: "idempotency" | "reservation" | null }>(
            "media.commit",
            commitStatement,
            [
              bigint(id),
              bigint(idempotency?.keyId ?? null),
              text(idempotency?.key ?? null),
              text(idempotency?.fingerprint ?? null),
              text(idempotency?.token ?? null),
              instant(now),
            ],
          ),
          ([row]) => row?.guard ?? null,
        ),
      discard: (id) => Effect.asVoid(database.query("media.discard", discardFile, [bigint(id)])),
      get: (workspaceId, mode, id) =>
        Effect.map(
          database.query<MediaRow>("media.get", getFile, [
            bigint(workspaceId),
            text(mode),
            bigint(id),
          ]),
          ([row]) => (row === undefined ? null : toFile(row)),
        ),
      list: (workspaceId, mode, type, { before, limit }) =>
        Effect.map(
          database.list<MediaRow>(workspaceId, "media.list", listFiles(type !== null), [
            bigint(workspaceId),
            text(mode),
            idBefore(before),
            integer(limit + 1),
            ...(type === null ? [] : [text(type)]),
          ]),
          (rows) => pageOf(rows.map(toFile), limit),
        ),
      find: (id) =>
        Effect.map(
          database.query<MediaRow & { readonly deleted: boolean }>("media.find", findFile, [
            bigint(id),
          ]),
          ([row]) => (row === undefined ? null : { file: toFile(row), deleted: row.deleted }),
        ),
      delete: (workspaceId, mode, id) =>
        Effect.map(
          database.query<MediaRow>("media.delete", deleteFile, [
            bigint(workspaceId),
            text(mode),
            bigint(id),
          ]),
          ([row]) => (row === undefined ? null : toFile(row)),
        ),
      attach: attach(database),
      detach: detach(database),
      sweepAttachments: sweepAttachments(database),
      leftovers: ({ limit, reservedBefore }) =>
        Effect.map(
          database.query<Pick<MediaRow, "id" | "storage_key">>(
            "media.leftovers",
            leftOverStatement,
            [instant(reservedBefore), integer(limit)],
          ),
          (rows) =>
            rows.map((row) => ({ id: Number(row.id) as MediaId, storageKey: row.storage_key })),
        ),
      removed: (ids) =>
        Effect.asVoid(database.query("media.removed", bytesRemoved, [bigints(ids)])),
      forget: (createdBefore) =>
        Effect.asVoid(database.query("media.forget", forgetFiles, [instant(createdBefore)])),
    })
  }),
)

export const toFile = (row: MediaRow): MediaFile => ({
  id: Number(row.id) as MediaId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as Mode,
  fileName: row.file_name,
  type: row.type as MediaType,
  mimeType: row.mime_type,
  size: Number(row.size),
  storageKey: row.storage_key,
  createdAt: row.created_at.getTime(),
})
