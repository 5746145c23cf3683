/** The allowance of the plan and the quota of each number are exact, under any race. */
import { isRefunded, wasRestored } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

const dayMillis = 86_400_000

export const counted: JudgedPromise = {
  name: "counts",
  check: (history) => {
    const { final, setting } = history
    const violations: Array<string> = []
    const counting = final.messages.filter(
      ({ isStored, mode, state }) => mode === "live" && !isStored && !isRefunded(state),
    )
    const left = setting.allowance - counting.length
    if (final.allowanceLeft !== left) {
      violations.push(`${final.allowanceLeft} of the allowance are left in place of ${left}`)
    }
    if (left < 0) violations.push(`${-left} more than the allowance were accepted`)
    for (const [number, messages] of Map.groupBy(counting, (message) => message.number)) {
      // Held messages do not count until released: then only as many leave as fit.
      const instants = wasRestored(history)
        ? messages.flatMap(({ sentAt }) => (sentAt === null ? [] : [sentAt]))
        : messages.map(({ dueAt }) => dueAt)
      const times = instants.toSorted((a, b) => a - b)
      const isOver = times.some((time, index) => {
        const last = times[index + setting.quota]
        return last !== undefined && last - time < dayMillis
      })
      if (isOver) violations.push(`number ${number} has more than ${setting.quota} in 24 hours`)
    }
    return violations
  },
}
