/**
 * What continues while a caller's transaction that has sent stays open: all but acceptances from the same
 * number, and from the same limited plan: its room depends on that transaction.
 */
import { assert, layer } from "@effect/vitest"
import { Messages, dailyQuota, refusalOfStore, Store } from "@messaging-service/core"
import type { MessageId, TimeZone } from "@messaging-service/core"
import {
  EmbeddedPostgres,
  aNumber,
  aPlan,
  anAcceptance,
  day,
  noon,
  remaining,
  sending,
} from "@messaging-service/testkit"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Client } from "pg"
import { aClient, inShop, phone, getRefusal, execute, untilItWaits } from "./callers.ts"

/** It ends when the test says so, however slow the machine is: nothing here may wait for that. */
const stayOpen = (client: Client) =>
  execute(client, "set local idle_in_transaction_session_timeout = '1min'")

const hello = { to: { phone }, text: "Hello" }

/** What the only lane counts, and how many notes are left of transactions. */
const counted = (client: Client) =>
  Effect.map(
    execute(
      client,
      `select
        (select quota_bound from messaging.lanes) as quota,
        (
          (select count(*) from messaging.lane_arrivals)
          + (select count(*) from messaging.plan_arrivals)
        )::integer as notes`,
    ),
    ({ rows }): unknown => rows[0],
  )

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "while a caller's transaction is open",
  (it) => {
    it.effect(
      "another message of its number and plan is cancelled, and gives its allowance back",
      inShop(({ caller, client, inStores, join, send, workspace }) =>
        Effect.gen(function* () {
          const other = yield* inStores(send(phone))
          yield* execute(client, "begin")
          yield* inStores(join(client, send(phone)))
          yield* stayOpen(client)
          yield* inStores(
            Messages.use((messages) => messages.cancel(caller, other.messages[0]?.id)),
          )
          assert.strictEqual(yield* inStores(remaining(workspace)), 3)
          yield* execute(client, "commit")
          assert.strictEqual(yield* inStores(remaining(workspace)), 2)
        }),
      ),
    )

    it.effect(
      "what expires is ended, of its number too",
      inShop(({ caller, client, inStores, join, send }) =>
        Effect.gen(function* () {
          const { messages } = yield* inStores(
            Messages.use((service) =>
              service.send(
                caller,
                {
                  to: { phone },
                  text: "Soon",
                  sendAt: new Date(noon + 1000).toISOString(),
                  expiresAt: new Date(noon + 2000).toISOString(),
                },
                null,
              ),
            ),
          )
          yield* execute(client, "begin")
          yield* inStores(join(client, send(phone)))
          yield* stayOpen(client)
          yield* TestClock.adjust(3000)
          const over = yield* inStores(
            Store.use(({ messages: store }) => store.expired(noon + 3000, 10)),
          )
          const ids = over.map(({ id }) => id)
          assert.deepStrictEqual(ids, [messages[0]?.id])
          const ended = over.map((message) => sending.expired(message, noon + 3000))
          assert.deepStrictEqual(yield* inStores(sending.end(...ended)), ids as Array<MessageId>)
          yield* execute(client, "rollback")
        }),
      ),
    )

    it.effect(
      "its number goes on sending although other sends wait, and sends what was committed",
      inShop(({ client, inStores, join, number, send }) =>
        Effect.gen(function* () {
          yield* inStores(send(phone))
          yield* execute(client, "begin")
          const { messages } = yield* inStores(join(client, send(phone)))
          yield* stayOpen(client)
          const waiting = yield* untilItWaits(client, inStores(send(phone)))
          const claimed = yield* inStores(sending.claimOne(number))
          const leases = [{ numberId: number.id, lease: claimed.lease }]
          const renewed = yield* inStores(Store.use(({ queue }) => queue.renew(leases, noon + day)))
          assert.deepStrictEqual([...renewed], [number.id])
          yield* inStores(sending.settle([sending.sent(claimed)]))
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
          yield* execute(client, "commit")
          yield* Fiber.join(waiting)
          const next = yield* inStores(sending.claimOne(number))
          assert.strictEqual(next.message.id, messages[0]?.id)
        }),
      ),
    )

    it.effect(
      "a reminder of its number is put off, and one of another number runs",
      inShop(
        ({ caller, client, inStores, join, number, workspace }) =>
          Effect.gen(function* () {
            const other = yield* inStores(aNumber(workspace.id))
            const { reminders: store } = yield* inStores(Store)
            const run = Effect.fnUntraced(function* (from: typeof number) {
              const inserted = yield* store.insert(
                {
                  workspaceId: workspace.id,
                  mode: "live",
                  name: "Rent",
                  active: true,
                  to: { kind: "group", group: "Tenants" },
                  from: from.id,
                  text: "Please pay",
                  media: null,
                  cron: "0 9 * * *",
                  timezone: "Europe/Berlin" as TimeZone,
                  nextRunAt: noon,
                  createdAt: noon,
                },
                null,
              )
              if (inserted._tag !== "Inserted") return assert.fail("not inserted")
              const { id, revision } = inserted.reminder
              const at = { dueAt: noon, ranAt: noon, nextRunAt: noon + day }
              const advance = { id, revision, ...at, idempotency: null }
              return Effect.map(store.run(anAcceptance(from), advance), ({ _tag }) => _tag)
            })
            const held = yield* run(number)
            const free = yield* run(other)
            yield* execute(client, "begin")
            const named = { to: { phone }, text: "Hello", from: number.id }
            yield* inStores(
              join(
                client,
                Messages.use((messages) => messages.send(caller, named, null)),
              ),
            )
            yield* stayOpen(client)
            assert.deepStrictEqual([yield* held, yield* free], ["HeldUp", "Accepted"])
            yield* execute(client, "commit")
            assert.strictEqual(yield* held, "Accepted")
          }),
        aPlan(null),
      ),
    )

    it.effect(
      "its number can be removed, and what it commits then is left to be cancelled",
      inShop(({ client, inStores, join, number, send, workspace }) =>
        Effect.gen(function* () {
          yield* execute(client, "begin")
          const { messages } = yield* inStores(join(client, send(phone)))
          yield* stayOpen(client)
          yield* inStores(
            Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon)),
          )
          yield* execute(client, "commit")
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
          const orphaned = yield* inStores(Store.use(({ messages: store }) => store.orphaned(10)))
          assert.deepStrictEqual(
            orphaned.map(({ id }) => id),
            messages.map(({ id }) => id),
          )
          yield* inStores(sending.end(...orphaned.map((one) => sending.cancelled(one))))
          assert.deepStrictEqual(
            yield* inStores(Store.use(({ messages: store }) => store.orphaned(10))),
            [],
          )
          assert.strictEqual(yield* inStores(remaining(workspace)), 3)
        }),
      ),
    )

    it.effect(
      "its own sends count in one another's quota, and in that of what comes after the commit",
      inShop(
        ({ caller, client, inStores, join, send }) =>
          Effect.gen(function* () {
            const to = Array.from({ length: dailyQuota.messages - 2 }, () => ({ phone }))
            yield* execute(client, "begin")
            yield* inStores(
              join(
                client,
                Messages.use((messages) => messages.sendBatch(caller, { to, text: "Hello" }, null)),
              ),
            )
            yield* inStores(join(client, send(phone)))
            yield* execute(client, "savepoint before")
            yield* inStores(join(client, send(phone)))
            const full = getRefusal(inStores(join(client, send(phone))))
            assert.strictEqual(yield* full, "number_daily_cap_reached")
            // What is undone leaves its room.
            yield* execute(client, "rollback to savepoint before")
            yield* inStores(join(client, send(phone)))
            yield* execute(client, "commit")
            assert.strictEqual(yield* getRefusal(inStores(send(phone))), "number_daily_cap_reached")
            assert.deepStrictEqual(yield* counted(client), {
              quota: dailyQuota.messages,
              notes: 0,
            })
          }),
        aPlan(null),
      ),
    )

    it.effect(
      "its workspace can be removed, and its commit goes through",
      inShop(({ caller, client, inStores, join, send, workspace }) =>
        Effect.gen(function* () {
          yield* execute(client, "begin")
          const { messages } = yield* inStores(join(client, send(phone)))
          yield* stayOpen(client)
          yield* inStores(Store.use(({ workspaces: store }) => store.delete(workspace.id, noon)))
          yield* execute(client, "commit")
          const orphaned = yield* inStores(Store.use(({ messages: store }) => store.orphaned(10)))
          assert.deepStrictEqual(
            orphaned.map(({ id }) => id),
            messages.map(({ id }) => id),
          )
          const born = yield* inStores(aNumber(workspace.id))
          const removed = inStores(
            Messages.use((service) => service.send(caller, { ...hello, from: born.id }, null)),
          )
          assert.strictEqual(yield* getRefusal(removed), "number_not_found")
        }),
      ),
    )

    it.effect(
      "a send in another one that waits for its plan does not hold up its next number",
      inShop(({ caller, client, database, inStores, join, number, workspace }) =>
        Effect.gen(function* () {
          const other = yield* inStores(aNumber(workspace.id))
          const second = yield* aClient(database)
          const from = ({ id }: typeof number) =>
            Messages.use((messages) => messages.send(caller, { ...hello, from: id }, null))
          yield* execute(client, "begin")
          yield* execute(second, "begin")
          yield* inStores(join(client, from(number)))
          yield* stayOpen(client)
          const waiting = yield* untilItWaits(client, inStores(join(second, from(other))))
          yield* inStores(join(client, from(other)))
          yield* execute(client, "commit")
          yield* Fiber.join(waiting)
          yield* execute(second, "commit")
          assert.strictEqual(yield* inStores(remaining(workspace)), 0)
        }),
      ),
    )

    for (const setting of [
      "set constraints all immediate",
      "set local session_replication_role = replica",
    ]) {
      it.effect(
        `after "${setting}" it holds up no cancel, and what it sends counts and is sent`,
        inShop(({ caller, client, inStores, join, number, send, workspace }) =>
          Effect.gen(function* () {
            const other = yield* inStores(send(phone))
            yield* execute(client, "begin")
            yield* execute(client, setting)
            const first = yield* inStores(join(client, send(phone)))
            yield* inStores(join(client, send(phone)))
            yield* stayOpen(client)
            yield* inStores(
              Messages.use((messages) => messages.cancel(caller, other.messages[0]?.id)),
            )
            yield* execute(client, "commit")
            const claimed = yield* inStores(sending.claimOne(number))
            assert.strictEqual(claimed.message.id, first.messages[0]?.id)
            assert.strictEqual(yield* inStores(remaining(workspace)), 1)
            assert.deepStrictEqual(yield* counted(client), { quota: 3, notes: 0 })
          }),
        ),
      )
    }

    it.effect(
      "its commit counts what it sent from a number once, however often it sent",
      inShop(({ client, inStores, join, send, workspace }) =>
        Effect.gen(function* () {
          yield* execute(client, "set track_functions = 'pl'")
          yield* execute(client, "begin")
          for (let sent = 0; sent < 3; sent++) yield* inStores(join(client, send(phone)))
          yield* execute(client, "commit")
          yield* execute(client, "select pg_stat_force_next_flush()")
          const { rows } = yield* execute(
            client,
            `select sum(calls)::integer as calls
            from pg_stat_user_functions
            where funcname = 'finish_arrivals'
              and schemaname <> 'messaging'`,
          )
          assert.deepStrictEqual(rows, [{ calls: 1 }])
          assert.deepStrictEqual(yield* counted(client), { quota: 3, notes: 0 })
          assert.strictEqual(yield* inStores(remaining(workspace)), 0)
        }),
      ),
    )

    it.effect(
      "a send that waited for it in vain is service_unavailable, and says when to come again",
      inShop(
        ({ client, inStores, join, send }) =>
          Effect.gen(function* () {
            yield* execute(client, "begin")
            yield* inStores(join(client, send(phone)))
            yield* stayOpen(client)
            const error = yield* Effect.flip(inStores(send(phone)))
            assert(error._tag === "StoreUnavailable")
            const { code, retryAfter, status } = refusalOfStore(error)
            assert.deepStrictEqual([code, status, retryAfter], ["service_unavailable", 503, 5])
            yield* execute(client, "commit")
            yield* inStores(send(phone))
          }),
        aPlan(3),
        { statementMillis: 2000 },
      ),
    )

    it.effect(
      "its commit waits for no send that waits for it",
      inShop(({ client, inStores, join, send, workspace }) =>
        Effect.gen(function* () {
          yield* execute(client, "begin")
          yield* inStores(join(client, send(phone)))
          yield* stayOpen(client)
          const waiting = yield* untilItWaits(client, inStores(send(phone)))
          yield* execute(client, "commit")
          yield* Fiber.join(waiting)
          assert.strictEqual(yield* inStores(remaining(workspace)), 1)
        }),
      ),
    )
  },
)
