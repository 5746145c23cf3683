/** What a claim takes of each workspace, how long a lease lasts, and whom an event is delivered to. */
import type { Vitest } from "@effect/vitest"
import {
  saturatedTenants,
  allotByShare,
  countByWorkspace,
  eventTypes,
  holdsLease,
  inSharedOrder,
  isBesideReceived,
  isLeased,
  isReceivedEvent,
  isSubscribedTo,
  namesReceived,
  visibleModes,
  roundRobin,
  takeFairShares,
  webhookEventTypes,
} from "@messaging-service/core"
import type { Shares, WorkspaceId } from "@messaging-service/core"
import { noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { compare, draw, iso } from "./compare.ts"

const aWorkspaceId = Effect.map(draw.below(3), (id) => (id + 1) as WorkspaceId)

export const shareRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("whether a lease lasts, and who holds it", () =>
    compare("leases", {
      rows: { l: "lanes", q: "(now timestamptz, lease bigint)" },
      sql: `json_build_array(
        coalesce(is_leased(l.lease_until, q.now), false), not is_free(l.lease_until, q.now),
        holds_lease(l.lease, l.lease_until, q.lease)
      )`,
      draw: Effect.gen(function* () {
        const leaseUntil = yield* draw.maybe(draw.time)
        const now = yield* draw.time
        const [latest, lease] = [yield* draw.below(3), yield* draw.below(3)]
        const lasts = isLeased(leaseUntil, now)
        return {
          facts: {
            l: { lease: latest, lease_until: iso(leaseUntil) },
            q: { now: iso(now), lease },
          },
          core: [lasts, lasts, holdsLease({ lease: latest, leaseUntil }, lease)],
        }
      }),
    }),
  )

  it.effect("which lanes a claim takes", () =>
    compare("lanes", {
      cases: 400,
      rows: { q: shareColumns },
      inserted: ["numbers", "lanes", "messages"],
      sql: `(
        select coalesce(json_agg(claimed.number_id order by claimed.number_id), '[]')
        from claim_lanes(
          '${iso(noon + 1000)}', '${iso(noon + 2000)}', q.most, 1000, 1000, 1000000000, q.owned,
          q.p_per_workspace, q.p_workspaces, q.p_held, 1, null
        ) claimed
      )`,
      draw: Effect.map(aClaim, ({ core, workspaces, ...facts }) => ({
        facts: {
          ...facts,
          numbers: workspaces.map(({ id, workspaceId }) => ({
            ...aNumber,
            id,
            workspace_id: workspaceId,
          })),
          lanes: workspaces.map(({ id, workspaceId }, index) => ({
            ...aLane,
            number_id: id,
            workspace_id: workspaceId,
            next_due: iso(noon + index),
            disabled: false,
            has_chats: false,
            no_room: 0,
            front: "-infinity",
            pause_reported: false,
          })),
          messages: workspaces.map(({ id, workspaceId }) => ({
            ...aMessage,
            id,
            number_id: id,
            workspace_id: workspaceId,
          })),
        },
        core,
      })),
    }),
  )

  it.effect("whether events share an endpoint's calls with what people write", () =>
    compare("shared endpoints", {
      rows: { e: "webhook_endpoints", q: "(type text)" },
      sql: `json_build_array(
        is_received_event(q.type), coalesce(names_received(e.events), false),
        coalesce(is_beside_received(e, q.type), false)
      )`,
      draw: Effect.gen(function* () {
        const events = yield* Effect.replicateEffect(
          draw.from(eventTypes),
          1 + (yield* draw.below(4)),
        )
        const type = yield* draw.from([...eventTypes, "ping"])
        return {
          facts: { e: { events }, q: { type } },
          core: [
            isReceivedEvent(type),
            namesReceived({ events }),
            isBesideReceived({ events }, type),
          ],
        }
      }),
    }),
  )

  it.effect("which calls a claim takes", () =>
    compare("rounds", {
      cases: 400,
      rows: { q: "(now timestamptz, lanes bigint[], per_lane integer, most integer)" },
      inserted: ["webhook_lanes", "webhook_deliveries"],
      // The lanes are named as settled, without a result.
      sql: `(
        select coalesce(json_agg(taken.id order by taken.id), '[]')
        from settle_and_claim_deliveries(
          q.lanes, array_fill(0, array[cardinality(q.lanes)]), '{}', '{}', '{}', '{}', '{}', '{}',
          '{}', '{}', '{}', '{}', q.now, q.now + interval '1 minute', q.most, q.per_lane, 0, 0, '{}', '{}'
        ) taken
      )`,
      draw: Effect.gen(function* () {
        const perLane = 1 + (yield* draw.below(7))
        const limit = 1 + (yield* draw.below(16))
        // Earlier than all cases before, so that their lanes are never due.
        const earlier = 1000 * (yield* draw.id)
        const time = Effect.map(draw.time, (at) => at - earlier)
        const now = yield* time
        const lanes = yield* Effect.replicateEffect(
          Effect.gen(function* () {
            const sharesCalls = yield* draw.flag
            const calls = yield* Effect.replicateEffect(
              Effect.all({
                id: draw.id,
                dueAt: time,
                type: sharesCalls
                  ? draw.from(["message.sent", "message.received", "message.reaction"])
                  : Effect.succeed("message.sent"),
                isUnderWay: sharesCalls ? draw.from([true, false, false]) : Effect.succeed(false),
              }),
              yield* draw.below(10),
            )
            return { id: yield* draw.id, calls, sharesCalls }
          }),
          yield* draw.below(6),
        )
        const taken = roundRobin(
          lanes.map(({ calls }) => {
            const [underWay, waiting] = [true, false].map((is) =>
              calls.filter(({ isUnderWay }) => isUnderWay === is),
            )
            return inSharedOrder(
              (waiting ?? []).filter(({ dueAt }) => dueAt <= now).toSorted(byDue),
              underWay ?? [],
              ({ type }) => type,
            ).slice(0, Math.max(0, perLane - (underWay ?? []).length))
          }),
          byDue,
          limit,
        )
        return {
          facts: {
            q: { now: iso(now), lanes: lanes.map(({ id }) => id), most: limit, per_lane: perLane },
            webhook_lanes: lanes.map(({ calls, id, sharesCalls }) => {
              const underWay = calls.filter(({ isUnderWay }) => isUnderWay)
              return {
                ...aCallLane,
                endpoint_id: id,
                gets_received: sharesCalls ? true : null,
                held_ids: underWay.map((call) => call.id),
                held_leases: underWay.map(() => 0),
                held_until: underWay.map(() => iso(now + 1)),
              }
            }),
            webhook_deliveries: lanes.flatMap(({ calls, id, sharesCalls }) =>
              calls.map((call) => ({
                ...aDelivery(id)(call),
                type: call.type,
                beside_received: sharesCalls && call.type === "message.sent" ? true : null,
              })),
            ),
          },
          core: taken.map(({ id }) => id).toSorted((a, b) => a - b),
        }
      }),
    }),
  )

  it.effect("how many callbacks a claim takes of each lane", () =>
    compare("places", {
      cases: 600,
      rows: {
        q: `(
          now timestamptz, lanes bigint[], per_lane integer, most integer,
          p_per_workspace integer, p_workspaces bigint[], p_held integer[]
        )`,
      },
      inserted: ["webhook_lanes", "webhook_deliveries"],
      sql: `callback_places(
        q.now, q.lanes, '{}', q.per_lane, q.most, q.p_per_workspace, q.p_workspaces, q.p_held
      )`,
      draw: somePlaces,
    }),
  )

  it.effect("which workspaces are at their limit", () =>
    compare("saturated workspaces", {
      rows: { q: "(most integer, whole integer)" },
      tables: ["lanes"],
      sql: `(
        select case
          when saturated.list is null then '"all"'
          else to_json(array(select one from unnest(saturated.list) one order by 1))
        end
        from (
          select saturated_tenants(array(select l.workspace_id from lanes l), q.most, q.whole)
        ) saturated (list)
      )`,
      draw: Effect.gen(function* () {
        const holders = yield* Effect.replicateEffect(aWorkspaceId, yield* draw.below(9))
        const [most, whole] = [1 + (yield* draw.below(3)), 1 + (yield* draw.below(9))]
        const saturated = saturatedTenants(countByWorkspace(holders), { whole, share: { most } })
        return {
          facts: { q: { most, whole }, lanes: holders.map((id) => ({ workspace_id: id })) },
          core: saturated === "all" ? saturated : saturated.toSorted((a, b) => a - b),
        }
      }),
    }),
  )

  it.effect("to which endpoints an event is delivered", () =>
    compare("endpoints", {
      rows: { e: "webhook_endpoints", announced: "outbox" },
      sql: "is_told_of(e, announced.workspace_id, announced.mode, announced.type)",
      draw: Effect.gen(function* () {
        const removed = yield* draw.flag
        const endpoint = {
          workspaceId: yield* aWorkspaceId,
          mode: yield* draw.from(visibleModes("test")),
          events: webhookEventTypes.slice(yield* draw.below(4)),
          disabledReason: yield* draw.maybe(draw.from(["key_revoked"] as const)),
        }
        const event = {
          workspaceId: yield* aWorkspaceId,
          mode: yield* draw.from(visibleModes("test")),
          type: yield* draw.from(webhookEventTypes),
        }
        return {
          facts: {
            e: {
              workspace_id: endpoint.workspaceId,
              mode: endpoint.mode,
              events: endpoint.events,
              disabled_reason: endpoint.disabledReason,
              removed_at: iso(removed ? noon : null),
            },
            announced: { workspace_id: event.workspaceId, mode: event.mode, type: event.type },
          },
          core: !removed && isSubscribedTo(endpoint, event),
        }
      }),
    }),
  )
}

interface Call {
  readonly id: number
  readonly dueAt: number
}

/** What a row of `webhook_lanes` must have. */
const aCallLane = {
  delivered_since: iso(noon),
  lease: 0,
  held_ids: [],
  held_leases: [],
  held_until: [],
}

const aDelivery = (lane: number) => (call: Call) => ({
  id: call.id,
  endpoint_id: lane,
  due_at: iso(call.dueAt),
  attempts: 0,
  event_id: "",
  type: "",
  body: "",
})

const byDue = (a: Call, b: Call): number => a.dueAt - b.dueAt || a.id - b.id

const shareColumns = `(
  most integer, p_per_workspace integer, p_workspaces bigint[], p_held integer[], owned bigint[]
)`

/** Candidates in their order, and what the core takes of them. */
const aClaim = Effect.gen(function* () {
  const workspaces = yield* Effect.replicateEffect(
    Effect.all({ id: draw.id, workspaceId: aWorkspaceId }),
    yield* draw.below(9),
  )
  const counts = yield* Effect.replicateEffect(
    Effect.all([aWorkspaceId, draw.below(4)]),
    yield* draw.below(3),
  )
  const shares: Shares = { perWorkspace: 1 + (yield* draw.below(3)), held: new Map(counts) }
  const limit = yield* draw.below(7)
  return {
    q: {
      most: limit,
      p_per_workspace: shares.perWorkspace,
      p_workspaces: [...shares.held.keys()],
      p_held: [...shares.held.values()],
      owned: workspaces.map(({ id }) => id),
    },
    workspaces,
    core: takeFairShares(workspaces, ({ workspaceId }) => workspaceId, shares, limit).map(
      ({ id }) => id,
    ),
  }
})

/** Lanes of callbacks, and how many the core takes of each. */
const somePlaces = Effect.gen(function* () {
  const now = yield* draw.time
  const perLane = 1 + (yield* draw.below(3))
  const { core: _, workspaces, ...facts } = yield* aClaim
  const lanes = yield* Effect.forEach(workspaces, ({ id, workspaceId }) =>
    Effect.gen(function* () {
      const calls = yield* Effect.replicateEffect(
        Effect.all({ id: draw.id, dueAt: draw.time }),
        yield* draw.below(4),
      )
      const due = calls.filter(({ dueAt }) => dueAt <= now).toSorted(byDue)
      return { id: -id, workspaceId, calls, due: due.slice(0, perLane) }
    }),
  )
  const shares = {
    perWorkspace: facts.q.p_per_workspace,
    held: new Map(facts.q.p_workspaces.map((id, index) => [id, facts.q.p_held[index] ?? 0])),
  }
  const give = allotByShare(shares, facts.q.most)
  const places = new Map(
    lanes
      .filter(({ due }) => due.length > 0)
      .toSorted((a, b) => (a.due[0]?.dueAt ?? 0) - (b.due[0]?.dueAt ?? 0) || a.id - b.id)
      .map(({ due, id, workspaceId }) => [id, give(workspaceId, due.length)]),
  )
  return {
    facts: {
      q: { ...facts.q, now: iso(now), lanes: lanes.map(({ id }) => id), per_lane: perLane },
      webhook_lanes: lanes.map(({ id, workspaceId }) => ({
        ...aCallLane,
        endpoint_id: id,
        workspace_id: workspaceId,
      })),
      webhook_deliveries: lanes.flatMap(({ calls, id }) => calls.map(aDelivery(id))),
    },
    core: lanes.length === 0 ? null : lanes.map(({ id }) => places.get(id) ?? 0),
  }
})

const aNumber = {
  label: "",
  platform: "whatsapp",
  status: "connected",
  login_method: "qr",
  mode: "live",
  created_at: iso(noon),
}

const aLane = {
  connected: true,
  orphaned: false,
  interruptions: 0,
  lease: 0,
  quota_bound: 0,
  sent_bound: 0,
  given_back: 0,
  refusals: 0,
  pauses: 0,
}

const aMessage = {
  created_at: iso(noon),
  due_at: iso(noon),
  allowance_taken: false,
  refused: false,
  mode: "live",
  state: "waiting",
  platform: "whatsapp",
  to_kind: "phone",
  text: "",
  transport_id: "",
}
