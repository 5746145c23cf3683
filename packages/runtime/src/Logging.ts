/**
 * What a process says on standard output: log lines, and announcements, which are said whatever the
 * log level (`LOG_LEVEL`, `LOG_FORMAT`; contract: Configuration). For machines each is one JSON
 * object on a line of its own.
 */
import { logEntry, logLevels, openService as composed } from "@messaging-service/service/compose"
import type { CannotStart, ComposedService } from "@messaging-service/service/compose"
import { Cause, Clock, Console, Effect, Layer, Logger, References } from "effect"
import type { Context, Scope } from "effect"
import type { LogSettings, ServiceSettings } from "./ServiceSettings.ts"

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

/** Runs an app with the configured log, in which a fault that ends it is told in full. */
export const logged = <A, E, R>(settings: LogSettings, app: Effect.Effect<A, E, R>) =>
  app.pipe(
    Effect.tapDefect((defect) => Effect.logError("an unexpected fault", Cause.die(defect))),
    Effect.provide(layerLogging(settings)),
  )

/** Runs the work of an app that is ready; says so when it is to stop, and when all in flight has ended. */
export const saysStop = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    work,
    Effect.onInterrupt(Effect.never, () => Effect.logInfo("stops; finishes what is in flight")),
  ).pipe(Effect.onInterrupt(() => Effect.logInfo("stopped")))

/** Whether a person reads standard output as it comes; else secrets do not belong there. */
export const isTerminal = (): boolean => process.stdout.isTTY === true

/**
 * The composed service of an app. A code that links a phone is for a person who looks, and not for a
 * log that is kept.
 */
export const openService = (
  settings: ServiceSettings,
  address: string,
): Effect.Effect<Context.Context<ComposedService>, CannotStart, Scope.Scope> =>
  Effect.suspend(() =>
    composed(settings, address, isTerminal() ? (text) => void process.stdout.write(text) : null),
  )

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
