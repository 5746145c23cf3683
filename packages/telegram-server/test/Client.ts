/** Unmodified clients of the library, with the address and the key of a server on this machine. */
import { MemoryStorage, TelegramClient, networkMiddlewares, tl } from "@mtcute/node"
import type { Long } from "@mtcute/node"
import { NodeCryptoProvider, addPublicKey } from "@mtcute/node/utils.js"
import { Data, Effect } from "effect"
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
  return { server, client, storage }
})

export const aPerson = (server: TelegramServerShape, options: PersonOptions) =>
  server.person(sender, options)

/** Sends to the other person with a random id of the test. */
export const send = (client: TelegramClient, randomId: Long, text = "Hello") =>
  calling(async () => {
    const peer = await client.resolvePeer("recipient_two")
    return client.call({ _: "messages.sendMessage", peer, randomId, message: text })
  })
