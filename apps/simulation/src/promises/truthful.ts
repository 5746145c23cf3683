/** Every report is true: each state agrees with what recipients saw, and never goes back. */
import type { State } from "../History.ts"
import { hasLeft, visibleByName, testNames, reportedMessages, reportedStates } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

/** The rank of a state; a later report never has a lower one. */
const rank: Readonly<Record<State, number>> = {
  waiting: 0,
  sent: 1,
  delivered: 2,
  read: 3,
  failed: 4,
  cancelled: 4,
  expired: 4,
}

const mayFollow = (before: State, after: State): boolean =>
  before === after || (rank[before] < rank[after] && !(hasLeft(before) && !hasLeft(after)))

export const truthful: JudgedPromise = {
  name: "truth",
  check: (history) => {
    const violations: Array<string> = []
    const visible = visibleByName(history)
    const tests = testNames(history)
    const received = Map.groupBy(reportedStates(history), ({ name }) => name)
    for (const [name, reports] of received) {
      const copies = visible.get(name) ?? []
      for (const report of reports) {
        const isShownFirst = hasLeft(report.state) && !tests.has(name)
        if (isShownFirst && !copies.some(({ index }) => index < report.answered)) {
          violations.push(`${name} is reported as ${report.state} and was not shown`)
        }
        for (const earlier of reports) {
          // Compared with reports before this request.
          if (earlier.answered < report.requestIndex && !mayFollow(earlier.state, report.state)) {
            violations.push(`${name} was ${earlier.state} and is ${report.state}`)
          }
        }
      }
    }
    for (const { index, name, type } of reportedMessages(history)) {
      if (name === null || type !== "message.sent" || tests.has(name)) continue
      if (!(visible.get(name) ?? []).some((copy) => copy.index < index)) {
        violations.push(`${type} of ${name} was told, and it was not shown`)
      }
    }
    for (const message of history.final.messages) {
      const { error, mode, name, state, transportId } = message
      const copies = (visible.get(name) ?? []).filter(
        ({ entry }) => entry.transportId === transportId,
      ).length
      const isTrue =
        mode === "test"
          ? copies === 0
          : hasLeft(state)
            ? copies === 1
            : error === "outcome_unknown"
              ? copies <= 1
              : copies === 0
      if (!isTrue)
        violations.push(`${name} is ${state} ${error ?? ""} and was shown ${copies} times`)
      const last = (received.get(name) ?? []).at(-1)
      if (last !== undefined && !mayFollow(last.state, state)) {
        violations.push(`${name} was reported as ${last.state} and is ${state}`)
      }
    }
    return violations
  },
}
