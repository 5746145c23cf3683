/**
 * What a question shows in each of its states: rows to come, a refusal or a fault above what was there before, and
 * the answer. Every list uses it, so that the states are the same everywhere.
 */
import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Boundary } from "./Boundary.tsx"
import type { List } from "./list.ts"
import { Pager } from "./Pager.tsx"
import { Loading, QueryFailure } from "./parts.tsx"

/** A component, so that what fails in it fails within the boundary. */
const Drawn = <Data,>({ children, data }: { data: Data; children: (data: Data) => ReactNode }) =>
  children(data)

export const Answer = <Data,>({
  children,
  query: { data, error, isPlaceholderData, refetch },
  rows = 4,
}: {
  query: UseQueryResult<Data>
  /** How many rows the answer will probably have. */
  rows?: number
  children: (data: Data) => ReactNode
}) => (
  <>
    <QueryFailure error={error} again={() => void refetch()} />
    {data === undefined && !error && (
      <div className="card">
        <Loading rows={rows} />
      </div>
    )}
    {data !== undefined && (
      <div
        aria-busy={isPlaceholderData}
        className={`min-w-0 ${error ? "opacity-70" : "transition-opacity aria-busy:opacity-55"}`}
      >
        <Boundary of={data}>
          <Drawn data={data}>{children}</Drawn>
        </Boundary>
      </div>
    )}
  </>
)

/** A page of a list in each of its states, with the way to the pages before and after it. */
export const PagedAnswer = <Item,>({
  children,
  list: { go, query, trail },
  rows = 4,
}: {
  list: List<Item>
  rows?: number
  children: (items: ReadonlyArray<Item>) => ReactNode
}) => (
  <Answer query={query} rows={rows}>
    {({ data, next_cursor: next }) => (
      <div className="flex flex-col gap-4">
        {children(data)}
        {(next !== null || trail.length > 0) && (
          <Pager
            trail={trail}
            visible={data.length}
            isFetching={query.isFetching}
            next={next}
            go={go}
          />
        )}
      </div>
    )}
  </Answer>
)
