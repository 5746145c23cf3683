/** Answers that are kept, where the same few questions come thousands of times in a second. */

/** So many that those asked again and again stay, and so few that they do not matter. */
const most = 1000

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
    if (answers.size >= most) answers.clear()
    answers.set(question, made)
    return made
  }
}
