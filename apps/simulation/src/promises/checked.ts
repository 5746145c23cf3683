/** A number check gives each phone one true result, and is completed. */
import { longestLookUpMillis } from "../faults/directory.ts"
import type { Entry, FinalCheck, History } from "../History.ts"
import { getCalls, getControls } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

const second = 1000

/** A phone is given up that got no answer at once, nor after each of these pauses. */
const pausesMillis = [5 * second, 30 * second]

/** The time after which the service takes a look-up for unanswered. */
const timeoutMillis = 60 * second

const digits = (phone: string): string => phone.replace("+", "")

/** A look-up, with the index of its entry. */
type LookUp = Extract<Entry, { readonly _tag: "LooksUp" }> & {
  readonly index: number
  /** Null when it was cut off. */
  readonly outcome: string | null
}

const getLookUps = ({ entries }: History, number: number): ReadonlyArray<LookUp> => {
  const outcomes = new Map(
    entries.flatMap((entry) =>
      entry._tag === "LookedUp" ? [[entry.lookUp, entry.outcome] as const] : [],
    ),
  )
  return entries.flatMap((entry, index) =>
    entry._tag === "LooksUp" && entry.number === number
      ? [{ ...entry, index, outcome: outcomes.get(entry.lookUp) ?? null }]
      : [],
  )
}

/** Whether its process stood still until the time for the answer was over, and then continued. */
const stoodStill = ({ entries }: History, { at, index, process }: LookUp): boolean => {
  const timeout = at + timeoutMillis
  let frozenAt: number | null = null
  let stillMillis = 0
  for (const entry of entries.slice(index)) {
    if (frozenAt === null && entry.at > timeout) break
    if (!("process" in entry) || entry.process !== process) continue
    if (entry._tag === "Died") return false
    if (entry._tag === "Frozen") frozenAt = entry.at
    if (entry._tag !== "Thawed" || frozenAt === null) continue
    stillMillis += Math.min(entry.at, timeout) - frozenAt
    frozenAt = null
  }
  return stillMillis >= timeoutMillis - longestLookUpMillis
}

/** Whether phones may be given up after these look-ups, all of one list. */
const isAbandoned = (history: History, lookUps: ReadonlyArray<LookUp>): boolean => {
  const tries = lookUps.filter((one) => one.outcome === "Unknown" || stoodStill(history, one))
  let last = tries[0]
  for (const pause of pausesMillis) {
    const { at = Infinity, index = Infinity } = last ?? {}
    // A wrong clock may end a pause at once.
    const next = history.setting.hasTrueClocks ? at + pause : at
    last = tries.find((one) => one.index > index && one.at >= next)
  }
  return last !== undefined
}

/** The faults of a check at the end. */
const findViolations = (history: History, check: FinalCheck, requests: ReadonlyArray<string>) => {
  const violations: Array<string> = []
  const { id, mode, number, results, status } = check
  if (status !== "completed") violations.push(`check ${id} is ${status} when all has come to rest`)
  const input = results.map(({ phone }) => digits(phone)).toSorted()
  if (input.join() !== requests.map(digits).toSorted().join()) {
    violations.push(`check ${id} of ${requests.length} phones has ${input.length} results`)
  }
  const isRemoved = getControls(history).some(({ request }) => request.key === `removal ${number}`)
  const lookUps = getLookUps(history, number)
  for (const { phone, status: found } of results) {
    const own = lookUps.filter(({ phones }) =>
      phones.some((each) => digits(each) === digits(phone)),
    )
    // A list of phones stays the same until it is answered.
    const lists = () => Array.from(Map.groupBy(own, ({ phones }) => phones.join()).values())
    const isRegistered =
      mode === "test" ? !phone.endsWith("0000") : Number(phone.slice(-1)) % 2 === 0
    const isRequested = mode === "test" || own.some(({ outcome }) => outcome === "Checked")
    const isTrue =
      found === "failed"
        ? mode === "live" && (isRemoved || lists().some((list) => isAbandoned(history, list)))
        : isRequested && found === (isRegistered ? "registered" : "not_registered")
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
    for (const { answer, request } of getCalls(history)) {
      if (request._tag !== "Check" || answer?._tag !== "Accepted") continue
      const [id = 0] = answer.ids
      const before = idOf.get(request.key)
      if (before !== undefined && before !== id) {
        violations.push(`${request.key} was answered with ${before} and then with ${id}`)
      }
      idOf.set(request.key, id)
      phonesOf.set(id, request.phones)
      if (!checks.some((each) => each.id === id)) violations.push(`${request.key} is gone`)
    }
    const keys = new Set(
      getCalls(history).flatMap(({ request }) => (request._tag === "Check" ? [request.key] : [])),
    )
    if (checks.length > keys.size) {
      violations.push(`${checks.length} checks were made of ${keys.size}`)
    }
    for (const check of checks) {
      // One without an answer is judged by its content.
      const phones = phonesOf.get(check.id) ?? check.results.map(({ phone }) => phone)
      violations.push(...findViolations(history, check, phones))
    }
    return violations
  },
}
