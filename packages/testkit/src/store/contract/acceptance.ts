/** `MessageStore.accept`: the whole acceptance or nothing. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type {
  Acceptance,
  FailedGuard,
  MediaReference,
  NumberId,
  Recipient,
} from "@messaging-service/core"
import { Effect } from "effect"
import { ids, only, present } from "../Expect.ts"
import { brokenBy, claimKey, readExactQuota, lookUp, listMessages, remaining } from "../Reading.ts"
import { claim } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  aClaim,
  aContact,
  aKey,
  accept,
  accepted,
  aMediaFile,
  aMessage,
  anAcceptance,
  anEra,
  aNumber,
  aPhone,
  aPlan,
  aStage,
  day,
  hour,
  minute,
  noon,
  waiting,
} from "../Records.ts"

export const accepting: Topic = (it) => {
  it.effect("no message names a contact that was deleted after its facts were read", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const { id: contactId } = yield* aContact(workspace.id)
      const named = yield* aContact(workspace.id, { username: "@recipient" })
      const gone = [
        { kind: "phone", phone: aPhone(), contactId },
        { kind: "contact_phone", phone: aPhone(), contactId },
        { kind: "contact_username", username: "@recipient", contactId: named.id },
      ] as const
      const { workspaces: store } = yield* Store
      for (const id of [contactId, named.id]) yield* store.deleteContact(workspace.id, id)
      for (const to of gone) {
        assert.strictEqual(yield* brokenBy(anAcceptance(number, { message: { to } })), "contact")
      }
      assert.deepStrictEqual(yield* listMessages(workspace.id), [])
    }),
  )

  it.effect("messages wait as they were accepted, for all recipients and contents", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number } = yield* aStage()
      const contact = yield* aContact(workspace.id)
      const named = yield* aContact(workspace.id, { username: "@recipient" })
      const file = yield* aMediaFile(workspace.id)
      const recipients: ReadonlyArray<Recipient> = [
        { kind: "phone", phone: aPhone(), contactId: null },
        { kind: "phone", phone: aPhone(), contactId: contact.id },
        { kind: "group", group: 'Team "Süd" \\ 🏔' },
        { kind: "contact_phone", contactId: contact.id, phone: aPhone() },
        { kind: "contact_username", contactId: named.id, username: "@recipient" },
        { kind: "username", username: "https://t.me/recipient" },
      ]
      const media: ReadonlyArray<MediaReference | null> = [
        null,
        { mediaId: file.id, attachmentId: null, url: null, type: "image", fileName: null },
        {
          mediaId: null,
          attachmentId: null,
          url: "https://example.com/a%20b.pdf?c=d",
          type: "file",
          fileName: "ä.pdf",
        },
        {
          mediaId: null,
          attachmentId: null,
          url: "https://example.com/c",
          type: null,
          fileName: null,
        },
        { mediaId: null, attachmentId: file.id, url: null, type: "image", fileName: "a.png" },
      ]
      for (const to of recipients) {
        for (const carried of media) {
          const acceptance = anAcceptance(number, {
            now: noon + 1,
            sendAt: noon + hour + 999,
            expiresAt: noon + day + 1,
            message: {
              to,
              media: carried,
              callbackUrl: carried === null ? null : "https://example.com/calls?for=ä",
              text: "Grüße,\n\t»Zoë« 👩‍👩‍👧 {}'\" \\u0041",
            },
          })
          const outcome = yield* accept(acceptance)
          const id = outcome._tag === "Accepted" ? only(outcome.ids) : undefined
          const message = waiting(only(acceptance.messages), present(id))
          assert.deepStrictEqual(yield* store.byIds([message.id]), [message])
        }
      }
    }),
  )

  it.effect("a number without a phone and a message without text or times are stored as such", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const number = yield* aNumber(workspace.id, { phone: null, platform: "telegram" })
      const message = yield* aMessage(number, { message: { text: "" } })
      assert.isNull(message.from.phone)
      assert.deepStrictEqual(yield* lookUp(message), { message, inFlight: false })
    }),
  )

  it.effect("ids grow from acceptance to acceptance and in the order of a batch", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const first = yield* accepted(number, { count: 3 })
      const second = yield* accepted(number, { count: 1 })
      const third = yield* accepted(number, { count: 30, mode: "test" })
      const all = ids([...first, ...second, ...third])
      assert.deepStrictEqual(
        all,
        all.toSorted((a, b) => a - b),
      )
      assert.strictEqual(new Set(all).size, all.length)
    }),
  )

  it.effect("a batch of 1,000 is one acceptance", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number } = yield* aStage({ plan: aPlan(1500) })
      const limit = { messages: 1000, windowMillis: day }
      const messages = yield* accepted(number, { count: 1000, limit })
      assert.deepStrictEqual(yield* store.byIds(ids(messages)), messages)
      assert.strictEqual(yield* remaining(workspace), 500)
      assert.strictEqual(yield* brokenBy(anAcceptance(number, { limit })), "quota")
    }),
  )

  it.effect("nothing is accepted from an unknown, removed or other workspace's number", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const other = yield* aStage()
      const unknown = { ...number, id: 999_999_999 as NumberId }
      const foreign = { ...other.number, workspaceId: workspace.id }
      for (const mode of ["live", "test"] as const) {
        assert.strictEqual(yield* brokenBy(anAcceptance(unknown, { mode })), "number")
        assert.strictEqual(yield* brokenBy(anAcceptance(foreign, { mode })), "number")
      }
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      yield* Store.use(({ workspaces: store }) => store.delete(other.workspace.id, noon))
      for (const mode of ["live", "test"] as const) {
        assert.strictEqual(yield* brokenBy(anAcceptance(number, { mode })), "number")
        assert.strictEqual(yield* brokenBy(anAcceptance(other.number, { mode })), "number")
      }
    }),
  )

  it.effect("a disconnected number accepts messages", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      for (const status of ["disconnected", "connecting"] as const) {
        const number = yield* aNumber(workspace.id, { status })
        assert.isNull(yield* brokenBy(anAcceptance(number)))
      }
    }),
  )

  it.effect("the first of several broken guards is named: claim, number, allowance, quota", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(0) })
      const { key } = yield* aKey(workspace.id)
      const limit = { messages: 0, windowMillis: day }
      const unheld = aClaim(key.id)
      const unknown = { ...number, id: 999_999_999 as NumberId }
      const broken = (acceptance: Acceptance, guard: FailedGuard) =>
        Effect.map(brokenBy(acceptance), (found) => assert.strictEqual(found, guard))
      yield* broken(anAcceptance(unknown, { limit, idempotency: unheld }), "idempotency")
      yield* broken(anAcceptance(unknown, { limit }), "number")
      yield* broken(anAcceptance(number, { limit }), "allowance")
      yield* broken(anAcceptance(number, { limit, allowance: 0 }), "quota")
    }),
  )

  it.effect("a batch with one message that does not fit fails as a whole and leaves nothing", () =>
    Effect.gen(function* () {
      const { messages: store, queue: work } = yield* Store

      const now = anEra()
      const limit = { messages: 5, windowMillis: day }
      const { workspace, number } = yield* aStage({ plan: aPlan(4), createdAt: now })
      const { key } = yield* aKey(workspace.id)

      const refused = (acceptance: Acceptance, guard: FailedGuard) =>
        Effect.gen(function* () {
          assert.strictEqual(yield* brokenBy(acceptance), guard)
          assert.deepStrictEqual(yield* listMessages(workspace.id, "live", now), [])
          assert.strictEqual(yield* remaining(workspace), 4)
          assert.strictEqual((yield* readExactQuota(number, { plannedAt: now, limit })).planned, 0)
          assert.deepStrictEqual(yield* claim([number], { now: now + minute }), [])
          const due = yield* work.nextDue("lanes")
          assert.isTrue(due === null || due > now + minute)
        })

      yield* refused(anAcceptance(number, { now, limit, count: 5 }), "allowance")
      yield* refused(anAcceptance(number, { now, limit, count: 6, allowance: 3 }), "quota")
      yield* refused(
        anAcceptance(number, { now, limit, idempotency: aClaim(key.id) }),
        "idempotency",
      )

      const idempotencyClaim = aClaim(key.id)
      assert.deepStrictEqual(yield* claimKey(workspace.id, idempotencyClaim, now), {
        _tag: "Claimed",
      })
      yield* refused(
        anAcceptance(number, { now, limit, count: 5, idempotency: idempotencyClaim }),
        "allowance",
      )
      const rival = { ...idempotencyClaim, token: "rival" }
      assert.deepStrictEqual(yield* claimKey(workspace.id, rival, now), { _tag: "InProgress" })
      yield* store.releaseClaim(idempotencyClaim)
      assert.deepStrictEqual(yield* claimKey(workspace.id, rival, now), { _tag: "Claimed" })

      yield* Store.use(({ numbers }) => numbers.remove(workspace.id, number.id, now))
      assert.strictEqual(
        yield* brokenBy(anAcceptance(number, { now, limit, idempotency: rival })),
        "number",
      )
      assert.deepStrictEqual(yield* listMessages(workspace.id, "live", now), [])
      assert.strictEqual(yield* remaining(workspace), 4)
      assert.deepStrictEqual(
        yield* claimKey(workspace.id, { ...idempotencyClaim, token: "third" }, now),
        {
          _tag: "InProgress",
        },
      )
    }),
  )
}
