/** `WorkStatus` in memory: the heads of the collections that the loops work off. */
import type { Work, WorkStatus } from "@messaging-service/core"
import { Effect } from "effect"
import { callingUntil, nextCallbackDue } from "./Callback.ts"
import { nextLinkingDue } from "./linkingStore.ts"
import { claimableAt } from "./numberCheckStore.ts"
import type { World } from "./World.ts"

const nextDue: Readonly<Record<Work, (world: World) => number | null>> = {
  lanes: (world) => world.agenda.first?.at ?? null,
  expiry: (world) => world.expiring.first?.message.expiresAt ?? null,
  test_messages: (world) => world.dueTest.first?.message.dueAt ?? null,
  // Due since ever.
  stranded: (world) => (world.stranded.size > 0 ? 0 : null),
  reminders: (world) => world.dueReminders.first?.reminder.nextRunAt ?? null,
  deliveries: (world) => world.endpointTurns.first?.at ?? null,
  callbacks: nextCallbackDue,
  number_checks: (world) => {
    const moments = [...world.openChecks].flatMap((row) => claimableAt(row) ?? [])
    return moments.length === 0 ? null : Math.min(...moments)
  },
  linking: nextLinkingDue,
}

export const workStatus = (world: World): typeof WorkStatus.Service => ({
  nextDue: (work) => Effect.sync(() => nextDue[work](world)),
  inFlight: (now) =>
    Effect.sync(() =>
      [...world.inFlight].filter(
        (id) => (world.lanes.get(id)?.inFlight?.leaseUntil ?? Number.NEGATIVE_INFINITY) > now,
      ),
    ),
  checking: Effect.sync(() => [
    ...new Set(
      [...world.openChecks]
        .filter((row) => row.leaseUntil !== null && row.check.mode === "live")
        .map((row) => row.check.numberId),
    ),
  ]),
  deliveringUntil: Effect.sync(() => {
    const leases = world.endpoints.rows.flatMap((row) => [...row.inFlight.values()])
    const ends = [...leases.map(({ leaseUntil }) => leaseUntil), callingUntil(world)]
    return ends.reduce<number | null>(
      (latest, end) => (latest === null || (end !== null && end > latest) ? end : latest),
      null,
    )
  }),
})
