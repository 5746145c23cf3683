/**
 * What people write, under SIGKILL: two workers with numbers of WhatsApp and Telegram die at random moments while
 * people, strangers, groups and owners write. Every message is stored once, in order, and told of under one id.
 */
import { assert, it } from "@effect/vitest"
import { EmbeddedPostgres, bySize, processes } from "@messaging-service/testkit"
import { Effect, Fiber, Layer, Random } from "effect"
import {
  checkReceived,
  checkTold,
  countStored,
  makeWriter,
  startConversations,
  startRemotes,
} from "./crash/Conversations.ts"
import { startCluster } from "./crash/Cluster.ts"
import { outliveWorkers } from "./crash/Live.ts"
import { seed } from "./crash/Storm.ts"

interface Size {
  readonly whatsapp: number
  readonly telegram: number
  readonly messages: number
  readonly kills: number
}

const size = bySize<Size>({
  change: { whatsapp: 2, telegram: 1, messages: 40, kills: 1 },
  all: { whatsapp: 8, telegram: 4, messages: 1000, kills: 12 },
  night: { whatsapp: 34, telegram: 16, messages: 20_000, kills: 300 },
})

/** People write on until so many are not stored. */
const backlog = 500

/** Leases of deliveries under way when their worker died. */
const leasesMillis = 300_000

/** Of ten kills so many come at once, wherever their victim is; the others when enough was stored since. */
const hasty = 7

/** Each kill costs its numbers the nine seconds after which a worker counts as dead. */
const longestMillis = 3_600_000

const title = `${size.messages} messages for ${size.whatsapp + size.telegram} numbers, ${size.kills} kills`

it.live(
  `${title}: none is lost, none stored twice, and each is delivered (seed ${seed})`,
  () =>
    Effect.gen(function* () {
      const remotes = yield* startRemotes
      const cluster = yield* startCluster(remotes.settings)
      const conversations = yield* startConversations(cluster, remotes, size)
      const write = yield* makeWriter(conversations)

      let written = 0
      const writing = yield* Effect.forkScoped(
        Effect.gen(function* () {
          for (let writes = 1; written < size.messages; writes++) {
            written += yield* write
            if (writes % 50 !== 0) continue
            yield* processes.waitUntil(
              "people may write on",
              Effect.map(countStored(cluster), (stored) =>
                stored > written - backlog ? true : undefined,
              ),
            )
          }
        }),
      )
      const enough = (killed: number) =>
        processes.waitUntil(
          "more was stored since the last kill",
          Effect.map(countStored(cluster), (stored) =>
            stored >= ((killed + 1) * size.messages) / (size.kills + 2) ? true : undefined,
          ),
        )
      for (let killed = 0; killed < size.kills; killed++) {
        const isHasty = (yield* Random.nextIntBetween(0, 9)) < hasty
        if (!isHasty) yield* enough(killed)
        yield* Effect.sleep(yield* Random.nextIntBetween(0, isHasty ? 1500 : 150))
        const victim = yield* Random.nextIntBetween(0, cluster.workers.length - 1)
        yield* cluster.kill(cluster.workers[victim]!)
        if (killed % 10 === 9) {
          yield* Effect.logInfo("kills", {
            killed: killed + 1,
            written,
            stored: yield* countStored(cluster),
          })
        }
      }
      yield* Fiber.join(writing)
      yield* processes.waitUntil(
        "every message is stored",
        Effect.map(countStored(cluster), (stored) => (stored >= written ? true : undefined)),
      )
      // All connect again, and store no repeat. Deliveries of the dead workers become due.
      yield* outliveWorkers(cluster, leasesMillis)
      yield* Effect.forEach(conversations.inboxes, ({ phone, platform }) =>
        platform === "telegram"
          ? processes.waitUntil(
              `${phone} is online`,
              Effect.sync(() => (remotes.telegram.sessions(phone).open > 0 ? true : undefined)),
            )
          : remotes.whatsApp.until(
              () =>
                (remotes.whatsApp.sessions(phone)[0]?.open ?? 0) > 0 &&
                remotes.whatsApp.unanswered(phone).length === 0,
            ),
      )
      const { copies, stored } = yield* checkReceived(conversations)
      yield* checkTold(conversations, stored)
      yield* Effect.logInfo("received", {
        written,
        stored: stored.length,
        copies,
        calls: conversations.receiver.calls.length,
        echoes: stored.filter(({ from_me }) => from_me).length,
      })
      assert.strictEqual(stored.length, written)
    }).pipe(
      Effect.scoped,
      Random.withSeed(seed),
      Effect.provide(EmbeddedPostgres.layer() as Layer.Layer<EmbeddedPostgres>),
    ),
  longestMillis,
)
