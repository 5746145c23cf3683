/** A line of the log before it is written down: words and plain values, whatever was logged. */
import { Cause, References } from "effect"
import type { LogLevel, Logger } from "effect"

/** The levels of a log, and what Effect calls them. */
export const logLevels = {
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
} as const satisfies Readonly<Record<string, LogLevel.LogLevel>>

export interface LogEntry {
  readonly at: Date
  /** In lower case, as Effect calls it. */
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, string | number | boolean>>
  /** What went wrong, with where; null when nothing did. */
  readonly cause: string | null
}

/** Of errors their words alone: what else they carry may be secret, or without end. */
const wordsOf = (value: unknown): string =>
  value instanceof Error ? `${value.name}: ${value.message}` : String(value)

const textOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message]).map(wordsOf).join(" ")

const valueOf = (annotation: unknown): string | number | boolean =>
  typeof annotation === "number" || typeof annotation === "boolean"
    ? annotation
    : wordsOf(annotation)

/** What a logger of Effect is given, as an entry. */
export const logEntry = ({
  cause,
  date,
  fiber,
  logLevel,
  message,
}: Logger.Options<unknown>): LogEntry => ({
  at: date,
  level: logLevel.toLowerCase(),
  message: textOf(message),
  fields: Object.fromEntries(
    Object.entries(fiber.getRef(References.CurrentLogAnnotations)).map(([name, value]) => [
      name,
      valueOf(value),
    ]),
  ),
  cause: cause.reasons.length === 0 ? null : Cause.pretty(cause),
})
