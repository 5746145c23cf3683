/** A list of the service, page by page: the address holds the cursors that led to the page. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import type { Query, QueryFunction, UseQueryResult } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { operationQuery } from "../api/call.ts"
import type { Input } from "../api/call.ts"
import type { Answer, OperationName } from "../api/operations.ts"

export interface TrailSearch {
  /** The cursors that led to the page: the last one is its own. */
  readonly trail?: ReadonlyArray<string> | undefined
}

/** Leaves out whatever is not a trail. */
export const parseTrail = ({ trail }: Record<string, unknown>): TrailSearch =>
  Array.isArray(trail) ? toTrail(trail.filter((cursor) => typeof cursor === "string")) : {}

export const toTrail = (trail: ReadonlyArray<string>): TrailSearch =>
  trail.length === 0 ? {} : { trail }

interface Page<Item> {
  readonly data: ReadonlyArray<Item>
  readonly next_cursor: string | null
}

export interface List<Item> {
  readonly query: UseQueryResult<Page<Item>>
  readonly trail: ReadonlyArray<string>
  /** Goes to a page. */
  readonly go: (trail: ReadonlyArray<string>) => void
}

type ItemOf<N extends OperationName> = Answer<N> extends Page<infer Item> ? Item : never

/** The page of the list that the address names: 50 rows, unless the query says how many. */
export const useList = <N extends OperationName>(
  name: N,
  { query: filters, ...input }: Pick<Input<N>, "path" | "query">,
  /** How soon the page asks again, after which rows. Default: as all pages do. */
  pollMillis?: (rows: ReadonlyArray<ItemOf<N>>) => number | false,
): List<ItemOf<N>> => {
  const { trail = [] } = useSearch({ strict: false })
  const navigate = useNavigate()
  const { queryFn, queryKey } = operationQuery(name, {
    ...input,
    query: { limit: 50, ...filters, cursor: trail.at(-1) },
  } as unknown as Input<N>)
  const query = useQuery<Page<ItemOf<N>>>({
    queryKey,
    queryFn: queryFn as unknown as QueryFunction<Page<ItemOf<N>>>,
    placeholderData: keepPreviousData,
    ...(pollMillis && {
      refetchInterval: ({ state }: Query<Page<ItemOf<N>>>) => pollMillis(state.data?.data ?? []),
    }),
  })
  const go = (to: ReadonlyArray<string>) =>
    void navigate({ to: ".", search: (old) => ({ ...old, trail: toTrail(to).trail }) })
  return { query, trail, go }
}
