/** A cache for pure functions that are asked the same few things thousands of times a second. */

/** Enough for what is asked again and again, and little memory. */
const maxAnswers = 1000

/**
 * A pure function that keeps its answers: when there are 1,000, all are forgotten. An answer of
 * `undefined` is not kept.
 */
export const remembered = <A>(answer: (question: string) => A): ((question: string) => A) => {
  const answers = new Map<string, A>()
  return (question) => {
    const kept = answers.get(question)
    if (kept !== undefined) return kept
    const made = answer(question)
    if (answers.size >= maxAnswers) answers.clear()
    answers.set(question, made)
    return made
  }
}
