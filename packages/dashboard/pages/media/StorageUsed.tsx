/** How much the workspace's files take of what its plan gives. */
import { useQuery } from "@tanstack/react-query"
import { asked, call } from "../api/call.ts"
import { sizeOf } from "../ui/size.ts"
import { mediaWords as words } from "./words.ts"

/** Sizes are added up over so many pages of 100 files. */
const pagesMax = 10

/** What the listed files take; copies that waiting messages keep count as well, and no operation tells them. */
const sumOf = async (id: number, signal: AbortSignal) => {
  let bytes = 0
  let count = 0
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page += 1) {
    const { data, next_cursor: next } = await call("GET /admin/v1/workspaces/{id}/media", {
      path: { id },
      query: { limit: 100, cursor },
      signal,
    })
    bytes += data.reduce((sum, { size }) => sum + size, 0)
    count += data.length
    if (next === null) return { bytes, count, isAll: true }
    cursor = next
  }
  return { bytes, count, isAll: false }
}

export const StorageUsed = ({ id }: { id: number }) => {
  const workspace = useQuery(asked("GET /admin/v1/workspaces/{id}", { path: { id } }))
  const used = useQuery({
    queryKey: ["workspaces", id, "storage used"],
    queryFn: ({ signal }) => sumOf(id, signal),
    refetchInterval: false,
  })
  const limit = workspace.data?.plan?.media_storage_bytes
  return (
    <>
      {limit === undefined ? words.aboutNoPlan : words.about(sizeOf(limit))}
      {used.data && (
        <span className="inline-flex items-center gap-2 text-xs max-md:flex max-md:pt-1 md:ml-3">
          {limit !== undefined && (
            <progress
              aria-label={words.storage}
              max={limit}
              value={used.data.bytes}
              className="h-1.5 w-20"
            />
          )}
          {used.data.isAll
            ? words.used(sizeOf(used.data.bytes), used.data.count)
            : words.usedAtLeast(sizeOf(used.data.bytes))}
        </span>
      )}
    </>
  )
}
