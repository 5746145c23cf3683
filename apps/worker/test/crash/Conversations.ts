/**
 * A cluster with numbers that receive, on a WhatsApp and a Telegram server in this process, and the people who
 * write to them. It remembers what each number must have received, in order.
 */
import { assert } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import type { WebhookEvent } from "@messaging-service/client/webhook"
import { processes } from "@messaging-service/testkit"
import { TelegramServer } from "@messaging-service/telegram-server"
import type { Group } from "@messaging-service/telegram-server"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { Address } from "@messaging-service/whatsapp-server"
import { Context, Effect, Layer, Random } from "effect"
import { linkNumber } from "../live/linkNumber.ts"
import { RemoteServer, layerTelegram, layerWhatsApp } from "../live/remoteServers.ts"
import type { Service } from "../live/remoteServers.ts"
import { withDatabase } from "./books.ts"
import type { Cluster, PostgresCluster, Settings } from "./Cluster.ts"
import { aReceiver, subscribe } from "./Receiver.ts"

/** A number that people write to. */
export interface Inbox {
  readonly id: number
  readonly phone: string
  readonly platform: "whatsapp" | "telegram"
  /** What it must have, in the order in which it was written. */
  readonly expected: Array<Expected>
}

interface Expected {
  readonly text: string
  /** The remote's id; null where the remote gives no copies. */
  readonly remoteId: string | null
  readonly isInGroup: boolean
}

/** Both remote servers, as tests control them and as the service reaches them. */
export const startRemotes = Effect.gen(function* () {
  const [whatsAppContext, telegramContext] = [
    yield* Layer.build(Layer.fresh(layerWhatsApp)),
    yield* Layer.build(Layer.fresh(layerTelegram)),
  ]
  const directory = yield* processes.temporaryDirectory
  const [whatsAppService, telegramService] = [
    Context.get(whatsAppContext, RemoteServer),
    Context.get(telegramContext, RemoteServer),
  ]
  const settings: Settings = {
    TRANSPORT: "live",
    // WhatsApp's last: the other ones name no address of it.
    ...(yield* telegramService.settings(directory)),
    ...(yield* whatsAppService.settings(directory)),
  }
  return {
    settings,
    whatsApp: Context.get(whatsAppContext, WhatsAppServer),
    telegram: Context.get(telegramContext, TelegramServer),
    connectTelegram: telegramService.connect,
  }
})

type Remotes = Effect.Success<typeof startRemotes>

export interface Numbers {
  readonly whatsapp: number
  readonly telegram: number
}

/** As `RemoteServer` asks it. */
export const toService = ({ operate }: Cluster): Service => ({
  url: "",
  token: "",
  request: (method, path, body) =>
    Effect.map(operate(method, `/admin/v1${path}`, body), (reply) => ({
      ...reply,
      headers: new Headers(),
    })),
})

const linkAll = (cluster: Cluster, remotes: Remotes, keys: ReadonlyArray<string>, count: Numbers) =>
  Effect.gen(function* () {
    const listed = Effect.map(
      cluster.operate("GET", "/admin/v1/workspaces/1/numbers"),
      ({ body }) => body.data,
    )
    const index = (length: number) => Array.from({ length }, (_, n) => n)
    const whatsapp = yield* Effect.forEach(
      index(count.whatsapp),
      (n) =>
        Effect.gen(function* () {
          const phone = `49151000${String(n).padStart(5, "0")}`
          const id = yield* linkNumber(remotes.whatsApp, phone, {
            numbers: listed,
            request: (method, path, body) =>
              cluster.request(method, path, { token: keys[n % keys.length] ?? "", body }),
          })
          const inbox: Inbox = { id, phone, platform: "whatsapp", expected: [] }
          return inbox
        }),
      { concurrency: 5 },
    )
    const telegram = yield* Effect.forEach(
      index(count.telegram),
      (n) =>
        Effect.gen(function* () {
          const phone = `49152000${String(n).padStart(5, "0")}`
          const id = yield* remotes.connectTelegram(toService(cluster), phone)
          const inbox: Inbox = { id, phone, platform: "telegram", expected: [] }
          return inbox
        }),
      { concurrency: 5 },
    )
    return [...whatsapp, ...telegram]
  })

/** A workspace with conversations and an endpoint, and numbers that people write to. */
export const startConversations = Effect.fnUntraced(function* (
  cluster: PostgresCluster,
  remotes: Remotes,
  count: Numbers,
) {
  const workspace = yield* cluster.builders.aWorkspace()
  const on = yield* cluster.operate("PUT", `/admin/v1/workspaces/${workspace.id}/conversations`, {
    groups: true,
    media: "off",
  })
  assert.strictEqual(on.status, 200, JSON.stringify(on.body))
  const keys = yield* Effect.replicateEffect(
    Effect.map(cluster.builders.aKey(workspace), ({ key }) => key),
    10,
  )
  const receiver = yield* aReceiver({ patience: 0 })
  const sender = { workspaceId: workspace.id, keys, numberIds: [] }
  yield* subscribe(cluster, sender, receiver, ["message.received", "message.echo"])
  const inboxes = yield* linkAll(cluster, remotes, keys, count)
  return { cluster, remotes, receiver, workspaceId: workspace.id, keys, inboxes }
})

export type Conversations = Effect.Success<ReturnType<typeof startConversations>>

const pick = <A>(items: ReadonlyArray<A>) =>
  Effect.map(
    Random.nextIntBetween(0, items.length, { halfOpen: true }),
    (index) => items[index] as A,
  )

/** Members of a group that are numbers of the service, at most. */
const together = 5

/** People whom the numbers know after a while, and groups of them. */
const makePeople = Effect.fnUntraced(function* ({ inboxes, remotes }: Conversations) {
  const { telegram, whatsApp } = remotes
  const known = Array.from({ length: 12 }, (_, n) => `4917000000${String(n).padStart(2, "0")}`)
  for (const phone of known) {
    yield* whatsApp.person(phone)
    yield* telegram.person(phone)
  }
  const groups: Array<{ readonly members: ReadonlyArray<Inbox>; readonly to: string | Group }> = []
  for (const platform of ["whatsapp", "telegram"] as const) {
    const own = inboxes.filter((inbox) => inbox.platform === platform)
    for (let first = 0; first < own.length; first += together) {
      const members = own.slice(first, first + together)
      const phones = [...known, ...members.map(({ phone }) => phone)]
      const to =
        platform === "telegram"
          ? yield* telegram.group(`Team ${first}`, phones)
          : yield* whatsApp.group({
              subject: `Team ${first}`,
              participants: phones,
              addressing: first % 2 === 0 ? "lid" : "pn",
            })
      groups.push({ members, to })
    }
  }
  return { known, groups }
})

/**
 * Writes one thing after the other: to a number by someone it knows or by a stranger, in a group of several
 * numbers, or by the number's owner on the phone. Returns how many numbers receive it.
 */
export const makeWriter = Effect.fnUntraced(function* (conversations: Conversations) {
  const { inboxes, remotes } = conversations
  const { telegram, whatsApp } = remotes
  const { groups, known } = yield* makePeople(conversations)
  let written = 0
  let strangers = 0
  const aStranger = Effect.gen(function* () {
    const phone = `49171${String(strangers++).padStart(8, "0")}`
    yield* whatsApp.person(phone)
    yield* telegram.person(phone)
    return phone
  })
  const expect = (members: ReadonlyArray<Inbox>, one: Expected) => {
    for (const { expected } of members) expected.push(one)
    return members.length
  }
  const toNumber = (inbox: Inbox, kind: number) =>
    Effect.gen(function* () {
      const isStranger = kind < 20
      const other = isStranger ? yield* aStranger : yield* pick(known)
      const [from, to] = kind >= 95 ? [inbox.phone, other] : [other, inbox.phone]
      const by = kind >= 95 ? "the owner" : isStranger ? "a stranger" : other
      const address = yield* pick<Address>(["pn", "lid", "lid only"])
      const text = `text ${written++} by ${by} (${address})`
      if (inbox.platform === "whatsapp") {
        const remoteId = yield* whatsApp.write(from, to, { text, address })
        return expect([inbox], { text, remoteId, isInGroup: false })
      }
      yield* telegram.write(from, to, { text }, kind % 2 === 0 ? "full" : "short")
      return expect([inbox], { text, remoteId: null, isInGroup: false })
    })
  return Effect.gen(function* () {
    const kind = yield* Random.nextIntBetween(0, 99)
    if (kind >= 5) return yield* toNumber(yield* pick(inboxes), kind)
    const { members, to } = yield* pick(groups)
    const from = yield* pick(known)
    const text = `text ${written++} by ${from} in a group`
    if (typeof to === "string") {
      const remoteId = yield* whatsApp.write(from, to, text)
      return expect(members, { text, remoteId, isInGroup: true })
    }
    yield* telegram.write(from, to, { text })
    return expect(members, { text, remoteId: null, isInGroup: true })
  })
})

export const countStored = (cluster: PostgresCluster) =>
  withDatabase(cluster)(
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const [row] = yield* sql<{ readonly count: number }>`
        select coalesce(sum(sequence), 0)::int as count
        from received_counters`
      return row!.count
    }),
  ).pipe(Effect.orDie)

/** The platform's ids of what each number has in the database. */
const readStoredIds = (cluster: PostgresCluster) =>
  withDatabase(cluster)(
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const rows = yield* sql<{ readonly number: number; readonly ids: ReadonlyArray<string> }>`
        select number_id::int as number, array_agg(remote_id) as ids
        from received_messages
        group by number_id`
      return new Map(rows.map(({ ids, number }) => [number, new Set(ids)]))
    }),
  ).pipe(Effect.orDie)

/** What a number told WhatsApp that it has, and what the database does not have. */
export const findEarlyReceipts = ({ cluster, inboxes, remotes }: Conversations) =>
  Effect.gen(function* () {
    // Asked for before the database is read: what is stored meanwhile does not count as an early receipt.
    const ofWhatsApp = inboxes.filter(({ platform }) => platform === "whatsapp")
    const acknowledged = ofWhatsApp.map(({ expected, id, phone }) => {
      const unanswered = new Set(remotes.whatsApp.unanswered(phone))
      const ids = expected.flatMap(({ remoteId }) => remoteId ?? [])
      return { id, ids: ids.filter((remoteId) => !unanswered.has(remoteId)) }
    })
    const stored = yield* readStoredIds(cluster)
    return acknowledged.flatMap(({ id, ids }) =>
      ids.filter((remoteId) => stored.get(id)?.has(remoteId) !== true),
    )
  })

/** The fields of a ReceivedMessage that tests read. */
interface Received {
  readonly id: number
  readonly sequence: number
  readonly kind: string
  readonly text: string
  readonly from_me: boolean
}

/** What a number has received, read on from its beginning. */
const readOn = ({ cluster, workspaceId }: Conversations, { id }: Pick<Inbox, "id">) =>
  Effect.gen(function* () {
    const all: Array<Received> = []
    for (let more = true; more;) {
      const after = all.at(-1)?.sequence ?? 0
      const path = `/admin/v1/workspaces/${workspaceId}/received-messages`
      const { body, status } = yield* cluster.operate(
        "GET",
        `${path}?number=${id}&after=${after}&limit=100`,
      )
      assert.strictEqual(status, 200, JSON.stringify(body))
      const page: ReadonlyArray<Received> = body.data
      all.push(...page)
      more = page.length > 0
    }
    return all
  })

/**
 * Every number has what was written to it, once, with sequences from 1 on, in order. A group's message comes in
 * two parts, a key and the content. After a kill between them its sender is asked for a copy, which comes later.
 */
export const checkReceived = (conversations: Conversations) =>
  Effect.gen(function* () {
    const { inboxes, remotes } = conversations
    const stored: Array<Received> = []
    let copies = 0
    for (const { expected, id, phone, platform } of inboxes) {
      const what = `${platform} number ${id}`
      const received = yield* readOn(conversations, { id })
      assert.deepStrictEqual(
        received.map(({ sequence }) => sequence),
        expected.map((_, index) => index + 1),
        what,
      )
      const isCopied = ({ remoteId }: Expected) =>
        remoteId !== null && remotes.whatsApp.requestedCopies(phone, remoteId) > 0
      const late = new Map(expected.filter(isCopied).map((one) => [one.text, one]))
      for (const { isInGroup, text } of late.values()) assert.isTrue(isInGroup, `${what}: ${text}`)
      copies += late.size
      const inOrder = (texts: ReadonlyArray<string>) => texts.filter((text) => !late.has(text))
      const all = received.map(({ kind, text }) => (kind === "text" ? text : `${kind} ${text}`))
      const written = expected.map(({ text }) => text)
      assert.deepStrictEqual(inOrder(all), inOrder(written), what)
      assert.deepStrictEqual(all.toSorted(), written.toSorted(), what)
      stored.push(...received)
    }
    assert.deepStrictEqual([...remotes.whatsApp.complaints(), ...remotes.telegram.complaints()], [])
    return { stored, copies }
  })

const getReceivedId = ({ data }: WebhookEvent) =>
  "received_message" in data ? data.received_message.id : undefined

/** The ids of the events of each received message that reached the endpoint. */
const getTold = ({ receiver }: Conversations) => {
  const events = new Map<number, Set<string>>()
  for (const { event } of receiver.calls) {
    const id = getReceivedId(event)
    if (id !== undefined) events.set(id, (events.get(id) ?? new Set<string>()).add(event.id))
  }
  return events
}

/** The endpoint learns of each of them, under one id, and of no other. */
export const checkTold = (conversations: Conversations, stored: ReadonlyArray<Received>) =>
  Effect.gen(function* () {
    const { receiver } = conversations
    yield* processes.waitUntil(
      "every message was told of",
      Effect.sync(() => (getTold(conversations).size >= stored.length ? true : undefined)),
    )
    const events = getTold(conversations)
    assert.deepStrictEqual(receiver.refused, [], "every call has a valid signature")
    assert.strictEqual(events.size, stored.length)
    for (const { id } of stored) assert.strictEqual(events.get(id)?.size, 1, `events of ${id}`)
    const types = new Map(stored.map(({ from_me, id }) => [id, from_me ? "echo" : "received"]))
    for (const { event } of receiver.calls) {
      const id = getReceivedId(event)
      if (id !== undefined) assert.strictEqual(event.type, `message.${types.get(id)}`)
    }
  })
