/** `LinkingStore` in memory. The few numbers that are being connected are looked through each time. */
import { isCrowded, isLeased, takeShares } from "@messaging-service/core/ports"
import type {
  BrokenLinkingGuard,
  Crowded,
  IdempotencyClaim,
  LinkingAttempt,
  LinkingId,
  LinkingOutcome,
  LinkingStore,
  NewAttempt,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import { report } from "./deliveryQueue.ts"
import { finishClaim, isHeld } from "./idempotency.ts"
import { openLane, reschedule } from "./Lane.ts"
import { laneIn, laneOf, workspaceOf } from "./World.ts"
import type { Lane, LinkingRow, World } from "./World.ts"

const broken = (guard: BrokenLinkingGuard): LinkingOutcome => ({ _tag: "Broken", guard })

const isLost = (world: World, claim: IdempotencyClaim | null): boolean =>
  claim !== null && !isHeld(world, claim)

/** The attempt begins; its number is connecting already. */
const begin = (
  world: World,
  lane: Lane,
  { callbackUrl, ...attempt }: NewAttempt,
  replaced: LinkingAttempt["replaced"],
  claim: IdempotencyClaim | null,
): LinkingOutcome => {
  const { number } = lane
  lane.callbackUrl = callbackUrl
  world.linkings.set(number.id, {
    attempt: { ...attempt, numberId: number.id, replaced },
    lease: 0,
    leaseUntil: null,
  })
  if (claim !== null) finishClaim(world, claim, [number.id])
  return { _tag: "Begun", number }
}

const rowOf = (world: World, id: LinkingId): LinkingRow | undefined =>
  [...world.linkings.values()].find(({ attempt }) => attempt.id === id)

const heldRow = (world: World, id: LinkingId, lease: number): LinkingRow | undefined => {
  const row = rowOf(world, id)
  return row !== undefined && row.leaseUntil !== null && row.lease === lease ? row : undefined
}

const byEnd = (a: LinkingRow, b: LinkingRow): number =>
  a.attempt.endsAt - b.attempt.endsAt || a.attempt.numberId - b.attempt.numberId

/** Attempts with the earliest end first. */
const rowsWhere = (
  world: World,
  limit: number,
  isWanted: (row: LinkingRow) => boolean,
): ReadonlyArray<LinkingRow> =>
  [...world.linkings.values()].filter(isWanted).toSorted(byEnd).slice(0, limit)

/** Whether another number has that phone: for a replaced one it is asked for, but not had yet. */
const hasPhone = (world: World, phone: string, linked: SendingNumber) => (lane: Lane) =>
  !lane.removed &&
  lane.number.id !== linked.id &&
  phoneWithoutLink(world, lane) === phone &&
  lane.number.platform === linked.platform &&
  lane.number.mode === linked.mode

/** The phone that the number has when its attempt, if there is one, comes to nothing. */
export const phoneWithoutLink = (world: World, { number }: Lane): string | null => {
  const replaced = world.linkings.get(number.id)?.attempt.replaced ?? null
  return replaced === null ? number.phone : replaced.phone
}

/** The attempt ends, and its number is as the link left it. */
const end = (world: World, lane: Lane, change: Pick<SendingNumber, "phone" | "status">) => {
  world.linkings.delete(lane.number.id)
  lane.number = { ...lane.number, ...change }
  reschedule(world, lane)
  return lane.number
}

export const workspaceOfAttempt = (
  world: World,
  { attempt }: LinkingRow,
): WorkspaceId | undefined => laneOf(world, attempt.numberId)?.number.workspaceId

/** When there is something to do about an attempt; with its crowded workspace it waits for its end. */
const dueAt = (world: World, crowded: Crowded, row: LinkingRow): number => {
  const { attempt, leaseUntil } = row
  const { endsAt, linksAt, requestedAt } = attempt
  if (attempt.mode === "test") return Math.min(endsAt, linksAt ?? endsAt)
  if (leaseUntil !== null) return Math.min(endsAt, leaseUntil)
  const workspaceId = workspaceOfAttempt(world, row)
  return workspaceId !== undefined && isCrowded(crowded, workspaceId) ? endsAt : requestedAt
}

export const nextLinkingDue = (world: World, crowded: Crowded): number | null => {
  const moments = Array.from(world.linkings.values(), (row) => dueAt(world, crowded, row))
  return moments.length === 0 ? null : Math.min(...moments)
}

export const linkingStore = (world: World): typeof LinkingStore.Service => ({
  add: (number, attempt, limit, claim) =>
    Effect.sync(() => {
      if (isLost(world, claim)) return broken("idempotency")
      const owner = workspaceOf(world, number.workspaceId)
      if (owner === undefined) return broken("number")
      const held = owner.lanes.filter(({ removed }) => !removed).length
      if (limit !== null && held >= limit) return broken("limit")
      const lane = openLane(world, owner, { ...number, status: "connecting" })
      owner.lanes.push(lane)
      return begin(world, lane, attempt, null, claim)
    }),

  reconnect: (workspaceId, numberId, attempt, claim) =>
    Effect.sync(() => {
      if (isLost(world, claim)) return broken("idempotency")
      const lane = laneIn(world, workspaceId, numberId)
      if (lane?.number.status !== "disconnected") return broken("number")
      const replaced = attempt.phone === null ? null : { phone: lane.number.phone }
      lane.number = {
        ...lane.number,
        status: "connecting",
        loginMethod: attempt.method,
        phone: attempt.phone ?? lane.number.phone,
      }
      return begin(world, lane, attempt, replaced, claim)
    }),

  get: (numberId) => Effect.sync(() => world.linkings.get(numberId)?.attempt ?? null),

  claim: ({ leaseUntil, limit, now, ...shares }) =>
    Effect.sync(() => {
      const free = rowsWhere(
        world,
        Infinity,
        ({ attempt, leaseUntil: until }) =>
          attempt.mode === "live" && attempt.endsAt > now && !isLeased(until, now),
      ).flatMap((row) => {
        const workspaceId = workspaceOfAttempt(world, row)
        return workspaceId === undefined ? [] : { row, workspaceId }
      })
      return takeShares(free, (one) => one.workspaceId, shares, limit).map(
        ({ row, workspaceId }) => {
          row.lease++
          row.leaseUntil = leaseUntil
          return { attempt: row.attempt, workspaceId, lease: row.lease }
        },
      )
    }),

  renew: (held, leaseUntil) =>
    Effect.sync(() => {
      const still = new Set<LinkingId>()
      for (const { id, lease } of held) {
        const row = heldRow(world, id, lease)
        if (row === undefined) continue
        row.leaseUntil = leaseUntil
        still.add(id)
      }
      return still
    }),

  show: (id, lease, view, callback = null) =>
    Effect.sync(() => {
      const row = heldRow(world, id, lease)
      if (row === undefined) return false
      const lane = laneOf(world, row.attempt.numberId)
      if (lane !== undefined && row.attempt.qrText !== view.qrText) report(world, lane, callback)
      row.attempt = { ...row.attempt, ...view }
      return true
    }),

  taken: (id, now) =>
    Effect.sync(() => {
      const row = rowOf(world, id)
      if (row === undefined || row.attempt.endsAt <= now) return false
      row.attempt = { ...row.attempt, linking: true }
      return true
    }),

  linked: (id, phone, now, reports = null) =>
    Effect.sync((): SendingNumber | null => {
      const row = rowOf(world, id)
      const lane = row === undefined ? undefined : laneOf(world, row.attempt.numberId)
      if (row === undefined || lane === undefined || row.attempt.endsAt <= now) return null
      const { number } = lane
      if (!lane.workspace.lanes.some(hasPhone(world, phone, number))) {
        report(world, lane, reports?.connected ?? null)
        return end(world, lane, { status: "connected", phone })
      }
      report(world, lane, reports?.disconnected ?? null)
      const before = phoneWithoutLink(world, lane)
      const kept = before === phone ? null : before
      return end(world, lane, { status: "disconnected", phone: kept })
    }),

  giveUp: (id, callback = null) =>
    Effect.sync(() => {
      const row = rowOf(world, id)
      const lane = row === undefined ? undefined : laneOf(world, row.attempt.numberId)
      if (lane === undefined) return false
      report(world, lane, callback)
      end(world, lane, { status: "disconnected", phone: phoneWithoutLink(world, lane) })
      return true
    }),

  lapsed: (now, limit) =>
    Effect.sync(() =>
      rowsWhere(world, limit, ({ attempt }) => attempt.endsAt <= now).map((row) => row.attempt),
    ),

  dueTest: (now, limit) =>
    Effect.sync(() =>
      rowsWhere(
        world,
        limit,
        ({ attempt }) => attempt.linksAt !== null && attempt.linksAt <= now && attempt.endsAt > now,
      ).map((row) => row.attempt),
    ),
})
