/** Goes through the pages of a list. */
import { Button } from "./parts.tsx"
import { pagerLabels as labels } from "./words.ts"

export const Pager = ({
  go,
  isFetching,
  next,
  visible,
  trail,
}: {
  trail: ReadonlyArray<string>
  visible: number
  isFetching: boolean
  /** The cursor of the next page; null on the last one. */
  next: string | null
  go: (trail: ReadonlyArray<string>) => void
}) => {
  const isOnly = trail.length === 0 && next === null
  const page = trail.length + 1
  const position = isOnly
    ? labels.all(visible)
    : next === null
      ? labels.lastPage(page, visible)
      : labels.page(page, visible)
  return (
    <nav aria-label={labels.pages} className="flex min-h-8 items-center gap-2 text-xs text-soft">
      <span className="mr-auto tabular-nums">{isFetching ? labels.asking : position}</span>
      {!isOnly && (
        <>
          <Button
            aria-disabled={trail.length === 0}
            onClick={() => trail.length > 0 && go(trail.slice(0, -1))}
          >
            {labels.newer}
          </Button>
          <Button
            aria-disabled={next === null}
            onClick={() => next !== null && go([...trail, next])}
          >
            {labels.older}
          </Button>
        </>
      )}
    </nav>
  )
}
