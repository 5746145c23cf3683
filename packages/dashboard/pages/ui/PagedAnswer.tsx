/** A page of a list in each of its states, with the way to the pages before and after it. */
import type { ReactNode } from "react"
import { Answer } from "./Answer.tsx"
import type { List } from "./list.ts"
import { Pager } from "./Pager.tsx"

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
