/** An unmodified client of the library, with credentials in memory, as Effects. */
import { BufferJSON, initAuthCreds, makeWASocket, proto } from "baileys"
import type {
  AuthenticationCreds,
  BinaryNode,
  ConnectionState,
  SignalDataTypeMap,
  UserFacingSocketConfig,
  WAMessage,
  WAMessageUpdate,
  WASocket,
} from "baileys"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Agent } from "node:https"
import { make } from "../src/index.ts"
import type { PersonOptions, ServerOptions, WhatsAppServerShape } from "../src/index.ts"
import { silentLogger } from "../src/quiet.ts"

/** A client's state between its sockets. */
export interface Stored {
  readonly creds: AuthenticationCreds
  readonly keys: Map<string, string>
}

export const freshKept = (): Stored => ({ creds: initAuthCreds(), keys: new Map() })

const keyStore = ({ keys }: Stored) => ({
  get: <T extends keyof SignalDataTypeMap>(type: T, ids: Array<string>) => {
    const found: Record<string, SignalDataTypeMap[T]> = {}
    for (const id of ids) {
      const text = keys.get(`${type}/${id}`)
      if (text === undefined) continue
      const value = JSON.parse(text, BufferJSON.reviver)
      found[id] =
        type === "app-state-sync-key" ? proto.Message.AppStateSyncKeyData.fromObject(value) : value
    }
    return found
  },
  set: (data: object) => {
    for (const [type, values] of Object.entries(data)) {
      for (const [id, value] of Object.entries(values as Record<string, unknown>)) {
        if (value === null) keys.delete(`${type}/${id}`)
        else keys.set(`${type}/${id}`, JSON.stringify(value, BufferJSON.replacer))
      }
    }
  },
})

export interface Client {
  readonly socket: WASocket
  readonly stored: Stored
  /** The library's connection updates, in order. */
  readonly updates: ReadonlyArray<Partial<ConnectionState>>
  readonly acks: ReadonlyArray<BinaryNode>
  readonly receipts: ReadonlyArray<BinaryNode>
  readonly messages: ReadonlyArray<WAMessage>
  readonly ticks: ReadonlyArray<WAMessageUpdate>
  readonly until: <A>(check: () => A | undefined) => Effect.Effect<A>
}

/** The library's code for a closed connection. */
export const closeCode = ({ updates }: Client) => {
  const closed = updates.find(({ connection }) => connection === "close")
  const error = closed?.lastDisconnect?.error as { output?: { statusCode: number } } | undefined
  return closed === undefined ? undefined : (error?.output?.statusCode ?? 0)
}

const isOpen = ({ updates }: Client) =>
  updates.some(({ connection }) => connection === "open") ? true : undefined

export const getQrs = ({ updates }: Client) => updates.flatMap(({ qr }) => qr ?? [])

/** A socket that ends with the scope. */
export const connect = (
  server: WhatsAppServerShape,
  stored: Stored = freshKept(),
  config: Partial<UserFacingSocketConfig> = {},
) =>
  Effect.acquireRelease(
    Effect.sync((): Client => {
      const updates: Array<Partial<ConnectionState>> = []
      const acks: Array<BinaryNode> = []
      const receipts: Array<BinaryNode> = []
      const received: Array<WAMessage> = []
      const ticks: Array<WAMessageUpdate> = []
      const waiting = new Set<() => void>()
      const changed = () => {
        for (const check of waiting) check()
      }
      const note =
        <A>(list: Array<A>) =>
        (what: A) => {
          list.push(what)
          changed()
        }
      const socket = makeWASocket({
        auth: { creds: stored.creds, keys: keyStore(stored) },
        waWebSocketUrl: server.url,
        logger: silentLogger,
        fetchAgent: new Agent({ ca: server.mediaCertificate }),
        options: {},
        emitOwnEvents: false,
        ...config,
      })
      socket.ev.on("connection.update", note(updates))
      socket.ev.on("creds.update", (update) => {
        Object.assign(stored.creds, update)
        changed()
      })
      socket.ev.on("messages.upsert", ({ messages }) => messages.forEach(note(received)))
      socket.ev.on("messages.update", (all) => all.forEach(note(ticks)))
      socket.ws.on("CB:ack,class:message", note(acks))
      socket.ws.on("CB:receipt", note(receipts))
      return {
        socket,
        stored,
        updates,
        acks,
        receipts,
        messages: received,
        ticks,
        until: <A>(check: () => A | undefined) =>
          Effect.callback<A>((resume) => {
            const again = () => {
              const found = check()
              if (found === undefined) return
              waiting.delete(again)
              resume(Effect.succeed(found))
            }
            waiting.add(again)
            again()
          }),
      }
    }),
    ({ socket }) => Effect.promise(() => socket.end(undefined)),
  )

export const opened = (client: Client) => client.until(() => isOpen(client))
export const closed = (client: Client) => client.until(() => closeCode(client))
export const awaitAck = (client: Client, id: string) =>
  client.until(() => client.acks.find(({ attrs }) => attrs["id"] === id))

/** Links a number by QR code, through the restart, and returns the logged-in client. */
export const linked = (
  server: WhatsAppServerShape,
  number: string,
  config: Partial<UserFacingSocketConfig> = {},
) =>
  Effect.gen(function* () {
    const first = yield* connect(server)
    const qr = yield* first.until(() => getQrs(first)[0])
    yield* server.scan(number, qr)
    yield* closed(first)
    const client = yield* connect(server, first.stored, config)
    yield* opened(client)
    return client
  })

export const sender = "+4915550000001"
export const recipient = "+4915550000002"
export const recipientJid = "4915550000002@s.whatsapp.net"

/** A server that, at its end, has understood everything it received. */
export const serverWith = (
  people: Readonly<Record<string, PersonOptions>>,
  options: ServerOptions = {},
) =>
  Effect.gen(function* () {
    const server = yield* make(options)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => assert.deepStrictEqual(server.complaints(), [])),
    )
    for (const [number, person] of Object.entries(people)) yield* server.person(number, person)
    return server
  })

/** A linked sender, a recipient, and texts from one to the other, with their text as id. */
export const sending = Effect.gen(function* () {
  const server = yield* serverWith({ [sender]: { name: "Sender" }, [recipient]: {} })
  const client = yield* linked(server, sender)
  const send = (messageId: string, from = client, to = recipientJid) =>
    Effect.promise(() => from.socket.sendMessage(to, { text: messageId }, { messageId }))
  return { server, client, send }
})
