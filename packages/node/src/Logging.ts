/**
 * The log: lines of words and plain values, whatever a program logs. Also announcements, which no log level
 * hides (`LOG_LEVEL`, `LOG_FORMAT`; contract: Configuration). For machines each is one JSON object per line.
 */
import { Cause, Clock, Console, Effect, Layer, Logger, References } from "effect"
import type { LogLevel } from "effect"

/** How a process logs. */
export interface LogSettings {
  readonly level: "debug" | "info" | "warn" | "error"
  readonly format: "pretty" | "json"
}

/** Log levels, and Effect's names for them. */
export const logLevels = {
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
} as const satisfies Readonly<Record<string, LogLevel.LogLevel>>

type LogValue = string | number | boolean | null

export interface LogEntry {
  readonly at: Date
  /** Effect's name, in lower case. */
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, LogValue>>
  /** The failure and its location; null without one. */
  readonly cause: string | null
}

/** Only the messages of errors: their other fields may be secret or endless. */
const describe = (value: unknown): string =>
  value instanceof Error ? `${value.name}: ${value.message}` : String(value)

const toText = (message: unknown): string =>
  (Array.isArray(message) ? message : [message]).map(describe).join(" ")

const valueOf = (annotation: unknown): LogValue =>
  annotation === null || typeof annotation === "number" || typeof annotation === "boolean"
    ? annotation
    : describe(annotation)

/** The arguments of an Effect logger, as an entry. */
export const logEntry = ({
  cause,
  date,
  fiber,
  logLevel,
  message,
}: Logger.Options<unknown>): LogEntry => ({
  at: date,
  level: logLevel.toLowerCase(),
  message: toText(message),
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

/** Runs an app with the configured log, which records a fatal fault in full. */
export const withLogging = <A, E, R>(settings: LogSettings, app: Effect.Effect<A, E, R>) =>
  app.pipe(
    Effect.tapDefect((defect) => Effect.logError("unexpected error", Cause.die(defect))),
    Effect.provide(layerLogging(settings)),
  )

/** Runs the work of a ready app; logs when it begins to stop, and when all running work has ended. */
export const logStop = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    work,
    Effect.onInterrupt(Effect.never, () => Effect.logInfo("stopping: finishing work in flight")),
  ).pipe(Effect.onInterrupt(() => Effect.logInfo("stopped")))

/** Whether a person reads standard output directly; else it must contain no secrets. */
export const isTerminal = (): boolean => process.stdout.isTTY === true

/** Writes to a person's terminal; null where a log would keep the text. */
export const terminalWriter = (): ((text: string) => void) | null =>
  isTerminal() ? (text) => void process.stdout.write(text) : null

/** A line of the configured format that no log level hides. */
const unconditionalLine = (
  { format }: Pick<LogSettings, "format">,
  level: "info" | "fatal",
  message: string,
  now: number,
): string =>
  format === "pretty"
    ? message
    : JSON.stringify({ time: new Date(now).toISOString(), level, message })

/** The last line of a process that failed, for standard error. */
export const fatalLine = (format: LogSettings["format"], message: string, now: number): string =>
  unconditionalLine({ format }, "fatal", message, now)

/** Prints a line at every log level, such as that the process is ready. */
export const announce = (log: Pick<LogSettings, "format">, text: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Console.log(unconditionalLine(log, "info", text, now)),
  )
