/** The rules of endpoints and callbacks: which of them run, how many may, and which are not called any more. */
import type { Vitest } from "@effect/vitest"
import {
  canBeRedelivered,
  comesForward,
  deliveredSinceAfter,
  disabledReasons,
  eventTypes,
  forwardAfterFailure,
  holdsAllEndpoints,
  isMessageEvent,
  isReportedTo,
  isRunning,
  isSilent,
  visibleModes,
  webhookEventTypes,
} from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { compare, draw, iso, toMillisSql } from "./compare.ts"

/** An endpoint as its row has it and as the core does. */
const anEndpoint = Effect.gen(function* () {
  const disabledReason = yield* draw.maybe(draw.from(disabledReasons))
  const removedAt = yield* draw.maybe(draw.time)
  return {
    row: { disabled_reason: disabledReason, removed_at: iso(removedAt) },
    standing: { endpoint: { disabledReason }, removed: removedAt !== null },
  }
})

export const endpointRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("whether an endpoint runs", () =>
    compare("running endpoints", {
      rows: { e: "webhook_endpoints" },
      sql: "is_running(e)",
      draw: Effect.map(anEndpoint, ({ row, standing }) => ({
        facts: { e: row },
        core: isRunning(standing),
      })),
    }),
  )

  it.effect("whether as many endpoints of a workspace run as may", () =>
    compare("limits of endpoints", {
      rows: { q: "(workspace bigint, most integer)" },
      inserted: ["webhook_endpoints"],
      sql: "holds_all_endpoints(q.workspace, q.most)",
      draw: Effect.gen(function* () {
        const endpoints = yield* Effect.replicateEffect(
          Effect.all({ id: draw.id, isOwn: draw.flag, endpoint: anEndpoint }),
          yield* draw.below(12),
        )
        const workspaceId = yield* draw.id
        const most = 1 + (yield* draw.below(3))
        const own = endpoints.filter(({ isOwn }) => isOwn)
        return {
          facts: {
            q: { workspace: workspaceId, most },
            webhook_endpoints: endpoints.map(({ endpoint, id, isOwn }) => ({
              ...endpoint.row,
              id,
              workspace_id: isOwn ? workspaceId : -workspaceId,
              mode: "live",
              url: "",
              description: "",
              events: [],
              secret_salt: "",
              secret_last4: "",
              first_secret_last4: "",
              created_at: iso(noon),
            })),
          },
          core: holdsAllEndpoints(
            own.map(({ endpoint }) => endpoint.standing),
            most,
          ),
        }
      }),
    }),
  )

  it.effect("whether an event can be delivered once more", () =>
    compare("redeliveries", {
      rows: { o: "outbox", e: "webhook_endpoints" },
      sql: "json_build_array(can_be_redelivered(o, e), is_message_event(o.type))",
      draw: Effect.gen(function* () {
        const anEnd = Effect.all({
          // Mostly of one workspace, so that the other facts count.
          workspaceId: Effect.map(draw.from([1, 1, 1, 2]), (id) => id as WorkspaceId),
          mode: draw.from(visibleModes("test")),
          createdAt: draw.time,
        })
        const [event, endpoint] = [yield* anEnd, yield* anEnd]
        const type = yield* draw.from(yield* draw.from([webhookEventTypes, eventTypes]))
        const events = yield* draw.from([eventTypes, webhookEventTypes, ["message.sent"] as const])
        const row = ({ createdAt, mode, workspaceId }: typeof event) => ({
          workspace_id: workspaceId,
          mode,
          created_at: iso(createdAt),
        })
        return {
          facts: { o: { ...row(event), type }, e: { ...row(endpoint), events } },
          core: [
            canBeRedelivered({ ...event, type }, { ...endpoint, events }),
            isMessageEvent(type),
          ],
        }
      }),
    }),
  )

  it.effect("when an endpoint was last delivered to, and whether it stops", () =>
    compare("silent endpoints", {
      rows: {
        l: "webhook_lanes",
        q: "(since timestamptz, ids bigint[], times timestamptz[], errors text[])",
      },
      sql: `(
        select json_build_array(
          ${toMillisSql("delivered_since_after(l.delivered_since, d.at)")},
          is_silent(delivered_since_after(l.delivered_since, d.at), q.since)
        )
        from (
          select max(r.attempted_at) filter (where r.delivery_id > 0 and r.error is null)
          from unnest(q.ids, q.times, q.errors) r (delivery_id, attempted_at, error)
        ) d (at)
      )`,
      draw: Effect.gen(function* () {
        const attempts = yield* Effect.replicateEffect(
          Effect.all({
            attemptedAt: draw.time,
            error: draw.from([null, "timeout", "dns"] as const),
            isHeld: draw.from([true, true, false]),
          }),
          yield* draw.below(4),
        )
        const [before, since] = [yield* draw.time, yield* draw.time]
        const after = deliveredSinceAfter(
          before,
          attempts.filter(({ isHeld }) => isHeld),
        )
        return {
          facts: {
            l: { delivered_since: iso(before) },
            q: {
              since: iso(since),
              // 0 where the attempt's lease holds no more.
              ids: attempts.map(({ isHeld }, index) => (isHeld ? index + 1 : 0)),
              times: attempts.map(({ attemptedAt }) => iso(attemptedAt)),
              errors: attempts.map(({ error }) => error),
            },
          },
          core: [after, isSilent(after, since)],
        }
      }),
    }),
  )

  it.effect("whether a delivery comes forward, and whether it may after a failure", () =>
    compare("deliveries that come forward", {
      rows: { d: "webhook_deliveries", q: "(delivered_at timestamptz)" },
      sql: `json_build_array(
        coalesce(comes_forward(d, q.delivered_at), false), forward_after_failure(d.is_forward)
      )`,
      draw: Effect.gen(function* () {
        const isForward = yield* draw.maybe(draw.from([true, false]))
        const [dueAt, deliveredAt] = [yield* draw.time, yield* draw.time]
        return {
          facts: {
            d: { is_forward: isForward, due_at: iso(dueAt) },
            q: { delivered_at: iso(deliveredAt) },
          },
          core: [comesForward({ dueAt, isForward }, deliveredAt), forwardAfterFailure(isForward)],
        }
      }),
    }),
  )

  it.effect("whether a number's connection is reported to an address", () =>
    compare("reported connections", {
      rows: { n: "numbers", q: "(url text)" },
      sql: "coalesce(is_reported_to(n, q.url), false)",
      draw: Effect.gen(function* () {
        const callbackUrl = yield* draw.maybe(draw.from(["https://a.test/", "https://b.test/"]))
        const removedAt = yield* draw.maybe(draw.time)
        const url = yield* draw.from(["https://a.test/", "https://b.test/"])
        return {
          facts: {
            n: { callback_url: callbackUrl, removed_at: iso(removedAt) },
            q: { url },
          },
          core: isReportedTo({ callbackUrl, removed: removedAt !== null }, { url }),
        }
      }),
    }),
  )
}
