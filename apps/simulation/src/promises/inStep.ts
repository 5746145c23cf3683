/**
 * A process with a clock more than ten seconds from the store's sends and expires nothing. It
 * compares them each minute; until then it works by its clock.
 */
import { toName } from "../History.ts"
import type { History } from "../History.ts"
import { getHandovers, getSends, reportedMessages } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

/** The maximum skew of a working process. */
const stopMillis = 10_000

/** A minute between comparisons, and the time of a slow store. */
const untilNoticedMillis = 60_000 + 45_000

/** A process with a wrong clock, and the period. */
interface Spell {
  readonly process: string
  readonly skew: number
  readonly from: number
  readonly to: number
}

const getSpells = ({ entries }: History): ReadonlyArray<Spell> =>
  entries.flatMap((entry, index) => {
    if (entry._tag !== "ClockSet" || Math.abs(entry.skew) <= stopMillis) return []
    const { at: from, process, skew } = entry
    const next = entries.find(
      (later, position) =>
        position > index &&
        (later._tag === "Calm" ||
          ((later._tag === "ClockSet" || later._tag === "Died") && later.process === process)),
    )
    return [{ process, skew, from, to: next?.at ?? Infinity }]
  })

export const inStep: JudgedPromise = {
  name: "wrong clock",
  check: (history) => {
    const { isSteady } = history.setting
    const spells = getSpells(history)
    if (!isSteady || spells.length === 0) return []
    const violations: Array<string> = []
    for (const { at, name, process } of getHandovers(history)) {
      const spell = spells.find(
        (each) => each.process === process && at > each.from + untilNoticedMillis && at < each.to,
      )
      if (spell !== undefined) {
        violations.push(`${process} hands over ${name} with a clock wrong by ${spell.skew} ms`)
      }
    }
    const expiries = new Map(
      getSends(history).flatMap(({ request }) =>
        request.phones.map((phone) => [toName(request.text, phone), request.expiresAt] as const),
      ),
    )
    for (const { index, name, type } of reportedMessages(history)) {
      const expiresAt = expiries.get(name ?? "") ?? null
      const at = history.entries[index]?.at ?? Infinity
      if (type !== "message.expired" || expiresAt === null || expiresAt <= at + stopMillis) continue
      // A clock that is ahead expires too early until the process has noticed.
      const isUnnoticed = spells.some(
        ({ from, skew, to }) =>
          from <= at && expiresAt <= Math.min(to, from + untilNoticedMillis) + skew,
      )
      if (!isUnnoticed) violations.push(`${name} expired ${expiresAt - at} ms early`)
    }
    return violations
  },
}
