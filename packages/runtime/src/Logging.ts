/**
 * What a process says on standard output: log lines, and announcements, which are said whatever the
 * log level (`LOG_LEVEL`, `LOG_FORMAT`; contract: Configuration). For machines each is one JSON
 * object on a line of its own.
 */
import { Cause, Clock, Console, Effect, Layer, Logger, References } from "effect"
import type { LogLevel } from "effect"
import type { LogSettings } from "./ServiceSettings.ts"

const levels: Readonly<Record<LogSettings["level"], LogLevel.LogLevel>> = {
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
}

/** Of errors their words alone: what else they carry may be secret, or without end. */
const wordsOf = (value: unknown): string =>
  value instanceof Error ? `${value.name}: ${value.message}` : String(value)

const textOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message]).map(wordsOf).join(" ")

const valueOf = (annotation: unknown): unknown =>
  typeof annotation === "number" || typeof annotation === "boolean"
    ? annotation
    : wordsOf(annotation)

const annotationsOf = ({ fiber }: Logger.Options<unknown>) =>
  Object.entries(fiber.getRef(References.CurrentLogAnnotations)).map(
    ([name, value]) => [name, valueOf(value)] as const,
  )

const json = Logger.make((entry) =>
  JSON.stringify({
    ...Object.fromEntries(annotationsOf(entry)),
    time: entry.date.toISOString(),
    level: entry.logLevel.toLowerCase(),
    message: textOf(entry.message),
    ...(entry.cause.reasons.length === 0 ? {} : { cause: Cause.pretty(entry.cause) }),
  }),
)

const pretty = Logger.make((entry) => {
  const line = [
    entry.date.toISOString(),
    entry.logLevel.toUpperCase().padEnd(5),
    textOf(entry.message),
    ...annotationsOf(entry).map(([name, value]) => `${name}=${String(value)}`),
  ].join(" ")
  return entry.cause.reasons.length === 0 ? line : `${line}\n${Cause.pretty(entry.cause)}`
})

const layerLogging = ({ format, level }: LogSettings): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([Logger.withConsoleLog(format === "json" ? json : pretty)]),
    Layer.succeed(References.MinimumLogLevel, levels[level]),
  )

/** Runs an app with the configured log, in which a fault that ends it is told in full. */
export const logged = <A, E, R>(settings: LogSettings, app: Effect.Effect<A, E, R>) =>
  app.pipe(
    Effect.tapDefect((defect) => Effect.logError("an unexpected fault", Cause.die(defect))),
    Effect.provide(layerLogging(settings)),
  )

/** Whether a person reads standard output as it comes; else secrets do not belong there. */
export const isTerminal = (): boolean => process.stdout.isTTY === true

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
