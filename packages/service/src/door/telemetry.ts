/** Spans and metrics of the service, its own, sent to an OpenTelemetry collector. */
import { Effect, Layer, Metric } from "effect"
import type { OpenOptions, TelemetryOptions } from "../api/options.ts"

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
