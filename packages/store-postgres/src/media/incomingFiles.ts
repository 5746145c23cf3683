/**
 * A media file as its table keeps it, and how it comes in: reserved and then put into the directory,
 * or attached to a message. Locks: the workspace's usage, which nothing else is locked after; files of
 * one workspace are counted one after the other, and each is measured against what is really used.
 */
import type { MediaFile, MediaId, Reservation } from "@messaging-service/core"
import {
  bigint,
  columnsOf,
  decoded,
  instant,
  listed,
  selected,
  text,
  without,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { call, joined, part, single, sqlFunction, taking } from "../database/Statement.ts"
import { claimParameters, finishesClaim, isClaimHeld } from "../PostgresIdempotency.ts"

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

/** The core's `fitsRoom`. */
export const fitsRoom = (used: string, size: string, limitBytes: string): string =>
  `${used} + ${size} <= ${limitBytes}`

/** What the files of a workspace take that have the core's `roomOf` attachments. Index media_files_attached_bytes. */
export const attachedBytes = (workspace: string): string => `(
      select coalesce(sum(m.size), 0)::bigint
      from media_files m
      where m.workspace_id = ${workspace}
        and m.state = 'attached'
    )`

/** How files come in: the state that they take, how what is used is found, and how it is kept. */
interface Way {
  readonly state: "reserved" | "attached"
  /** Sets `v_used`, once the workspace's usage is locked. */
  readonly findUsed: string
  /** Done when the file has its room. */
  readonly keepUsed: string
}

/** The file's id; or null and what is used, when there is no room. */
const takeRoom = (name: string, { findUsed, keepUsed, state }: Way) =>
  sqlFunction(name, parameters, "table (id bigint, used bigint)")`
  declare
    v_used bigint;
    v_id bigint;
  begin
    insert into media_usage (workspace_id, bytes)
    values (p_workspace_id, 0)
    on conflict (workspace_id) do nothing;

    select u.bytes
    into v_used
    from media_usage u
    where u.workspace_id = p_workspace_id
    for no key update;
    ${findUsed}
    if ${fitsRoom("v_used", "p_size", "p_limit_bytes")} then
      ${keepUsed}
      insert into media_files (state, ${listed(columns)})
      values ('${state}', ${listed(columns, (column) => `p_${column}`)})
      returning media_files.id into v_id;
    end if;
    return query select v_id, v_used;
  end`

export const reserveFile = takeRoom("reserve_media_file", {
  state: "reserved",
  findUsed: "",
  keepUsed: `update media_usage u
      set bytes = v_used + p_size
      where u.workspace_id = p_workspace_id;`,
})

export const reserve = call("media.reserve", reserveFile)

/** The same for an attachment, whose bytes are summed and not kept as a count. */
export const attachFile = takeRoom("attach_media_file", {
  state: "attached",
  findUsed: `
    -- A later statement, now that it is locked.
    v_used := ${attachedBytes("p_workspace_id")};
`,
  keepUsed: "",
})

export const attach = call("media.attach", attachFile)

/**
 * Puts a reserved file into the directory. Returns the guard that did not hold; null when the file is
 * there. Locks: the claim first, then the file.
 */
export const commitFile = sqlFunction(
  "commit_media_file",
  joined(taking({ id: bigint, now: instant }), claimParameters),
  "text",
)`
  begin
    if not ${isClaimHeld} then
      return 'idempotency';
    end if;
    update media_files m
    set state = 'kept'
    where m.id = p_id
      and m.state = 'reserved';
    if not found then
      return 'reservation';
    end if;
    ${finishesClaim("array[p_id]", "p_now")};
    return null;
  end`

export const commit = call("media.commit", commitFile)
