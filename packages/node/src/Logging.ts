/**
 * The log: lines of words and plain values, whatever a program logs, and announcements, which no log
 * level hides (`LOG_LEVEL`, `LOG_FORMAT`; contract: Configuration). For machines each is one JSON
 * object on a line of its own.
 */
import { Cause, Clock, Console, Effect, Layer, Logger, References } from "effect"
import type { LogLevel } from "effect"

/** How a process logs. */
export interface LogSettings {
  readonly level: "debug" | "info" | "warn" | "error"
  readonly format: "pretty" | "json"
}

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

const json = Logger.make((options) => {
  const { at, cause, fields, level, message } = logEntry(options)
  return JSON.stringify({
    ...fields,
    time: at.toISOString(),
    level,
    message,
    ...(cause === null ? {} : { cause }),
  })
})

const pretty = Logger.make((options) => {
  const { at, cause, fields, level, message } = logEntry(options)
  const line = [
    at.toISOString(),
    level.toUpperCase().padEnd(5),
    message,
    ...Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`),
  ].join(" ")
  return cause === null ? line : `${line}\n${cause}`
})

const layerLogging = ({ format, level }: LogSettings): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([Logger.withConsoleLog(format === "json" ? json : pretty)]),
    Layer.succeed(References.MinimumLogLevel, logLevels[level]),
  )

/** Runs an app with the configured log, which gets a fault that ends the app in full. */
export const withLogging = <A, E, R>(settings: LogSettings, app: Effect.Effect<A, E, R>) =>
  app.pipe(
    Effect.tapDefect((defect) => Effect.logError("an unexpected fault", Cause.die(defect))),
    Effect.provide(layerLogging(settings)),
  )

/** Runs the work of an app that is ready; says so when it is to stop, and when all in flight has ended. */
export const logStop = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    work,
    Effect.onInterrupt(Effect.never, () => Effect.logInfo("stops; finishes what is in flight")),
  ).pipe(Effect.onInterrupt(() => Effect.logInfo("stopped")))

/** Whether a person reads standard output as it comes; else secrets do not belong there. */
export const isTerminal = (): boolean => process.stdout.isTTY === true

/** Writes to a person's terminal; null where a log would keep the text. */
export const terminalWriter = (): ((text: string) => void) | null =>
  isTerminal() ? (text) => void process.stdout.write(text) : null

/** Says something that must be seen at every log level, such as that the process is ready. */
export const announce = (
  { format }: Pick<LogSettings, "format">,
  text: string,
): Effect.Effect<void> =>
  format === "pretty"
    ? Console.log(text)
    : Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Console.log(
          JSON.stringify({ time: new Date(now).toISOString(), level: "info", message: text }),
        ),
      )
