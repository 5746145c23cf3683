/** What is received is stored, read and erased by indexes alone, and an erasure that finds nothing only reads. */
import { assert, layer } from "@effect/vitest"
import type { EventId, Incoming } from "@messaging-service/core"
import { Store } from "@messaging-service/core"
import { delivering, EmbeddedPostgres, noon } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { layer as layerStores } from "../src/index.ts"
import { aBareDatabase } from "./databases.ts"
import { anExplainingPool, assertLookedUp } from "./QueryPlans.ts"
import type { Explained } from "./QueryPlans.ts"

const aText = (remoteId: string, changes: Partial<Incoming> = {}): Incoming => ({
  remoteId,
  mode: "live",
  fromMe: false,
  group: null,
  person: { phone: "+15550000001", lid: null, userId: null, username: null, name: "Ann" },
  kind: "text",
  text: "Hello",
  content: null,
  file: null,
  quote: null,
  sentAt: noon,
  ...changes,
})

const assertAllLookedUp = (plans: ReadonlyArray<Explained>) => {
  assert.isNotEmpty(plans)
  for (const plan of plans) assertLookedUp(plan.Plan, plan["Query Text"])
}

layer(EmbeddedPostgres.shared, { excludeTestServices: true })("plans of receiving", (it) => {
  it.effect("nothing is read from its one end to the other", () =>
    Effect.gen(function* () {
      const { readPlans, pool } = yield* anExplainingPool(yield* aBareDatabase)
      const stores = yield* Layer.build(layerStores({ pool }))
      yield* Effect.gen(function* () {
        const { chats } = yield* Store
        const { number, workspace } = yield* delivering.aStageWithKey()
        yield* chats.putConversations(workspace.id, {
          groups: true,
          retentionDays: 30,
          media: "off",
          maxFileBytes: 1,
          maxStorageBytes: 1,
          holdNewChats: false,
          since: noon,
        })
        const lid = { phone: null, lid: "91", userId: null, username: null, name: null }
        const both = { ...lid, phone: "+15550000001" }
        const incoming = [
          aText("1"),
          aText("2", { person: lid }),
          // The two are one.
          aText("3", { person: both, quote: { remoteId: "1", text: "Hello" } }),
          aText("4", { group: { remoteId: "group", name: "Group" } }),
        ].map((one, index) => ({
          incoming: one,
          eventId: `evt_${String(index).padStart(24, "0")}` as EventId,
        }))
        assertAllLookedUp(yield* readPlans(chats.receive(number.id, incoming, noon)))
        assertAllLookedUp(yield* readPlans(chats.isReceived(number.id, aText("1"))))

        const scope = { workspaceId: workspace.id, mode: "live", restriction: null } as const
        const every = { numberId: null, chatId: null, kind: null, since: null, until: null }
        const page = { before: null, limit: 10 }
        const { items } = yield* chats.listReceived(scope, every, page)
        const [last] = items
        assert.isDefined(last)
        const ofPhone = { numberId: null, phone: "+15550000001", unread: null }
        assertAllLookedUp(
          yield* readPlans(
            Effect.all([
              chats.listReceived(scope, every, page),
              chats.listReceived(scope, { ...every, numberId: number.id }, page),
              chats.listReceived(scope, { ...every, chatId: last!.chat.id }, page),
              chats.receivedAfter(scope, number.id, 1, null, 10),
              chats.getReceived(scope, last!.id),
              chats.listChats(scope, { ...ofPhone, phone: null }, page),
              chats.listChats(scope, { ...ofPhone, phone: null, numberId: number.id }, page),
              chats.listChats(scope, ofPhone, page),
              chats.getChat(scope, last!.chat.id),
              chats.conversations(workspace.id),
            ]),
          ),
        )

        const erasure = { workspaceId: null, now: noon, most: 10, mostChats: 10, marksBefore: 0 }
        const nothing = yield* readPlans(chats.eraseReceived(erasure))
        for (const { "Query Text": text } of nothing) assert.notMatch(text, /^\s*(update|insert)/)
        yield* chats.deleteReceived(scope, last!.id, noon)
        yield* chats.deleteChat(scope, items[1]!.chat.id, noon)
        const all = { ...erasure, marksBefore: noon + 1 }
        yield* readPlans(chats.eraseReceived(all))
        assert.deepStrictEqual(
          (yield* chats.listChats(scope, { ...ofPhone, phone: null }, page)).items,
          [],
        )
      }).pipe(Effect.provide(stores))
    }),
  )
})
