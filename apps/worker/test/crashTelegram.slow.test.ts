/**
 * The promise for Telegram accounts, on each persistent store. While messages are accepted, cancelled and
 * expire, connections break at every point, answers are lost, the remote server asks for pauses, leaves and
 * returns, and processes are killed. Afterwards each message has one true outcome, no person saw one twice,
 * and no two processes used one key at a time. `TEST_SEED` repeats a storm.
 */
import { assert, describe, it } from "@effect/vitest"
import { TelegramServer } from "@messaging-service/telegram-server"
import type { CallOutcome } from "@messaging-service/telegram-server"
import { EmbeddedPostgres, processes, testSeed } from "@messaging-service/testkit"
import { Effect, Fiber, Layer, Random } from "effect"
import { startAlone, startCluster } from "./crash/Cluster.ts"
import type { Cluster, Member, Settings } from "./crash/Cluster.ts"
import { toService } from "./crash/Conversations.ts"
import { outliveWorkers } from "./crash/Live.ts"
import { RemoteServer, layerTelegram } from "./live/remoteServers.ts"

const seed = testSeed()

const accounts = 3
const people = ["first_person", "second_person", "third_person"]

/** Messages of each account. */
const each = 16

/** A caller's view of one message. */
interface Sent {
  readonly id: number
  readonly text: string
  isCancelled: boolean
}

const between = (min: number, max: number) => Random.nextIntBetween(min, max)

const oneOf = <A>(items: ReadonlyArray<A>) =>
  Effect.map(between(0, items.length - 1), (index) => items[index] as A)

const pause = (min: number, max: number) => Effect.flatMap(between(min, max), Effect.sleep)

const faults: ReadonlyArray<CallOutcome> = [
  { drop: "before work" },
  { drop: "after work" },
  { code: 420, error: "FLOOD_WAIT_1" },
  { code: 500, error: "INTERNAL" },
  "withhold",
  "lose",
]

/** One fault at the remote server. */
const oneFault = (phones: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const remote = yield* TelegramServer
    const phone = yield* oneOf(phones)
    yield* yield* oneOf([
      remote.drop(phone),
      remote.restart,
      remote.rotateSalts,
      remote.silence(phone),
      Effect.andThen(remote.down, Effect.andThen(Effect.sleep(200), remote.up)),
      ...faults.map((outcome) => remote.nextCall({ phone, outcome })),
    ])
    yield* pause(20, 200)
  })

/** Sends one message after the other; some are cancelled, some expire soon. */
const sendAll = (
  { request }: Cluster,
  { from, token }: { readonly from: number; readonly token: string },
) =>
  Effect.forEach(
    Array.from({ length: each }, (_, index) => index),
    (index) =>
      Effect.gen(function* () {
        const text = `${from}: message ${index}`
        const expiresAt = new Date(Date.now() + (yield* between(1000, 10_000)))
        const expires = index % 4 === 1 ? { expires_at: expiresAt } : {}
        const to = { username: `@${yield* oneOf(people)}` }
        const { body, status } = yield* request("POST", "/api/v2/messages", {
          token,
          idempotencyKey: text,
          body: { to, from, text, ...expires },
        })
        // It fell due while the service was down, or while the key's limit was used up.
        if (body.error?.code === "time_in_past") return []
        assert.strictEqual(status, 202, JSON.stringify(body))
        const sent: Sent = { id: body.id, text, isCancelled: false }
        yield* pause(0, 200)
        if (index % 4 === 3) {
          const answer = yield* request("DELETE", `/api/v2/messages/${sent.id}`, { token })
          // Repeats the request that lost its answer.
          sent.isCancelled = answer.status === 200
        }
        return [sent]
      }),
  ).pipe(Effect.map((all) => all.flat()))

/** Twice the leases of the dead. */
const leasesMillis = 60_000

/** `kills`: one after the other. */
const scenario = <E, R>(
  start: (settings: Settings) => Effect.Effect<Cluster, E, R>,
  kills: ReadonlyArray<Member>,
) =>
  Effect.gen(function* () {
    const remote = yield* TelegramServer
    const { connect, settings } = yield* RemoteServer
    const started = yield* start({
      TRANSPORT: "live",
      ...(yield* settings(yield* processes.temporaryDirectory)),
    })
    const { builders } = started
    const workspace = yield* builders.aWorkspace()
    const aKey = Effect.map(builders.aKey(workspace), ({ key }) => key)
    const phones = people.map((_, index) => `4915100001${index}00`)
    for (const [index, username] of people.entries()) {
      yield* remote.person(`4915100002${index}00`, { username })
    }
    const senders = yield* Effect.forEach(phones.slice(0, accounts), (phone) =>
      Effect.gen(function* () {
        const from = yield* connect(toService(started), phone)
        return { from, token: yield* aKey }
      }),
    )

    const faulty = yield* Effect.forkScoped(Effect.forever(oneFault(phones)))
    const sending = yield* Effect.forkScoped(
      Effect.forEach(senders, (sender) => sendAll(started, sender), { concurrency: "unbounded" }),
    )
    for (const victim of kills) {
      yield* started.ready(victim)
      yield* pause(300, 1200)
      yield* started.kill(victim)
    }
    const sent = (yield* Fiber.join(sending)).flat()
    yield* Fiber.interrupt(faulty)
    for (const phone of phones) yield* remote.forgetOrders(phone)
    yield* remote.up
    // Attempts without an answer end with their connections.
    yield* remote.drop()
    yield* outliveWorkers(started, leasesMillis)

    const token = yield* aKey
    const outcomes = yield* processes.waitUntil(
      "each message has an outcome",
      Effect.map(
        started.request("GET", "/api/v2/messages?limit=100", { token }),
        ({ body }): ReadonlyArray<processes.ObservedMessage> | undefined =>
          body.data.every(({ status }: processes.ObservedMessage) => status !== "queued")
            ? body.data
            : undefined,
      ),
      processes.ofOneKey,
    )

    const visible = people.flatMap((_, index) => remote.shown(`4915100002${index}00`))
    let accepted = 0
    assert.lengthOf(outcomes, sent.length)
    for (const { id, isCancelled, text } of sent) {
      const outcome = outcomes.find((message) => message.id === id)
      const copies = visible.filter((message) => message.text === text).length
      const what = `${text}: ${JSON.stringify(outcome)}, shown ${copies} times`
      if (isCancelled) assert.strictEqual(outcome?.status, "cancelled", what)
      switch (outcome?.status) {
        case "sent":
        case "read":
          accepted++
          assert.strictEqual(copies, 1, what)
          break
        case "failed":
          assert.strictEqual(outcome.error?.code, "outcome_unknown", what)
          assert.isAtMost(copies, 1, what)
          break
        default:
          assert.include(["cancelled", "expired"], outcome?.status, what)
          assert.strictEqual(copies, 0, what)
      }
    }
    for (const phone of phones) {
      const { keys, mixed } = remote.sessions(phone)
      assert.deepStrictEqual([keys, mixed], [1, 0])
    }
    assert.deepStrictEqual(remote.complaints(), [])
    // A storm in which nothing got through proves nothing; how much does depends on the machine.
    const all = outcomes.map(({ error, status }) => error?.code ?? status).join(" ")
    assert.isAtLeast(accepted, (accounts * each) / 8, all)
  }).pipe(Effect.scoped, Random.withSeed(seed), Effect.provide(Layer.fresh(layerTelegram)))

describe(`Telegram accounts in a storm (seed ${seed})`, () => {
  it.live("on the embedded database, while the server is killed too", () =>
    scenario(startAlone, ["server", "server"]),
  )

  it.live("on PostgreSQL, while the server and two workers are killed too", () =>
    scenario(startCluster, ["worker one", "server", "worker two", "worker one"]).pipe(
      Effect.provide(EmbeddedPostgres.layer()),
    ),
  )
})
