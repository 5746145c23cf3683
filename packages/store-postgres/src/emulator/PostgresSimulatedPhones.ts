/** The other side of the simulated wire. */
import { pageOf } from "@messaging-service/core"
import type { MessageId, NumberId, Phone, TransportId } from "@messaging-service/core"
import { SimulatedPhones } from "@messaging-service/emulator"
import type { Behaviour, SentCopy, SentMedia } from "@messaging-service/emulator"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import {
  bigint,
  boolean,
  idBefore,
  instant,
  integer,
  jsonb,
  text,
  texts,
} from "../database/parameters.ts"

interface BehaviourRow {
  readonly send: string
  readonly error_message: string | null
  readonly latency_millis: bigint
  readonly groups: ReadonlyArray<string>
}

interface CopyRow {
  readonly id: bigint
  readonly transport_id: string
  readonly message_id: bigint | null
  readonly number_id: bigint
  readonly recipient: string
  readonly text: string
  readonly media: SentMedia | null
  readonly at: Date
}

const getBehaviour = `
select b.send, b.error_message, b.latency_millis, b.groups
from simulated_behaviours b
where b.number_id = $1`

const setBehaviour = `
insert into simulated_behaviours (number_id, send, error_message, latency_millis, groups)
values ($1, $2, $3, $4, $5)
on conflict (number_id) do update
set send = excluded.send,
  error_message = excluded.error_message,
  latency_millis = excluded.latency_millis,
  groups = excluded.groups`

const getRegistered = "select phones from simulated_registered"

const setRegistered = `
insert into simulated_registered (phones)
values ($1)
on conflict (singleton) do update
set phones = excluded.phones`

const forgetRegistered = "delete from simulated_registered"

/** The copy and the behaviour that follows it, in one commit; $7 says whether one follows. */
const receiveCopy = `
with followed as (
  insert into simulated_behaviours (number_id, send, error_message, latency_millis, groups)
  select $1, $8, $9, $10, $11
  where $7
  on conflict (number_id) do update
  set send = excluded.send,
    error_message = excluded.error_message,
    latency_millis = excluded.latency_millis,
    groups = excluded.groups
)
insert into simulated_sent (number_id, transport_id, recipient, text, media, at)
values ($1, $2, $3, $4, $5, $6)
on conflict (number_id, transport_id) do nothing
returning id`

/** Index simulated_sent_by_number for one number, the primary key for all. */
const listSent = (narrowed: boolean) => `
select
  s.id, s.transport_id, m.id as message_id, s.number_id, s.recipient, s.text, s.media, s.at
from simulated_sent s
left join messages m on m.transport_id = s.transport_id
where s.id < $1
  ${narrowed ? "and s.number_id = $3" : ""}
order by s.id desc
limit $2`

const behaviourParameters = (behaviour: Behaviour | null) => [
  text(behaviour?.send ?? null),
  text(behaviour?.errorMessage ?? null),
  bigint(behaviour?.latencyMillis ?? null),
  texts(behaviour?.groups ?? []),
]

export const layerSimulatedPhones = Layer.effect(
  SimulatedPhones,
  Effect.gen(function* () {
    const database = yield* Database
    return SimulatedPhones.of({
      behaviour: (numberId) =>
        Effect.map(
          database.query<BehaviourRow>("simulated.behaviour", getBehaviour, [bigint(numberId)]),
          ([row]) => (row === undefined ? null : toBehaviour(row)),
        ),
      setBehaviour: (numberId, behaviour) =>
        Effect.asVoid(
          database.query("simulated.setBehaviour", setBehaviour, [
            bigint(numberId),
            ...behaviourParameters(behaviour),
          ]),
        ),
      registered: Effect.map(
        database.query<{ readonly phones: ReadonlyArray<string> }>(
          "simulated.registered",
          getRegistered,
        ),
        ([row]) => (row === undefined ? null : (row.phones as ReadonlyArray<Phone>)),
      ),
      setRegistered: (phones) =>
        Effect.asVoid(
          phones === null
            ? database.query("simulated.forgetRegistered", forgetRegistered)
            : database.query("simulated.setRegistered", setRegistered, [texts(phones)]),
        ),
      receive: (copy, then) =>
        Effect.map(
          database.query("simulated.receive", receiveCopy, [
            bigint(copy.numberId),
            text(copy.transportId),
            text(copy.to),
            text(copy.text),
            jsonb(copy.media),
            instant(copy.at),
            boolean(then !== null),
            ...behaviourParameters(then),
          ]),
          (rows) => rows.length > 0,
        ),
      sent: (numberId, { before, limit }) =>
        Effect.map(
          database.list<CopyRow>("phones", "simulated.sent", listSent(numberId !== null), [
            idBefore(before),
            integer(limit + 1),
            ...(numberId === null ? [] : [bigint(numberId)]),
          ]),
          (rows) => pageOf(rows.map(toCopy), limit),
        ),
    })
  }),
)

const toBehaviour = (row: BehaviourRow): Behaviour => ({
  send: row.send as Behaviour["send"],
  errorMessage: row.error_message,
  latencyMillis: Number(row.latency_millis),
  groups: row.groups,
})

const toCopy = (row: CopyRow): SentCopy => ({
  id: Number(row.id),
  transportId: row.transport_id as TransportId,
  messageId: row.message_id === null ? null : (Number(row.message_id) as MessageId),
  numberId: Number(row.number_id) as NumberId,
  to: row.recipient,
  text: row.text,
  media: row.media,
  at: row.at.getTime(),
})
