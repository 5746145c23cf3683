/**
 * Cancels inside a caller's transaction: the message ends exactly if the caller commits. Until then its number
 * sends nothing, and nothing else waits.
 */
import { assert, layer } from "@effect/vitest"
import { Caller, Messages, refusalOfStore, Store } from "@messaging-service/core"
import type { MessageId } from "@messaging-service/core"
import {
  aNumber,
  aPlan,
  EmbeddedPostgres,
  noon,
  remaining,
  sending,
} from "@messaging-service/testkit"
import { Effect, Fiber } from "effect"
import type { Client } from "pg"
import { workChannel } from "../src/database/Schema.ts"
import { aClient, inShop, phone, getRefusal, execute, untilItWaits } from "./callers.ts"

const minute = 60_000

/** It ends when the test says so, however slow the machine is: nothing here may wait for that. */
const stayOpen = (client: Client) =>
  execute(client, "set local idle_in_transaction_session_timeout = '1min'")

/** What others see of a message and its end. */
const seen = (client: Client) =>
  Effect.map(
    execute(
      client,
      `select
        (select array_agg(state order by id) from messaging.messages) as states,
        (select array_agg(type order by id) from messaging.outbox) as events,
        (select count(*)::integer from messaging.webhook_deliveries) as deliveries,
        (
          (select count(*) from messaging.lane_arrivals)
          + (select count(*) from messaging.plan_arrivals)
        )::integer as notes`,
    ),
    ({ rows }): unknown => rows[0],
  )

const waits = { states: ["waiting"], events: null, deliveries: 0, notes: 0 }

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "cancelling inside a caller's transaction",
  (it) => {
    it.effect(
      "what is rolled back was never cancelled: it leaves, and nothing is given back or announced",
      inShop(({ cancel, client, database, inStores, join, number, send, workspace }) =>
        Effect.gen(function* () {
          const [message] = (yield* inStores(send(phone))).messages
          const other = yield* aClient(database)
          yield* execute(client, "begin")
          const ended = yield* inStores(join(client, cancel(message?.id)))
          assert.strictEqual(ended.state, "cancelled")
          assert.deepStrictEqual(yield* seen(other), waits)
          yield* execute(client, "rollback")
          assert.deepStrictEqual(yield* seen(other), waits)
          assert.strictEqual(yield* inStores(remaining(workspace)), 2)
          const claimed = yield* inStores(sending.claimOne(number))
          assert.strictEqual(claimed.message.id, message?.id)
        }),
      ),
    )

    it.effect(
      "the commit brings the end, its event, its callback and its allowance, and wakes the workers",
      inShop(({ caller, cancel, client, database, inStores, join, number, workspace }) =>
        Effect.gen(function* () {
          const terms = {
            callbackUrl: "https://shop.example/called" as never,
            attachment: null,
            keepRefused: false,
          }
          const [message] = (yield* inStores(
            Messages.use((messages) =>
              messages.send(caller, { to: { phone }, text: "Hello" }, null, terms),
            ),
          )).messages
          const ear = yield* aClient(database)
          const heard: Array<string | undefined> = []
          ear.on("notification", ({ payload }) => heard.push(payload))
          yield* execute(ear, `listen ${workChannel("messaging")}`)
          yield* execute(client, "begin")
          yield* inStores(join(client, cancel(message?.id)))
          assert.strictEqual(yield* inStores(remaining(workspace)), 2)
          yield* execute(ear, "select")
          assert.deepStrictEqual(heard, [])
          yield* execute(client, "commit")
          yield* execute(ear, "select")
          assert.include(heard, "lanes")
          assert.deepStrictEqual(yield* seen(client), {
            states: ["cancelled"],
            events: ["message.cancelled"],
            deliveries: 1,
            notes: 0,
          })
          assert.strictEqual(yield* inStores(remaining(workspace)), 3)
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
        }),
      ),
    )

    it.effect(
      "what is in flight is refused at once, and its number is not held up by that",
      inShop(({ cancel, client, inStores, join, number, send }) =>
        Effect.gen(function* () {
          const [message] = (yield* inStores(send(phone))).messages
          const claimed = yield* inStores(sending.claimOne(number))
          yield* execute(client, "begin")
          const refused = yield* Effect.flip(inStores(join(client, cancel(message?.id))))
          assert(refused._tag === "Refusal")
          assert.deepStrictEqual(
            [refused.code, refused.details],
            ["not_cancellable", { status: "queued", sending: true }],
          )
          yield* execute(client, "create table public.still_usable ()")
          assert.deepStrictEqual<unknown>(
            yield* inStores(sending.settle([sending.sent(claimed)])),
            [message?.id],
          )
          // Sent, and unknown ones.
          assert.strictEqual(
            yield* getRefusal(inStores(join(client, cancel(message?.id)))),
            "not_cancellable",
          )
          const unknown = cancel(123_456 as MessageId)
          assert.strictEqual(
            yield* getRefusal(inStores(join(client, unknown))),
            "message_not_found",
          )
          yield* execute(client, "commit")
        }),
      ),
    )

    it.effect(
      "what a claim takes while the cancel waits for the lane is refused, and leaves no lock behind",
      inShop(({ cancel, client, database, inStores, join, number, send }) =>
        Effect.gen(function* () {
          const [message] = (yield* inStores(send(phone))).messages
          const claimant = yield* aClient(database)
          yield* execute(claimant, "begin")
          yield* execute(claimant, "select from messaging.lanes for no key update")
          yield* execute(client, "begin")
          const other = yield* aClient(database)
          const cancelling = yield* untilItWaits(other, inStores(join(client, cancel(message?.id))))
          yield* execute(
            claimant,
            `update messaging.lanes
            set head_id = ${Number(message?.id)}, lease = lease + 1,
              lease_until = '${new Date(noon + minute).toISOString()}'`,
          )
          yield* execute(claimant, "commit")
          const refused = yield* Effect.flip(Fiber.join(cancelling))
          assert(refused._tag === "Refusal")
          assert.deepStrictEqual(refused.details, { status: "queued", sending: true })
          const leases = [{ numberId: number.id, lease: 1 }]
          const renewed = yield* inStores(
            Store.use(({ queue }) => queue.renew(leases, noon + 2 * minute)),
          )
          assert.deepStrictEqual([...renewed], [number.id])
          yield* execute(client, "commit")
        }),
      ),
    )

    it.effect(
      "while it is open claims pass its number over, and all other numbers go on",
      inShop(({ cancel, caller, client, inStores, join, number, send, workspace }) =>
        Effect.gen(function* () {
          const [message] = (yield* inStores(send(phone))).messages
          const other = yield* inStores(aNumber(workspace.id))
          const from = { to: { phone }, text: "Hello", from: other.id }
          const sendFromOther = Messages.use((messages) => messages.send(caller, from, null))
          const [elsewhere] = (yield* inStores(sendFromOther)).messages
          yield* execute(client, "begin")
          yield* inStores(join(client, cancel(message?.id)))
          yield* stayOpen(client)
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
          // The workspace has a plan, which the cancel gives back to: it is not held either.
          const [second] = (yield* inStores(sendFromOther)).messages
          const claimed = yield* inStores(sending.claimOne(other))
          assert.strictEqual(claimed.message.id, elsewhere?.id)
          yield* inStores(sending.settle([sending.sent(claimed)]))
          yield* inStores(Messages.use((messages) => messages.cancel(caller, second?.id)))
          assert.strictEqual(yield* inStores(remaining(workspace)), 1)
          yield* execute(client, "commit")
          assert.strictEqual(yield* inStores(remaining(workspace)), 2)
        }),
      ),
    )

    it.effect(
      "a settlement of its number waits no longer than its lock time, and counts when it comes again",
      inShop(({ cancel, client, inStores, join, number, send, workspace }) =>
        Effect.gen(function* () {
          const { messages: sent } = yield* inStores(send(phone))
          const { messages: later } = yield* inStores(send(phone))
          const away = yield* inStores(aNumber(workspace.id))
          yield* inStores(
            Messages.use((messages) =>
              messages.send(
                Caller.trusted(workspace),
                { to: { phone }, text: "Away", from: away.id },
                null,
              ),
            ),
          )
          const claimed = yield* inStores(sending.claimOne(number))
          const claimedAway = yield* inStores(sending.claimOne(away))
          assert.strictEqual(claimed.message.id, sent[0]?.id)
          yield* execute(client, "begin")
          yield* inStores(join(client, cancel(later[0]?.id)))
          yield* stayOpen(client)
          const settlements = [sending.sent(claimed), sending.sent(claimedAway)]
          const settle = inStores(Store.use(({ queue }) => queue.settle(settlements, noon)))
          const first = yield* settle
          assert.deepStrictEqual([...first.settled], [claimedAway.message.id])
          assert.deepStrictEqual<unknown>(first.blockedByLock, [settlements[0]])
          // Nothing hands it out a second time meanwhile, even once its lease is over.
          assert.deepStrictEqual(
            yield* inStores(sending.claim([number], { now: noon + minute })),
            [],
          )
          yield* execute(client, "commit")
          const again = inStores(Store.use(({ queue }) => queue.settle(first.blockedByLock, noon)))
          assert.deepStrictEqual([...(yield* again).settled], [claimed.message.id])
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
        }),
      ),
    )

    it.effect(
      "of a turn what is in flight is refused, and the rest leaves the turn exactly if the caller commits",
      inShop(({ cancel, client, inStores, join, number, send }) =>
        Effect.gen(function* () {
          const sent = yield* Effect.replicateEffect(inStores(send(phone)), 3)
          const ids = sent.map(({ messages }) => messages[0]?.id)
          const claimed = yield* inStores(sending.claimOne(number, { turn: 3 }))
          const settle = (index: number) =>
            inStores(
              Store.use(({ queue }) => {
                const message = [claimed.message, ...claimed.rest][index] ?? claimed.message
                return queue.settle([sending.sent({ ...claimed, message })], noon)
              }),
            )
          yield* execute(client, "begin")
          assert.strictEqual(
            yield* getRefusal(inStores(join(client, cancel(ids[0])))),
            "not_cancellable",
          )
          yield* inStores(join(client, cancel(ids[1])))
          assert.lengthOf((yield* settle(0)).blockedByLock, 1)
          yield* execute(client, "rollback")
          const first = yield* settle(0)
          assert.strictEqual(first.next.get(claimed.message.id)?.messageId, ids[1])
          yield* execute(client, "begin")
          assert.strictEqual(
            yield* getRefusal(inStores(join(client, cancel(ids[1])))),
            "not_cancellable",
          )
          yield* inStores(join(client, cancel(ids[2])))
          yield* execute(client, "commit")
          const second = yield* settle(1)
          assert.strictEqual(second.settled.size, 1)
          assert.strictEqual(second.next.size, 0)
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
        }),
      ),
    )

    it.effect(
      "what expires of its number is left for the next sweep, and that of others ends",
      inShop(({ cancel, caller, client, inStores, join, number, workspace }) =>
        Effect.gen(function* () {
          const other = yield* inStores(aNumber(workspace.id))
          const soon = (from: typeof number) =>
            Effect.map(
              inStores(
                Messages.use((messages) =>
                  messages.send(
                    caller,
                    {
                      to: { phone },
                      text: "Soon",
                      from: from.id,
                      expiresAt: new Date(noon + minute).toISOString(),
                    },
                    null,
                  ),
                ),
              ),
              ({ messages }) => messages[0],
            )
          const held = yield* soon(number)
          const free = yield* soon(other)
          const kept = yield* inStores(
            Messages.use((messages) =>
              messages.send(caller, { to: { phone }, text: "Kept", from: number.id }, null),
            ),
          )
          yield* execute(client, "begin")
          yield* inStores(join(client, cancel(kept.messages[0]?.id)))
          yield* stayOpen(client)
          const sweep = inStores(
            Effect.gen(function* () {
              const { messages: store } = yield* Store
              const over = yield* store.expired(noon + minute, 10)
              const changes = over.map((message) => sending.expired(message, noon + minute))
              return [...(yield* store.end(changes, { passesOver: true }))]
            }),
          )
          assert.deepStrictEqual(yield* sweep, [free?.id])
          yield* execute(client, "rollback")
          assert.deepStrictEqual(yield* sweep, [held?.id])
        }),
      ),
    )

    it.effect(
      "a cancel outside of it waits for its end, and is service_unavailable if that takes too long",
      inShop(
        ({ cancel, caller, client, inStores, join, send }) =>
          Effect.gen(function* () {
            const [message] = (yield* inStores(send(phone))).messages
            const outside = Messages.use((messages) => messages.cancel(caller, message?.id))
            yield* execute(client, "begin")
            yield* inStores(join(client, cancel(message?.id)))
            yield* stayOpen(client)
            const error = yield* Effect.flip(inStores(outside))
            assert(error._tag === "StoreUnavailable")
            assert.strictEqual(refusalOfStore(error).code, "service_unavailable")
            yield* execute(client, "rollback")
            assert.strictEqual((yield* inStores(outside)).state, "cancelled")
          }),
        aPlan(3),
        { statementMillis: 2000 },
      ),
    )

    it.effect(
      "the same transaction cancels one message and sends another, though the plan has no room for both",
      inShop(
        ({ cancel, client, inStores, join, number, send, workspace }) =>
          Effect.gen(function* () {
            const [message] = (yield* inStores(send(phone))).messages
            assert.strictEqual(yield* inStores(remaining(workspace)), 0)
            const move = Effect.gen(function* () {
              yield* execute(client, "begin")
              yield* inStores(join(client, cancel(message?.id)))
              return (yield* inStores(join(client, send(phone)))).messages[0]
            })
            yield* move
            yield* execute(client, "rollback")
            assert.strictEqual(yield* inStores(remaining(workspace)), 0)
            const moved = yield* move
            yield* execute(client, "commit")
            assert.strictEqual(yield* inStores(remaining(workspace)), 0)
            const claimed = yield* inStores(sending.claimOne(number))
            assert.strictEqual(claimed.message.id, moved?.id)
            yield* inStores(sending.settle([sending.sent(claimed)]))
            assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
          }),
        aPlan(1),
      ),
    )

    for (const plan of [aPlan(5), aPlan(null)]) {
      it.effect(
        `callers that cancel and send in both orders wait for one another, never in a circle, ${plan.messagesRemaining === null ? "without" : "with"} a limit`,
        inShop(
          ({ cancel, client, database, inStores, join, send }) =>
            Effect.gen(function* () {
              const first = (yield* inStores(send(phone))).messages[0]
              const second = (yield* inStores(send(phone))).messages[0]
              const other = yield* aClient(database)
              const ear = yield* aClient(database)
              // Sends, then cancels; against one that cancels, then sends.
              yield* execute(client, "begin")
              yield* execute(other, "begin")
              yield* inStores(join(client, send(phone)))
              const waiting = yield* untilItWaits(ear, inStores(join(other, cancel(second?.id))))
              assert.isUndefined(waiting.pollUnsafe())
              yield* inStores(join(client, cancel(first?.id)))
              yield* execute(client, "commit")
              yield* Fiber.join(waiting)
              // Now it holds the number; the next one begins with its send.
              yield* execute(client, "begin")
              const sends = yield* untilItWaits(ear, inStores(join(client, send(phone))))
              assert.isUndefined(sends.pollUnsafe())
              yield* inStores(join(other, send(phone)))
              yield* execute(other, "commit")
              yield* Fiber.join(sends)
              yield* execute(client, "commit")
              assert.deepStrictEqual(yield* seen(ear), {
                states: ["cancelled", "cancelled", "waiting", "waiting", "waiting"],
                events: ["message.cancelled", "message.cancelled"],
                deliveries: 0,
                notes: 0,
              })
            }),
          plan,
        ),
      )
    }

    it.effect(
      "a message that the same transaction accepted is cancelled in it, and costs nothing",
      inShop(({ cancel, client, inStores, join, number, send, workspace }) =>
        Effect.gen(function* () {
          yield* execute(client, "begin")
          const [message] = (yield* inStores(join(client, send(phone)))).messages
          yield* inStores(join(client, cancel(message?.id)))
          assert.strictEqual(
            yield* getRefusal(inStores(join(client, cancel(message?.id)))),
            "not_cancellable",
          )
          yield* execute(client, "commit")
          assert.deepStrictEqual(yield* seen(client), {
            states: ["cancelled"],
            events: ["message.cancelled"],
            deliveries: 0,
            notes: 0,
          })
          assert.strictEqual(yield* inStores(remaining(workspace)), 3)
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
        }),
      ),
    )

    it.effect(
      "its number is removed after the commit, and a message of a removed number can be cancelled",
      inShop(({ cancel, client, database, inStores, join, number, send, workspace }) =>
        Effect.gen(function* () {
          const first = (yield* inStores(send(phone))).messages[0]
          const second = (yield* inStores(send(phone))).messages[0]
          const ear = yield* aClient(database)
          yield* execute(client, "begin")
          yield* inStores(join(client, cancel(first?.id)))
          const removing = yield* untilItWaits(
            ear,
            inStores(
              Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon)),
            ),
          )
          assert.isUndefined(removing.pollUnsafe())
          yield* execute(client, "commit")
          yield* Fiber.join(removing)
          const orphaned = inStores(Store.use(({ messages: store }) => store.orphaned(10)))
          assert.deepStrictEqual(
            (yield* orphaned).map(({ id }) => id),
            [second?.id],
          )
          yield* execute(client, "begin")
          yield* inStores(join(client, cancel(second?.id)))
          yield* execute(client, "commit")
          assert.deepStrictEqual(yield* orphaned, [])
          assert.strictEqual(yield* inStores(remaining(workspace)), 3)
        }),
      ),
    )

    it.effect(
      "a caller that is killed while it is open has cancelled nothing",
      inShop(({ cancel, client, database, inStores, join, number, send, workspace }) =>
        Effect.gen(function* () {
          const [message] = (yield* inStores(send(phone))).messages
          const dying = yield* aClient(database)
          yield* execute(dying, "begin")
          const { rows } = yield* execute(dying, "select pg_backend_pid() as pid")
          yield* inStores(join(dying, cancel(message?.id)))
          yield* execute(client, `select pg_terminate_backend(${Number(rows[0]?.pid)}, 5000)`)
          assert.deepStrictEqual(yield* seen(client), waits)
          assert.strictEqual(yield* inStores(remaining(workspace)), 2)
          const claimed = yield* inStores(sending.claimOne(number))
          assert.strictEqual(claimed.message.id, message?.id)
        }),
      ),
    )

    it.effect(
      "a savepoint of the caller's undoes the cancel alone",
      inShop(({ cancel, client, inStores, join, number, send, workspace }) =>
        Effect.gen(function* () {
          const [message] = (yield* inStores(send(phone))).messages
          yield* execute(client, "begin")
          yield* execute(client, "savepoint before")
          yield* inStores(join(client, cancel(message?.id)))
          yield* execute(client, "rollback to savepoint before")
          const claimed = yield* inStores(sending.claimOne(number))
          assert.strictEqual(claimed.message.id, message?.id)
          yield* execute(client, "commit")
          assert.deepStrictEqual(yield* seen(client), waits)
          assert.strictEqual(yield* inStores(remaining(workspace)), 2)
        }),
      ),
    )

    it.effect(
      "every process sees which number it holds, and by which transaction, until its end",
      inShop(({ cancel, client, inStores, join, number, send }) =>
        Effect.gen(function* () {
          const first = (yield* inStores(send(phone))).messages[0]
          const second = (yield* inStores(send(phone))).messages[0]
          const held = Effect.map(
            inStores(Store.use(({ system }) => system.position({ accepted: [], ended: [] }))),
            (position) => position?.heldByCallers,
          )
          assert.deepStrictEqual(yield* held, [])
          const transactions = new Set<string | undefined>()
          for (const ends of ["rollback", "commit"]) {
            yield* execute(client, "begin")
            yield* inStores(join(client, cancel(first?.id)))
            if (ends === "commit") yield* inStores(join(client, cancel(second?.id)))
            const [one, ...others] = (yield* held) ?? []
            assert.deepStrictEqual([one?.numberId, others], [number.id, []])
            transactions.add(one?.transaction)
            yield* execute(client, ends)
            assert.deepStrictEqual(yield* held, [])
          }
          assert.strictEqual(transactions.size, 2)
        }),
      ),
    )

    it.effect(
      "it is bound to be idle for 5 seconds at most, and needs a transaction",
      inShop(({ cancel, client, inStores, join, send }) =>
        Effect.gen(function* () {
          const [message] = (yield* inStores(send(phone))).messages
          const error = yield* Effect.flip(inStores(join(client, cancel(message?.id))))
          assert.match(String(error._tag === "CannotJoin" && error.message), /begin one first/)
          yield* execute(client, "begin")
          yield* inStores(join(client, cancel(message?.id)))
          const name = "idle_in_transaction_session_timeout"
          const { rows } = yield* execute(client, `show ${name}`)
          assert.strictEqual(rows[0]?.[name], "5s")
          yield* execute(client, "rollback")
        }),
      ),
    )
  },
)
