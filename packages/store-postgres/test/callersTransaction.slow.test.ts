/**
 * Sends inside a caller's transaction: the message exists exactly if the caller's own rows do. Each caller is
 * a client of `pg`, separate from the stores' own connections.
 */
import { assert, layer } from "@effect/vitest"
import { Caller, Messages, Store } from "@messaging-service/core"
import type { IdempotencyKey, TransactionClient } from "@messaging-service/core"
import {
  accepted,
  aNumber,
  aWorkspace,
  EmbeddedPostgres,
  noon,
  sending,
} from "@messaging-service/testkit"
import { Effect, Fiber } from "effect"
import { workChannel } from "../src/database/Schema.ts"
import { aClient, inShop, phone, getRefusal, execute } from "./callers.ts"

const atOnce = { concurrency: "unbounded" } as const

const key: IdempotencyKey = { key: "order 7", fingerprint: "f".repeat(64) }
const nothing = { records: 0, claims: 0, quota: 0, orders: 0, messages: 0, allowance: 3 }
/** The order was written, and its message accepted. */
const oneOrder = { records: 1, claims: 0, quota: 1, orders: 1, messages: 1, allowance: 2 }

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "sending inside a caller's transaction",
  (it) => {
    it.effect(
      "what is rolled back was never accepted: no message, no quota, no key",
      inShop(({ client, inStores, join, left, send }) =>
        Effect.gen(function* () {
          yield* execute(client, "begin")
          yield* execute(client, "insert into orders values ('seven')")
          const { messages } = yield* inStores(join(client, send(phone, key)))
          assert.lengthOf(messages, 1)
          yield* execute(client, "rollback")
          assert.deepStrictEqual<unknown>(yield* left, nothing)
        }),
      ),
    )

    it.effect(
      "what is committed is sent once, and its key answers for it",
      inShop(({ caller, client, inStores, join, left, send }) =>
        Effect.gen(function* () {
          yield* execute(client, "begin")
          yield* execute(client, "insert into orders values ('seven')")
          const first = yield* inStores(join(client, send(phone, key)))
          // Asked again in the same transaction, and by others once it is committed.
          const again = yield* inStores(join(client, send(phone, key)))
          assert.deepStrictEqual(again, { ...first, replayed: true })
          const id = first.messages[0]?.id
          const invisible = getRefusal(
            inStores(Messages.use((messages) => messages.get(caller, id))),
          )
          assert.strictEqual(yield* invisible, "message_not_found")
          yield* execute(client, "commit")
          assert.isTrue((yield* inStores(send(phone, key))).replayed)
          assert.deepStrictEqual<unknown>(yield* left, oneOrder)
        }),
      ),
    )

    it.effect(
      "a refusal leaves the transaction usable, and nothing of itself",
      inShop(({ caller, client, inStores, join, left, send }) =>
        Effect.gen(function* () {
          yield* execute(client, "begin")
          yield* inStores(join(client, send(phone, key)))
          const other = { ...key, fingerprint: "e".repeat(64) }
          const conflict = getRefusal(inStores(join(client, send(phone, other))))
          assert.strictEqual(yield* conflict, "idempotency_key_reused")
          const tooMany = Messages.use((messages) =>
            messages.sendBatch(
              caller,
              {
                to: ["01", "02", "03"].map((end) => ({ phone: `+155501000${end}` })),
                text: "Hello",
              },
              { key: "a batch", fingerprint: "d".repeat(64) },
            ),
          )
          const quota = getRefusal(inStores(join(client, tooMany)))
          assert.strictEqual(yield* quota, "no_credits")
          yield* execute(client, "insert into orders values ('seven')")
          yield* execute(client, "commit")
          assert.deepStrictEqual<unknown>(yield* left, oneOrder)
        }),
      ),
    )

    it.effect(
      "a statement that fails undoes the send alone",
      inShop(({ client, inStores, join, left, send }) =>
        Effect.gen(function* () {
          yield* execute(client, "begin")
          yield* execute(client, "insert into orders values ('seven')")
          const failing: TransactionClient = {
            query: (text, values) =>
              text.includes("accept_messages")
                ? client.query(text.replace("accept_messages", "no_function"), values)
                : client.query(text, values),
          }
          const error = yield* Effect.flip(inStores(join(failing, send(phone, key))))
          assert.strictEqual(error._tag, "StoreUnavailable")
          yield* execute(client, "commit")
          assert.deepStrictEqual<unknown>(yield* left, { ...nothing, orders: 1 })
        }),
      ),
    )

    it.effect(
      "a client without a transaction is refused before anything is written",
      inShop(({ client, inStores, join, left, send }) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(inStores(join(client, send(phone, key))))
          assert.match(String(error._tag === "CannotJoin" && error.message), /begin one first/)
          const reading = Effect.flip(
            inStores(
              join(
                client,
                Store.use(({ workspaces: store }) => store.isEmpty),
              ),
            ),
          )
          yield* execute(client, "begin")
          const failure = yield* reading
          assert.match(
            String(failure._tag === "StoreUnavailable" && failure.cause),
            /cannot be part of a caller's transaction/,
          )
          yield* execute(client, "commit")
          assert.deepStrictEqual<unknown>(yield* left, nothing)
        }),
      ),
    )

    it.effect(
      "of two callers at once the second finds what the first one left of the plan",
      inShop(({ caller, client, database, inStores, join, left }) =>
        Effect.gen(function* () {
          const two = Messages.use((messages) =>
            messages.sendBatch(
              caller,
              { to: [{ phone }, { phone: "+15550100002" }], text: "Hello" },
              null,
            ),
          )
          const second = yield* aClient(database)
          yield* execute(client, "begin")
          yield* execute(second, "begin")
          yield* inStores(join(client, two))
          const waiting = yield* Effect.forkChild(getRefusal(inStores(join(second, two))), {
            startImmediately: true,
          })
          // The second one waits for a lock of the first one's, and decides on what is there then.
          yield* Effect.promise(async () => {
            const ear = async (): Promise<void> => {
              const { rows } = await client.query(
                "select from pg_stat_activity where wait_event_type = 'Lock'",
              )
              return rows.length === 0 ? ear() : undefined
            }
            await ear()
          })
          yield* execute(client, "commit")
          assert.strictEqual(yield* Fiber.join(waiting), "no_credits")
          yield* execute(second, "rollback")
          assert.deepStrictEqual<unknown>(yield* left, {
            ...nothing,
            quota: 2,
            messages: 2,
            allowance: 1,
          })
        }),
      ),
    )

    it.effect(
      "others go on while it is open, and those of its number wait for its end",
      inShop(({ client, inStores, join, send }) =>
        Effect.gen(function* () {
          const other = yield* inStores(
            Effect.gen(function* () {
              const workspace = yield* aWorkspace()
              yield* aNumber(workspace.id)
              return Caller.trusted(workspace)
            }),
          )
          const sendOfOther = Messages.use((messages) =>
            messages.send(other, { to: { phone }, text: "Hello" }, null),
          )
          yield* execute(client, "begin")
          const first = yield* inStores(join(client, send(phone, key)))
          // Of the number, of the plan, and of the same idempotency key: more than there are places.
          const waiting = yield* Effect.forEach([null, null, key, key], (each) =>
            Effect.forkChild(inStores(send(phone, each)), { startImmediately: true }),
          )
          for (let round = 0; round < 3; round++) {
            const sends = Array.from({ length: 8 }, () => sendOfOther)
            assert.lengthOf(yield* inStores(Effect.all(sends, atOnce)), 8)
          }
          for (const fiber of waiting) assert.isUndefined(fiber.pollUnsafe())
          yield* execute(client, "commit")
          const [one, two, ...repeats] = yield* Effect.forEach(waiting, Fiber.join)
          assert.deepStrictEqual([one?.replayed, two?.replayed], [false, false])
          for (const repeat of repeats) assert.deepStrictEqual(repeat, { ...first, replayed: true })
        }),
      ),
    )

    it.effect(
      "what was committed behind a later message that has left leaves all the same",
      inShop(({ client, inStores, join, number, send }) =>
        Effect.gen(function* () {
          const sendNext = (now: number) =>
            inStores(
              Effect.gen(function* () {
                const claimed = yield* sending.claimOne(number, { now })
                yield* sending.settle([sending.sent(claimed, now)], now)
                return claimed.message.id
              }),
            )
          const [quick] = yield* inStores(accepted(number, { sendAt: noon + 1 }))
          yield* execute(client, "begin")
          const [slow] = (yield* inStores(join(client, send(phone)))).messages
          assert.strictEqual(yield* sendNext(noon + 2), quick?.id)
          yield* execute(client, "commit")
          assert.strictEqual(yield* sendNext(noon + 3), slow?.id)
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
        }),
      ),
    )

    it.effect(
      "a connection that ends between the send and its commit has sent nothing",
      inShop(({ client, database, inStores, join, left, send }) =>
        Effect.gen(function* () {
          const dying = yield* aClient(database)
          yield* execute(dying, "begin")
          const { rows } = yield* execute(dying, "select pg_backend_pid() as pid")
          yield* inStores(join(dying, send(phone, key)))
          yield* execute(client, `select pg_terminate_backend(${Number(rows[0]?.pid)}, 5000)`)
          assert.deepStrictEqual<unknown>(yield* left, nothing)
          assert.isFalse((yield* inStores(send(phone, key))).replayed)
        }),
      ),
    )

    it.effect(
      "the commit wakes the workers, and the message can be cancelled then",
      inShop(({ caller, client, database, inStores, join, left, send }) =>
        Effect.gen(function* () {
          const ear = yield* aClient(database)
          const heard: Array<string | undefined> = []
          ear.on("notification", ({ payload }) => heard.push(payload))
          yield* execute(ear, `listen ${workChannel("messaging")}`)
          yield* execute(client, "begin")
          const { messages } = yield* inStores(join(client, send(phone)))
          yield* execute(ear, "select")
          assert.deepStrictEqual(heard, [])
          yield* execute(client, "commit")
          yield* execute(ear, "select")
          assert.deepStrictEqual(heard, ["lanes"])
          const id = messages[0]?.id
          yield* inStores(Messages.use((service) => service.cancel(caller, id)))
          assert.deepStrictEqual<unknown>(yield* left, { ...nothing, messages: 1, quota: 1 })
        }),
      ),
    )

    it.effect(
      "what is left idle ends in 5 seconds, or sooner where the caller says so",
      inShop(({ client, database, inStores, join, send }) =>
        Effect.gen(function* () {
          const name = "idle_in_transaction_session_timeout"
          const limit = Effect.map(execute(client, `show ${name}`), ({ rows }) => rows[0]?.[name])
          for (const [own, bound] of [
            ["0", "5s"],
            ["1min", "5s"],
            ["1500ms", "1500ms"],
          ] as const) {
            yield* execute(client, `set ${name} = '${own}'`)
            yield* execute(client, "begin")
            yield* inStores(join(client, send(phone)))
            assert.strictEqual(yield* limit, bound)
            yield* execute(client, "rollback")
            assert.strictEqual(yield* limit, own)
          }
          // The server ends it, and a program that does not listen to its client continues.
          const idle = yield* aClient(database)
          idle.removeAllListeners("error")
          const ended = new Promise((resolve) => {
            idle.once("end", resolve)
          })
          yield* execute(idle, "begin")
          yield* inStores(join(idle, send(phone)))
          yield* execute(idle, `set local ${name} = '1ms'`)
          yield* Effect.promise(() => ended)
          yield* Effect.promise(() =>
            idle.query("commit").then(
              () => assert.fail("committed"),
              () => undefined,
            ),
          )
        }),
      ),
    )
  },
)
