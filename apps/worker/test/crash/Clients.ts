/** Clients that send, schedule, batch, cancel and repeat, and remember what they were told. */
import { assert } from "@effect/vitest"
import { Effect, Random } from "effect"
import type { Cluster } from "./Cluster.ts"

/** What the service acknowledged. */
export interface Ledger {
  /** Texts by the id that was acknowledged for them. */
  readonly accepted: Map<number, string>
  /** Requests that were acknowledged: how many messages each text must have. */
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
}

export const allowance = 1_000_000

/** A workspace with a limited plan, numbers and many keys, since each key has 60 requests a minute. */
export const aSender = (cluster: Cluster) =>
  Effect.gen(function* () {
    const made = yield* cluster.operate("POST", "/admin/v1/workspaces", {
      name: "Crash",
      plan: {
        name: "Limited",
        messages_remaining: allowance,
        reminders: true,
        qr_code_api: true,
        max_numbers: null,
        media_storage_bytes: 0,
      },
    })
    const workspace = `/admin/v1/workspaces/${made.body.id}`
    const numberIds: Array<number> = []
    for (let n = 0; n < 3; n++) {
      const phone = `+1555${String(made.body.id).padStart(3, "0")}${String(n).padStart(4, "0")}`
      const number = yield* cluster.operate("POST", `${workspace}/numbers`, {
        platform: "whatsapp",
        phone,
      })
      numberIds.push(number.body.id)
    }
    // One phone takes its time, so that kills meet attempts under way.
    yield* cluster.operate("PUT", `/admin/v1/simulator/numbers/${numberIds[1]}/behaviour`, {
      latency_ms: 40,
    })
    const keys: Array<string> = []
    for (let n = 0; n < 10; n++) {
      const key = yield* cluster.operate("POST", `${workspace}/keys`, {
        version: 2,
        name: `Key ${n}`,
      })
      keys.push(key.body.key)
    }
    return { workspaceId: made.body.id, numberIds, keys } as Sender
  })

let named = 0

const pick = <A>(items: ReadonlyArray<A>): Effect.Effect<A> =>
  Effect.map(
    Random.nextIntBetween(0, items.length, { halfOpen: true }),
    (index) => items[index] as A,
  )

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()

/** One request of a client, whatever chance makes it. */
export const oneRequest = (cluster: Cluster, senders: ReadonlyArray<Sender>, ledger: Ledger) =>
  Effect.gen(function* () {
    const sender = yield* pick(senders)
    const token = yield* pick(sender.keys)
    const kind = yield* Random.nextIntBetween(0, 99)
    if (kind < 20 && ledger.accepted.size > 0) {
      // Mostly what waits for its time: the others are gone before a cancel comes.
      const waiting = [...(kind < 14 ? ledger.scheduled : ledger.accepted.keys())]
      if (waiting.length === 0) return
      yield* cancelOne(cluster, token, yield* pick(waiting.slice(-60)), ledger)
      return
    }
    const text = `text ${named++}`
    const recipients = kind < 32 ? yield* Random.nextIntBetween(2, 12) : 1
    // Some go to a phone that does not exist: these fail.
    const first = kind >= 60 && kind < 68 ? 0 : 10
    const to = Array.from({ length: recipients }, (_, n) => ({
      phone: `+44794600${String(n + first).padStart(4, "0")}`,
    }))
    const body = {
      to: recipients === 1 ? to[0] : to,
      from: yield* pick(sender.numberIds),
      text,
      ...(kind >= 32 && kind < 50
        ? { send_at: inSeconds(yield* Random.nextIntBetween(1, 8)) }
        : {}),
      ...(kind >= 50 && kind < 60 ? { expires_at: inSeconds(2) } : {}),
    }
    const path = recipients === 1 ? "/api/v2/messages" : "/api/v2/messages/batch"
    const request = { token, body, idempotencyKey: text }
    const answer = yield* cluster.ask("POST", path, request)
    // Its time came while the service was down, or the key's minute is used up.
    if (answer.status === 429 || answer.body?.error?.code === "time_in_past") return
    assert.strictEqual(answer.status, 202, JSON.stringify(answer.body))
    const messages = recipients === 1 ? [answer.body] : answer.body.data
    assert.lengthOf(messages, recipients)
    ledger.expected.set(text, recipients)
    for (const { id, status } of messages) {
      ledger.accepted.set(id, text)
      if (status === "scheduled") ledger.scheduled.add(id)
    }
    if (kind % 5 === 0) {
      const again = yield* cluster.ask("POST", path, request)
      if (again.status !== 429) assert.deepStrictEqual(again.body, answer.body)
    }
  })

/** Schedules a message far enough ahead that it still waits when it is cancelled. */
export const scheduleAndCancel = (cluster: Cluster, sender: Sender, ledger: Ledger) =>
  Effect.gen(function* () {
    const [token = ""] = sender.keys
    const text = `text ${named++}`
    const answer = yield* cluster.ask("POST", "/api/v2/messages", {
      token,
      idempotencyKey: text,
      body: {
        to: { phone: "+447946001000" },
        from: sender.numberIds[0],
        text,
        send_at: inSeconds(250),
      },
    })
    if (answer.status === 429) return
    assert.strictEqual(answer.status, 202, JSON.stringify(answer.body))
    ledger.expected.set(text, 1)
    ledger.accepted.set(answer.body.id, text)
    yield* cancelOne(cluster, token, answer.body.id, ledger)
  })

const cancelOne = (cluster: Cluster, token: string, id: number, ledger: Ledger) =>
  Effect.gen(function* () {
    const answer = yield* cluster.ask("DELETE", `/api/v2/messages/${id}`, { token })
    // The answer to the first try may have been lost: the second one finds it cancelled.
    const cancelled =
      answer.status === 200 || (answer.status === 409 && answer.body.error.status === "cancelled")
    if (cancelled) ledger.cancelled.add(id)
  })
