/** A key is refused once its revocation was answered, and admits exactly 60 requests in a minute. */
import { callsOf } from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

const minute = 60_000
const perMinute = 60

const minuteOf = (at: number): number => Math.floor(at / minute)

const keyOf = ({ ask }: Call): string | null => ("key" in ask ? ask.key : null)

export const revoked: JudgedPromise = {
  name: "revoked keys",
  check: (history) => {
    const violations: Array<string> = []
    const calls = callsOf(history)
    const revocations = calls.filter(({ ask }) => ask._tag === "RevokeKey")
    for (const call of calls) {
      const { answer, answeredAt, asked } = call
      if (call.ask._tag !== "UseKey" && call.ask._tag !== "MakeEndpoint") continue
      const key = keyOf(call)
      if (key === null || answer === null) continue
      const own = revocations.filter((each) => keyOf(each) === key)
      const isRefused = answer._tag === "Refused" && answer.code === "api_key_revoked"
      if (!isRefused && own.some(({ answered }) => answered < asked)) {
        violations.push(`${key} is let in after it was revoked`)
      }
      if (isRefused && !own.some(({ askedAt }) => askedAt <= answeredAt)) {
        violations.push(`${key} is refused as revoked and was not`)
      }
    }
    return violations
  },
}

export const limited: JudgedPromise = {
  name: "rate limits",
  check: (history) => {
    // A clock that jumps has minutes of its own.
    if (!history.setting.hasTrueClocks) return []
    const violations: Array<string> = []
    const uses = callsOf(history).filter(({ ask }) => ask._tag === "UseKey")
    for (const [key, own] of Map.groupBy(uses, keyOf)) {
      const certain = own.filter(
        ({ answer, answeredAt, askedAt }) =>
          answer !== null && minuteOf(askedAt) === minuteOf(answeredAt),
      )
      for (const [at, within] of Map.groupBy(certain, ({ askedAt }) => minuteOf(askedAt))) {
        // One that is counted two minutes late looks like a clock that was set back: it starts over.
        const isLate = own.some(
          ({ answeredAt, askedAt }) => minuteOf(askedAt) < at - 1 && minuteOf(answeredAt) >= at,
        )
        if (isLate) continue
        const left = within.flatMap(({ answer }) =>
          answer?._tag === "Admitted" ? [answer.remaining] : [],
        )
        if (left.length > perMinute) {
          violations.push(`${key} let ${left.length} requests in within a minute`)
        }
        if (new Set(left).size !== left.length) {
          violations.push(`${key} counted two requests of a minute as one`)
        }
        const possible = own.filter(
          ({ answer, answeredAt, askedAt }) =>
            minuteOf(askedAt) <= at && (answer === null || minuteOf(answeredAt) >= at),
        )
        const isOver = within.some(
          ({ answer }) => answer?._tag === "Refused" && answer.code === "rate_limited",
        )
        const used = possible.filter(({ answer }) => answer?._tag !== "Refused").length
        if (isOver && used < perMinute) {
          violations.push(`${key} was refused after ${used} requests in a minute`)
        }
      }
    }
    return violations
  },
}
