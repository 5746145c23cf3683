/**
 * How a host watches the service: the log, written by a logger of the host's, and spans and metrics,
 * sent to an OpenTelemetry collector.
 */
import { logEntry, logLevels } from "@messaging-service/node"
import { Effect, Layer, Logger, Metric, References } from "effect"
import type { LogMethod, MessagingLogger, OpenOptions, TelemetryOptions } from "../api/options.ts"

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

/** How long the last of it may take: a collector that does not answer must not hold up `close`. */
const lastMillis = 2000

/** Loaded where it is wanted. */
const exporting = async ({ headers, otlp, serviceName }: TelemetryOptions) => {
  const [tracer, metrics, serialization, client] = await Promise.all([
    import("effect/observability/OtlpTracer"),
    import("effect/observability/OtlpMetrics"),
    import("effect/observability/OtlpSerialization"),
    import("effect/http/FetchHttpClient"),
  ])
  const base = otlp.replace(/\/+$/, "")
  const shared = {
    shutdownTimeout: lastMillis,
    resource: { serviceName: serviceName ?? "messaging-service" },
    ...(headers === undefined ? {} : { headers }),
  }
  return Layer.merge(
    tracer.layer({ url: `${base}/v1/traces`, ...shared }),
    metrics.layer({ url: `${base}/v1/metrics`, ...shared }),
  ).pipe(Layer.provide(serialization.layerJson), Layer.provide(client.layer))
}

/** Counters of one service alone: others of the process, and the program itself, count apart. */
const layerRegistry = Layer.sync(Metric.MetricRegistry, () => new Map())

/**
 * Where the service counts; it is sent nowhere unless a collector is named. What is left is sent when the
 * layer closes.
 */
export const layerTelemetry = ({ telemetry }: Pick<OpenOptions, "telemetry">): Layer.Layer<never> =>
  (telemetry === undefined
    ? Layer.empty
    : Layer.unwrap(Effect.promise(() => exporting(telemetry)))
  ).pipe(Layer.provideMerge(layerRegistry))
