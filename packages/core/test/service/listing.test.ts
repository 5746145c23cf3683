import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Messages } from "../../src/index.ts"
import type { ListMessages, Message } from "../../src/index.ts"
import { code, get, logOut, send, sendBatch } from "./Operations.ts"
import {
  aContact,
  ahead,
  aKey,
  aNumber,
  aSender,
  aWorkspace,
  hour,
  inAService,
  minute,
  pass,
  settled,
} from "./Service.ts"

describe("GET /messages", () => {
  const list = (caller: Parameters<typeof get>[0], query: ListMessages = {}) =>
    Effect.map(
      Messages.use((messages) => messages.list(caller, query)),
      ({ items, next }) => ({ data: items, next_cursor: next }),
    )
  const ids = (page: { readonly data: ReadonlyArray<Pick<Message, "id">> }) =>
    page.data.map(({ id }): number => id)

  it.effect("pages newest first; new items do not shift pages", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const created = (yield* sendBatch(key, 60)).map(({ id }): number => id).toReversed()
        const first = yield* list(key)
        assert.deepStrictEqual(ids(first), created.slice(0, 25))
        yield* sendBatch(key, 3)
        const second_ = yield* list(key, { cursor: first.next_cursor ?? "", limit: 30 })
        assert.deepStrictEqual(ids(second_), created.slice(25, 55))
        const last = yield* list(key, { cursor: second_.next_cursor ?? "" })
        assert.deepStrictEqual(ids(last), created.slice(55))
        assert.isNull(last.next_cursor)
      }),
    ),
  )

  it.effect("a cursor made for other filters, or by another key's view, is invalid_cursor", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        yield* sendBatch(key, 5)
        yield* settled
        const { next_cursor } = yield* list(key, { limit: 2, status: "sent" })
        const cursor = next_cursor ?? ""
        assert.deepStrictEqual(ids(yield* list(key, { cursor, status: "sent" })).length, 3)
        const others = [
          list(key, { cursor }),
          list(key, { cursor, status: ["sent", "read"] }),
          list(key, { cursor, status: "sent", from: number }),
          list(key, { cursor, status: "sent", to: "+15550000001" }),
          list(key, { cursor, status: "sent", since: new Date(0) }),
          list(key, { cursor, status: "sent", until: "2099-01-01T00:00:00Z" }),
          list(key, { cursor: `${cursor}0`, status: "sent" }),
          list(key, { cursor: "", status: "sent" }),
          list(yield* aKey(workspace, { mode: "test" }), { cursor, status: "sent" }),
          list(yield* aKey(workspace, { numberIds: [number] }), { cursor, status: "sent" }),
          list(yield* aKey(yield* aWorkspace()), { cursor, status: "sent" }),
        ]
        for (const other of others) assert.strictEqual(yield* code(other), "invalid_cursor")
        // Another key of the same view may continue.
        assert.lengthOf((yield* list(yield* aKey(workspace), { cursor, status: "sent" })).data, 3)
      }),
    ),
  )

  it.effect("filters by status, from, to, since and until", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        const key = yield* aKey(workspace)
        const sent = yield* send(key, { from: number })
        yield* pass(minute)
        const failed = yield* send(key, { from: other, to: { phone: "+15550010000" } })
        yield* pass(minute)
        const scheduled = yield* send(key, { from: other, sendAt: yield* ahead(hour) })
        yield* logOut(number)
        const queued = yield* send(key, { from: number })
        const contact = yield* aContact(workspace, { phone: "+15550000061" })
        const toContact = yield* send(key, { from: number, to: { contactId: contact } })
        const found = (query: Readonly<Record<string, string>>) => Effect.map(list(key, query), ids)
        const newest = (...messages: ReadonlyArray<Pick<Message, "id">>) =>
          messages.map(({ id }): number => id)
        assert.deepStrictEqual(yield* found({ status: "sent" }), newest(sent))
        assert.deepStrictEqual(yield* found({ status: "queued" }), newest(toContact, queued))
        assert.deepStrictEqual(
          yield* found({ status: "failed,scheduled" }),
          newest(scheduled, failed),
        )
        assert.deepStrictEqual(yield* found({ status: "cancelled" }), [])
        assert.deepStrictEqual(yield* found({ from: String(other) }), newest(scheduled, failed))
        assert.deepStrictEqual(yield* found({ from: "999999" }), [])
        assert.deepStrictEqual(yield* found({ to: "+15550010000" }), newest(failed))
        assert.deepStrictEqual(yield* found({ to: "+1 555-000-0061" }), newest(toContact))
        const since = "2026-03-02T12:01:00Z"
        const until = "2026-03-02T12:02:00Z"
        assert.deepStrictEqual(yield* found({ since, until }), newest(failed))
        assert.deepStrictEqual(yield* found({ until: since }), newest(sent))
        yield* pass(hour)
        // It fell due and was sent: it is neither scheduled nor queued.
        assert.deepStrictEqual(yield* found({ status: "scheduled" }), [])
        assert.deepStrictEqual(yield* found({ status: "sent" }), newest(scheduled, sent))
      }),
    ),
  )
})
