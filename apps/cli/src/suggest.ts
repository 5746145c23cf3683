/** What a mistyped word was meant to be. */

/** Letters added, left out, replaced or swapped between two words. */
const distance = (from: string, to: string): number => {
  let before: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let row = 1; row <= from.length; row++) {
    const next = [row]
    for (let at = 1; at <= to.length; at++) {
      const isSame = from[row - 1] === to[at - 1]
      const isSwap = from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1]
      next[at] = Math.min(
        (last[at] ?? 0) + 1,
        (next[at - 1] ?? 0) + 1,
        (last[at - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (before[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = next
  }
  return last[to.length] ?? 0
}

/** The nearest candidate; undefined when none is near. */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const most = Math.max(1, Math.floor(word.length / 3))
  const [found] = [...new Set(candidates)]
    .map((candidate) => ({ candidate, far: distance(word, candidate) }))
    .filter(({ far }) => far > 0 && far <= most)
    .toSorted((a, b) => a.far - b.far)
  return found?.candidate
}
