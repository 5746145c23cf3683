/** The fair share of workspaces in what a claim takes: the core's `takeShares` in SQL. */
import type { Shares } from "@messaging-service/core"
import { bigints, columnsOf, integer, integers } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"

/** How many of each workspace are held and may be, as functions are told. */
export const sharesFields = {
  perWorkspace: { p_per_workspace: integer((shares) => shares.perWorkspace) },
  held: {
    p_workspaces: bigints(({ held }) => [...held.keys()]),
    p_held: integers(({ held }) => [...held.values()]),
  },
} satisfies FieldsOf<Shares>

export const sharesColumns = columnsOf(sharesFields)

/** How many of that workspace are held; `mark` stands before the names of parameters. */
const heldOf = (workspace: string, mark = ""): string =>
  `:code.held_of(${workspace}, ${mark}p_workspaces, ${mark}p_held)`

/**
 * The core's `takeShares`, of all candidates in their order: whether one is among those that its
 * workspace may still have.
 */
export const fitsShare = (workspace: string, order: string, mark = ""): string =>
  `${heldOf(workspace, mark)}
            + row_number() over (partition by ${workspace} order by ${order})
            <= ${mark}p_per_workspace`
