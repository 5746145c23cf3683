/** `MessageStore.loadAcceptance`: the facts of an acceptance in one read. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ContactId, MediaId, NumberId } from "@messaging-service/core"
import { Effect } from "effect"
import { ids, present } from "../Expect.ts"
import { facts } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import {
  aContact,
  aMediaFile,
  aNumber,
  aPhone,
  aPlan,
  aStage,
  aWorkspace,
  noon,
  admitsAll,
} from "../Records.ts"

export const acceptanceFacts: Topic = (it) => {
  it.effect("facts that were not requested are missing", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace({ plan: null })
      const found = yield* facts(workspace.id)
      assert.isNull(found.claim)
      assert.isNull(found.plan)
      assert.isNull(found.named)
      assert.deepStrictEqual(found.connected, [])
      assert.strictEqual(found.contactIdByPhone.size, 0)
      assert.strictEqual(found.contacts.size, 0)
      assert.isNull(found.media)
    }),
  )

  it.effect("the current plan", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace({ plan: aPlan(7) })
      assert.deepStrictEqual((yield* facts(workspace.id)).plan, aPlan(7))
      yield* Store.use(({ workspaces: store }) =>
        store.update(
          workspace.id,
          () => ({ change: { plan: aPlan(null) }, admits: admitsAll }),
          noon,
        ),
      )
      assert.deepStrictEqual((yield* facts(workspace.id)).plan, aPlan(null))
    }),
  )

  it.effect("the named number, whatever its status, if it is the workspace's", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const offline = yield* aNumber(workspace.id, { status: "disconnected", phone: null })
      const foreign = yield* aNumber((yield* aWorkspace()).id)
      const named = (from: NumberId) =>
        Effect.map(facts(workspace.id, { from }), (found) => {
          assert.deepStrictEqual(found.connected, [])
          return found.named
        })
      assert.deepStrictEqual(present(yield* named(number.id)).number, number)
      assert.deepStrictEqual(present(yield* named(offline.id)).number, offline)
      assert.isNull(yield* named(foreign.id))
      assert.isNull(yield* named(999_999_999 as NumberId))
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      assert.isNull(yield* named(number.id))
    }),
  )

  it.effect("without a named number at most two connected of each platform, oldest first", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      yield* aNumber(id, { status: "disconnected" })
      const firstWhatsApp = yield* aNumber(id, { createdAt: noon + 1 })
      yield* aNumber(id, { status: "connecting", platform: "telegram", createdAt: noon + 2 })
      const firstTelegram = yield* aNumber(id, { platform: "telegram", createdAt: noon + 3 })
      const removed = yield* aNumber(id, { createdAt: noon + 4 })
      const secondWhatsApp = yield* aNumber(id, { createdAt: noon + 5 })
      yield* aNumber(id, { createdAt: noon + 6 })
      const secondTelegram = yield* aNumber(id, { platform: "telegram", createdAt: noon + 7 })
      yield* aNumber(id, { platform: "telegram", createdAt: noon + 8 })
      yield* aStage()
      yield* Store.use(({ numbers: store }) => store.remove(id, removed.id, noon))
      const found = yield* facts(id)
      assert.isNull(found.named)
      assert.deepStrictEqual(
        found.connected.map((each) => each.number),
        [firstWhatsApp, firstTelegram, secondWhatsApp, secondTelegram],
      )
    }),
  )

  it.effect("the contact with each phone, of the workspace and not deleted", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const [shared, single, foreign, unknown] = [aPhone(), aPhone(), aPhone(), aPhone()]
      const deleted = yield* aContact(id, { phone: shared })
      yield* Store.use(({ workspaces: store }) => store.deleteContact(id, deleted.id))
      const later = yield* aContact(id, { phone: shared })
      const only = yield* aContact(id, { phone: single })
      yield* aContact((yield* aWorkspace()).id, { phone: foreign })
      const found = yield* facts(id, { phones: [shared, single, foreign, unknown, shared] })
      assert.deepStrictEqual(
        [...found.contactIdByPhone].toSorted(([, a], [, b]) => a - b),
        [
          [shared, later.id],
          [single, only.id],
        ],
      )
    }),
  )

  it.effect("the named contacts, of the workspace and not deleted", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const phone = yield* aContact(id)
      const username = yield* aContact(id, { username: "tg:4711" })
      const foreign = yield* aContact((yield* aWorkspace()).id)
      const deleted = yield* aContact(id)
      yield* Store.use(({ workspaces: store }) => store.deleteContact(id, deleted.id))
      const contactIds = [
        username.id,
        phone.id,
        foreign.id,
        deleted.id,
        999_999_999 as ContactId,
        phone.id,
      ]
      const found = yield* facts(id, { contactIds })
      assert.deepStrictEqual(
        [...found.contacts].toSorted(([a], [b]) => a - b),
        [
          [phone.id, phone],
          [username.id, username],
        ],
      )
    }),
  )

  it.effect("the named file, of the workspace and of the mode", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const file = yield* aMediaFile(id, { mode: "test" })
      const foreign = yield* aMediaFile((yield* aWorkspace()).id, { mode: "test" })
      const media = (mediaId: MediaId, mode: "live" | "test") =>
        Effect.map(facts(id, { mode, mediaId }), (found) => found.media)
      assert.deepStrictEqual(yield* media(file.id, "test"), file)
      assert.isNull(yield* media(file.id, "live"))
      assert.isNull(yield* media(foreign.id, "test"))
      assert.isNull(yield* media(999_999_999 as MediaId, "test"))
    }),
  )

  it.effect("all facts together, each in its place", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(3) })
      const contact = yield* aContact(workspace.id)
      const file = yield* aMediaFile(workspace.id)
      const phone = present(contact.phone)
      const found = yield* facts(workspace.id, {
        from: number.id,
        phones: [phone],
        contactIds: [contact.id],
        mediaId: file.id,
      })
      assert.deepStrictEqual(found.plan, aPlan(3))
      assert.deepStrictEqual(found.named, {
        number,
        quota: { bound: 0, fullUntil: null, exact: null },
      })
      assert.strictEqual(found.contactIdByPhone.get(phone), contact.id)
      assert.deepStrictEqual(found.contacts.get(contact.id), contact)
      assert.deepStrictEqual(found.media, file)
    }),
  )

  it.effect("a test number is found for test messages alone", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const test = yield* aNumber(workspace.id, { mode: "test" })
      for (const [mode, seen] of [
        ["live", [number]],
        ["test", [number, test]],
      ] as const) {
        const named = (yield* facts(workspace.id, { mode, from: test.id })).named
        assert.deepStrictEqual(named?.number ?? null, mode === "test" ? test : null)
        const { connected } = yield* facts(workspace.id, { mode })
        const shown = connected.map((each) => each.number.id)
        assert.deepStrictEqual<ReadonlyArray<NumberId>>(shown, ids(seen))
      }
    }),
  )
}
