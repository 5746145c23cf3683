/** The rules of received messages: which are kept, what tells them apart, and who is one person. */
import type { PgConnection } from "@effect/sql-pg"
import type { Vitest } from "@effect/vitest"
import {
  isFetchedOnArrival,
  isKept,
  isRecent,
  isRecovered,
  mergedPerson,
  newFileState,
  personAddresses,
  receivedMarks,
  unknownPerson,
  withoutQuote,
} from "@messaging-service/core"
import type { Person } from "@messaging-service/core"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { compare, draw, iso } from "./compare.ts"

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

/** With what JSON writes in other characters. */
const aTextToEscape = draw.from(["1", 'a"b\\c', "é\u2028\u007f", "\u0001\n\t/", "🙂", ""])

const anAddress = draw.maybe(draw.from(["1", "2", "3"]))

const aPerson = Effect.all({
  phone: anAddress,
  lid: anAddress,
  userId: anAddress,
  username: anAddress,
  name: anAddress,
})

const toRow = ({ userId, ...person }: Person) => ({ ...person, user_id: userId })

export const receivedRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("whether a workspace keeps what is written in a group", () =>
    compare("kept messages", {
      rows: { q: "(group_id text, groups boolean)" },
      sql: "is_kept(q.group_id, q.groups)",
      draw: Effect.gen(function* () {
        const remoteId = yield* draw.maybe(draw.from(["g1"]))
        const groups = yield* draw.flag
        const group = remoteId === null ? null : { remoteId, name: null }
        return {
          facts: { q: { group_id: remoteId, groups } },
          core: isKept({ group }, { groups }),
        }
      }),
    }),
  )

  it.effect("what happens to a new message's file", () =>
    compare("new files", {
      rows: {
        q: "(media text, most bigint, size bigint, has_source boolean, received timestamptz, now timestamptz, recent bigint)",
      },
      sql: `(
        select json_build_array(state, is_fetched_on_arrival(state, q.media, q.recent), is_recent(q.received, q.now))
        from new_file_state(q.media, q.most, q.size, q.has_source) state
      )`,
      draw: Effect.gen(function* () {
        const media = yield* draw.from(["on_arrival", "on_arrival", "on_demand", "off"] as const)
        const maxFileBytes = yield* draw.below(4)
        const size = yield* draw.maybe(draw.below(4))
        const hasSource = yield* draw.from([true, true, false])
        const now = yield* draw.time
        const received = now - (yield* draw.from([0, 59_999, 60_000, 60_001]))
        const recent = yield* draw.from([0, 599, 600, 601])
        const state = newFileState({ media, maxFileBytes }, size, hasSource)
        return {
          facts: {
            q: {
              media,
              most: maxFileBytes,
              size,
              has_source: hasSource,
              received: iso(received),
              now: iso(now),
              recent,
            },
          },
          core: [state, isFetchedOnArrival(state, { media }, recent), isRecent(received, now)],
        }
      }),
    }),
  )

  it.effect("what tells a received message apart", () =>
    compare("marks of messages", {
      rows: {
        q: "(mode text, from_me boolean, group_id text, remote_id text, phone text, lid text, user_id text)",
      },
      sql: "marks_of_received(q.mode, q.from_me, q.group_id, q.remote_id, q.phone, q.lid, q.user_id)",
      draw: Effect.gen(function* () {
        const mode = yield* draw.from(["live", "test"] as const)
        const fromMe = yield* draw.flag
        const groupId = yield* draw.maybe(aTextToEscape)
        const remoteId = yield* aTextToEscape
        const address = draw.maybe(aTextToEscape)
        const person: Person = {
          ...unknownPerson,
          phone: yield* address,
          lid: yield* address,
          userId: yield* address,
        }
        const group = groupId === null ? null : { remoteId: groupId, name: null }
        return {
          facts: {
            q: { mode, from_me: fromMe, group_id: groupId, remote_id: remoteId, ...toRow(person) },
          },
          core: receivedMarks({ fromMe, group, mode, remoteId }, person).map(sha256),
        }
      }),
    }),
  )

  it.effect("which message a copy is taken for", () =>
    compare("recovered messages", {
      rows: { r: "received_messages" },
      sql: "is_recovered(r)",
      draw: Effect.gen(function* () {
        const kind = yield* draw.from(["unreadable", "text", "unsupported"] as const)
        const revokedAt = yield* draw.maybe(draw.time)
        return {
          facts: { r: { kind, revoked_at: iso(revokedAt) } },
          core: isRecovered({ kind, revokedAt }),
        }
      }),
    }),
  )

  it.effect("what the event of a message says once what that quotes was erased", () =>
    compare("quotes of erased messages", {
      rows: { q: "(body text)" },
      sql: "without_quote(q.body)",
      draw: Effect.gen(function* () {
        const [text, quoted, emoji] = yield* Effect.all([
          aTextToEscape,
          aTextToEscape,
          aTextToEscape,
        ])
        const reply_to = yield* draw.maybe(
          draw.from([{ received_message_id: 1, message_id: null, text: quoted }]),
        )
        const received_message = { id: 2, text: `"reply_to":null${text}`, reply_to, reactions: [] }
        const reaction = (yield* draw.flag) ? { reaction: { emoji } } : {}
        const body = JSON.stringify({ id: "evt", data: { ...reaction, received_message } })
        return { facts: { q: { body } }, core: withoutQuote(body) }
      }),
    }),
  )

  it.effect("which known people are one, and what is known of them", () =>
    compare("people who are one", {
      rows: {
        q: "(number_id bigint, phone text, lid text, user_id text, username text, name text)",
      },
      inserted: ["people"],
      sql: `(
        select jsonb_build_array(found.phone, found.lid, found.user_id, found.username, found.name)
        from find_person(q.number_id, q.phone, q.lid, q.user_id, q.username, q.name) found
      )`,
      draw: Effect.gen(function* () {
        const numberId = yield* draw.id
        const known: Array<Person & { readonly id: number }> = []
        for (let count = yield* draw.below(4); count > 0; count--) {
          // Above those that the database gives out.
          const person = { ...(yield* aPerson), id: 1_000_000 + (yield* draw.id) }
          const meets = (other: Person): boolean =>
            personAddresses.some((name) => other[name] !== null && other[name] === person[name])
          if (!known.some(meets)) known.push(person)
        }
        const input = yield* aPerson
        const [first, ...others] = known.filter((one) =>
          personAddresses.some((name) => one[name] !== null && one[name] === input[name]),
        )
        const before = others.reduce<Person>(
          (one, other) => mergedPerson(other, one),
          first ?? unknownPerson,
        )
        const { lid, name, phone, userId, username } = mergedPerson(before, input)
        return {
          facts: {
            q: { number_id: numberId, ...toRow(input) },
            people: known.map((one) => ({ ...toRow(one), number_id: numberId, in_use: true })),
          },
          core: [phone, lid, userId, username, name],
        }
      }),
    }),
  )
}
