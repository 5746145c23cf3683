/** What WhatsApp lets a number do: questions, notices, and refused messages. */
import { assert, it } from "@effect/vitest"
import type { NewChatMessageCapInfo } from "baileys"
import { Effect } from "effect"
import { awaitAck, recipient, sender, sending } from "./Client.ts"
import type { Client } from "./Client.ts"

const stranger = "+4915550000003"
const until = 4_000_000_000_000

const isClosed = ({ socket }: Client) => Effect.promise(() => socket.fetchAccountReachoutTimelock())

it.effect("a question finds chats closed until they are open again", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    assert.deepInclude(yield* isClosed(client), { isActive: false })
    yield* server.closeNewChats(sender, { until, reason: "BIZ_QUALITY" }, "none")
    assert.deepStrictEqual(yield* isClosed(client), {
      isActive: true,
      timeEnforcementEnds: new Date(until),
      enforcementType: "BIZ_QUALITY" as never,
    })
    yield* server.openNewChats(sender)
    assert.deepInclude(yield* isClosed(client), { isActive: false })
    yield* server.refuseNext("closed chats", 500)
    const refused = yield* Effect.flip(
      Effect.tryPromise(() => client.socket.fetchAccountReachoutTimelock()),
    )
    assert.include(String(refused.cause), "GraphQL server error")
  }),
)

it.effect("notices come unasked, also without an end", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    const notices = () => client.updates.flatMap(({ reachoutTimeLock }) => reachoutTimeLock ?? [])
    yield* server.closeNewChats(sender, { until })
    yield* client.until(() => (notices().length === 1 ? true : undefined))
    assert.deepStrictEqual(notices()[0]?.timeEnforcementEnds, new Date(until))
    yield* server.closeNewChats(sender, { until }, "without end")
    yield* server.openNewChats(sender)
    yield* client.until(() => (notices().length === 3 ? true : undefined))
    assert.deepStrictEqual(
      notices().map(({ isActive }) => isActive),
      [true, true, false],
    )
    assert.notDeepEqual(notices()[1]?.timeEnforcementEnds, new Date(until))
  }),
)

it.effect("the cap of new chats answers a question, and a change of it is announced", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    const noticed: Array<NewChatMessageCapInfo> = []
    client.socket.ev.on("message-capping.update", (info) => void noticed.push(info))
    const getCap = Effect.promise(() => client.socket.fetchNewChatMessageCap())
    assert.deepInclude(yield* getCap, { total_quota: -1, capping_status: "NONE" as never })
    const cap = { limit: 50, used: 40, from: 1000, until: 2000, status: "FIRST_WARNING" } as const
    yield* server.capNewChats(sender, cap)
    const facts = { total_quota: 50, used_quota: 40, capping_status: "FIRST_WARNING" as never }
    assert.deepInclude(yield* getCap, facts)
    assert.deepInclude(noticed[0], facts)
    yield* server.refuseNext("chat cap", 500)
    yield* Effect.flip(Effect.tryPromise(() => client.socket.fetchNewChatMessageCap()))
  }),
)

it.effect("while new chats are closed, messages to strangers get 463, and others pass", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* sending
    for (const each of [stranger, "+4915550000004"]) yield* server.person(each)
    const group = yield* server.group({ subject: "Team", participants: [sender, stranger] })
    const error = (id: string) => Effect.map(awaitAck(client, id), ({ attrs }) => attrs["error"])
    yield* send("3EB0AF01")
    assert.isUndefined(yield* error("3EB0AF01"))
    yield* server.closeNewChats(sender, {}, "none")
    yield* send("3EB0AF02")
    assert.isUndefined(yield* error("3EB0AF02"))
    const strangerJid = "4915550000003@s.whatsapp.net"
    yield* send("3EB0AF03", client, strangerJid)
    assert.strictEqual(yield* error("3EB0AF03"), "463")
    assert.strictEqual(server.copies(stranger), 0)
    yield* send("3EB0AF04", client, group)
    assert.isUndefined(yield* error("3EB0AF04"))
    yield* server.write(stranger, sender, "Hello")
    yield* send("3EB0AF05", client, strangerJid)
    assert.isUndefined(yield* error("3EB0AF05"))
    yield* server.closeNewChats(sender, { until: 1000 }, "none")
    yield* send("3EB0AF06", client, "4915550000004@s.whatsapp.net")
    assert.isUndefined(yield* error("3EB0AF06"))
    assert.deepStrictEqual(
      server.decrypted(recipient).map(({ id }) => id),
      ["3EB0AF01", "3EB0AF02"],
    )
    assert.strictEqual(client.acks.length, 6)
  }),
)
