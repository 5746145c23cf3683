/** What a mistyped word was meant to be. */
import { editDistance } from "@messaging-service/core"

/** The nearest candidate; undefined when none is near. */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const max = Math.max(1, Math.floor(word.length / 3))
  const [found] = [...new Set(candidates)]
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ distance }) => distance > 0 && distance <= max)
    .toSorted((a, b) => a.distance - b.distance)
  return found?.candidate
}
