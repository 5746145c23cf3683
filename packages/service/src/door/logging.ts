/** The log of an embedded service, written by a logger of the host's. */
import { logEntry, logLevels } from "@messaging-service/node"
import { Layer, Logger, References } from "effect"
import type { LogMethod, MessagingLogger, OpenOptions } from "../api/options.ts"

type Write = (first: unknown, second: unknown) => unknown

/** Loggers that put fields before the text know these; others take the text first. */
const takesFieldsFirst = (logger: MessagingLogger): boolean =>
  "bindings" in logger || "fields" in logger

const methodOf = (level: string): keyof MessagingLogger => {
  if (level === "warn") return "warn"
  if (level === "error" || level === "fatal") return "error"
  return level === "info" ? "info" : "debug"
}

const writing = (logger: MessagingLogger) => {
  const fieldsFirst = takesFieldsFirst(logger)
  return Logger.make<unknown, void>((options) => {
    const { cause, fields, level, message } = logEntry(options)
    const more = { ...fields, ...(cause === null ? {} : { cause }) }
    const method: LogMethod = logger[methodOf(level)]
    const write = method.bind(logger) as Write
    if (fieldsFirst) write(more, message)
    else write(message, more)
  })
}

/** Warnings and errors to the console, unless the host has a logger. */
export const layerLogging = ({ logLevel, logger }: OpenOptions): Layer.Layer<never> =>
  Layer.merge(
    Logger.layer([writing(logger ?? (console as MessagingLogger))]),
    Layer.succeed(
      References.MinimumLogLevel,
      logLevels[logLevel ?? (logger === undefined ? "warn" : "info")],
    ),
  )
