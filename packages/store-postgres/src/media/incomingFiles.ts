/**
 * A media file as its table keeps it, and how it comes in: reserved and then put into the directory,
 * or attached to a message. Locks: the workspace's usage, which nothing else is locked after; files of
 * one workspace are counted one after the other, and each is measured against what is really used.
 */
import type { MediaFile, MediaId, Reservation } from "@messaging-service/core"
import { bigint, columnsOf, decoded, instant, selected, text, without } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { call, joined, part, single, sqlFunction, taking } from "../database/Statement.ts"
import { claimParameters } from "../PostgresIdempotency.ts"

export const fileFields = {
  id: { id: bigint((file) => file.id) },
  workspaceId: { workspace_id: bigint((file) => file.workspaceId) },
  mode: { mode: text((file) => file.mode) },
  fileName: { file_name: text((file) => file.fileName) },
  type: { type: text((file) => file.type) },
  mimeType: { mime_type: text((file) => file.mimeType) },
  size: { size: bigint((file) => file.size) },
  storageKey: { storage_key: text((file) => file.storageKey) },
  createdAt: { created_at: instant((file) => file.createdAt) },
} satisfies FieldsOf<MediaFile>

const table = columnsOf(fileFields)

export const fileColumns = (alias: string): string => selected(table, alias)
export const toFile = decoded<MediaFile>(fileFields)

const columns = without(table, "id")

/** A file that asks for room, and how much its workspace may use. */
const parameters = joined(part("file", single(columns, "p_")), taking({ limitBytes: bigint }))

export interface ReservationRow {
  readonly id: bigint | null
  readonly used: bigint
}

export const toReservation = ([row]: ReadonlyArray<ReservationRow>): Reservation =>
  row === undefined || row.id === null
    ? { _tag: "Full", used: Number(row?.used ?? 0) }
    : { _tag: "Reserved", id: Number(row.id) as MediaId }

export const reserve = call("media.reserve", sqlFunction("reserve_media_file", parameters))

export const attach = call("media.attach", sqlFunction("attach_media_file", parameters))

export const commit = call(
  "media.commit",
  sqlFunction("commit_media_file", joined(taking({ id: bigint, now: instant }), claimParameters)),
)
