/**
 * The core's `Lane.ts` and what it says of expiry, as conditions in SQL. The words of each are the
 * aliases of tables and the placeholder of the present moment.
 */
import type { Owned, Pacing } from "@messaging-service/core"
import { bigint, bigints, columnsOf, integers } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"

/** When a message was planned to leave, held or not. */
export const plannedTime = (message: string): string =>
  `:code.planned_time(${message}.due_at, ${message}.send_at, ${message}.created_at)`

export const toPacing = (places: ReadonlyArray<number | null> | null): Pacing | null => {
  if (places === null) return null
  const [minIntervalMillis, jitterMillis, minute, hour, recipients] = places.map(
    (place) => place ?? null,
  )
  return {
    minIntervalMillis: minIntervalMillis ?? null,
    jitterMillis: jitterMillis ?? null,
    perMinute: minute ?? null,
    perHour: hour ?? null,
    newRecipientsPerDay: recipients ?? null,
  }
}

export const fromPacing = (pacing: Pacing): ReadonlyArray<number | null> => [
  pacing.minIntervalMillis,
  pacing.jitterMillis,
  pacing.perMinute,
  pacing.perHour,
  pacing.newRecipientsPerDay,
]

export const pacingColumn = <M>(of: (one: M) => Pacing | null) =>
  integers((one: M) => {
    const pacing = of(one)
    return pacing === null ? null : fromPacing(pacing)
  })

/** What a claim says of that, as functions and statements take it. */
export const ownedFields = {
  owned: {
    p_of: bigint(({ owned }) => (owned === "all" ? null : owned.of)),
    p_shards: bigints(({ owned }) => (owned === "all" ? null : owned.shards)),
  },
} satisfies FieldsOf<{ readonly owned: Owned }>

export const ownedColumns = columnsOf(ownedFields)
