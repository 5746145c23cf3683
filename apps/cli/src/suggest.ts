/** What a mistyped word was meant to be. */
import { editDistance } from "@messaging-service/core"

/** The nearest candidate; undefined when none is near. */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const most = Math.max(1, Math.floor(word.length / 3))
  const [found] = [...new Set(candidates)]
    .map((candidate) => ({ candidate, far: editDistance(word, candidate) }))
    .filter(({ far }) => far > 0 && far <= most)
    .toSorted((a, b) => a.far - b.far)
  return found?.candidate
}
