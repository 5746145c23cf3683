/** Messages to chats, by the addresses that incoming messages told. */
import { assert, layer } from "@effect/vitest"
import type { Target } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import {
  aLinkedNumber,
  aPerson,
  aText,
  getReceived,
  layerWorld,
  sendNow,
  withConversations,
} from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"

const accepted = { _tag: "Accepted" } as const

/** A number with conversations, groups included. */
const aNumber = Effect.flatMap(aLinkedNumber, (linked) => withConversations(linked, true))

/** Once everything that was written is stored. */
const received = (number: LinkedNumber) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    yield* server.until(() => server.unanswered(number.digits).length === 0)
    return yield* getReceived(number)
  })

/** What a person's phone shows of the number. */
const getShown = (person: string, number: LinkedNumber) =>
  Effect.map(WhatsAppServer, (server) =>
    server
      .decrypted(person)
      .filter(({ from }) => from === number.digits)
      .map(({ chat, text }) => [chat, text]),
  )

layer(layerWorld)("a message to a chat", (it) => {
  it.effect("reaches a person of whom only a LID is known", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [number, person] = [yield* aNumber, yield* aPerson]
      yield* server.write(person, number.digits, { text: "Hello", address: "lid only" })
      const [first] = yield* received(number)
      assert.isNull(first?.from.phone ?? null)
      const target: Target = { kind: "lid", lid: first?.from.lid ?? "" }
      assert.deepStrictEqual(yield* sendNow(aText(number, target, "Welcome")), accepted)
      assert.deepStrictEqual(yield* getShown(person, number), [[undefined, "Welcome"]])
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )

  it.effect.each(["pn", "lid"] as const)("reaches one of two groups of a name: %s", (addressing) =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [number, person] = [yield* aNumber, yield* aPerson]
      const participants = [number.digits, person]
      const groups = [
        yield* server.group({ subject: "Team", participants, addressing }),
        yield* server.group({ subject: "Team", participants, addressing }),
      ]
      const byName = yield* sendNow(aText(number, { kind: "group", group: "Team" }, "Which?"))
      assert.strictEqual(byName._tag, "Refused")
      for (const groupId of groups) {
        const outcome = yield* sendNow(aText(number, { kind: "group_id", groupId }, groupId))
        assert.deepStrictEqual(outcome, accepted)
      }
      assert.deepStrictEqual(
        yield* getShown(person, number),
        groups.map((group) => [group, group]),
      )
    }),
  )
})
