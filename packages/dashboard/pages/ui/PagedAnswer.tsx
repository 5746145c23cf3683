/** A page of a list in each of its states, with the way to the pages before and after it. */
import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Answer } from "./Answer.tsx"
import { Pager } from "./Pager.tsx"

export const PagedAnswer = <Item,>({
  children,
  go,
  query,
  rows,
  trail,
}: {
  query: UseQueryResult<{ data: ReadonlyArray<Item>; next_cursor: string | null }>
  trail: ReadonlyArray<string>
  go: (trail: ReadonlyArray<string>) => void
  rows?: number
  children: (items: ReadonlyArray<Item>) => ReactNode
}) => (
  <Answer query={query} {...(rows === undefined ? {} : { rows })}>
    {({ data, next_cursor: next }) => (
      <div className="flex flex-col gap-4">
        {children(data)}
        {(next !== null || trail.length > 0) && (
          <Pager
            trail={trail}
            shown={data.length}
            isFetching={query.isFetching}
            next={next}
            go={go}
          />
        )}
      </div>
    )}
  </Answer>
)
