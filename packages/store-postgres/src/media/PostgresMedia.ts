/** The records of media files. */
import { MediaStore } from "@messaging-service/core"
import type { MediaFile, MediaId, MediaType, Mode, WorkspaceId } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint, instant, text } from "../database/parameters.ts"

interface MediaRow {
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

const insertFile = `
insert into media_files (
  workspace_id, mode, file_name, type, mime_type, size, storage_key, created_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8)
returning id`

const getFile = `
select m.*
from media_files m
where m.id = $3
  and m.workspace_id = $1
  and m.mode = $2`

export const layerMedia = Layer.effect(
  MediaStore,
  Effect.gen(function* () {
    const database = yield* Database
    return MediaStore.of({
      insert: (file) =>
        Effect.map(
          database.query<{ readonly id: bigint }>("media.insert", insertFile, [
            bigint(file.workspaceId),
            text(file.mode),
            text(file.fileName),
            text(file.type),
            text(file.mimeType),
            bigint(file.size),
            text(file.storageKey),
            instant(file.createdAt),
          ]),
          (rows) => ({ ...file, id: Number(rows[0]?.id) as MediaId }),
        ),
      get: (workspaceId, mode, id) =>
        Effect.map(
          database.query<MediaRow>("media.get", getFile, [
            bigint(workspaceId),
            text(mode),
            bigint(id),
          ]),
          ([row]) => (row === undefined ? null : toFile(row)),
        ),
    })
  }),
)

const toFile = (row: MediaRow): MediaFile => ({
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
