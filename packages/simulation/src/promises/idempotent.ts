/** One key is one request: every repeat is answered as the first one. */
import { sendsOf } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const idempotent: JudgedPromise = {
  name: "idempotency",
  check: (history) => {
    const violations: Array<string> = []
    const answers = new Map<string, string>()
    for (const { answer, ask } of sendsOf(history)) {
      if (answer?._tag !== "Accepted") continue
      const ids = answer.ids.join()
      const before = answers.get(ask.idempotencyKey)
      if (before !== undefined && before !== ids) {
        violations.push(`${ask.text} was answered with ${before} and then with ${ids}`)
      }
      answers.set(ask.idempotencyKey, ids)
    }
    return violations
  },
}
