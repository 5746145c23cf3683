/** Lists in pages: their options and output. */
import type { Listing } from "@messaging-service/client"
import { count, flag, maybe } from "../Command.ts"
import { usageError } from "../ending.ts"
import type { Column, Output } from "../Output.ts"

/** How much of a list to print. */
export const limit = {
  limit: maybe(count("COUNT", "Maximum number of records. Default: 50.")),
  all: flag("All records."),
}

/** Prints that much of a list, in pages no larger than needed, and says whether more follow. */
export const listed = async <Item extends object>(
  { all, limit: value }: { readonly limit?: number | undefined; readonly all: boolean },
  output: Output,
  columns: ReadonlyArray<Column<Item>>,
  request: (page: { readonly limit: number }) => Listing<Item>,
): Promise<void> => {
  if (all && value !== undefined) throw usageError("--all and --limit exclude one another")
  const max = all ? Number.POSITIVE_INFINITY : (value ?? 50)
  let more = false
  async function* items() {
    let left = max
    for await (const { data, next_cursor } of request({ limit: Math.min(100, max) }).pages()) {
      const visible = data.slice(0, left)
      yield* visible
      left -= visible.length
      // Skipped when the output is closed.
      if (left === 0) {
        more = next_cursor !== null || visible.length < data.length
        return
      }
    }
  }
  await output.all(items(), columns)
  if (more) output.remark(`there are more; show them with --all or --limit`, { more })
}
