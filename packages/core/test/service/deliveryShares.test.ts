/** What people write and other events share the calls to an endpoint, whatever floods it. */
import { assert, it } from "@effect/vitest"
import { bySize } from "@messaging-service/testkit"
import { Effect } from "effect"
import { callsPerTarget, makeNewReceived, Store, unknownPerson } from "../../src/index.ts"
import type { IncomingMessage, NumberId } from "../../src/index.ts"
import { send } from "./Operations.ts"
import { ok, receiving } from "./Receiving.ts"
import { aNumber, aSender, inAService, noon, pass, settled } from "./Service.ts"

/** Every call is answered after this, so rounds of five calls can be counted. */
const answerMillis = 100

const flood = bySize({ change: 600, all: 5000, night: 5000 })

const inGroup = (index: number): IncomingMessage => ({
  _tag: "Message",
  remoteId: `FLOOD${index}`,
  mode: "live",
  fromMe: false,
  group: { remoteId: "a group", name: "A group" },
  person: { ...unknownPerson, phone: `+1555000${1000 + (index % 200)}` },
  kind: "text",
  text: "Hello",
  content: null,
  file: null,
  quote: null,
  sentAt: noon,
})

const isReceived = ({ body }: { readonly body: string }): boolean =>
  body.includes('"type":"message.received"')

it.effect(
  "while a group floods one number of 20, at most two events of it are called for each result of others that waits",
  () => {
    const { egress, posts } = receiving(() => Effect.as(Effect.sleep(answerMillis), ok))
    return inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const others = yield* Effect.replicateEffect(aNumber(workspace), 19)
        const store = yield* Store
        yield* store.chats.putConversations(workspace, {
          groups: true,
          retentionDays: 30,
          media: "off",
          maxFileBytes: 1000,
          maxStorageBytes: 1000,
          holdNewChats: false,
          since: noon,
        })
        yield* store.webhooks.insert(
          {
            workspaceId: workspace,
            mode: "live",
            keyId: null,
            url: "https://example.com/",
            description: "",
            events: ["message.sent", "message.received"],
            secretSalt: "salt",
            secretLast4: "salt",
            createdAt: noon,
          },
          5,
          null,
        )
        const newReceived = yield* makeNewReceived
        const messages = newReceived(
          number,
          Array.from({ length: flood }, (_, i) => inGroup(i)),
          noon,
        )
        yield* store.chats.receive(number, messages, noon)
        yield* pass(answerMillis)

        /** How many events of the flood were called before each result, once it waited, in their order. */
        const ahead = Effect.fnUntraced(function* (from: ReadonlyArray<NumberId>) {
          const before = posts.length
          yield* Effect.forEach(from, (id) => send(key, { from: id }))
          yield* settled
          const waitsFrom = posts.length
          assert.strictEqual(before, waitsFrom)
          yield* pass(answerMillis * from.length)
          const after = posts.slice(waitsFrom)
          const results = after.filter((post) => !isReceived(post))
          assert.lengthOf(results, from.length)
          return results.map(
            ({ at }) => after.filter((post) => isReceived(post) && post.at < at).length,
          )
        })

        for (const id of others.slice(0, 5)) assert.deepStrictEqual(yield* ahead([id]), [0])
        const counts = yield* ahead(others)
        for (const [index, count] of counts.entries()) assert.isAtMost(count, 2 * (index + 1))
        assert.isAbove(counts.at(-1) ?? 0, others.length)
        assert.isAbove(flood, posts.length, "the flood ended before the results")
        yield* pass((answerMillis * flood) / callsPerTarget + 1000)
        assert.lengthOf(posts, flood + 5 + others.length)
      }),
      { egress },
    )
  },
  60_000,
)
