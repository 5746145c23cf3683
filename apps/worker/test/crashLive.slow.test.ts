/**
 * The promise under SIGKILL with live numbers, against a WhatsApp server in this process: each
 * message's end matches what the recipient's phone shows, on every persistent store.
 */
import { assert, describe, it } from "@effect/vitest"
import { EmbeddedPostgres, bySize, processes } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { MessageOutcome } from "@messaging-service/whatsapp-server"
import { Effect, Fiber, Layer, Random } from "effect"
import {
  cancelOne,
  emptyLedger,
  inSeconds,
  oneRequest,
  recipients,
  sendOne,
} from "./crash/Clients.ts"
import type { Ledger } from "./crash/Clients.ts"
import { awaitShares, checkLive, outliveWorkers, startLive } from "./crash/Live.ts"
import type { LiveCluster, LiveSender, StoreName } from "./crash/Live.ts"
import { seed, runLoad } from "./crash/Storm.ts"

const kills = bySize({ change: 1, all: 2, night: 20 })

/** Minimum of acknowledged messages for each kill. */
const messagesForKill = 15

const faults: ReadonlyArray<MessageOutcome> = [
  { drop: "before work" },
  { drop: "before ack" },
  { drop: "after ack" },
  { nack: 479 },
  "withhold ack",
]

/** Breaks one number's next message in transit, and releases earlier ones. */
const oneFault = ({ remote }: LiveCluster, { phones }: LiveSender) =>
  Effect.gen(function* () {
    const from = phones[yield* Random.nextIntBetween(0, phones.length - 1)]!
    const outcome = faults[yield* Random.nextIntBetween(0, faults.length - 1)]!
    if (remote.ordersLeft(from) === 0) yield* remote.nextMessage({ from, outcome })
    yield* Effect.sleep(yield* Random.nextIntBetween(200, 500))
    yield* remote.releaseAcks
  })

/** A message that its recipient could not read, and a copy of it that gets lost. */
const leftUnread = (cluster: LiveCluster, sender: LiveSender, ledger: Ledger) =>
  Effect.gen(function* () {
    const { remote } = cluster
    // No other message to this recipient loses a copy.
    const recipient = "+447946009999"
    yield* remote.person(recipient)
    const [token = ""] = sender.keys
    const [, from = ""] = sender.phones
    const send = (text: string) => {
      const body = { to: { phone: recipient }, from: sender.numberIds[1], text }
      return sendOne(cluster, token, body, ledger)
    }
    yield* send("is read")
    yield* remote.until(() => remote.decrypted(recipient).some(({ text }) => text === "is read"))
    yield* remote.loseSessions(recipient)
    yield* remote.nextMessage({ from, outcome: "withhold ack" })
    yield* remote.nextMessage({ from, outcome: "lose" })
    yield* send("is asked for again")
    yield* remote.until(() => remote.ordersLeft(from) === 0)
  })

/**
 * Messages that their recipient has while their sender waits for the remote server's ack, and
 * others that wait behind one of them. Returns the checks for after their worker's death.
 */
const leftUnderWay = (cluster: LiveCluster, sender: LiveSender, ledger: Ledger) =>
  Effect.gen(function* () {
    const { remote } = cluster
    const [recipient = ""] = recipients
    const [token = ""] = sender.keys
    const [phone = ""] = sender.phones
    const send = (number: 0 | 1, text: string, more: Readonly<Record<string, unknown>> = {}) => {
      const body = { to: { phone: recipient }, from: sender.numberIds[number], text, ...more }
      return Effect.map(sendOne(cluster, token, body, ledger), (id) => id!)
    }
    const arrivals = (text: string) =>
      remote.decrypted(recipient).find((visible) => visible.text === text)?.arrivals ?? 0
    const expires_at = inSeconds(60)
    // Acks are withheld until released, also of repeats, so nothing behind them can leave.
    for (const from of sender.phones) {
      yield* remote.nextMessage({ from, outcome: "withhold ack", times: 1000 })
    }
    const [shownBefore, repeatedLater] = [
      "expires after it was shown",
      "is cancelled too late, and repeated",
    ]
    const expiring = yield* send(0, shownBefore, { expires_at })
    const expiringBehind = yield* send(0, "expires behind it", { expires_at })
    const waiting = yield* send(0, "waits behind it", { media: { media_id: sender.document } })
    const cancelledBehind = yield* send(0, "is cancelled behind it")
    const repeated = yield* send(1, repeatedLater, { media: { media_id: sender.picture } })
    yield* remote.until(() => arrivals(shownBefore) > 0 && arrivals(repeatedLater) > 0)
    // A connection that breaks on a slow machine must not end an attempt either.
    yield* remote.drop(phone)
    yield* remote.until(() => arrivals(shownBefore) > 1)
    const cancelled = yield* cancelOne(cluster, token, cancelledBehind, ledger)
    assert.isTrue(ledger.cancelled.has(cancelledBehind), JSON.stringify(cancelled))
    // It waits for the attempt in flight, which its worker does not survive.
    const cancelling = yield* Effect.forkScoped(cancelOne(cluster, token, repeated, ledger))
    // By the answers to later requests it is there.
    for (let requests = 0; requests < 2; requests++) {
      yield* cluster.request("GET", `/api/v2/messages/${repeated}`, { token })
    }
    const before = { readRows: arrivals(shownBefore), repeated: arrivals(repeatedLater) }

    return Effect.gen(function* () {
      const tooLate = yield* Fiber.join(cancelling)
      assert.strictEqual(tooLate.body.error?.code, "not_cancellable", JSON.stringify(tooLate.body))
      const become = (id: number) =>
        Effect.map(cluster.request("GET", `/api/v2/messages/${id}`, { token }), ({ body }) => [
          body.status,
          body.error?.code,
        ])
      // It was shown, so it has not expired; and it must not be sent again.
      assert.deepStrictEqual(yield* become(expiring), ["failed", "outcome_unknown"])
      assert.strictEqual(arrivals(shownBefore), before.readRows)
      assert.deepStrictEqual(yield* become(expiringBehind), ["expired", undefined])
      assert.deepStrictEqual(yield* become(waiting), ["sent", undefined])
      assert.deepStrictEqual(yield* become(cancelledBehind), ["cancelled", undefined])
      // Under the same id, so the phone shows one copy.
      assert.deepStrictEqual(yield* become(repeated), ["sent", undefined])
      assert.isAbove(arrivals(repeatedLater), before.repeated)
    })
  })

const crashes = (store: StoreName) =>
  Effect.gen(function* () {
    const cluster = yield* startLive(store)
    const { remote, senders } = cluster
    const [busy, quiet] = senders
    const ledger = emptyLedger()
    const failing = yield* Effect.forkScoped(Effect.forever(oneFault(cluster, busy)))
    const client = Effect.andThen(oneRequest(cluster, [busy], ledger), Effect.sleep(40))
    yield* runLoad(cluster, {
      kills,
      // One worker stays, or all numbers would wait until the dead count as dead.
      victims: cluster.members.filter((member) => member !== "worker two"),
      clients: [client, client, client],
      untilKill: (killed) =>
        processes.waitUntil(
          "enough was acknowledged",
          Effect.sync(() =>
            ledger.accepted.size >= (killed + 1) * messagesForKill ? true : undefined,
          ),
        ),
    })
    yield* Fiber.interrupt(failing)
    yield* remote.releaseAcks

    // A worker that came back takes its share. A message in flight would move with its number, be
    // repeated a minute later, and hold up what is sent behind it until that has expired.
    if (store === "PostgreSQL") yield* awaitShares(cluster)
    yield* leftUnread(cluster, quiet, ledger)
    const checkUnderWay = yield* leftUnderWay(cluster, quiet, ledger)
    // Leases of the dead expire, and scheduled messages fall due.
    yield* outliveWorkers(cluster, 300_000)
    // Orders for numbers that were away are carried out now.
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(remote.releaseAcks, Effect.sleep(100))))
    const states = yield* checkLive(cluster, ledger)
    yield* checkUnderWay
    yield* Effect.logInfo("live messages", { acknowledged: ledger.accepted.size, ...states })
  })

const services = () =>
  Layer.fresh(
    Layer.merge(
      EmbeddedPostgres.layer() as Layer.Layer<EmbeddedPostgres>,
      WhatsAppServer.layer({ asksForFewPreKeys: true }),
    ),
  )

// They wait for the work of the dead.
describe.concurrent("messages of live numbers", () => {
  it.live.each(["PostgreSQL", "PGlite"] as const)(
    `are neither lost, nor sent twice, nor sent after their end: ${kills} kills on %s (seed ${seed})`,
    (store) =>
      crashes(store).pipe(Effect.scoped, Random.withSeed(seed), Effect.provide(services())),
  )
})
