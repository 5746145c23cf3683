/** One key is one request: every repeat gets the first answer. */
import type { MakeEndpoint } from "../History.ts"
import { getCalls, getSends } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const idempotent: JudgedPromise = {
  name: "idempotency",
  check: (history) => {
    const violations: Array<string> = []
    const answers = new Map<string, string>()
    for (const { answer, request } of getSends(history)) {
      if (answer?._tag !== "Accepted") continue
      const ids = answer.ids.join()
      const before = answers.get(request.idempotencyKey)
      if (before !== undefined && before !== ids) {
        violations.push(`${request.text} was answered with ${before} and then with ${ids}`)
      }
      answers.set(request.idempotencyKey, ids)
    }
    return violations
  },
}

/** One key of one API key is one endpoint; its secret is in the first answer alone. */
export const idempotentEndpoints: JudgedPromise = {
  name: "idempotency of endpoints",
  check: (history) => {
    const violations: Array<string> = []
    const calls = getCalls(history).filter(({ request }) => request._tag === "MakeEndpoint")
    const urls = new Map<number, string>()
    const groups = Map.groupBy(calls, ({ request }) => {
      const { idempotencyKey, key, mode } = request as MakeEndpoint
      return `${key ?? mode}/${idempotencyKey}`
    })
    for (const [name, requests] of groups) {
      const firsts: Array<string> = []
      const ids = new Set<number>()
      const bodies = new Set<boolean>()
      const isAlike =
        new Set(requests.map(({ request }) => (request as MakeEndpoint).isOther)).size === 1
      for (const { answer, request } of requests) {
        if (answer?._tag === "Refused" && answer.code === "idempotency_key_reused" && isAlike) {
          violations.push(`${name} is refused as the key of another request`)
        }
        if (answer?._tag !== "Made") continue
        const { id, isReplayed, secret } = answer
        const { isOther, url } = request as MakeEndpoint
        ids.add(id)
        bodies.add(isOther)
        if (!isReplayed) firsts.push(url)
        if ((secret === null) !== isReplayed) {
          violations.push(
            `${name} was answered ${isReplayed ? "again with a" : "without a"} secret`,
          )
        }
        const before = urls.get(id)
        if (before !== undefined && before !== url) {
          violations.push(`${url} was answered with the endpoint of ${before}`)
        }
        urls.set(id, url)
      }
      if (ids.size > 1) violations.push(`${name} made ${ids.size} endpoints`)
      if (firsts.length > 1) violations.push(`${name} was answered ${firsts.length} times as new`)
      if (bodies.size > 1) violations.push(`${name} was answered for two requests`)
    }
    return violations
  },
}

/** One key is one reminder. */
export const idempotentReminders: JudgedPromise = {
  name: "idempotency of reminders",
  check: (history) => {
    const violations: Array<string> = []
    const answers = getCalls(history).flatMap(({ answer, request }) =>
      request._tag === "MakeReminder" && answer?._tag === "Made" ? [{ ...request, ...answer }] : [],
    )
    for (const [text, created] of Map.groupBy(answers, (each) => each.text)) {
      const ids = new Set(created.map(({ id }) => id))
      if (ids.size > 1) violations.push(`${text} made ${ids.size} reminders`)
      const bodies = new Set(created.map(({ isOther }) => isOther))
      if (bodies.size > 1) violations.push(`${text} was answered for two requests`)
      const firsts = created.filter(({ isReplayed }) => !isReplayed)
      if (firsts.length > 1) violations.push(`${text} was answered ${firsts.length} times as new`)
    }
    return violations
  },
}
