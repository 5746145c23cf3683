/**
 * The figures of the whole service as gauges. Each scrape has a registry of its own for them: what
 * the store did not tell is left out, and nothing of an earlier scrape is shown in its place.
 */
import type { Figures, NumberStatus, Platform } from "@messaging-service/core"
import { Effect, Metric } from "effect"
import { format } from "effect/observability/PrometheusMetrics"

const platforms: ReadonlyArray<Platform> = ["whatsapp", "telegram"]
const statuses: ReadonlyArray<NumberStatus> = ["connected", "connecting", "disconnected"]

/** One line of the answer: a gauge and its value. */
const gauge = (
  name: string,
  description: string,
  value: number,
  attributes: Readonly<Record<string, string>> = {},
) => Metric.update(Metric.gauge(name, { description, attributes }), value)

/** Seconds since that moment, 0 when it is yet to come or there is none. */
const secondsSince = (moment: number | null, now: number): number =>
  moment === null ? 0 : Math.max(0, now - moment) / 1000

const waiting = (status: "queued" | "scheduled", value: number) =>
  gauge("messaging_messages_waiting", "Live messages that wait to be sent, by status.", value, {
    status,
  })

const oldest = (connection: "connected" | "not_connected", value: number) =>
  gauge(
    "messaging_oldest_waiting_seconds",
    "Seconds since the oldest live message that waits fell due, by the connection of its number.",
    value,
    { connection },
  )

const numbersOf = (figures: Figures) =>
  platforms.flatMap((platform) =>
    statuses.map((status) =>
      gauge(
        "messaging_numbers",
        "Live numbers by platform and status.",
        figures.numbers.find((each) => each.platform === platform && each.status === status)
          ?.count ?? 0,
        { platform, status },
      ),
    ),
  )

const gaugesOf = (figures: Figures, now: number) => [
  waiting("queued", figures.queued),
  waiting("scheduled", figures.scheduled),
  oldest("connected", secondsSince(figures.firstDueAt.connected, now)),
  oldest("not_connected", secondsSince(figures.firstDueAt.notConnected, now)),
  gauge(
    "messaging_lane_lag_seconds",
    "Seconds since the most overdue lane could have been claimed by a worker.",
    secondsSince(figures.laneDueAt, now),
  ),
  gauge(
    "messaging_lanes_in_flight",
    "Lanes whose message is in the hands of a transport.",
    figures.lanesInFlight,
  ),
  gauge(
    "messaging_leases_run_out",
    "Lanes in flight whose lease has run out and that no worker has taken over yet.",
    figures.leasesRunOut,
  ),
  gauge(
    "messaging_webhook_deliveries_pending",
    "Webhook deliveries that are to be made, retries included.",
    figures.deliveries,
  ),
  gauge(
    "messaging_webhook_retries_pending",
    "Webhook deliveries that have failed before and are to be tried again.",
    figures.retries,
  ),
  ...numbersOf(figures),
]

/** The lines of the answer at `now`; null when the store did not answer. */
export const storeGauges = (figures: Figures | null, now: number): Effect.Effect<string> =>
  Effect.suspend(() =>
    Effect.all(
      [
        gauge(
          "messaging_store_up",
          "1 when the store answered this scrape, else 0, and then its figures are missing.",
          figures === null ? 0 : 1,
        ),
        ...(figures === null ? [] : gaugesOf(figures, now)),
      ],
      { discard: true },
    ).pipe(Effect.andThen(format()), Effect.provideService(Metric.MetricRegistry, new Map())),
  )
