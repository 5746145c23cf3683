/** Reserves, commits and lists files of the media directory for tests of a store. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type {
  IdempotencyClaim,
  MediaFile,
  MediaId,
  MediaType,
  Mode,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "./Expect.ts"
import { aNewMediaFile, noon } from "./Records.ts"

export const anUnknownId = 999_999_999 as MediaId

/** The size of the workspace's files, as the store checks the next one against it. */
export const usedBy = (workspaceId: WorkspaceId) =>
  Effect.gen(function* () {
    const store = (yield* Store).media
    const answer = yield* store.reserve(aNewMediaFile(workspaceId), -1)
    assert.strictEqual(answer._tag, "Full")
    return answer._tag === "Full" ? answer.used : Number.NaN
  })

/** Reserves room; null when there is none. */
export const reserve = (
  workspaceId: WorkspaceId,
  size: number,
  limit: number,
  overrides: Partial<Omit<MediaFile, "id" | "workspaceId">> = {},
) =>
  Effect.map(
    Store.use(({ media: store }) =>
      store.reserve(aNewMediaFile(workspaceId, { ...overrides, size }), limit),
    ),
    (answer) => (answer._tag === "Reserved" ? answer.id : null),
  )

export const reserved = (
  workspaceId: WorkspaceId,
  overrides: Partial<Omit<MediaFile, "id" | "workspaceId">> = {},
) =>
  Effect.map(
    reserve(workspaceId, overrides.size ?? 1024, Number.MAX_SAFE_INTEGER, overrides),
    present,
  )

export const commit = (id: MediaId, idempotency: IdempotencyClaim | null = null) =>
  Store.use(({ media: store }) => store.commit(id, idempotency, noon))

export const get = (workspaceId: WorkspaceId, id: MediaId, mode: Mode = "live") =>
  Store.use(({ media: store }) => store.get(workspaceId, mode, id))

export const remove = (workspaceId: WorkspaceId, id: MediaId, mode: Mode = "live") =>
  Store.use(({ media: store }) => store.delete(workspaceId, mode, id))

export const list = (
  workspaceId: WorkspaceId,
  overrides: {
    readonly mode?: Mode
    readonly type?: MediaType | null
    readonly before?: number | null
    readonly limit?: number
  } = {},
) =>
  Store.use(({ media: store }) =>
    store.list(workspaceId, overrides.mode ?? "live", overrides.type ?? null, {
      before: overrides.before ?? null,
      limit: overrides.limit ?? 100,
    }),
  )

/** All files with bytes to remove, and those that the sweep ended first. */
export const leftovers = (reservedBefore: number) =>
  Store.use(({ media: store }) => store.leftovers({ reservedBefore, limit: 100_000 }))
