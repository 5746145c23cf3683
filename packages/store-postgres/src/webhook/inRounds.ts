/** The core's `takeInRounds`, by sums instead of a sort of all that is due. */

/**
 * Two parts of a `with`, after the part `lane`: its `wanted` is how many may be taken of it, `ahead` and
 * `dues` hold their ids and times in order, and the ones behind them.
 */
export const inRounds = ({
  limit,
  most,
}: {
  /** How many are taken in all. */
  readonly limit: string
  /** How many of one lane at most. */
  readonly most: string
}): string => `-- How many rounds of one for each lane fit into the limit, and what they leave of it.
    share as materialized (
      select round.places, (${limit} - sum(least(wants.wanted, round.places) * wants.lanes)) as rest
      from (
        select lane.wanted, count(*) as lanes
        from lane
        where lane.wanted > 0
        group by lane.wanted
      ) wants
      cross join generate_series(0, least(${most}, ${limit})) round (places)
      group by round.places
      having sum(least(wants.wanted, round.places) * wants.lanes) <= ${limit}
      order by round.places desc
      limit 1
    ),
    -- Those that get one of the rest: the longest due of the next round.
    favoured as materialized (
      select lane.endpoint_id
      from lane
      join share on lane.wanted > share.places and share.rest > 0
      order by lane.dues[share.places + 1], lane.ahead[share.places + 1]
      limit (select share.rest from share)
    )`

/** How many are taken of a lane, beside the part `favoured`, of whose rows it has one or none. */
export const placesOfLane = `least(lane.wanted, (select share.places from share))::integer
            + case when favoured.endpoint_id is null then 0 else 1 end`
