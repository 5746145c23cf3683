/** A key is refused once its revocation was answered, and admits exactly 60 requests in a minute. */
import { nameOf } from "../History.ts"
import { callsOf } from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

const minute = 60_000
const perMinute = 60

const minuteOf = (at: number): number => Math.floor(at / minute)

const keyOf = ({ ask }: Call): string | null => ("key" in ask ? (ask.key ?? null) : null)

/** Requests that an API key admits. */
const ofKeys = new Set(["UseKey", "MakeEndpoint", "Send", "Read"])

/** A key of some numbers sends from those alone, and sees the messages of those alone. */
export const confined: JudgedPromise = {
  name: "limited keys",
  check: (history) => {
    const violations: Array<string> = []
    const { messages, numbers } = history.final
    const numberOf = new Map(messages.map(({ id, number }) => [id, number]))
    const ids = new Map(
      callsOf(history).flatMap(({ answer, ask }) =>
        ask._tag === "Send" && answer?._tag === "Accepted"
          ? ask.phones.map(
              (phone, index) => [nameOf(ask.text, phone), answer.ids[index] ?? 0] as const,
            )
          : [],
      ),
    )
    for (const { answer, ask } of callsOf(history)) {
      if ((ask._tag !== "Send" && ask._tag !== "Read") || ask.onlyNumber === undefined) continue
      const own = numbers[ask.onlyNumber]
      if (ask._tag === "Send") {
        const sent = answer?._tag === "Accepted" ? answer.ids : []
        if (sent.some((id) => numberOf.get(id) !== own)) {
          violations.push(`${ask.text} was accepted of another number than its key's`)
        }
        continue
      }
      const isOwn = numberOf.get(ids.get(ask.name) ?? 0) === own
      const isHidden = answer?._tag === "Refused" && answer.code === "message_not_found"
      if (isOwn ? isHidden : answer?._tag === "State") {
        violations.push(`${ask.name} was ${isOwn ? "hidden from its" : "shown to another"} key`)
      }
    }
    return violations
  },
}

export const revoked: JudgedPromise = {
  name: "revoked keys",
  check: (history) => {
    const violations: Array<string> = []
    const calls = callsOf(history)
    const revocations = calls.filter(({ ask }) => ask._tag === "RevokeKey")
    for (const call of calls) {
      const { answer, answeredAt, asked } = call
      if (!ofKeys.has(call.ask._tag)) continue
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
