/**
 * Clusters with live numbers, and a WhatsApp server in the test's process, which counts what each recipient's
 * phone shows. Accounts are read from outside: the remote server, the API, and a receiver of events.
 */
import { assert } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { Media } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { figure } from "../live/figure.ts"
import { linkNumber } from "../live/linkNumber.ts"
import { allowance, aSenderWith, recipients } from "./Clients.ts"
import type { Ledger, Sender } from "./Clients.ts"
import { checkOutcomes } from "./accounts.ts"
import type { Outcome } from "./accounts.ts"
import { startAlone, startCluster } from "./Cluster.ts"
import type { Cluster, Settings } from "./Cluster.ts"
import { aReceiver, subscribe } from "./Receiver.ts"
import type { Receiver } from "./Receiver.ts"

/** A sender with numbers that are linked to phones. */
export interface LiveSender extends Sender {
  /** Digits of its numbers' phones, in the order of the numbers. */
  readonly phones: ReadonlyArray<string>
  /** Ids of its files. */
  readonly picture: number
  readonly document: number
}

export interface LiveCluster extends Cluster {
  readonly remote: typeof WhatsAppServer.Service
  readonly receiver: Receiver
  readonly senders: readonly [LiveSender, LiveSender]
}

const pictureBytes = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
)
const aPicture = new File([pictureBytes], "picture.png")

/** Read and sealed in several pieces. */
const documentBytes = Buffer.alloc(200_000, "a line of a document\n")
const aDocument = new File([documentBytes], "document.txt")

const unpaced = { min_interval_ms: null, jitter_ms: null, per_minute: null, per_hour: null }

const aLiveSender = (cluster: Cluster, remote: typeof WhatsAppServer.Service) =>
  Effect.gen(function* () {
    const phones: Array<string> = []
    const sender = yield* aSenderWith(cluster, ({ keys, workspaceId }) => {
      const path = `/admin/v1/workspaces/${workspaceId}/numbers`
      phones.push(...["1", "2"].map((end) => `4915${String(workspaceId).padStart(6, "0")}${end}`))
      return Effect.forEach(
        phones,
        (phone, n) =>
          Effect.gen(function* () {
            const id = yield* linkNumber(remote, phone, {
              request: (method, query, body) =>
                cluster.request(method, query, { token: keys[n]!, body }),
              numbers: Effect.map(cluster.operate("GET", path), ({ body }) => body.data),
            })
            yield* cluster.operate("PATCH", `${path}/${id}`, { pacing: unpaced })
            return id
          }),
        { concurrency: "unbounded" },
      )
    })
    const upload = Effect.fnUntraced(function* (file: File) {
      const form = new FormData()
      form.append("file", file)
      const request = { token: sender.keys[0] ?? "", form }
      const { body, status } = yield* cluster.request("POST", "/api/v2/media", request)
      assert.strictEqual(status, 201, JSON.stringify(body))
      const id: number = body.id
      return id
    })
    const [picture, document] = [yield* upload(aPicture), yield* upload(aDocument)]
    const live: LiveSender = { ...sender, phones, files: [picture, document], picture, document }
    return live
  })

/** Waits until no number is to move to another worker any more. */
export const awaitShares = (cluster: Cluster) =>
  Effect.forEach(
    cluster.workers,
    (member) =>
      processes.waitUntil(
        `${member} has its share`,
        Effect.map(
          Effect.flatMap(cluster.running(member), (worker) => figure(worker, "shards_held")),
          (shards) => (shards === 256 / cluster.workers.length ? true : undefined),
        ),
      ),
    { discard: true },
  )

/** For workers that share the numbers: linking restarts at a number's new worker. */
const startShared = (settings: Settings) =>
  Effect.tap(startCluster({ ...settings, METRICS_PORT: "0" }), awaitShares)

const starting = { PostgreSQL: startShared, PGlite: startAlone }

export type StoreName = keyof typeof starting

/** On a store, with two workspaces that have two numbers each. */
export const startLive = Effect.fnUntraced(function* (store: StoreName) {
  const remote = yield* WhatsAppServer
  yield* Effect.forEach(recipients, (phone) => remote.person(phone))
  const certificate = join(yield* processes.temporaryDirectory, "media.pem")
  yield* Effect.promise(() => writeFile(certificate, remote.mediaCertificate))
  const settings = {
    TRANSPORT: "live",
    WHATSAPP_URL: remote.url,
    NODE_EXTRA_CA_CERTS: certificate,
  }
  const cluster: Cluster = yield* starting[store](settings)
  // Repeats calls of a caller that died, and nothing else.
  const receiver = yield* aReceiver({ patience: 0 })
  const aSubscriber = Effect.tap(aLiveSender(cluster, remote), (sender) =>
    subscribe(cluster, sender, receiver),
  )
  const senders = yield* Effect.all([aSubscriber, aSubscriber], { concurrency: "unbounded" })
  const live: LiveCluster = { ...cluster, remote, receiver, senders }
  return live
})

/** The sending processes die while time passes, and come back. */
export const outliveWorkers = (cluster: Cluster, millis: number) =>
  Effect.gen(function* () {
    yield* Effect.forEach(cluster.workers, cluster.stop, { discard: true })
    yield* cluster.outlive(millis)
    yield* Effect.forEach(cluster.workers, cluster.start, { discard: true })
    yield* cluster.allReady
  })

interface View {
  readonly id: number
  readonly status: string
  readonly text: string
  readonly to: { readonly phone: string }
  readonly media: { readonly media_id: number } | null
}

const listMessages = (cluster: Cluster, { keys }: Sender) =>
  Effect.gen(function* () {
    const messages: Array<View> = []
    let cursor: string | null = null
    for (let page = 0; page === 0 || cursor !== null; page++) {
      const from: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`
      const token = keys[page % keys.length]!
      const path = `/api/v2/messages?limit=100${from}`
      const { body, status } = yield* cluster.request("GET", path, { token })
      assert.strictEqual(status, 200, JSON.stringify(body))
      messages.push(...body.data)
      cursor = body.next_cursor
    }
    return messages
  })

/** Waits until every message has ended and every end was reported; returns their states. */
const untilEnded = (cluster: LiveCluster) =>
  Effect.gen(function* () {
    for (const { numberIds, workspaceId } of cluster.senders) {
      for (const id of numberIds) {
        const path = `/admin/v1/workspaces/${workspaceId}/numbers/${id}/connection`
        yield* processes.waitUntil(
          `nothing waits for number ${id}`,
          Effect.map(cluster.operate("GET", path), ({ body }) =>
            body.waiting === 0 ? true : undefined,
          ),
        )
      }
    }
    return yield* processes.waitUntil(
      "every message has ended and was told of",
      Effect.gen(function* () {
        const received = getReported(cluster.receiver)
        const all = (yield* Effect.forEach(cluster.senders, (sender) =>
          listMessages(cluster, sender),
        )).flat()
        return all.every(({ id }) => received.has(id)) ? all : undefined
      }),
      processes.ofOneKey,
    )
  })

/** Events by their message: types by the event's id. */
const getReported = ({ calls }: Receiver) => {
  const received = new Map<number, Map<string, string>>()
  for (const { event } of calls) {
    if (!("message" in event.data)) continue
    const { id } = event.data.message
    received.set(id, (received.get(id) ?? new Map<string, string>()).set(event.id, event.type))
  }
  return received
}

/** The phone must show the message's file with the text, whole, or none. */
const checkFile = (
  visible: Media | undefined,
  sent: View["media"],
  senders: LiveCluster["senders"],
  what: string,
) => {
  const isPicture = senders.some(({ picture }) => picture === sent?.media_id)
  const kind = isPicture ? "image" : "document"
  const bytes = isPicture ? pictureBytes : documentBytes
  if (sent === null) return assert.isUndefined(visible, what)
  assert.strictEqual(visible?.kind, kind, what)
  assert.isTrue(bytes.equals(visible?.bytes ?? Buffer.alloc(0)), what)
}

/** Checks the promise message by message, and the allowance; returns how many ended in each way. */
export const checkLive = (cluster: LiveCluster, ledger: Ledger) =>
  Effect.gen(function* () {
    const { remote, receiver, senders } = cluster
    const messages = yield* untilEnded(cluster)
    // A resent copy may arrive after the acknowledgement.
    yield* processes.waitUntil(
      "every sent message is shown",
      Effect.sync(() =>
        messages.every(
          ({ status, text, to }) =>
            status !== "sent" ||
            remote.decrypted(to.phone).some((visible) => visible.text === text),
        )
          ? true
          : undefined,
      ),
    )
    const received = getReported(receiver)
    const outcomes = messages.map(({ id, status, text, to }): Outcome => ({
      id,
      state: status,
      text,
      copies: remote.decrypted(to.phone).filter((visible) => visible.text === text).length,
      end_events: [...(received.get(id)?.values() ?? [])].join(" "),
    }))
    const states = checkOutcomes(outcomes, ledger)
    for (const { id, media, text, to } of messages) {
      const visible = remote.decrypted(to.phone).find((one) => one.text === text)
      if (visible !== undefined) checkFile(visible.media, media, senders, `file of message ${id}`)
    }
    assert.deepStrictEqual(receiver.refused, [], "every call has a valid signature")

    // Independent of the message's state: every recipient saw accepted messages only, and once.
    const accepted = new Set(ledger.accepted.values())
    for (const phone of recipients) {
      const texts = remote.decrypted(phone).map(({ text }) => text ?? "")
      assert.strictEqual(new Set(texts).size, texts.length, `${phone} saw nothing twice`)
      for (const text of texts) assert.isTrue(accepted.has(text), `${phone} saw ${text}`)
    }

    for (const { workspaceId } of senders) {
      const { body } = yield* cluster.operate("GET", `/admin/v1/workspaces/${workspaceId}`)
      const own = new Set(
        receiver.calls.flatMap(({ event, path }) =>
          path === `/${workspaceId}` && "message" in event.data ? [event.data.message.id] : [],
        ),
      )
      const claimed = outcomes.filter(
        ({ id, state }) => own.has(id) && state !== "cancelled" && state !== "expired",
      )
      assert.strictEqual(body.plan.messages_remaining, allowance - claimed.length)
    }

    // Each is its original device, and never had two connections at once.
    for (const phone of senders.flatMap(({ phones }) => phones)) {
      assert.deepStrictEqual(
        remote.sessions(phone).map(({ max }) => max),
        [1],
      )
    }
    assert.deepStrictEqual(remote.complaints(), [])
    return states
  })
