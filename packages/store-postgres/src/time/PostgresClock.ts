/** The adjustable clock's offset, the same for all processes. */
import { ClockStore } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint } from "../database/parameters.ts"

const readOffset = "select offset_millis from clock"

const raiseOffset = `
insert into clock as present (offset_millis)
values ($1)
on conflict (singleton) do update
set offset_millis = greatest(present.offset_millis, excluded.offset_millis)
returning offset_millis`

interface OffsetRow {
  readonly offset_millis: bigint
}

const toOffset = (rows: ReadonlyArray<OffsetRow>): number => Number(rows[0]?.offset_millis ?? 0)

export const layerClock = Layer.effect(
  ClockStore,
  Effect.map(Database, (database) =>
    ClockStore.of({
      offset: Effect.map(database.query<OffsetRow>("clock.offset", readOffset), toOffset),
      raiseOffset: (to) =>
        Effect.map(
          database.query<OffsetRow>("clock.raiseOffset", raiseOffset, [bigint(to)]),
          toOffset,
        ),
      ping: Effect.asVoid(database.query("ping", "select 1")),
    }),
  ),
)
