/** Times on a command line: absolute ones, and those from now on such as `+2h`. */
import { usageError } from "./ending.ts"

/** `2h`, `1d12h`, `90s`. */
const duration = /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?$/

const unitMillis = [86_400_000, 3_600_000, 60_000, 1000]

/** Its length; undefined for another text. */
export const durationMillis = (given: string): number | undefined => {
  const [, ...counts] = duration.exec(given) ?? []
  if (given === "" || counts.length === 0) return undefined
  return counts.reduce((sum, count, at) => sum + Number(count ?? 0) * (unitMillis[at] ?? 0), 0)
}

/** Whether a time depends on when the command runs. */
export const isRelative = (given: string): boolean => /^[+-]/.test(given)

/** The time, from now on where it is relative. The service judges an absolute one. */
export const momentOf = (given: string, name: string, now: number): string => {
  if (!isRelative(given)) return given
  const millis = durationMillis(given.slice(1))
  if (millis === undefined) {
    throw usageError(`${name} is ISO 8601 with an offset, or from now on such as +2h or +1d12h`)
  }
  return new Date(now + (given.startsWith("-") ? -millis : millis)).toISOString()
}
