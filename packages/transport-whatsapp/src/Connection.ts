/**
 * One connection to WhatsApp, used once: the library's socket with what it says turned into events
 * that are read one after the other. Its end is always the last event.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import { Agent } from "node:https"
import type { AgentOptions } from "node:https"
import type { AfterClose, ClosedReason } from "@messaging-service/core"
import { DEFAULT_CONNECTION_CONFIG, getBinaryNodeChildren, makeWASocket } from "baileys"
import type {
  AuthenticationCreds,
  AuthenticationState,
  BinaryNode,
  proto,
  SignalRepositoryWithLIDStore,
  UserFacingSocketConfig,
  WASocket,
} from "baileys"
import { Clock, Deferred, Effect, Queue } from "effect"
import type { Scope } from "effect"
import { HttpsProxyAgent } from "https-proxy-agent"
import { SocksProxyAgent } from "socks-proxy-agent"
import { changesNames, showRefusedDevices } from "./recipients.ts"
import { makeResender, unacknowledged } from "./retryReceipts.ts"
import type { AskedAgain } from "./retryReceipts.ts"
import { takingTurns } from "./signalTurns.ts"
import type { WhatsAppSettings } from "./WhatsAppSettings.ts"

// What the end of a connection means: a table from the far side's code to what is done about it. A
// connection is never opened again in a loop after the far side said that it must not be. Pure.

export interface Closed {
  readonly code: number
  /** How long the far side asks to stay away; null when it does not say. */
  readonly pauseMillis: number | null
}

/** 500 tells of a session that the far side does not like: so many in a row end it. */
export const mostBadSessions = 5

const again: AfterClose = { _tag: "Again" }
const stop = (reason: ClosedReason, wipe = false): AfterClose => ({ _tag: "Stop", reason, wipe })

const byCode: Readonly<Record<number, AfterClose>> = {
  401: stop("logged_out", true),
  // The phone's account is locked.
  403: stop("restricted"),
  405: stop("client_outdated"),
  406: stop("banned"),
  // The user agent is refused.
  409: stop("client_outdated"),
  // The account's phone does not speak to linked devices.
  411: stop("logged_out", true),
  440: stop("replaced"),
  515: { _tag: "Restart" },
}

/** `badSessions`: how many connections in a row ended with 500 before it was open, this one included. */
export const afterClose = ({ code, pauseMillis }: Closed, badSessions: number): AfterClose => {
  if (code === 402) {
    return pauseMillis === null
      ? stop("banned")
      : { _tag: "Pause", reason: "banned", millis: pauseMillis }
  }
  if (code === 500) return badSessions >= mostBadSessions ? stop("logged_out", true) : again
  // 408, 428 and 503 among them, and whatever is not known: the network's doings.
  return byCode[code] ?? again
}

// The way out of one number's connection: its proxy, for its messages and its media alike, or the
// network itself. A proxy that does not answer is never gone around. Names are resolved by the proxy.
// The agents are libraries: CONNECT and SOCKS with their ways to authenticate are no business of ours,
// and Node has neither.

/** For the connection, and for uploads; absent where Node's own agent is meant. */
interface Ways {
  readonly agent?: Agent
  readonly fetchAgent?: Agent
}

const waysOut = ({ trusted }: Pick<WhatsAppSettings, "trusted">, proxyUrl: string | null): Ways => {
  const certificates: AgentOptions = trusted === undefined ? {} : { ca: [...trusted] }
  if (proxyUrl === null) {
    return trusted === undefined ? {} : { fetchAgent: new Agent(certificates) }
  }
  const url = new URL(proxyUrl)
  const own =
    url.protocol === "socks5:"
      ? new SocksProxyAgent(proxyUrl.replace(/^socks5:/, "socks5h:"), certificates)
      : new HttpsProxyAgent(url, certificates)
  // One of them takes its own options for the proxy alone.
  Object.assign(own.options, certificates)
  // The library asks for an agent of HTTPS; it hands it to Node, which takes either.
  const agent = own as unknown as Agent
  return { agent, fetchAgent: agent }
}

// The libraries below print: session keys among other things. Nothing that they do prints from here:
// what runs as `quietly` reaches no console, and their logger says nothing.

const silenced = new AsyncLocalStorage<true>()
let isWatching = false

/** From the first use on, the console drops what is printed inside `quietly`, and nothing else. */
const watch = () => {
  if (isWatching) return
  isWatching = true
  for (const method of ["log", "info", "warn", "error", "debug", "trace", "dir"] as const) {
    const print = console[method].bind(console) as (...given: ReadonlyArray<unknown>) => void
    console[method] = (...given: ReadonlyArray<unknown>) => {
      if (silenced.getStore() === undefined) print(...given)
    }
  }
}

const quietly = <A>(work: () => A): A => {
  watch()
  return silenced.run(true, work)
}

/** Our own work in the midst of theirs, which may print. */
export const aloud = <A>(work: () => A): A => silenced.exit(work)

type MakeRepository = NonNullable<UserFacingSocketConfig["makeSignalRepository"]>

/** Every way into the encryption library goes through its repository. */
export const quietRepository =
  (make: MakeRepository): MakeRepository =>
  (...given) =>
    quietMethods(quietly(() => make(...given)))

const quietMethods = (repository: SignalRepositoryWithLIDStore): SignalRepositoryWithLIDStore =>
  new Proxy(repository, {
    get: (target, name, receiver) => {
      const member: unknown = Reflect.get(target, name, receiver)
      return typeof member === "function"
        ? (...given: ReadonlyArray<unknown>) => quietly(() => Reflect.apply(member, target, given))
        : member
    },
  })

const nothing = () => undefined

export const silentLogger: UserFacingSocketConfig["logger"] & object = {
  level: "silent",
  child: () => silentLogger,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
}

export type ConnectionEvent =
  | { readonly _tag: "QrShown"; readonly text: string }
  /** The QR codes that are still to come need a fresh secret. */
  | { readonly _tag: "SecretAsked" }
  | { readonly _tag: "PasskeyAsked" }
  /** The far side refused a request that nothing waits for. */
  | { readonly _tag: "RequestRefused"; readonly code: string }
  | { readonly _tag: "CredentialsChanged" }
  /** The phone has taken the code. */
  | { readonly _tag: "Paired" }
  | { readonly _tag: "Opened" }
  | { readonly _tag: "GroupsChanged" }
  | {
      readonly _tag: "Receipt"
      readonly ids: ReadonlyArray<string>
      /** As the far side names it: none for a delivery. */
      readonly type: string | null
      /** Who tells: a person, or a person in a group. */
      readonly by: string
      /** It is stored: the far side may hear that it has come. */
      readonly taken: () => void
    }
  | { readonly _tag: "Closed"; readonly closed: Closed }

export interface Connection {
  readonly socket: WASocket
  readonly credentials: AuthenticationCreds
  readonly events: Queue.Dequeue<ConnectionEvent>
  /** For what was changed in the credentials here. */
  readonly credentialsChanged: () => void
  /** By the id of a message: takes the far side's word on it, null for its acknowledgement. */
  readonly acknowledged: Map<string, (error: string | null) => void>
  /** Done once the connection is over. */
  readonly over: Deferred.Deferred<void>
  /** When the far side last said anything; null before it did. */
  readonly lastWordAt: () => number | null
  /**
   * Lets the far side hear that the code was taken: with `holdsBack` nothing leaves from then on, so
   * that what it was told is kept here before.
   */
  readonly goOn: () => void
}

interface ConnectionOptions {
  readonly auth: AuthenticationState
  /** What the phone is told that this device is: its system and its program. */
  readonly device: readonly [string, string, string]
  /** How long each QR code stands; the far side's own rhythm when null. */
  readonly qrMillis: number | null
  readonly sentMessage: (id: string) => Promise<proto.IMessage | undefined>
  readonly holdsBack?: boolean
  /** The proxy's URL; null without one. */
  readonly proxy: string | null
  /** What recipients asked for over connections before this one, and have not got. */
  readonly askedAgain?: AskedAgain
}

/** How long a question may stay without an answer, in real time. */
const questionMillis = 20_000

const isCode = (value: unknown): value is number => typeof value === "number"

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined

/** The status code that stands in an error of the library; null when there is none. */
const codeOf = (error: unknown): number | null => {
  const code = field(field(error, "output"), "statusCode")
  return isCode(code) ? code : null
}

/** For what the network did, whatever code the library makes of it. */
const connectionLost = 428

/**
 * The far side's end of a connection, with the seconds for which it asks to stay away. Its own words
 * come with what it sent; an error of the web socket, of its upgrade or of TLS is none of them.
 */
const closedBy = (error: unknown): Closed => {
  const data = field(error, "data")
  const seconds = Number(field(data, "expire"))
  return {
    code: data instanceof Error ? connectionLost : (codeOf(error) ?? connectionLost),
    pauseMillis: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null,
  }
}

const idsOf = ({ attrs, content }: BinaryNode): ReadonlyArray<string> => {
  const list = Array.isArray(content) ? content[0] : undefined
  const others = getBinaryNodeChildren(list, "item").map((item) => item.attrs["id"])
  return [attrs["id"], ...others].filter((id) => id !== undefined)
}

export const openConnection = (
  settings: WhatsAppSettings,
  {
    askedAgain = new Map(),
    auth,
    device,
    holdsBack = false,
    proxy,
    qrMillis,
    sentMessage,
  }: ConnectionOptions,
): Effect.Effect<Connection, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const events = yield* Queue.unbounded<ConnectionEvent>()
      const over = yield* Deferred.make<void>()
      const clock = yield* Clock.Clock
      const acknowledged: Connection["acknowledged"] = new Map()
      let lastWordAt: number | null = null
      const say = (event: ConnectionEvent) => {
        Queue.offerUnsafe(events, event)
      }

      const resender = makeResender({
        requests: askedAgain,
        pauseMillis: settings.resendMillis,
      })
      const socket = makeWASocket({
        auth,
        waWebSocketUrl: settings.url,
        version: [...(settings.version ?? DEFAULT_CONNECTION_CONFIG.version)],
        browser: [...device],
        logger: silentLogger,
        makeSignalRepository: takingTurns(
          quietRepository(DEFAULT_CONNECTION_CONFIG.makeSignalRepository),
        ),
        connectTimeoutMs: questionMillis,
        defaultQueryTimeoutMs: questionMillis,
        keepAliveIntervalMs: settings.keepAliveMillis,
        emitOwnEvents: false,
        markOnlineOnConnect: false,
        syncFullHistory: false,
        shouldSyncHistoryMessage: () => false,
        generateHighQualityLinkPreview: false,
        getMessage: ({ id }) =>
          typeof id === "string" ? sentMessage(id) : Promise.resolve(undefined),
        msgRetryCounterCache: resender.counts,
        ...(qrMillis === null ? {} : { qrTimeout: qrMillis }),
        ...waysOut(settings, proxy),
      })
      const { ev, ws } = socket
      const gate = makeGate(socket)

      /** What the library acknowledges by itself waits until it is stored. */
      const receiptTaken = (node: BinaryNode) => {
        const { from = "", participant = from, type = null } = node.attrs
        const { promise, resolve } = Promise.withResolvers<void>()
        say({ _tag: "Receipt", ids: idsOf(node), type, by: participant, taken: resolve })
        return promise
      }
      shield(socket, {
        "CB:receipt": async (receipt, hear) => {
          await receiptTaken(receipt)
          if (receipt.attrs["type"] !== "retry") return hear()
          for (const id of idsOf(receipt)) {
            // The far side has taken what a recipient asks for again: a word on a copy is none on it.
            const takeWord = acknowledged.get(id)
            if (takeWord === undefined) continue
            resender.expectsFirst(id)
            takeWord(null)
          }
          const request = unacknowledged(receipt)
          const isSettled = await resender.serve(receipt, () => hear(request))
          if (isSettled) await socket.sendMessageAck(receipt)
        },
      })
      closeInTime(socket)
      // Since the library listens to this, nothing else tells of a refused upgrade.
      ws.on("unexpected-response", () => void socket.end(new Error("the upgrade was refused")))

      // Heard of before what was asked hears its answer.
      ws.on("frame", (frame: BinaryNode) => {
        lastWordAt = clock.currentTimeMillisUnsafe()
        showRefusedDevices(frame)
      })
      ws.on("CB:ack,class:message", ({ attrs }: BinaryNode) => {
        const { error = null, id } = attrs
        if (id === undefined) return
        acknowledged.get(id)?.(error)
        resender.heard(id, error)
      })
      ws.on("CB:notification,type:companion_reg_refresh", () => say({ _tag: "SecretAsked" }))
      for (const type of ["passkey_prologue_request", "crsc_continuation"]) {
        ws.on(`CB:notification,type:${type}`, () => say({ _tag: "PasskeyAsked" }))
      }
      ws.on("CB:iq,type:error", (node: BinaryNode) => {
        const [error] = getBinaryNodeChildren(node, "error")
        say({ _tag: "RequestRefused", code: error?.attrs["code"] ?? "" })
      })
      ev.on("creds.update", (update) => {
        // The library has merged it into the credentials before.
        say({ _tag: "CredentialsChanged" })
        if (update.account === undefined) return
        if (holdsBack) gate.close()
        say({ _tag: "Paired" })
      })
      ws.on("CB:notification,type:w:gp2", (node: BinaryNode) => {
        if (changesNames(node)) say({ _tag: "GroupsChanged" })
      })
      ev.on("connection.update", ({ connection, lastDisconnect, qr }) => {
        if (qr !== undefined) say({ _tag: "QrShown", text: qr })
        if (connection === "open") {
          say({ _tag: "Opened" })
          for (const request of askedAgain.values()) ws.emit("CB:receipt", request)
        }
        if (connection === "close") {
          resender.over()
          say({ _tag: "Closed", closed: closedBy(lastDisconnect?.error) })
          Deferred.doneUnsafe(over, Effect.void)
        }
      })
      return {
        socket,
        credentials: auth.creds,
        events,
        credentialsChanged: () => say({ _tag: "CredentialsChanged" }),
        acknowledged,
        over,
        resender,
        lastWordAt: () => lastWordAt,
        goOn: gate.open,
      }
    }),
    ({ over, resender, socket }) =>
      Effect.sync(() => {
        resender.over()
        Deferred.doneUnsafe(over, Effect.void)
        void socket.end(undefined).catch(() => undefined)
        cutOff(socket)
      }),
  )

/** Holds back what is sent, in its order, from when it is closed until it is opened. */
const makeGate = ({ ws }: WASocket) => {
  const inner = field(ws, "socket") as { send: (...given: ReadonlyArray<unknown>) => void }
  const send = inner.send.bind(inner)
  let waiting: Array<() => void> | null = null
  inner.send = (...given) => {
    if (waiting === null) send(...given)
    else waiting.push(() => send(...given))
  }
  return {
    close: () => {
      waiting ??= []
    },
    open: () => {
      const held = waiting ?? []
      waiting = null
      for (const go of held) go()
    },
  }
}

/**
 * The library's listeners are asynchronous, and what one of them throws when the connection goes under it
 * has no other taker: it would end the process. The connection's end is heard of by itself. After a
 * frame that cannot be read none is understood any more: the connection is ended, and so replaced.
 * `around`: what is done with an event, and when the library hears of it, or of another in its place.
 *
 * Events pass one function, since one around each listener took 5 kB of every connection.
 */
const shield = (
  socket: WASocket,
  around: Readonly<
    Record<string, (node: BinaryNode, hear: (node?: BinaryNode) => Promise<void>) => Promise<void>>
  >,
): void => {
  const { ws } = socket
  const tell = async (
    event: string | symbol,
    listener: (...given: Array<unknown>) => unknown,
    given: Array<unknown>,
  ) => {
    try {
      const own = typeof event === "string" ? around[event] : undefined
      const hear = async (node = given[0]) => {
        await Reflect.apply(listener, ws, [node, ...given.slice(1)])
      }
      await (own === undefined ? hear() : own(given[0] as BinaryNode, hear))
    } catch {
      if (event === "message") void socket.end(new Error("a frame could not be read"))
    }
  }
  ws.emit = (event: string | symbol, ...given: Array<unknown>) => {
    const listeners = ws.rawListeners(event) as Array<(...given: Array<unknown>) => unknown>
    for (const listener of listeners) void tell(event, listener, given)
    return listeners.length > 0
  }
}

/** How long the far side may take to close its end, in real time. */
const closingMillis = 1000

/** The library says that a connection is over once it is closed, and waits half a minute for that. */
const closeInTime = (socket: WASocket): void => {
  const { ws } = socket
  const close = ws.close.bind(ws) as () => Promise<void>
  ws.close = () => {
    const timer = setTimeout(() => cutOff(socket), closingMillis)
    return close().finally(() => clearTimeout(timer))
  }
}

/** Closing politely waits for the far side, which may be gone. */
const cutOff = ({ ws }: WASocket): void => {
  const terminate = field(field(ws, "socket"), "terminate")
  if (typeof terminate === "function") Reflect.apply(terminate, field(ws, "socket"), [])
}
