/** Clients that send, schedule, batch, cancel and repeat, and remember the responses. */
import { assert } from "@effect/vitest"
import { http } from "@messaging-service/testkit/world"
import { Effect, Random } from "effect"
import type { Cluster } from "./Cluster.ts"

/** Acknowledgements of the service. */
export interface Ledger {
  /** Texts by their acknowledged message ids. */
  readonly accepted: Map<number, string>
  /** Acknowledged requests: how many messages each text must have. */
  readonly expected: Map<string, number>
  readonly scheduled: Set<number>
  readonly cancelled: Set<number>
}

export const emptyLedger = (): Ledger => ({
  accepted: new Map(),
  expected: new Map(),
  scheduled: new Set(),
  cancelled: new Set(),
})

export interface Sender {
  readonly workspaceId: number
  readonly numberIds: ReadonlyArray<number>
  readonly keys: ReadonlyArray<string>
  /** Ids of uploaded files; some messages carry one, and no message loses it. */
  readonly files?: ReadonlyArray<number>
}

export const allowance = 1_000_000

/** A workspace with a limited plan and many keys, since each key has 60 requests a minute. */
export const aSenderWith = <E, R>(
  cluster: Cluster,
  addNumbers: (sender: Omit<Sender, "numberIds">) => Effect.Effect<ReadonlyArray<number>, E, R>,
) =>
  Effect.gen(function* () {
    const { aKey, aWorkspace } = cluster.builders
    const workspace = yield* aWorkspace({
      plan: http.aPlanInJson({ messages_remaining: allowance, media_storage_bytes: 1_000_000 }),
    })
    const workspaceId = workspace.id
    const issued = yield* Effect.replicateEffect(aKey(workspace), 10)
    const keys = issued.map(({ key }) => key)
    const sender: Sender = {
      workspaceId,
      keys,
      numberIds: yield* addNumbers({ workspaceId, keys }),
    }
    return sender
  })

/** The same with simulated phones. One of them is slow, so kills meet attempts in flight. */
export const aSender = (cluster: Cluster) =>
  aSenderWith(cluster, ({ workspaceId }) =>
    Effect.gen(function* () {
      const numbers = yield* Effect.replicateEffect(
        cluster.builders.aNumber({ id: workspaceId }),
        3,
      )
      const numberIds = numbers.map(({ id }) => id)
      yield* cluster.operate("PUT", `/admin/v1/simulator/numbers/${numberIds[1]}/behaviour`, {
        latency_ms: 40,
      })
      return numberIds
    }),
  )

let named = 0

const pick = <A>(items: ReadonlyArray<A>): Effect.Effect<A> =>
  Effect.map(
    Random.nextIntBetween(0, items.length, { halfOpen: true }),
    (index) => items[index] as A,
  )

export const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()

/** Recipients' phones; the first does not exist. */
const recipient = (n: number) => `+44794600${String(n).padStart(4, "0")}`

export const recipients = Array.from({ length: 12 }, (_, n) => recipient(n + 10))

/** A random request of a client. */
export const oneRequest = (cluster: Cluster, senders: ReadonlyArray<Sender>, ledger: Ledger) =>
  Effect.gen(function* () {
    const sender = yield* pick(senders)
    const token = yield* pick(sender.keys)
    const kind = yield* Random.nextIntBetween(0, 99)
    if (kind < 20 && ledger.accepted.size > 0) {
      // Mostly scheduled ones: the others have left before a cancel arrives.
      const waiting = [...(kind < 14 ? ledger.scheduled : ledger.accepted.keys())]
      if (waiting.length === 0) return
      yield* cancelOne(cluster, token, yield* pick(waiting.slice(-60)), ledger)
      return
    }
    const text = `text ${named++}`
    const count = kind < 32 ? yield* Random.nextIntBetween(2, recipients.length) : 1
    // Some go to a phone that does not exist: these fail.
    const first = kind >= 60 && kind < 68 ? 0 : 10
    const to = Array.from({ length: count }, (_, n) => ({ phone: recipient(n + first) }))
    const body = {
      to: count === 1 ? to[0] : to,
      from: yield* pick(sender.numberIds),
      text,
      ...(kind >= 85 && sender.files !== undefined
        ? { media: { media_id: yield* pick(sender.files) } }
        : {}),
      ...(kind >= 32 && kind < 50
        ? { send_at: inSeconds(yield* Random.nextIntBetween(1, 8)) }
        : {}),
      ...(kind >= 50 && kind < 60 ? { expires_at: inSeconds(2) } : {}),
    }
    const path = count === 1 ? "/api/v2/messages" : "/api/v2/messages/batch"
    const request = { token, body, idempotencyKey: text }
    const answer = yield* cluster.request("POST", path, request)
    // It fell due while the service was down, or the key's minute is used up.
    if (answer.status === 429 || answer.body?.error?.code === "time_in_past") return
    assert.strictEqual(answer.status, 202, JSON.stringify(answer.body))
    const messages = count === 1 ? [answer.body] : answer.body.data
    assert.lengthOf(messages, count)
    ledger.expected.set(text, count)
    for (const { id, status } of messages) {
      ledger.accepted.set(id, text)
      if (status === "scheduled") ledger.scheduled.add(id)
    }
    if (kind % 5 === 0) {
      const again = yield* cluster.request("POST", path, request)
      if (again.status !== 429) assert.deepStrictEqual(again.body, answer.body)
    }
  })

/** Sends and records one message; returns its id, or undefined when the key's minute is used up. */
export const sendOne = (
  cluster: Cluster,
  token: string,
  body: { readonly text: string } & Readonly<Record<string, unknown>>,
  ledger: Ledger,
) =>
  Effect.gen(function* () {
    const { text } = body
    const request = { token, idempotencyKey: text, body }
    const answer = yield* cluster.request("POST", "/api/v2/messages", request)
    if (answer.status === 429) return undefined
    assert.strictEqual(answer.status, 202, JSON.stringify(answer.body))
    const id: number = answer.body.id
    ledger.expected.set(text, 1)
    ledger.accepted.set(id, text)
    return id
  })

/** Schedules a message far enough ahead that it still waits when it is cancelled. */
export const scheduleAndCancel = (cluster: Cluster, sender: Sender, ledger: Ledger) =>
  Effect.gen(function* () {
    const [token = ""] = sender.keys
    const body = {
      to: { phone: "+447946001000" },
      from: sender.numberIds[0],
      text: `text ${named++}`,
      send_at: inSeconds(250),
    }
    const id = yield* sendOne(cluster, token, body, ledger)
    if (id !== undefined) yield* cancelOne(cluster, token, id, ledger)
  })

/** Sends to the phone that does not exist. */
export const sendInVain = (cluster: Cluster, { keys, numberIds }: Sender, ledger: Ledger) =>
  sendOne(
    cluster,
    keys[1] ?? "",
    { to: { phone: recipient(0) }, from: numberIds[0], text: `text ${named++}` },
    ledger,
  )

export const cancelOne = (cluster: Cluster, token: string, id: number, ledger: Ledger) =>
  Effect.gen(function* () {
    const answer = yield* cluster.request("DELETE", `/api/v2/messages/${id}`, { token })
    // The first answer may have been lost: the second one finds it cancelled.
    const cancelled =
      answer.status === 200 || (answer.status === 409 && answer.body.error.status === "cancelled")
    if (cancelled) ledger.cancelled.add(id)
    return answer
  })
