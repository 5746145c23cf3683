/** Times on a command line: absolute ones, and those from now on such as `+2h`. */
import { parseInstant } from "@messaging-service/core"
import { usageError } from "./ending.ts"

/** `2h`, `1d12h`, `90s`. */
const duration = /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?$/

const unitMillis = [86_400_000, 3_600_000, 60_000, 1000]

/** Its length; undefined for another text. */
export const durationMillis = (text: string): number | undefined => {
  const [, ...counts] = duration.exec(text) ?? []
  if (text === "" || counts.length === 0) return undefined
  return counts.reduce((sum, count, at) => sum + Number(count ?? 0) * (unitMillis[at] ?? 0), 0)
}

/** Whether a time depends on when the command runs. */
export const isRelative = (text: string): boolean => /^[+-]/.test(text)

/** The time, from now on where it is relative. */
export const parseTime = (text: string, name: string, now: number): string => {
  const millis = durationMillis(text.slice(1))
  const isTime = isRelative(text) ? millis !== undefined : parseInstant(text) !== undefined
  if (!isTime) {
    throw usageError(
      `${name} is ISO 8601 with an offset, such as 2030-01-31T09:00:00+02:00, or from now on, such as +2h or +1d12h`,
    )
  }
  if (millis === undefined || !isRelative(text)) return text
  return new Date(now + (text.startsWith("-") ? -millis : millis)).toISOString()
}
