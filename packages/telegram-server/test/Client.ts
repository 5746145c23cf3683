/** Unmodified clients of the library, with the address and the key of a server on this machine. */
import { MemoryStorage, TelegramClient, networkMiddlewares, tl } from "@mtcute/node"
import type { Long } from "@mtcute/node"
import { NodeCryptoProvider, addPublicKey } from "@mtcute/node/utils.js"
import { Data, Effect, Queue } from "effect"
import { make } from "../src/index.ts"
import type { PersonOptions, TelegramServerShape } from "../src/index.ts"

export const sender = "+4915550000001"
export const recipient = "+4915550000002"

/** A server's error answer. */
export class CallFailed extends Data.TaggedError("CallFailed")<{
  readonly code: number
  readonly text: string
}> {}

/** Runs a call of the library; an error of the remote server is a failure. */
export const calling = <A>(run: () => Promise<A>): Effect.Effect<A, CallFailed> =>
  Effect.tryPromise({
    try: run,
    catch: (error) =>
      tl.RpcError.is(error)
        ? new CallFailed({ code: error.code, text: error.text })
        : new CallFailed({ code: 0, text: String(error) }),
  })

/** A client that ends with its scope; another one on the same storage is the same device. */
export const getClient = (server: TelegramServerShape, storage = new MemoryStorage()) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const crypto = new NodeCryptoProvider()
      addPublicKey(crypto, server.publicKey)
      const dc = { id: server.dcId, ipAddress: "127.0.0.1", port: server.port }
      return new TelegramClient({
        apiId: server.apiId,
        apiHash: server.apiHash,
        crypto,
        storage,
        storageOptions: { cleanup: false },
        defaultDcs: { main: dc, media: dc },
        logLevel: 0,
        reconnectionStrategy: () => 0,
        updates: { catchUp: true },
        network: {
          floodControl: false,
          middlewares: networkMiddlewares.basic({
            floodWaiter: { maxWait: 0, maxRetries: 0, store: false },
            internalErrors: { maxRetries: 3, exceptErrors: ["RANDOM_ID_DUPLICATE"] },
          }),
        },
      })
    }),
    (client) => Effect.promise(() => client.destroy()),
  )

/** Logs in by code, and by password if there is one. */
export const logIn = (client: TelegramClient, phone: string, password?: string) =>
  Effect.gen(function* () {
    const sent = yield* calling(() => client.sendCode({ phone }))
    const phoneCodeHash = "phoneCodeHash" in sent ? sent.phoneCodeHash : ""
    const signedIn = calling(() => client.signIn({ phone, phoneCodeHash, phoneCode: "12345" }))
    return yield* password === undefined
      ? signedIn
      : Effect.catchTag(signedIn, "CallFailed", () => calling(() => client.checkPassword(password)))
  })

/** A server with two people, and a client of the one that is logged in. */
export const sending = Effect.gen(function* () {
  const server = yield* make()
  yield* server.person(sender, { username: "sender_one" })
  yield* server.person(recipient, { username: "recipient_two" })
  const storage = new MemoryStorage()
  const client = yield* getClient(server, storage)
  yield* logIn(client, sender)
  // The library drops what comes before it has its first state; then it catches up once.
  yield* server.until(() => server.calls(sender, "updates.getDifference") > 1)
  return { server, client, storage }
})

/** What a client dispatches, in order. */
export const listen = (client: TelegramClient) =>
  Effect.map(Queue.unbounded<tl.TypeUpdate>(), (updates) => {
    client.onRawUpdate.add(({ update }) => void Queue.offerUnsafe(updates, update))
    return updates
  })

/** The next update of that kind; others before it are dropped. */
export const next = <K extends tl.TypeUpdate["_"]>(
  updates: Queue.Dequeue<tl.TypeUpdate>,
  kind: K,
): Effect.Effect<Extract<tl.TypeUpdate, { readonly _: K }>> =>
  Effect.flatMap(Queue.take(updates), (update) =>
    update._ === kind
      ? Effect.succeed(update as Extract<tl.TypeUpdate, { readonly _: K }>)
      : next(updates, kind),
  )

/** A client of a device that was away, which asks for what it missed. */
export const comeBack = Effect.fnUntraced(function* comeBack(
  server: TelegramServerShape,
  storage: MemoryStorage,
) {
  const client = yield* getClient(server, storage)
  const updates = yield* listen(client)
  yield* calling(() => client.connect())
  yield* Effect.promise(() => client.startUpdatesLoop())
  return { client, updates }
})

export const leave = (client: TelegramClient) => Effect.promise(() => client.destroy())

/** The text of a message, and its id. */
const toText = (message: tl.TypeMessage): readonly [id: number, text: string] =>
  message._ === "message" ? [message.id, message.message] : [message.id, ""]

/** The texts of so many messages that come next. */
export const takeTexts = (
  updates: Queue.Dequeue<tl.TypeUpdate>,
  count: number,
  kind: "updateNewMessage" | "updateNewChannelMessage" = "updateNewMessage",
) =>
  Effect.all(
    Array.from({ length: count }, () =>
      Effect.map(next(updates, kind), ({ message }) => toText(message)),
    ),
  )

export const aPerson = (server: TelegramServerShape, options: PersonOptions) =>
  server.person(sender, options)

/** Sends to the other person with a random id of the test. */
export const send = (client: TelegramClient, randomId: Long, text = "Hello") =>
  calling(async () => {
    const peer = await client.resolvePeer("recipient_two")
    return client.call({ _: "messages.sendMessage", peer, randomId, message: text })
  })
