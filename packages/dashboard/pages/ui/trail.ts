/** The pages that a user went through in a list, as the address has them. */

export interface TrailSearch {
  /** The cursors that led to the page: the last one is its own. */
  readonly trail?: ReadonlyArray<string> | undefined
}

/** Leaves out whatever is no trail. */
export const parseTrail = ({ trail }: Record<string, unknown>): TrailSearch =>
  Array.isArray(trail) ? toTrail(trail.filter((cursor) => typeof cursor === "string")) : {}

/** The search for a page of the list. */
export const toTrail = (trail: ReadonlyArray<string>): TrailSearch =>
  trail.length === 0 ? {} : { trail }
