/**
 * How a host observes the service: its log through the host's logger, and spans and metrics through an
 * OpenTelemetry collector.
 */
import { logEntry, logLevels } from "@messaging-service/node"
import { Effect, Layer, Logger, Metric, References } from "effect"
import type { LogMethod, MessagingLogger, OpenOptions, TelemetryOptions } from "../api/options.ts"

type Write = (first: unknown, second: unknown) => unknown

/** Loggers that take fields before the text have these; others take the text first. */
const takesFieldsFirst = (logger: MessagingLogger): boolean =>
  "bindings" in logger || "fields" in logger

const toMethod = (level: string): keyof MessagingLogger => {
  if (level === "warn") return "warn"
  if (level === "error" || level === "fatal") return "error"
  return level === "info" ? "info" : "debug"
}

const writing = (logger: MessagingLogger) => {
  const fieldsFirst = takesFieldsFirst(logger)
  return Logger.make<unknown, void>((options) => {
    const { cause, fields, level, message } = logEntry(options)
    const more = { ...fields, ...(cause === null ? {} : { cause }) }
    const method: LogMethod = logger[toMethod(level)]
    const write = method.bind(logger) as Write
    if (fieldsFirst) write(more, message)
    else write(message, more)
  })
}

/** Logs warnings and errors to the console, unless the host has a logger. */
export const layerLogging = ({ logLevel, logger }: OpenOptions): Layer.Layer<never> =>
  Layer.merge(
    Logger.layer([writing(logger ?? (console as MessagingLogger))]),
    Layer.succeed(
      References.MinimumLogLevel,
      logLevels[logLevel ?? (logger === undefined ? "warn" : "info")],
    ),
  )

/** How long the final export may take: an unresponsive collector must not delay `close`. */
const lastMillis = 2000

/** Loads on demand. */
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

/** Counters of this service alone: other services and the program count separately. */
const layerRegistry = Layer.sync(Metric.MetricRegistry, () => new Map())

/** Metrics of the service. Without a collector they go nowhere. Closing the layer sends the rest. */
export const layerTelemetry = ({ telemetry }: Pick<OpenOptions, "telemetry">): Layer.Layer<never> =>
  (telemetry === undefined
    ? Layer.empty
    : Layer.unwrap(Effect.promise(() => exporting(telemetry)))
  ).pipe(Layer.provideMerge(layerRegistry))
