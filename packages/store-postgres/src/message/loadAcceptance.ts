/**
 * The facts that acceptance decides on, in one round trip, with the claim of the `Idempotency-Key`.
 *
 * The claim comes first, and only a later statement looks for a finished request: a finished one
 * gave its claim up in the same commit, so that a claim that was won while a record exists is given
 * back. A claim that is refused leaves the other facts unread.
 */
import { modesSeenBy } from "@messaging-service/core"
import type {
  AcceptanceFacts,
  AcceptanceQuery,
  ClaimOutcome,
  Contact,
  ContactId,
  ExactQuota,
  MediaFile,
  NumberFacts,
  Phone,
  Plan,
  SendingNumber,
} from "@messaging-service/core"
import { Effect } from "effect"
import { lockPatience } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import { jsonb } from "../database/Fields.ts"
import { given, joinable, kept } from "../database/Statement.ts"

interface LoadedNumber {
  readonly number: SendingNumber
  readonly bound: number
  readonly fullUntil: number | null
  readonly exact: ExactQuota | null
}

interface Loaded {
  readonly claim?: ClaimOutcome
  readonly plan?: Plan | null
  readonly numbers?: ReadonlyArray<LoadedNumber> | null
  readonly contactIds?: Readonly<Record<Phone, ContactId>> | null
  readonly contacts?: ReadonlyArray<Contact> | null
  readonly media?: MediaFile | null
  readonly exact?: ExactQuota | null
}

/** Queries are answered in the order of the list, claims included. */
export const loadStatement = joinable(
  "loadAcceptance",
  given({ queries: jsonb }),
  kept({ facts: jsonb }),
)`
select :code.load_acceptance(asked.query) as facts
from jsonb_array_elements($queries::jsonb) with ordinality asked (query, place)
order by asked.place`

export const load = (database: DatabaseService) => (queries: ReadonlyArray<AcceptanceQuery>) => {
  // Two batches that claim the same keys must take them in the same order, and no lane before.
  const order = queries
    .map((query, index) => ({ index, rank: rankOf(query) }))
    .toSorted((a, b) => (a.rank === b.rank ? 0 : a.rank < b.rank ? -1 : 1))
  return lockPatience.pipe(
    Effect.flatMap((patience) =>
      loadStatement.rows<{ readonly facts: Loaded | null }>(database, {
        queries: order.map(({ index }) => ({ ...toJson(queries[index]), patience })),
      }),
    ),
    Effect.map((rows) => {
      const facts: Array<AcceptanceFacts> = []
      for (const [position, { index }] of order.entries()) {
        const query = queries[index]
        if (query !== undefined) facts[index] = toFacts(query, rows[position]?.facts ?? {})
      }
      return facts
    }),
  )
}

/** Times as text: PostgreSQL would make inexact floating point numbers of milliseconds. */
const iso = (millis: number): string => new Date(millis).toISOString()

const toJson = (query: AcceptanceQuery | undefined) =>
  query && {
    ...query,
    seen: modesSeenBy(query.mode),
    now: iso(query.now),
    exactQuota: query.exactQuota && {
      ...query.exactQuota,
      planned: {
        ...query.exactQuota.planned,
        plannedAt: iso(query.exactQuota.planned.plannedAt),
      },
    },
  }

const rankOf = ({ exactQuota, idempotency }: AcceptanceQuery): string =>
  `${exactQuota === null ? 0 : 1} ${idempotency?.keyId ?? 0} ${idempotency?.key ?? ""}`

const toFacts = (query: AcceptanceQuery, loaded: Loaded): AcceptanceFacts => {
  const numbers = (loaded.numbers ?? []).map(
    ({ bound, exact, fullUntil, number }): NumberFacts => ({
      number,
      quota: {
        bound,
        fullUntil,
        exact: query.exactQuota?.numberId === number.id ? (loaded.exact ?? null) : exact,
      },
    }),
  )
  const contactIds = Object.entries(loaded.contactIds ?? {})
  return {
    claim: query.idempotency === null ? null : (loaded.claim ?? { _tag: "Claimed" }),
    plan: loaded.plan ?? null,
    named: query.from === null ? null : (numbers[0] ?? null),
    connected: query.from === null ? numbers : [],
    contactIdByPhone: new Map(contactIds.map(([phone, id]) => [phone as Phone, id])),
    contacts: new Map((loaded.contacts ?? []).map((contact) => [contact.id, contact])),
    media: loaded.media ?? null,
  }
}
