/**
 * Several processes at one database. The races of the contract suite run within one process, which batches its calls;
 * here every process has a pool of its own, and only the database is between them.
 */
import { assert, layer } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ClaimedMessage, Message, MessageChange, QuotaLimit } from "@messaging-service/core"
import {
  EmbeddedPostgres,
  aClaim,
  aKey,
  aNumber,
  aPlan,
  aStage,
  accept,
  accepted,
  aMessage,
  anAcceptance,
  claimKey,
  day,
  fresh,
  noon,
  readOutbox,
  remaining,
  sending,
} from "@messaging-service/testkit"
import { Effect } from "effect"
import type { Context } from "effect"
import { aDatabase, aDatabaseClient, aProcess } from "./databases.ts"
import type { Stores } from "./databases.ts"

const atOnce = { concurrency: "unbounded" } as const

const range = (length: number) => Array.from({ length }, (_, index) => index)

type Process = Context.Context<Stores>

const processes = (count: number) =>
  Effect.flatMap(aDatabase, (database) =>
    Effect.forEach(range(count), () => aProcess(database, { maxConnections: 4 })),
  )

/** Runs the calls at once, each in the next process. */
const spread = <A, E>(
  among: ReadonlyArray<Process>,
  calls: ReadonlyArray<Effect.Effect<A, E, Stores>>,
) =>
  Effect.forEach(
    calls,
    (call, index) => Effect.provide(call, among[index % among.length] ?? among[0]!),
    atOnce,
  )

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "processes that share a database",
  (it) => {
    it.effect("the plan's allowance is taken once for each message, by whichever process", () =>
      Effect.gen(function* () {
        const all = yield* processes(3)
        const [one] = all
        const { number, workspace } = yield* Effect.provide(
          aStage({ plan: aPlan(40) }),
          one ?? all[0]!,
        )
        const numbers = yield* Effect.provide(
          Effect.forEach(range(4), () => aNumber(workspace.id)),
          all[0]!,
        )
        const outcomes = yield* spread(
          all,
          range(90).map((index) => accept(anAcceptance(numbers[index % 4] ?? number))),
        )
        const refused = outcomes.filter((outcome) => outcome._tag === "Conflict")
        assert.lengthOf(refused, 50)
        assert.isTrue(
          refused.every((each) => each._tag === "Conflict" && each.guard === "allowance"),
        )
        assert.strictEqual(yield* Effect.provide(remaining(workspace), all[1]!), 0)
      }),
    )

    it.effect("a number's quota holds exactly, by whichever process", () =>
      Effect.gen(function* () {
        const all = yield* processes(3)
        const { number } = yield* Effect.provide(aStage(), all[0]!)
        const limit: QuotaLimit = { messages: 50, windowMillis: day }
        const outcomes = yield* spread(
          all,
          range(60).map((index) => accept(anAcceptance(number, { limit, count: 1 + (index % 2) }))),
        )
        const messageIds = outcomes.flatMap((each) => (each._tag === "Accepted" ? each.ids : []))
        assert.isAtMost(messageIds.length, 50)
        // A batch that needed no more than what was left got it.
        assert.isAtLeast(messageIds.length, 49)
        assert.strictEqual(new Set(messageIds).size, messageIds.length)
      }),
    )

    it.effect("calls that lock many numbers in every order wait, and none fails", () =>
      Effect.gen(function* () {
        const all = yield* processes(3)
        const { workspace } = yield* Effect.provide(aStage({ plan: aPlan(100_000) }), all[0]!)
        const numbers = yield* Effect.provide(
          Effect.forEach(range(12), () => aNumber(workspace.id)),
          all[0]!,
        )
        const messages = yield* Effect.provide(
          Effect.forEach(numbers, (number) => accepted(number, { count: 20 })),
          all[0]!,
        )
        const changes = messages
          .flat()
          .map((message: Message): MessageChange => sending.cancelled(message))
        const shuffled = (seed: number) =>
          changes.toSorted((a, b) => ((a.message.id * seed) % 97) - ((b.message.id * seed) % 97))
        yield* Effect.all(
          [
            spread(
              all,
              range(6).map((index) => sending.end(...shuffled(index * 31 + 7))),
            ),
            spread(
              all,
              range(60).map((index) => accepted(numbers[(index * 5) % 12]!, { count: 2 })),
            ),
          ],
          atOnce,
        )
        const left = yield* Effect.provide(remaining(workspace), all[0]!)
        assert.strictEqual(left, 100_000 - 120)
        const outbox = yield* Effect.provide(readOutbox(0), all[0]!)
        assert.lengthOf(
          outbox.filter((event) => event.type === "message.cancelled"),
          240,
        )
      }),
    )

    it.effect("leases are prolonged although another transaction holds one of their lanes", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const process = yield* aProcess(database, { maxConnections: 4 })
        const client = yield* aDatabaseClient(database)
        const { claimed, numbers } = yield* Effect.provide(
          Effect.gen(function* () {
            const { workspace } = yield* aStage()
            const created = yield* Effect.forEach(range(3), () => aNumber(workspace.id))
            yield* Effect.forEach(created, (number) => accepted(number))
            return { numbers: created, claimed: yield* sending.claim(created) }
          }),
          process,
        )
        const [numberId, ...others] = numbers.map(({ id }) => id)
        const prolonged = yield* client.transaction("hold", (run) =>
          Effect.andThen(
            run(`select from lanes where number_id = ${numberId} for no key update`),
            Effect.orDie(Effect.provide(sending.renew(claimed, noon + day), process)),
          ),
        )
        assert.deepStrictEqual(prolonged, others)
        // The next time it is not held any more.
        const all = yield* Effect.provide(sending.renew(claimed, noon + day), process)
        assert.deepStrictEqual(all, [numberId, ...others])
      }),
    )

    it.effect("attempts are settled although another transaction holds one of their lanes", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const process = yield* aProcess(database, { maxConnections: 4 })
        const client = yield* aDatabaseClient(database)
        const claimed = yield* Effect.provide(
          Effect.gen(function* () {
            const { workspace } = yield* aStage()
            const numbers = yield* Effect.forEach(range(3), () => aNumber(workspace.id))
            yield* Effect.forEach(numbers, (number) => accepted(number))
            return yield* sending.claim(numbers)
          }),
          process,
        )
        const settlements = claimed.map((each) => sending.sent(each))
        const settle = Effect.orDie(
          Effect.provide(
            Store.use(({ queue }) => queue.settle(settlements, noon)),
            process,
          ),
        )
        const [messageId, ...others] = claimed.map(({ message }) => message.id)
        const number = claimed[0]?.number.id
        const outcome = yield* client.transaction("hold", (run) =>
          Effect.andThen(
            run(`select from lanes where number_id = ${number} for no key update`),
            settle,
          ),
        )
        assert.deepStrictEqual([...outcome.settled], others)
        assert.deepStrictEqual(outcome.blockedByLock, settlements.slice(0, 1))
        const later = yield* settle
        assert.deepStrictEqual([[...later.settled], later.blockedByLock], [[messageId], []])
      }),
    )

    it.effect("dispatchers of several processes never hold one number at the same time", () =>
      Effect.gen(function* () {
        const all = yield* processes(3)
        const { workspace } = yield* Effect.provide(aStage(), all[0]!)
        const numbers = yield* Effect.provide(
          Effect.forEach(range(15), () => aNumber(workspace.id)),
          all[0]!,
        )
        yield* Effect.provide(
          Effect.forEach(numbers, (number) => accepted(number, { count: 4 })),
          all[0]!,
        )
        const held = new Set<number>()
        const left: Array<ClaimedMessage> = []
        const dispatch = Effect.gen(function* () {
          for (let iteration = 0; iteration < 40; iteration++) {
            const claimed = yield* sending.claim(numbers, { limit: 3 })
            for (const { number } of claimed) {
              assert.isFalse(held.has(number.id), `number ${number.id} is held twice`)
              held.add(number.id)
            }
            left.push(...claimed)
            yield* Effect.yieldNow
            for (const { number } of claimed) held.delete(number.id)
            yield* sending.settle(claimed.map((each) => sending.sent(each)))
          }
        })
        yield* spread(
          all,
          range(6).map(() => dispatch),
        )
        assert.lengthOf(new Set(left.map((each) => each.message.id)), 60)
        assert.lengthOf(left, 60)
      }),
    )

    it.effect("a cancel in one process against a claim in another: one of them wins", () =>
      Effect.gen(function* () {
        const all = yield* processes(2)
        const { workspace } = yield* Effect.provide(aStage(), all[0]!)
        const numbers = yield* Effect.provide(
          Effect.forEach(range(30), () => aNumber(workspace.id)),
          all[0]!,
        )
        const messages = yield* Effect.provide(
          Effect.forEach(numbers, (number) => aMessage(number)),
          all[0]!,
        )
        const claims: Array<ClaimedMessage> = []
        const take = Effect.map(sending.claim(numbers, { limit: 2 }), (claimed) => {
          claims.push(...claimed)
          return [] as ReadonlyArray<number>
        })
        const ended = yield* spread<ReadonlyArray<number>, unknown>(
          all,
          messages.flatMap((message) => [sending.end(sending.cancelled(message)), take]),
        )
        const both = [...ended.flat(), ...claims.map((each) => each.message.id)]
        assert.deepStrictEqual(
          both.toSorted((a, b) => a - b),
          messages.map((message) => message.id),
        )
      }),
    )

    it.effect("of repeats of a request in several processes one is accepted", () =>
      Effect.gen(function* () {
        const all = yield* processes(3)
        const { number, workspace } = yield* Effect.provide(aStage(), all[0]!)
        const { key } = yield* Effect.provide(aKey(workspace.id), all[0]!)
        const claim = aClaim(key.id)
        const attempt = Effect.gen(function* () {
          const mine = { ...claim, token: `token ${fresh()}` }
          const outcome = yield* claimKey(workspace.id, mine)
          if (outcome._tag !== "Claimed") return outcome._tag
          const accepting = yield* accept(anAcceptance(number, { idempotency: mine }))
          return accepting._tag
        })
        const outcomes = yield* spread(
          all,
          range(18).map(() => attempt),
        )
        assert.lengthOf(
          outcomes.filter((outcome) => outcome === "Accepted"),
          1,
        )
        assert.isTrue(
          outcomes.every((each) => ["Accepted", "InProgress", "Finished"].includes(each)),
        )
      }),
    )

    it.effect("requests with one key are counted by all processes together", () =>
      Effect.gen(function* () {
        const all = yield* processes(3)
        const { workspace } = yield* Effect.provide(aStage(), all[0]!)
        const { hash } = yield* Effect.provide(aKey(workspace.id), all[0]!)
        const admit = Store.use(({ workspaces: store }) =>
          store.admit({
            hash,
            version: 2,
            now: noon,
            minuteStart: noon,
            dayStart: noon,
            clientAddress: null,
          }),
        )
        const counts = yield* spread(
          all,
          range(120).map(() => admit),
        )
        assert.deepStrictEqual(
          counts.map((admitted) => admitted?.count?.minute ?? 0).toSorted((a, b) => a - b),
          range(120).map((index) => index + 1),
        )
      }),
    )
  },
)
