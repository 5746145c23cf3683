/** A key is refused once its revocation was answered, and admits exactly 60 requests in a minute. */
import { toName } from "../History.ts"
import { getCalls, testNames } from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

const minute = 60_000
const perMinute = 60

const toMinute = (at: number): number => Math.floor(at / minute)

const toKey = ({ request }: Call): string | null =>
  "key" in request ? (request.key ?? null) : null

/** Requests that an API key admits. */
const ofKeys = new Set(["UseKey", "MakeEndpoint", "Send", "Read"])

/** A key of some numbers sends only from those, and sees only the messages of those. */
export const confined: JudgedPromise = {
  name: "limited keys",
  check: (history) => {
    const violations: Array<string> = []
    const { messages, numbers } = history.final
    const numberOf = new Map(messages.map(({ id, number }) => [id, number]))
    const ids = new Map(
      getCalls(history).flatMap(({ answer, request }) =>
        request._tag === "Send" && answer?._tag === "Accepted"
          ? request.phones.map(
              (phone, index) => [toName(request.text, phone), answer.ids[index] ?? 0] as const,
            )
          : [],
      ),
    )
    // Of the other mode, so no such key sees them.
    const tests = testNames(history)
    for (const { answer, request } of getCalls(history)) {
      if ((request._tag !== "Send" && request._tag !== "Read") || request.onlyNumber === undefined)
        continue
      const own = numbers[request.onlyNumber]
      if (request._tag === "Send") {
        const sent = answer?._tag === "Accepted" ? answer.ids : []
        if (sent.some((id) => numberOf.get(id) !== own)) {
          violations.push(`${request.text} was accepted of another number than its key's`)
        }
        continue
      }
      const isOwn = !tests.has(request.name) && numberOf.get(ids.get(request.name) ?? 0) === own
      const isHidden = answer?._tag === "Refused" && answer.code === "message_not_found"
      if (isOwn ? isHidden : answer?._tag === "State") {
        violations.push(`${request.name} was ${isOwn ? "hidden from its" : "shown to another"} key`)
      }
    }
    return violations
  },
}

export const revoked: JudgedPromise = {
  name: "revoked keys",
  check: (history) => {
    const violations: Array<string> = []
    const calls = getCalls(history)
    const revocations = calls.filter(({ request }) => request._tag === "RevokeKey")
    for (const call of calls) {
      const { answer, answeredAt, requestIndex } = call
      if (!ofKeys.has(call.request._tag)) continue
      const key = toKey(call)
      if (key === null || answer === null) continue
      const own = revocations.filter((each) => toKey(each) === key)
      const isRefused = answer._tag === "Refused" && answer.code === "api_key_revoked"
      if (!isRefused && own.some(({ answered }) => answered < requestIndex)) {
        violations.push(`${key} is let in after it was revoked`)
      }
      if (isRefused && !own.some(({ requestedAt }) => requestedAt <= answeredAt)) {
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
    const uses = getCalls(history).filter(({ request }) => request._tag === "UseKey")
    for (const [key, own] of Map.groupBy(uses, toKey)) {
      const certain = own.filter(
        ({ answer, answeredAt, requestedAt }) =>
          answer !== null && toMinute(requestedAt) === toMinute(answeredAt),
      )
      for (const [at, within] of Map.groupBy(certain, ({ requestedAt }) => toMinute(requestedAt))) {
        // One that is counted two minutes late looks like a clock that was set back: it starts over.
        const isLate = own.some(
          ({ answeredAt, requestedAt }) =>
            toMinute(requestedAt) < at - 1 && toMinute(answeredAt) >= at,
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
          ({ answer, answeredAt, requestedAt }) =>
            toMinute(requestedAt) <= at && (answer === null || toMinute(answeredAt) >= at),
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
