/** A number check gives each phone one true result, and is completed. */
import type { FinalCheck, History } from "../History.ts"
import { callsOf, controlsOf } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

/** Failed look-ups after which a phone may be given up. */
const mostTries = 3

const digits = (phone: string): string => phone.replace("+", "")

/** The faults of a check at the end. */
const violationsOf = (history: History, check: FinalCheck, asked: ReadonlyArray<string>) => {
  const violations: Array<string> = []
  const { id, mode, number, results, status } = check
  if (status !== "completed") violations.push(`check ${id} is ${status} when all has come to rest`)
  const given = results.map(({ phone }) => digits(phone)).toSorted()
  if (given.join() !== asked.map(digits).toSorted().join()) {
    violations.push(`check ${id} of ${asked.length} phones has ${given.length} results`)
  }
  const isRemoved = controlsOf(history).some(({ ask }) => ask.key === `removal ${number}`)
  const looks = history.entries.flatMap((entry) =>
    entry._tag === "LookedUp" && entry.number === number ? [entry] : [],
  )
  for (const { phone, status: found } of results) {
    const own = looks.filter(({ phones }) => phones.some((each) => digits(each) === digits(phone)))
    const isRegistered =
      mode === "test" ? !phone.endsWith("0000") : Number(phone.slice(-1)) % 2 === 0
    const isAsked = mode === "test" || own.some(({ outcome }) => outcome === "Checked")
    const isTrue =
      found === "failed"
        ? mode === "live" &&
          (isRemoved || own.filter(({ outcome }) => outcome === "Unknown").length >= mostTries)
        : isAsked && found === (isRegistered ? "registered" : "not_registered")
    if (!isTrue) violations.push(`${phone} is ${found} in check ${id}`)
  }
  return violations
}

export const checked: JudgedPromise = {
  name: "checks",
  check: (history) => {
    const violations: Array<string> = []
    const { checks } = history.final
    const phonesOf = new Map<number, ReadonlyArray<string>>()
    const idOf = new Map<string, number>()
    for (const { answer, ask } of callsOf(history)) {
      if (ask._tag !== "Check" || answer?._tag !== "Accepted") continue
      const [id = 0] = answer.ids
      const before = idOf.get(ask.key)
      if (before !== undefined && before !== id) {
        violations.push(`${ask.key} was answered with ${before} and then with ${id}`)
      }
      idOf.set(ask.key, id)
      phonesOf.set(id, ask.phones)
      if (!checks.some((each) => each.id === id)) violations.push(`${ask.key} is gone`)
    }
    const keys = new Set(
      callsOf(history).flatMap(({ ask }) => (ask._tag === "Check" ? [ask.key] : [])),
    )
    if (checks.length > keys.size) {
      violations.push(`${checks.length} checks were made of ${keys.size}`)
    }
    for (const check of checks) {
      // One without an answer is judged by its content.
      const phones = phonesOf.get(check.id) ?? check.results.map(({ phone }) => phone)
      violations.push(...violationsOf(history, check, phones))
    }
    return violations
  },
}
