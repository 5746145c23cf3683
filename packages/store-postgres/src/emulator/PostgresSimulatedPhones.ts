/** `SimulatedPhones` on PostgreSQL: how each simulated phone behaves, and what was sent to it. */
import { sqlFiles } from "../sql.generated.ts"
import type { Phone } from "@messaging-service/core"
import { SimulatedPhones } from "@messaging-service/emulator"
import type { Behaviour, SentCopy } from "@messaging-service/emulator"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import {
  bigint,
  boolean,
  columnsOf,
  decoded,
  newestFirst,
  paging,
  instant,
  jsonb,
  listed,
  selected,
  text,
  texts,
  within,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { given, joined, part, single, statement } from "../database/Statement.ts"

const behaviourFields = {
  send: { send: text((behaviour) => behaviour.send) },
  errorMessage: { error_message: text((behaviour) => behaviour.errorMessage) },
  latencyMillis: { latency_millis: bigint((behaviour) => behaviour.latencyMillis) },
  groups: { groups: texts((behaviour) => behaviour.groups) },
} satisfies FieldsOf<Behaviour>

const behaviourColumns = columnsOf(behaviourFields)
const toBehaviour = decoded<Behaviour>(behaviourFields)

/** What is written of a copy. */
const writtenFields = {
  transportId: { transport_id: text((copy) => copy.transportId) },
  numberId: { number_id: bigint((copy) => copy.numberId) },
  to: { recipient: text((copy) => copy.to) },
  text: { text: text((copy) => copy.text) },
  media: { media: jsonb((copy) => copy.media) },
  at: { at: instant((copy) => copy.at) },
} satisfies FieldsOf<NewCopy>

const writtenColumns = columnsOf(writtenFields)

type NewCopy = Omit<SentCopy, "id" | "messageId">

const toCopy = decoded<SentCopy>({
  id: { id: bigint((copy) => copy.id) },
  messageId: { message_id: bigint((copy) => copy.messageId) },
  ...writtenFields,
})

const getBehaviour = statement("simulated.behaviour", given({ numberId: bigint }))`
select ${selected(behaviourColumns, "b")}
from simulated_behaviours b
where b.number_id = $numberId`

const replaceBehaviour = `on conflict (number_id) do update
  set ${listed(behaviourColumns, (name) => `${name} = excluded.${name}`)}`

const setBehaviour = statement(
  "simulated.setBehaviour",
  joined(given({ numberId: bigint }), single(behaviourColumns)),
)`
insert into simulated_behaviours (number_id, ${listed(behaviourColumns)})
values ($numberId, ${single(behaviourColumns).placeholders})
${replaceBehaviour}`

const getRegistered = statement(
  "simulated.registered",
  given({}),
)("select phones from simulated_registered")

const setRegistered = statement("simulated.setRegistered", given({ phones: texts }))`
insert into simulated_registered (phones)
values ($phones)
on conflict (singleton) do update
set phones = excluded.phones`

const forgetRegistered = statement(
  "simulated.forgetRegistered",
  given({}),
)("delete from simulated_registered")

interface Received {
  readonly copy: NewCopy
  readonly then: Behaviour | null
}

const written = part("copy", single(writtenColumns))
const followed = single(within((received: Received) => received.then, behaviourColumns))

const receiveCopy = statement(
  "simulated.receive",
  joined(written, single({ follows: boolean(({ then }: Received) => then !== null) }), followed),
)(sqlFiles["statements/emulator/receive-copy.sql"])

/** Index simulated_sent_by_number for one number, the primary key for all. */
const listSent = (ofNumber: string) =>
  statement("simulated.sent", given({ ...paging, numberId: bigint }))`
select s.id, m.id as message_id, ${selected(writtenColumns, "s")}
from simulated_sent s
left join messages m on m.transport_id = s.transport_id and m.number_id = s.number_id
where ${ofNumber}${newestFirst("s")}`

const sentOfAll = listSent("")
const sentOfNumber = listSent("s.number_id = $numberId\n  and ")

export const layerSimulatedPhones = Layer.effect(
  SimulatedPhones,
  Effect.gen(function* () {
    const database = yield* Database
    return SimulatedPhones.of({
      behaviour: (numberId) => getBehaviour.first(database, { numberId }, toBehaviour),
      setBehaviour: (numberId, behaviour) => setBehaviour.run(database, { ...behaviour, numberId }),
      registered: getRegistered.value<ReadonlyArray<Phone>>(database, {}),
      setRegistered: (phones) =>
        phones === null
          ? forgetRegistered.run(database, {})
          : setRegistered.run(database, { phones }),
      receive: (copy, then) => receiveCopy.any(database, { copy, then }),
      sent: (numberId, page) =>
        (numberId === null ? sentOfAll : sentOfNumber).page(
          database,
          "phones",
          { ...page, numberId },
          toCopy,
        ),
    })
  }),
)
