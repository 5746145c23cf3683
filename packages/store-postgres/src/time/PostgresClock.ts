/** The adjustable clock's offset, the same for all processes. */
import { ClockStore } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint } from "../database/Fields.ts"
import { given, statement } from "../database/Statement.ts"

const readOffset = statement("clock.offset", given({}))("select offset_millis from clock")

const raiseOffset = statement("clock.raiseOffset", given({ to: bigint }))`
insert into clock as present (offset_millis)
values ($to)
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
      offset: Effect.map(readOffset.rows<OffsetRow>(database, {}), toOffset),
      raiseOffset: (to) => Effect.map(raiseOffset.rows<OffsetRow>(database, { to }), toOffset),
      ping: Effect.asVoid(database.query("ping", "select 1")),
    }),
  ),
)
