/** Goes through the pages of a list. */
import { Button } from "./parts.tsx"
import { pagerWords as words } from "./words.ts"

export const Pager = ({
  go,
  isFetching,
  next,
  shown,
  trail,
}: {
  trail: ReadonlyArray<string>
  shown: number
  isFetching: boolean
  /** The cursor of the next page; null on the last one. */
  next: string | null
  go: (trail: ReadonlyArray<string>) => void
}) => {
  const isOnly = trail.length === 0 && next === null
  const page = trail.length + 1
  const place = isOnly
    ? words.all(shown)
    : next === null
      ? words.lastPage(page, shown)
      : words.page(page, shown)
  return (
    <nav aria-label={words.pages} className="flex min-h-8 items-center gap-2 text-xs text-soft">
      <span className="mr-auto tabular-nums">{isFetching ? words.asking : place}</span>
      {!isOnly && (
        <>
          <Button
            aria-disabled={trail.length === 0}
            onClick={() => trail.length > 0 && go(trail.slice(0, -1))}
          >
            {words.newer}
          </Button>
          <Button
            aria-disabled={next === null}
            onClick={() => next !== null && go([...trail, next])}
          >
            {words.older}
          </Button>
        </>
      )}
    </nav>
  )
}
