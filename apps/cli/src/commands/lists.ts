/** Lists that come in pages, as commands take and print them. */
import type { Listing } from "@messaging-service/client"
import { count, flag, maybe } from "../Command.ts"
import type { Column, Output } from "../Output.ts"

/** How much of a list is wanted. */
export const limit = {
  limit: maybe(count("COUNT", "So many at most; 50.")),
  all: flag("All of them."),
}

/** Prints that much of a list, in pages no larger than needed. */
export const listed = <Item extends object>(
  { all, limit: given }: { readonly limit?: number | undefined; readonly all: boolean },
  output: Output,
  columns: ReadonlyArray<Column<Item>>,
  ask: (page: { readonly limit: number }) => Listing<Item>,
): Promise<void> => {
  const most = all ? Number.POSITIVE_INFINITY : (given ?? 50)
  return output.all(ask({ limit: Math.min(100, most) }), columns, most)
}
