/**
 * One connection to WhatsApp, used once. It wraps the library's socket and turns what the socket
 * reports into a queue of events; the last event is always the end of the connection.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import { Agent } from "node:https"
import type { AgentOptions } from "node:https"
import { guardLibrary, isFrom } from "@messaging-service/core"
import type { AfterClose, ClosedReason, Restrictions, RunGuarded } from "@messaging-service/core"
import { DEFAULT_CONNECTION_CONFIG, getBinaryNodeChildren, makeWASocket } from "baileys"
import type {
  AuthenticationCreds,
  AuthenticationState,
  BinaryNode,
  CacheStore,
  proto,
  SignalRepositoryWithLIDStore,
  UserFacingSocketConfig,
  WASocket,
} from "baileys"
import { Clock, Deferred, Effect, Queue } from "effect"
import type { Scope } from "effect"
import { HttpsProxyAgent } from "https-proxy-agent"
import { SocksProxyAgent } from "socks-proxy-agent"
import { toFileAccess } from "./files.ts"
import type { FileAccess } from "./files.ts"
import { committing, makeArrivals, makeReceiving, makeTurns, noInbox } from "./received.ts"
import type { Inbox, Receiving } from "./received.ts"
import { changesNames, makeAdministrators, showRefusedDevices } from "./recipients.ts"
import type { Administrators } from "./recipients.ts"
import { fromCap, fromTimelock } from "./restrictions.ts"
import { makeResender, unacknowledged } from "./retryReceipts.ts"
import type { RetryRequests } from "./retryReceipts.ts"
import { libsignalQueues, takingTurns } from "./signalTurns.ts"
import type { WhatsAppSettings } from "./WhatsAppSettings.ts"

// What to do after a connection ends

export interface Closed {
  readonly code: number
  /** The pause that WhatsApp asks for; null without one. */
  readonly pauseMillis: number | null
  /** WhatsApp said why, unlike a network that does not answer. */
  readonly isRefused: boolean
}

/** So many ends with 500 in a row log the number out. */
export const maxBadSessions = 5

const stop = (reason: ClosedReason, wipe = false): AfterClose => ({ _tag: "Stop", reason, wipe })

const byCode: Readonly<Record<number, AfterClose>> = {
  401: stop("logged_out", true),
  // The phone's account is locked.
  403: stop("restricted"),
  405: stop("client_outdated"),
  406: stop("banned"),
  // WhatsApp refuses the user agent.
  409: stop("client_outdated"),
  // The account's phone no longer serves linked devices.
  411: stop("logged_out", true),
  440: stop("replaced"),
  515: { _tag: "Restart" },
}

/** `badSessions` counts consecutive connections that ended with 500 before they opened, with this one. */
export const afterClose = (
  { code, isRefused, pauseMillis }: Closed,
  badSessions: number,
): AfterClose => {
  const again: AfterClose = { _tag: "Again", isRefused }
  if (code === 402) {
    return pauseMillis === null
      ? stop("banned")
      : { _tag: "Pause", reason: "banned", millis: pauseMillis }
  }
  if (code === 500) return badSessions >= maxBadSessions ? stop("logged_out", true) : again
  // 408, 428, 503 and unknown codes are network failures: connect again.
  return byCode[code] ?? again
}

// Proxies: all traffic of a number goes through its proxy, also name resolution and media.

/** Agents for the connection and for uploads; absent for Node's own agent. */
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
  // HttpsProxyAgent applies its options to the proxy only, so set them for the target too.
  Object.assign(own.options, certificates)
  // The library's type asks for an HTTPS agent, but it only passes the agent on to Node.
  const agent = own as unknown as Agent
  return { agent, fetchAgent: agent }
}

// Silence: the libraries print session keys, among other things
// what runs as `quietly` reaches no console, and their logger says nothing.

const silenced = new AsyncLocalStorage<true>()
let isWatching = false

/** Makes the console drop what `quietly` runs, and nothing else. */
const watch = () => {
  if (isWatching) return
  isWatching = true
  for (const method of ["log", "info", "warn", "error", "debug", "trace", "dir"] as const) {
    const print = console[method].bind(console) as (...args: ReadonlyArray<unknown>) => void
    console[method] = (...args: ReadonlyArray<unknown>) => {
      if (silenced.getStore() === undefined) print(...args)
    }
  }
}

const quietly = <A>(work: () => A): A => {
  watch()
  return silenced.run(true, work)
}

/** Runs our own work inside theirs; it may print. */
export const aloud = <A>(work: () => A): A => silenced.exit(work)

type MakeRepository = NonNullable<UserFacingSocketConfig["makeSignalRepository"]>

/** Silences the encryption library: every call goes through its repository. */
export const quietRepository =
  (make: MakeRepository): MakeRepository =>
  (...args) =>
    quietMethods(quietly(() => make(...args)))

const quietMethods = (repository: SignalRepositoryWithLIDStore): SignalRepositoryWithLIDStore =>
  new Proxy(repository, {
    get: (target, name, receiver) => {
      const member: unknown = Reflect.get(target, name, receiver)
      return typeof member === "function"
        ? (...args: ReadonlyArray<unknown>) => quietly(() => Reflect.apply(member, target, args))
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
  /** The next QR codes need a fresh secret. */
  | { readonly _tag: "SecretAsked" }
  | { readonly _tag: "PasskeyAsked" }
  /** WhatsApp refused a request without a waiting caller. */
  | { readonly _tag: "RequestRefused"; readonly code: string }
  | { readonly _tag: "CredentialsChanged" }
  | { readonly _tag: "Paired" }
  | { readonly _tag: "Opened" }
  | { readonly _tag: "GroupsChanged" }
  /** WhatsApp said what the number may do with new chats. */
  | { readonly _tag: "Restricted"; readonly told: Partial<Restrictions> }
  | {
      readonly _tag: "Receipt"
      readonly ids: ReadonlyArray<string>
      /** WhatsApp's name of it; null for a delivery. */
      readonly type: string | null
      /** The address of the person, also in a group. */
      readonly by: string
      /** Call once it is stored; then WhatsApp gets its acknowledgement. */
      readonly claimed: () => void
    }
  | { readonly _tag: "Closed"; readonly closed: Closed }

export interface Connection {
  readonly socket: WASocket
  /** The way to files that people send. */
  readonly files: FileAccess
  readonly credentials: AuthenticationCreds
  readonly events: Queue.Dequeue<ConnectionEvent>
  /** Reports a change that this service made to the credentials. */
  readonly credentialsChanged: () => void
  /** By message id: takes WhatsApp's error code, or null for its acknowledgement. */
  readonly acknowledged: Map<string, (error: string | null) => void>
  readonly over: Deferred.Deferred<void>
  /** When WhatsApp last sent a frame; null before the first. */
  readonly lastWordAt: () => number | null
  /**
   * With `holdsBack` nothing leaves after pairing until this call, so that the device is stored before
   * WhatsApp gets the confirmation.
   */
  readonly goOn: () => void
}

interface ConnectionOptions {
  readonly auth: AuthenticationState
  /** System, program and version that the phone shows for this device. */
  readonly device: readonly [string, string, string]
  /** How long each QR code is valid; null for WhatsApp's own rhythm. */
  readonly qrMillis: number | null
  readonly sentMessage: (id: string) => Promise<proto.IMessage | undefined>
  readonly holdsBack?: boolean
  /** Default: nothing is stored. */
  readonly inbox?: Inbox
  /** The proxy's URL; null without one. */
  readonly proxy: string | null
  /** Unanswered retry requests from earlier connections. */
  readonly retryRequests?: RetryRequests
}

/** The timeout of a query, in real time. */
const questionMillis = 20_000

const isCode = (value: unknown): value is number => typeof value === "number"

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined

/** The status code in an error of the library; null without one. */
const findCode = (error: unknown): number | null => {
  const code = field(field(error, "output"), "statusCode")
  return isCode(code) ? code : null
}

/** The code for every network failure, whatever code the library gives it. */
const connectionLost = 428

/**
 * How a connection closed. Only an error that carries a node comes from WhatsApp; errors of the web
 * socket, its upgrade or TLS carry an `Error`.
 */
export const closedBy = (error: unknown): Closed => {
  const data = field(error, "data")
  const seconds = Number(field(data, "expire"))
  return {
    code: data instanceof Error ? connectionLost : (findCode(error) ?? connectionLost),
    pauseMillis: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null,
    // The node of a stream's error, the attributes of a failure, or a refused upgrade.
    isRefused: ["tag", "reason"].some((name) => field(data, name) !== undefined),
  }
}

/** Says no to the upgrade of its connection. */
const upgradeRefused = () =>
  Object.assign(new Error("the upgrade was refused"), { data: { reason: "upgrade" } })

const getIds = ({ attrs, content }: BinaryNode): ReadonlyArray<string> => {
  const list = Array.isArray(content) ? content[0] : undefined
  const others = getBinaryNodeChildren(list, "item").map((item) => item.attrs["id"])
  return [attrs["id"], ...others].filter((id) => id !== undefined)
}

const makeRepository = (receiving: Receiving): MakeRepository => {
  const quiet = quietRepository(DEFAULT_CONNECTION_CONFIG.makeSignalRepository)
  const ofProcess = takingTurns(libsignalQueues)(quiet)
  return takingTurns(new Map())(committing(receiving)(ofProcess))
}

const makeSocket = (
  settings: WhatsAppSettings,
  { auth, device, proxy, qrMillis, sentMessage }: ConnectionOptions,
  receiving: Receiving,
  msgRetryCounterCache: CacheStore,
): WASocket =>
  makeWASocket({
    auth,
    waWebSocketUrl: settings.url,
    version: [...(settings.version ?? DEFAULT_CONNECTION_CONFIG.version)],
    browser: [...device],
    logger: silentLogger,
    makeSignalRepository: makeRepository(receiving),
    connectTimeoutMs: questionMillis,
    defaultQueryTimeoutMs: questionMillis,
    keepAliveIntervalMs: settings.keepAliveMillis,
    emitOwnEvents: false,
    markOnlineOnConnect: false,
    syncFullHistory: false,
    shouldSyncHistoryMessage: () => false,
    generateHighQualityLinkPreview: false,
    getMessage: ({ id }) => (typeof id === "string" ? sentMessage(id) : Promise.resolve(undefined)),
    msgRetryCounterCache,
    ...(qrMillis === null ? {} : { qrTimeout: qrMillis }),
    ...waysOut(settings, proxy),
  })

/** Whether the error is one of the library's, or of the libraries under it. */
export const isLibrarys = isFrom(["baileys", "libsignal", "ws"], import.meta.url)

/** Where the library begins work. */
const starts = [
  "end",
  "fetchAccountReachoutTimelock",
  "fetchNewChatMessageCap",
  "query",
  "refreshMediaConn",
  "relayMessage",
  "requestPairingCode",
  "updateMediaMessage",
  "waUploadToServer",
] as const

/** A guarded socket. */
const openSocket = (guarded: RunGuarded, make: () => WASocket): WASocket => {
  const socket = guarded(make)
  for (const name of starts) {
    const work = socket[name] as (...args: ReadonlyArray<unknown>) => Promise<unknown>
    Object.assign(socket, {
      [name]: (...args: ReadonlyArray<unknown>) => guarded(() => work(...args)),
    })
  }
  return socket
}

type Resender = ReturnType<typeof makeResender>

/** Decides when, and with which node, the library learns of an event. */
type Hearing = (node: BinaryNode, hear: (node?: BinaryNode) => Promise<void>) => Promise<void>

interface Listening {
  readonly socket: WASocket
  readonly acknowledged: Connection["acknowledged"]
  readonly administrators: Administrators
  readonly resender: Resender
  readonly report: (event: ConnectionEvent) => void
}

/** Acknowledges a receipt only once the service has stored it. */
const serveReceipts = ({ acknowledged, resender, report, socket }: Listening): Hearing => {
  const receiptTaken = (node: BinaryNode) => {
    const { from = "", participant = from, type = null } = node.attrs
    const { promise, resolve } = Promise.withResolvers<void>()
    report({ _tag: "Receipt", ids: getIds(node), type, by: participant, claimed: resolve })
    return promise
  }
  return async (receipt, hear) => {
    await receiptTaken(receipt)
    if (receipt.attrs["type"] !== "retry") return hear()
    for (const id of getIds(receipt)) {
      // A retry receipt proves that WhatsApp took the message. A later word is about the copy.
      const takeWord = acknowledged.get(id)
      if (takeWord === undefined) continue
      resender.expectsFirst(id)
      takeWord(null)
    }
    const request = unacknowledged(receipt)
    const isSettled = await resender.serve(receipt, () => hear(request))
    if (isSettled) await socket.sendMessageAck(receipt)
  }
}

/** Turns what WhatsApp sends into events and acknowledgements. */
const reportNodes = ({
  acknowledged,
  administrators,
  resender,
  report,
  socket,
}: Listening): void => {
  const { ws } = socket
  ws.on("CB:ack,class:message", ({ attrs }: BinaryNode) => {
    const { error = null, id } = attrs
    if (id === undefined) return
    acknowledged.get(id)?.(error)
    resender.heard(id, error)
  })
  ws.on("CB:notification,type:companion_reg_refresh", () => report({ _tag: "SecretAsked" }))
  for (const type of ["passkey_prologue_request", "crsc_continuation"]) {
    ws.on(`CB:notification,type:${type}`, () => report({ _tag: "PasskeyAsked" }))
  }
  ws.on("CB:iq,type:error", (node: BinaryNode) => {
    const [error] = getBinaryNodeChildren(node, "error")
    report({ _tag: "RequestRefused", code: error?.attrs["code"] ?? "" })
  })
  ws.on("CB:notification,type:w:gp2", (node: BinaryNode) => {
    administrators.forget(node.attrs["from"] ?? "")
    if (changesNames(node)) report({ _tag: "GroupsChanged" })
  })
}

/** Turns the library's own updates into events. `closed` runs after the last one. */
const reportUpdates = (
  { resender, report, socket }: Listening,
  retryRequests: RetryRequests,
  { closed, paired }: { readonly closed: () => void; readonly paired: () => void },
): void => {
  const { ev, ws } = socket
  ev.on("creds.update", (update) => {
    // The library has already merged the update into the credentials.
    report({ _tag: "CredentialsChanged" })
    if (update.account === undefined) return
    paired()
    report({ _tag: "Paired" })
  })
  ev.on("message-capping.update", (cap) => {
    report({ _tag: "Restricted", told: { newChats: fromCap(cap) } })
  })
  ev.on("connection.update", ({ connection, lastDisconnect, qr, reachoutTimeLock }) => {
    if (reachoutTimeLock !== undefined) {
      report({ _tag: "Restricted", told: fromTimelock(reachoutTimeLock) })
    }
    if (qr !== undefined) report({ _tag: "QrShown", text: qr })
    if (connection === "open") {
      report({ _tag: "Opened" })
      for (const request of retryRequests.values()) ws.emit("CB:receipt", request)
    }
    if (connection === "close") {
      resender.over()
      report({ _tag: "Closed", closed: closedBy(lastDisconnect?.error) })
      closed()
    }
  })
}

/** What people write over a connection; its socket is made later. */
const makeMessages = (
  { auth, inbox = noInbox }: ConnectionOptions,
  clock: Clock.Clock,
  socket: () => WASocket,
) => {
  const administrators = makeAdministrators({ query: (...args) => socket().query(...args) })
  const receiving = makeReceiving({
    inbox,
    own: () => auth.creds.me ?? {},
    isAdministrator: (group, addresses) =>
      administrators.has(group, addresses, clock.currentTimeMillisUnsafe()),
  })
  const arrived = makeArrivals(receiving, {
    takeTurn: inbox.takeTurn,
    isOpen: () => socket().ws.isOpen,
    pause: () => callInner(socket(), "pause"),
    resume: () => callInner(socket(), "resume"),
    acknowledge: (stanza) => socket().sendMessageAck(stanza),
  })
  return { administrators, arrived, receiving }
}

const makeConnection = Effect.fnUntraced(function* makeConnection(
  settings: WhatsAppSettings,
  options: ConnectionOptions,
) {
  const { auth, holdsBack = false, retryRequests = new Map() } = options
  const events = yield* Queue.unbounded<ConnectionEvent>()
  const over = yield* Deferred.make<void>()
  const clock = yield* Clock.Clock
  const acknowledged: Connection["acknowledged"] = new Map()
  let lastAnswerAt: number | null = null
  const report = (event: ConnectionEvent) => {
    Queue.offerUnsafe(events, event)
  }

  const resender = makeResender({ requests: retryRequests, pauseMillis: settings.resendMillis })
  const guarded = yield* guardLibrary("whatsapp", isLibrarys, () => {
    void socket.end(new Error("the library failed")).catch(() => undefined)
  })
  const messages = makeMessages(options, clock, () => socket)
  const socket = openSocket(guarded, () =>
    makeSocket(settings, options, messages.receiving, resender.counts),
  )
  const { ev, ws } = socket
  // The library's listener for calls makes messages of missed ones, and handles no failure.
  ev.removeAllListeners("call")
  const gate = makeGate(socket)
  const { administrators, arrived } = messages
  const listening: Listening = { socket, acknowledged, administrators, resender, report }
  const readInOrder = makeTurns()
  shield(socket, {
    "CB:receipt": serveReceipts(listening),
    "CB:message": arrived,
    // A large frame is unpacked while later ones come.
    message: (_, hear) => readInOrder(hear),
  })
  closeInTime(socket)
  // Because the library listens to this event, it reports a refused upgrade nowhere else.
  ws.on("unexpected-response", () => void socket.end(upgradeRefused()))
  // This listener runs before the one that takes the answer.
  ws.on("frame", (frame: BinaryNode) => {
    lastAnswerAt = clock.currentTimeMillisUnsafe()
    showRefusedDevices(frame)
  })
  reportNodes(listening)
  reportUpdates(listening, retryRequests, {
    paired: () => {
      if (holdsBack) gate.close()
    },
    closed: () => {
      Deferred.doneUnsafe(over, Effect.void)
    },
  })
  const { proxy } = options
  return {
    socket,
    files: toFileAccess(socket, settings.url, waysOut(settings, proxy).fetchAgent, proxy),
    credentials: auth.creds,
    events,
    credentialsChanged: () => report({ _tag: "CredentialsChanged" }),
    acknowledged,
    over,
    resender,
    lastWordAt: () => lastAnswerAt,
    goOn: gate.open,
  }
})

export const openConnection = (
  settings: WhatsAppSettings,
  options: ConnectionOptions,
): Effect.Effect<Connection, never, Scope.Scope> =>
  Effect.acquireRelease(makeConnection(settings, options), ({ over, resender, socket }) =>
    Effect.sync(() => {
      resender.over()
      Deferred.doneUnsafe(over, Effect.void)
      void socket.end(undefined).catch(() => undefined)
      cutOff(socket)
    }),
  )

/** While closed, holds back outgoing frames; opening sends them in order. */
const makeGate = ({ ws }: WASocket) => {
  const inner = field(ws, "socket") as { send: (...args: ReadonlyArray<unknown>) => void }
  const send = inner.send.bind(inner)
  let waiting: Array<() => void> | null = null
  inner.send = (...args) => {
    if (waiting === null) send(...args)
    else waiting.push(() => send(...args))
  }
  return {
    close: () => {
      waiting ??= []
    },
    open: () => {
      const queued = waiting ?? []
      waiting = null
      for (const go of queued) go()
    },
  }
}

/**
 * Catches what the library's asynchronous listeners throw: an unhandled rejection would end the process.
 * After an unreadable frame all later ones are unreadable too, so the connection ends.
 * `around` is asked first.
 *
 * All events pass one function: a wrapper for each listener took 5 kB of every connection.
 */
const shield = (socket: WASocket, around: Readonly<Record<string, Hearing>>): void => {
  const { ws } = socket
  const notify = async (
    event: string | symbol,
    listener: (...args: Array<unknown>) => unknown,
    args: Array<unknown>,
  ) => {
    try {
      const own = typeof event === "string" ? around[event] : undefined
      const hear = async (node = args[0]) => {
        await Reflect.apply(listener, ws, [node, ...args.slice(1)])
      }
      await (own === undefined ? hear() : own(args[0] as BinaryNode, hear))
    } catch {
      if (event === "message") void socket.end(new Error("a frame could not be read"))
    }
  }
  ws.emit = (event: string | symbol, ...args: Array<unknown>) => {
    const listeners = ws.rawListeners(event) as Array<(...args: Array<unknown>) => unknown>
    for (const listener of listeners) void notify(event, listener, args)
    return listeners.length > 0
  }
}

/** How long WhatsApp may take to close its end, in real time. */
const closingMillis = 1000

/** Shortens the half minute that the library waits for the remote close. */
const closeInTime = (socket: WASocket): void => {
  const { ws } = socket
  const close = ws.close.bind(ws) as () => Promise<void>
  ws.close = () => {
    const timer = setTimeout(() => cutOff(socket), closingMillis)
    return close().finally(() => clearTimeout(timer))
  }
}

/** Calls the web socket below the library's, if there is one. */
const callInner = ({ ws }: WASocket, name: "pause" | "resume" | "terminate"): void => {
  const inner = field(ws, "socket")
  const method = field(inner, name)
  if (typeof method === "function") Reflect.apply(method, inner, [])
}

/** Terminates the web socket without a closing handshake. */
const cutOff = (socket: WASocket): void => callInner(socket, "terminate")
