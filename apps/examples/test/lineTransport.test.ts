/**
 * The transport with lines of `docs/writing-a-transport.md` follows the contract of transports, and
 * keeps its numbers connected.
 */
import { assert, layer } from "@effect/vitest"
import {
  Ids,
  NumberOwnership,
  layerStoredSecrets,
  SecretsKey,
  SessionVault,
  WhatsAppTransport,
  Store,
  WakeUp,
} from "@messaging-service/core"
import type { NumberId, Phone, TransportEvent, TransportId } from "@messaging-service/core"
import * as StoreMemory from "@messaging-service/store-memory"
import {
  RemoteServer,
  aNumber,
  aWorkspace,
  live,
  transportContract,
} from "@messaging-service/testkit"
import type { ReceivedCopy, Taking } from "@messaging-service/testkit"
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { createInterface } from "node:readline"
import { layerLine } from "../src/lineTransport.ts"

const known = "+15550100002" as Phone

const settings = {
  firstPauseMillis: 20,
  longestPauseMillis: 100,
  lostMillis: 60_000,
  lookMillis: 20,
  startsAtOnce: 8,
}

/** The remote server's state of a number. */
class Account {
  socket: Socket | null = null
  reaction: Taking = "acknowledge"
  logins = 0
  isLoggedOut = false
  readonly waiting = new Set<string>()
  readonly received: Array<ReceivedCopy> = []

  send(word: object) {
    this.socket?.write(`${JSON.stringify(word)}\n`)
  }
}

interface Sent {
  readonly to: string
  readonly text: string
  readonly file: { readonly name: string; readonly type: string } | null
  readonly parts: Array<Buffer>
}

/** The remote server: accounts by their secret. The contract suite of transports defines each `Taking`. */
class Exchange {
  readonly accounts = new Map<string, Account>()
  readonly server = createServer((socket) => this.#hear(socket))

  account(id: NumberId): Account {
    const account = this.accounts.get(`secret of ${id}`)
    if (account === undefined) throw new Error(`no number ${id}`)
    return account
  }

  #hear(socket: Socket) {
    const sent = new Map<string, Sent>()
    let account: Account | undefined
    socket.on("error", () => undefined)
    createInterface({ input: socket }).on("line", (line) => {
      const word = JSON.parse(line)
      if (word.login !== undefined) {
        account = this.accounts.get(word.login)
        if (account === undefined) socket.end(`${JSON.stringify({ bye: "unknown secret" })}\n`)
        else {
          account.socket = socket
          account.logins++
          account.send({ welcome: `1555${String(account.logins).padStart(7, "0")}` })
        }
      }
      if (account === undefined) return
      if (word.send !== undefined) sent.set(word.send, { ...word, parts: [] })
      if (word.part !== undefined)
        sent.get(word.part)?.parts.push(Buffer.from(word.bytes, "base64"))
      if (word.forget !== undefined) account.waiting.delete(word.forget)
      if (word.end !== undefined) this.#take(account, word.end, sent.get(word.end))
      if (word.logout === true) {
        account.isLoggedOut = true
        account.send({ bye: "unknown secret" })
        socket.end()
      }
    })
  }

  #take(account: Account, id: string, sent: Sent | undefined) {
    if (sent === undefined) return
    if (account.reaction === "stay_silent") return void account.waiting.add(id)
    if (sent.to !== known) return account.send({ nack: id, why: "no such phone" })
    if (account.reaction === "refuse") return account.send({ nack: id, why: "Not today." })
    if (!account.received.some(({ transportId }) => transportId === id)) {
      const content = Buffer.concat(sent.parts)
      account.received.push({
        transportId: id as TransportId,
        to: sent.to,
        text: sent.text,
        media: sent.file && {
          fileName: sent.file.name,
          mimeType: sent.file.type,
          size: content.length,
          sha256: createHash("sha256").update(content).digest("hex"),
        },
      })
    }
    if (account.reaction === "acknowledge") return account.send({ ack: id })
    account.reaction = "acknowledge"
    account.socket?.destroy()
  }
}

const TheExchange = Context.Service<"test/Exchange", Exchange>("test/Exchange")

const layerExchange = Layer.effect(
  TheExchange,
  Effect.acquireRelease(
    Effect.callback<Exchange>((resume) => {
      const exchange = new Exchange()
      exchange.server.listen(0, "127.0.0.1", () => resume(Effect.succeed(exchange)))
    }),
    ({ accounts, server }) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const { socket } of accounts.values()) socket?.destroy()
      }),
  ),
)

const layerStores = SessionVault.layer.pipe(
  Layer.provide(WakeUp.layerLocal),
  Layer.merge(live.layerProxies),
  Layer.provide(layerStoredSecrets),
  Layer.provideMerge(Layer.merge(StoreMemory.layer, NumberOwnership.layerAll)),
  Layer.provide(SecretsKey.layerRandom),
  Layer.provideMerge(Ids.layerRandom),
)

const layerTransport = live
  .layerTold(WhatsAppTransport)
  .pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(TheExchange, ({ server }) =>
          layerLine((server.address() as AddressInfo).port, settings),
        ),
      ),
    ),
    Layer.provide(live.realClock),
  )

const layerWorld = layerTransport.pipe(
  Layer.provideMerge(layerStores),
  Layer.provideMerge(layerExchange),
)

/** Waits until that was the number's last reported state. */
const getReported = (id: NumberId, status: "connected" | "disconnected") =>
  Effect.flatMap(live.Told, (received) => {
    const isFor = (event: TransportEvent) =>
      event._tag === "ConnectionChanged" && event.numberId === id
    return live.until(() => {
      const last = received.findLast(isFor)
      return last?._tag === "ConnectionChanged" && last.status === status
    })
  })

/** The number has an account there, and its secret here. */
const logIn = (id: NumberId) =>
  Effect.gen(function* () {
    const { accounts } = yield* TheExchange
    const secret = `secret of ${id}`
    if (!accounts.has(secret)) accounts.set(secret, new Account())
    yield* Effect.orDie((yield* SessionVault).replace(id, secret, []))
    yield* getReported(id, "connected")
  })

const aConnectedNumber = Effect.gen(function* () {
  const { id: workspaceId } = yield* aWorkspace()
  const { id } = yield* aNumber(workspaceId, { phone: null, status: "disconnected", createdAt: 0 })
  yield* logIn(id)
  return id
}).pipe(Effect.orDie)

const layerRemoteServer = Layer.effect(
  RemoteServer,
  Effect.gen(function* () {
    const exchange = yield* TheExchange
    const world = yield* Effect.context<Effect.Services<typeof aConnectedNumber>>()
    /** Logged-out accounts, with what their recipients see. */
    const out = new Map<NumberId, Account>()
    const account = (id: NumberId) => out.get(id) ?? exchange.account(id)
    return RemoteServer.of({
      aNumber: Effect.provideContext(aConnectedNumber, world),
      recipients: [{ target: { kind: "phone", phone: known }, displayedAs: known }],
      strangers: [
        {
          target: { kind: "phone", phone: "+15550100009" as Phone },
          code: "recipient_not_found",
        },
      ],
      namesPictures: true,
      take: (id, claiming) => Effect.sync(() => void (account(id).reaction = claiming)),
      logOut: (id) =>
        Effect.gen(function* () {
          if (out.has(id)) return
          out.set(id, exchange.account(id))
          exchange.accounts.delete(`secret of ${id}`)
          account(id).send({ bye: "unknown secret" })
          yield* getReported(id, "disconnected")
        }).pipe(Effect.provideContext(world)),
      logIn: (id) =>
        Effect.gen(function* () {
          const known = out.get(id)
          if (known === undefined) return
          exchange.accounts.set(`secret of ${id}`, known)
          out.delete(id)
          yield* logIn(id)
        }).pipe(Effect.orDie, Effect.provideContext(world)),
      seen: (id) => Effect.sync(() => account(id).received),
      waiting: (id) => Effect.sync(() => account(id).waiting.size > 0),
    })
  }),
)

transportContract(
  "a transport over lines",
  WhatsAppTransport,
  layerRemoteServer.pipe(Layer.provideMerge(layerWorld)),
  { runs: 10 },
)

layer(layerWorld)("a number on its own line", (it) => {
  it.effect("reconnects when the line breaks or is garbled, and hands over what was read", () =>
    Effect.gen(function* () {
      const exchange = yield* TheExchange
      const received = yield* live.Told
      const transport = yield* WhatsAppTransport
      const id = yield* aConnectedNumber
      const account = exchange.account(id)
      account.socket?.destroy()
      yield* live.until(() => account.logins === 2)
      account.socket?.write("no JSON\n")
      yield* live.until(() => account.logins === 3)
      const message = live.aText(id, { kind: "phone", phone: known })
      assert.deepStrictEqual(yield* transport.send(message), { _tag: "Accepted" })
      account.send({ read: message.transportId })
      yield* live.until(() => received.at(-1)?._tag === "Tick")
      assert.deepInclude(received.at(-1), { transportId: message.transportId, status: "read" })
    }),
  )

  it.effect("is given up when used elsewhere, and stays away", () =>
    Effect.gen(function* () {
      const exchange = yield* TheExchange
      const transport = yield* WhatsAppTransport
      const [id, other] = [yield* aConnectedNumber, yield* aConnectedNumber]
      exchange.account(id).send({ bye: "in use elsewhere" })
      yield* getReported(id, "disconnected")
      // Several checks later it is still away.
      exchange.account(other).socket?.destroy()
      yield* live.until(() => exchange.account(other).logins === 2)
      yield* aConnectedNumber
      assert.strictEqual(exchange.account(id).logins, 1)
      const message = live.aText(id, { kind: "phone", phone: known })
      assert.deepStrictEqual(yield* transport.send(message), { _tag: "NotConnected" })
    }),
  )

  it.effect("logs out when it leaves, and leaves nothing behind", () =>
    Effect.gen(function* () {
      const exchange = yield* TheExchange
      const store = (yield* Store).sessions
      const id = yield* aConnectedNumber
      yield* SessionVault.use((vault) => vault.leave(id))
      yield* live.untilSo(
        Effect.map(Effect.orDie(store.credentials(id)), (secret) => secret === null),
      )
      assert.isTrue(exchange.account(id).isLoggedOut)
    }),
  )
})
