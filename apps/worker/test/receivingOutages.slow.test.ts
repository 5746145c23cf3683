/**
 * What people write while the database is slow and unreachable, and while a worker is frozen: nothing is acknowledged
 * before its commit, a worker stores nothing after its number has moved, and afterwards all is there, in order.
 */
import { assert, it } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { EmbeddedPostgres, bySize, processes } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect, Fiber, Layer, Random, Redacted, Schedule } from "effect"
import type { Scope } from "effect"
import { withDatabase } from "./crash/books.ts"
import {
  checkReceived,
  checkTold,
  countStored,
  findEarlyReceipts,
  makeWriter,
  startConversations,
  startRemotes,
} from "./crash/Conversations.ts"
import type { Conversations, Numbers } from "./crash/Conversations.ts"
import { startClusterOn } from "./crash/Cluster.ts"
import type { Member, PostgresCluster } from "./crash/Cluster.ts"
import { awaitShares } from "./crash/Live.ts"
import { seed } from "./crash/Storm.ts"
import { startSlowWire } from "./crash/slowWire.ts"

const size = bySize<Numbers & { readonly messages: number; readonly awaySeconds: number }>({
  change: { whatsapp: 2, telegram: 1, messages: 60, awaySeconds: 3 },
  all: { whatsapp: 4, telegram: 2, messages: 500, awaySeconds: 20 },
  night: { whatsapp: 4, telegram: 2, messages: 5000, awaySeconds: 60 },
})

const freezes = bySize({ change: 1, all: 3, night: 50 })

const longestMillis = 3_600_000

/** A test of people who write to numbers; the workers use a database of the test. */
const receivingTest = (
  title: string,
  test: (database: TestDatabase) => Effect.Effect<void, unknown, EmbeddedPostgres | Scope.Scope>,
) =>
  it.live(
    `${title} (seed ${seed})`,
    () =>
      Effect.gen(function* () {
        yield* test(yield* (yield* EmbeddedPostgres).createDatabase())
      }).pipe(
        Effect.scoped,
        Random.withSeed(seed),
        Effect.provide(EmbeddedPostgres.layer() as Layer.Layer<EmbeddedPostgres>),
      ),
    longestMillis,
  )

/** People who write, and everything that they wrote. */
const startWriting = Effect.fnUntraced(function* (conversations: Conversations) {
  const { cluster } = conversations
  const write = yield* makeWriter(conversations)
  const early: Array<string> = []
  const looking = yield* findEarlyReceipts(conversations).pipe(
    Effect.tap((found) => Effect.sync(() => void early.push(...found))),
    Effect.repeat(Schedule.spaced("1 second")),
    Effect.forkScoped,
  )
  let written = 0
  const untilStored = (backlog: number) =>
    processes.waitUntil(
      "what was written is stored",
      Effect.map(countStored(cluster), (stored) =>
        stored >= written - backlog ? true : undefined,
      ),
      Schedule.spaced("1 second"),
    )
  return {
    /** Until so much was written. */
    until: Effect.fnUntraced(function* (count: number) {
      while (written < count) written += yield* write
    }),
    more: Effect.fnUntraced(function* (count: number) {
      for (let times = 0; times < count; times++) written += yield* write
    }),
    untilStored,
    /** All is stored, told of, and was acknowledged no earlier. */
    check: Effect.gen(function* () {
      yield* untilStored(0)
      assert.isUndefined(looking.pollUnsafe(), "receipts were looked at all the time")
      yield* Fiber.interrupt(looking)
      assert.deepStrictEqual(early, [])
      const { copies, stored } = yield* checkReceived(conversations)
      yield* checkTold(conversations, stored)
      yield* Effect.logInfo("received", { written, copies })
    }),
  }
})

receivingTest(
  `the store is away for ${size.awaySeconds} s: ${size.messages} messages, none acknowledged before its commit`,
  (database) =>
    Effect.gen(function* () {
      const remotes = yield* startRemotes
      const wire = yield* startSlowWire(database)
      const cluster = yield* startClusterOn(database, {
        ...remotes.settings,
        DATABASE_URL: wire.url,
      })
      const writing = yield* startWriting(yield* startConversations(cluster, remotes, size))
      for (const part of [0.1, 0.2, 0.3]) {
        yield* writing.until(part * size.messages)
        yield* writing.untilStored(size.messages / 20)
      }
      yield* wire.hold
      const outage = yield* Effect.forkScoped(Effect.sleep(`${size.awaySeconds} seconds`))
      yield* writing.until(0.9 * size.messages)
      yield* Fiber.join(outage)
      yield* wire.release
      yield* writing.until(size.messages)
      yield* writing.check
    }),
)

/** Each worker's name in the database. */
const roles = { "worker one": "worker_one", "worker two": "worker_two" } as const

type Worker = keyof typeof roles

const toWorker = (member: Member | undefined): Worker =>
  member === "worker two" ? "worker two" : "worker one"

/** Notes which worker takes which shard, and who writes what for each number, in the order of the locks. */
const noteWriters = ({ database }: PostgresCluster) =>
  withDatabase({ database })(
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      yield* sql`
        create table public.noted (
          id bigint generated always as identity primary key,
          role text not null default session_user,
          shard bigint not null,
          what text not null
        )`
      yield* sql`
        create function public.note() returns trigger language plpgsql as $$
        begin
          insert into public.noted (shard, what)
          values (
            coalesce(to_json(new)->>'shard', ((to_json(new)->>'number_id')::bigint % 256)::text)::bigint,
            tg_table_name
          );
          return null;
        end $$`
      yield* sql`
        create trigger note after update of term on number_shards
        for each row execute function public.note()`
      yield* sql`
        create trigger note after insert on received_messages
        for each row execute function public.note()`
      yield* sql`
        create trigger note after insert or update on session_keys
        for each row execute function public.note()`
      yield* sql`
        create trigger note after insert or update on sessions
        for each row execute function public.note()`
    }),
  )

/** How many of these shards another worker has taken last. */
const countTaken = ({ database }: PostgresCluster, from: Worker, shards: ReadonlyArray<number>) =>
  withDatabase({ database })(
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const [row] = yield* sql<{ readonly count: number }>`
        select count(*)::int as count
        from (
          select distinct on (n.shard) n.role
          from public.noted n
          where n.what = 'number_shards' and n.shard = any (${shards}::bigint[])
          order by n.shard, n.id desc
        ) last
        where last.role <> ${roles[from]}`
      return row!.count
    }),
  )

/** What a worker wrote of a number that another had taken. */
const findLateWrites = ({ database }: PostgresCluster) =>
  withDatabase({ database })(
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      return yield* sql<{ readonly what: string; readonly role: string }>`
        select w.id, w.what, w.role, holder.role as holder
        from public.noted w
        cross join lateral (
          select n.role
          from public.noted n
          where n.what = 'number_shards' and n.shard = w.shard and n.id < w.id
          order by n.id desc
          limit 1
        ) holder
        where w.what <> 'number_shards'
          and w.role = any (${Object.values(roles)})
          and w.role <> holder.role`
    }),
  )

receivingTest(
  `a worker is frozen and its numbers move, ${freezes} times: none is stored or acknowledged by the old one`,
  (database) =>
    Effect.gen(function* () {
      const remotes = yield* startRemotes
      for (const role of Object.values(roles)) {
        yield* (yield* EmbeddedPostgres).administer(`create role ${role} superuser login`)
      }
      const as = (worker: Worker) => ({
        DATABASE_URL: Redacted.value(database.url).replace("postgres@", `${roles[worker]}@`),
      })
      const cluster = yield* startClusterOn(
        database,
        { ...remotes.settings, METRICS_PORT: "0" },
        { "worker one": as("worker one"), "worker two": as("worker two") },
      )
      yield* noteWriters(cluster)
      // So that each shard is taken once more, by a worker with a noted role.
      yield* Effect.forEach(cluster.workers, cluster.kill, { discard: true })
      yield* awaitShares(cluster)
      const conversations = yield* startConversations(cluster, remotes, size)
      const writing = yield* startWriting(conversations)
      const shards = conversations.inboxes.map(({ id }) => id % 256)
      for (let frozen = 0; frozen < freezes; frozen++) {
        yield* awaitShares(cluster)
        const victim = toWorker(yield* Random.choice(cluster.workers))
        const old = yield* cluster.running(victim)
        yield* writing.more(5)
        yield* old.freeze
        yield* writing.more(20)
        yield* processes.waitUntil(
          `the numbers of ${victim} have moved`,
          Effect.map(countTaken(cluster, victim, shards), (taken) =>
            taken === shards.length ? true : undefined,
          ),
        )
        // The old one is back before the new one has connected, or once that has stored everything.
        if (frozen % 2 === 1) yield* writing.untilStored(0)
        yield* old.thaw
        yield* writing.more(5)
      }
      yield* writing.check
      assert.deepStrictEqual(yield* findLateWrites(cluster), [])
    }),
)
