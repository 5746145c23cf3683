/** `MediaStore` in memory: the records; their content is kept by `MediaFiles`. */
import type {
  MediaFile,
  MediaId,
  MediaStore,
  Mode,
  Reservation,
  WorkspaceId,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import { finishClaim, isHeld } from "./idempotency.ts"
import { newestFirst } from "./collections.ts"
import { workspaceOf } from "./World.ts"
import type { MediaRow, World } from "./World.ts"

const keptRow = (
  world: World,
  workspaceId: WorkspaceId,
  mode: Mode,
  id: MediaId,
): MediaRow | undefined => {
  const row = world.media.get(id)
  const isTheirs = row?.file.workspaceId === workspaceId && row.file.mode === mode
  return isTheirs && row.state === "kept" ? row : undefined
}

/** The file, if it is in that workspace's directory. */
export const keptFile = (
  world: World,
  workspaceId: WorkspaceId,
  mode: Mode,
  id: MediaId,
): MediaFile | null => keptRow(world, workspaceId, mode, id)?.file ?? null

/** Ends a file's time; its room is free again, its bytes are left over. */
const end = (world: World, row: MediaRow, state: "deleted" | "discarded") => {
  row.state = state
  const owner = world.workspaces.get(row.file.workspaceId)
  if (owner !== undefined) owner.mediaBytes -= row.file.size
}

const endOld = (world: World, row: MediaRow, reservedBefore: number) => {
  if (row.state === "reserved" && row.file.createdAt < reservedBefore) {
    end(world, row, "discarded")
  }
  const owner = world.workspaces.get(row.file.workspaceId)
  if (row.state === "kept" && owner !== undefined && owner.workspace.deletedAt !== null) {
    end(world, row, "deleted")
  }
}

/** Ends an attachment's time: its room is free again, its bytes are left over. */
const endAttachment = (world: World, row: MediaRow, state: "deleted" | "discarded") => {
  row.state = state
  const owner = world.workspaces.get(row.file.workspaceId)
  if (owner !== undefined) owner.attachedBytes -= row.file.size
}

const sweepAttachment = (world: World, row: MediaRow, now: number, unusedSince: number) => {
  const { id, workspaceId } = row.file
  const messages = world.messagesByAttachment.get(id) ?? []
  const isUsed = messages.some(({ message }) => message.state === "waiting")
  row.unusedSince = isUsed ? null : (row.unusedSince ?? now)
  const isUnneeded = row.unusedSince !== null && row.unusedSince <= unusedSince
  if (isUnneeded || workspaceOf(world, workspaceId) === undefined) {
    endAttachment(world, row, "deleted")
    world.messagesByAttachment.delete(id)
  }
}

const isEnded = ({ state }: MediaRow): boolean => state === "deleted" || state === "discarded"

export const mediaStore = (world: World): typeof MediaStore.Service => ({
  reserve: (file, limitBytes) =>
    Effect.suspend((): Effect.Effect<Reservation> => {
      const owner = world.workspaces.get(file.workspaceId)
      if (owner === undefined) return Effect.die(new Error("a media file needs a workspace"))
      if (owner.mediaBytes + file.size > limitBytes) {
        return Effect.succeed({ _tag: "Full", used: owner.mediaBytes })
      }
      const row = world.media.insert((id): MediaRow => ({
        file: { ...file, id },
        state: "reserved",
        unusedSince: null,
        hasBytes: true,
        forgotten: false,
      }))
      owner.media.push(row)
      owner.mediaBytes += file.size
      return Effect.succeed({ _tag: "Reserved", id: row.file.id })
    }),

  commit: (id, idempotency) =>
    Effect.sync(() => {
      if (idempotency !== null && !isHeld(world, idempotency)) return "idempotency"
      const row = world.media.get(id)
      if (row?.state !== "reserved") return "reservation"
      row.state = "kept"
      if (idempotency !== null) finishClaim(world, idempotency, [id])
      return null
    }),

  discard: (id) =>
    Effect.sync(() => {
      const row = world.media.get(id)
      if (row?.state === "reserved") end(world, row, "discarded")
    }),

  get: (workspaceId, mode, id) => Effect.sync(() => keptFile(world, workspaceId, mode, id)),

  list: (workspaceId, mode, type, page) =>
    Effect.sync(() =>
      newestFirst(
        world.workspaces.get(workspaceId)?.media ?? [],
        page,
        (row) => row.file.id,
        ({ file, state }) =>
          state === "kept" && file.mode === mode && (type === null || file.type === type)
            ? file
            : null,
      ),
    ),

  find: (id) =>
    Effect.sync(() => {
      const row = world.media.get(id)
      if (row === undefined || row.forgotten) return null
      if (row.state === "reserved" || row.state === "discarded") return null
      return { file: row.file, deleted: row.state === "deleted" }
    }),

  delete: (workspaceId, mode, id) =>
    Effect.sync(() => {
      const row = keptRow(world, workspaceId, mode, id)
      if (row === undefined) return null
      end(world, row, "deleted")
      return row.file
    }),

  attach: (file, limitBytes) =>
    Effect.suspend((): Effect.Effect<Reservation> => {
      const owner = world.workspaces.get(file.workspaceId)
      if (owner === undefined) return Effect.die(new Error("an attachment needs a workspace"))
      const used = owner.attachedBytes
      if (used + file.size > limitBytes) return Effect.succeed({ _tag: "Full", used })
      const row = world.media.insert((id): MediaRow => ({
        file: { ...file, id },
        state: "attached",
        unusedSince: null,
        hasBytes: true,
        forgotten: false,
      }))
      owner.attachedBytes += file.size
      return Effect.succeed({ _tag: "Reserved", id: row.file.id })
    }),

  detach: (id) =>
    Effect.sync(() => {
      const row = world.media.get(id)
      if (row?.state !== "attached" || world.messagesByAttachment.has(id)) return false
      endAttachment(world, row, "discarded")
      return true
    }),

  sweepAttachments: ({ now, unusedSince }) =>
    Effect.sync(() => {
      for (const row of world.media.rows) {
        if (row.state === "attached") sweepAttachment(world, row, now, unusedSince)
      }
    }),

  leftovers: ({ limit, reservedBefore }) =>
    Effect.sync(() => {
      for (const row of world.media.rows) endOld(world, row, reservedBefore)
      return world.media.rows
        .filter((row) => isEnded(row) && row.hasBytes)
        .slice(0, limit)
        .map(({ file }) => ({ id: file.id, storageKey: file.storageKey }))
    }),

  removed: (ids) =>
    Effect.sync(() => {
      for (const id of ids) {
        const row = world.media.get(id)
        if (row !== undefined && isEnded(row)) row.hasBytes = false
      }
    }),

  forget: (createdBefore) =>
    Effect.sync(() => {
      for (const row of world.media.rows) {
        if (isEnded(row) && !row.hasBytes && row.file.createdAt < createdBefore) {
          row.forgotten = true
        }
      }
    }),
})
