/** Groups: their list, sender keys, receipts of each member, and retries. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { awaitAck, linked, sender, serverWith } from "./Client.ts"

const members = ["+4915550000002", "+4915550000003"]

const groupServer = (addressing: "pn" | "lid") =>
  Effect.gen(function* () {
    const participants = [sender, ...members]
    const server = yield* serverWith(Object.fromEntries(participants.map((each) => [each, {}])))
    const group = yield* server.group({ subject: " Team", participants, addressing })
    const client = yield* linked(server, sender)
    const send = (messageId: string) =>
      Effect.promise(() => client.socket.sendMessage(group, { text: messageId }, { messageId }))
    return { server, client, group, send }
  })

for (const addressing of ["pn", "lid"] as const) {
  it.effect(`a message to a group with ${addressing} addresses is read by every member`, () =>
    Effect.gen(function* () {
      const { client, group, send, server } = yield* groupServer(addressing)
      const groups = yield* Effect.promise(() => client.socket.groupFetchAllParticipating())
      assert.strictEqual(groups[group]?.subject, " Team")
      assert.strictEqual(groups[group]?.participants.length, 3)
      for (const id of ["3EB0AB01", "3EB0AB02"]) {
        yield* send(id)
        yield* awaitAck(client, id)
      }
      for (const number of [sender, ...members]) {
        assert.deepStrictEqual(
          server.decrypted(number).map(({ chat, text }) => ({ chat, text })),
          [
            { chat: group, text: "3EB0AB01" },
            { chat: group, text: "3EB0AB02" },
          ],
        )
      }
    }),
  )
}

it.effect("each member's receipt names the member", () =>
  Effect.gen(function* () {
    const { client, group, send, server } = yield* groupServer("lid")
    yield* send("3EB0AC01")
    yield* awaitAck(client, "3EB0AC01")
    for (const by of members) {
      yield* server.receipt({ by, ids: ["3EB0AC01"], type: "read" })
      yield* server.receipt({ by, ids: ["3EB0AC01"], type: "read" })
    }
    yield* client.until(() => (client.receipts.length === 4 ? true : undefined))
    assert.deepStrictEqual(
      client.receipts.map(({ attrs }) => [attrs["from"], attrs["participant"]]),
      [2, 2, 3, 3].map((last) => [group, `90491555000000${last}@lid`]),
    )
  }),
)

it.effect("a member that lost its keys requests a retry and reads it", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* groupServer("pn")
    yield* send("3EB0AD01")
    yield* awaitAck(client, "3EB0AD01")
    yield* server.loseSessions(members[0]!)
    yield* send("3EB0AD02")
    yield* server.until(() => server.copies(members[0]!) === 2)
    assert.strictEqual(server.copies(members[1]!), 2)
  }),
)

it.effect("a number cannot see groups that it is not in", () =>
  Effect.gen(function* () {
    const { client, server } = yield* groupServer("pn")
    const other = yield* server.group({ subject: "Others", participants: members })
    const groups = yield* Effect.promise(() => client.socket.groupFetchAllParticipating())
    assert.strictEqual(Object.keys(groups).length, 1)
    const refused = yield* Effect.flip(Effect.tryPromise(() => client.socket.groupMetadata(other)))
    assert.include(String(refused.cause), "forbidden")
  }),
)
