/** The outbox, read while others write: no event is ever passed over. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, accepted, aStage, sending } from "@messaging-service/testkit"
import { Context, Deferred, Effect, Fiber } from "effect"
import { aMigratedDatabase, aDatabaseClient, aProcess } from "./databases.ts"
import { Store } from "@messaging-service/core"

const write = `
insert into outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
values (1, 1, '2026-03-02T12:00:00Z', $1, 'message.sent', 'live', '{}')
returning id`

/**
 * Behind the events that are there already, two transactions: the one that takes the earlier
 * position ends when the test says so.
 */
const scene = Effect.fnUntraced(function* (before: ReadonlyArray<string> = []) {
  const database = yield* aMigratedDatabase()
  const outbox = Context.get(yield* aProcess(database), Store).webhooks
  const client = yield* aDatabaseClient(database)
  for (const event of before) yield* client.query("before", write, [event])
  const taken = yield* Deferred.make<void>()
  const end = yield* Deferred.make<boolean>()
  const slow = yield* client
    .transaction("slow", (run) =>
      Effect.gen(function* () {
        yield* run(write, ["slow"])
        yield* Deferred.succeed(taken, undefined)
        const commits = yield* Deferred.await(end)
        if (!commits) yield* run("select 1 / 0")
      }),
    )
    .pipe(Effect.exit, Effect.forkChild)
  yield* Deferred.await(taken)
  yield* client.query("quick", write, ["quick"])
  const read = (after: number) =>
    Effect.map(outbox.readEvents(after, 100), (events) =>
      events.map((event) => event.eventId as string),
    )
  const finish = (commits: boolean) =>
    Effect.andThen(Deferred.succeed(end, commits), Fiber.join(slow))
  return { client, read, finish }
})

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "the outbox while others write",
  (it) => {
    it.effect(
      "waits for a transaction that took an earlier position and has not committed yet",
      () =>
        Effect.gen(function* () {
          const { finish, read } = yield* scene()
          assert.deepStrictEqual(yield* read(0), [])
          assert.deepStrictEqual(yield* read(0), [])
          yield* finish(true)
          assert.deepStrictEqual(yield* read(0), ["slow", "quick"])
        }),
    )

    it.effect("waits for it also when it began after all that are over by now", () =>
      Effect.gen(function* () {
        const database = yield* aMigratedDatabase()
        const outbox = Context.get(yield* aProcess(database), Store).webhooks
        const client = yield* aDatabaseClient(database)
        const began = yield* Deferred.make<void>()
        const taken = yield* Deferred.make<void>()
        const ends = yield* Deferred.make<void>()
        const first = yield* Effect.forkChild(
          client.transaction("first", (run) =>
            Effect.gen(function* () {
              yield* run("select pg_current_xact_id()::text")
              yield* Deferred.succeed(began, undefined)
              yield* Deferred.await(taken)
              yield* run(write, ["later"])
            }),
          ),
        )
        yield* Deferred.await(began)
        const last = yield* Effect.forkChild(
          client.transaction("last", (run) =>
            Effect.gen(function* () {
              yield* run(write, ["earlier"])
              yield* Deferred.succeed(taken, undefined)
              yield* Deferred.await(ends)
            }),
          ),
        )
        yield* Fiber.join(first)
        const read = Effect.map(outbox.readEvents(0, 100), (events) =>
          events.map((event) => event.eventId as string),
        )
        const meanwhile = [yield* read, yield* read]
        yield* Deferred.succeed(ends, undefined)
        yield* Fiber.join(last)
        assert.deepStrictEqual(meanwhile, [[], []])
        assert.deepStrictEqual(yield* read, ["earlier", "later"])
      }),
    )

    it.effect("goes on once the transaction with an earlier position has rolled back", () =>
      Effect.gen(function* () {
        const { finish, read } = yield* scene()
        assert.deepStrictEqual(yield* read(0), [])
        yield* finish(false)
        assert.deepStrictEqual(yield* read(0), ["quick"])
      }),
    )

    it.effect("hands out what lies before the gap meanwhile, to readers at any position", () =>
      Effect.gen(function* () {
        const { finish, read } = yield* scene(["first", "second"])
        assert.deepStrictEqual(yield* read(0), ["first", "second"])
        assert.deepStrictEqual(yield* read(1), ["second"])
        assert.deepStrictEqual(yield* read(2), [])
        yield* finish(true)
        assert.deepStrictEqual(yield* read(2), ["slow", "quick"])
      }),
    )

    it.effect("passes at once over positions that were lost while no transaction wrote", () =>
      Effect.gen(function* () {
        const { client, finish, read } = yield* scene()
        yield* finish(true)
        yield* client.query("lose", "select nextval('outbox_id_seq')")
        yield* client.query("quick", write, ["behind"])
        assert.deepStrictEqual(yield* read(0), ["slow", "quick", "behind"])
      }),
    )

    it.effect("looks once more for each position that was lost, however many there are", () =>
      Effect.gen(function* () {
        const { client, finish, read } = yield* scene()
        yield* finish(true)
        const lost = Array.from({ length: 10 }, (_, index) => `behind ${index + 1}`)
        for (const event of lost) {
          yield* client.query("lose", "select nextval('outbox_id_seq')")
          yield* client.query("quick", write, [event])
        }
        // A reader takes a transaction's id for each look at a gap that is new to it.
        const present = client.query<{ readonly id: string }>(
          "present",
          "select pg_current_xact_id()::text as id",
        )
        const [before] = yield* present
        assert.deepStrictEqual(yield* read(0), ["slow", "quick", ...lost])
        const [after] = yield* present
        assert.strictEqual(Number(after?.id) - Number(before?.id), lost.length + 1)
      }),
    )

    it.effect("a reader that follows many writers gets every event once, in order", () =>
      Effect.gen(function* () {
        const database = yield* aMigratedDatabase()
        const stores = yield* aProcess(database)
        const outbox = Context.get(stores, Store).webhooks
        const { number } = yield* Effect.provide(aStage(), stores)
        const second = yield* Effect.provide(aStage(), stores)
        const received: Array<number> = []
        let writing = true
        const follow = Effect.gen(function* () {
          for (;;) {
            const last = !writing
            const events = yield* outbox.readEvents(received.at(-1) ?? 0, 7)
            received.push(...events.map((event) => event.id))
            if (last && events.length === 0) return
          }
        })
        const follower = yield* Effect.forkChild(follow)
        yield* Effect.forEach(
          Array.from({ length: 200 }, (_, index) => index),
          (index) =>
            accepted(index % 2 === 0 ? number : second.number).pipe(
              Effect.flatMap((messages) =>
                sending.end(...messages.map((each) => sending.cancelled(each))),
              ),
              Effect.provide(stores),
            ),
          { concurrency: 20 },
        )
        writing = false
        yield* Fiber.join(follower)
        assert.deepStrictEqual(
          received,
          Array.from({ length: 200 }, (_, index) => index + 1),
        )
      }),
    )
  },
)
