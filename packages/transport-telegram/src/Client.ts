/**
 * The library's client of one account: its proxy, timeouts, bounds and pauses, and tables from Telegram's
 * errors to send outcomes and session ends. The client reconnects by itself while it lives.
 */
import { hash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { guardLibrary, isFrom, makeReconnectPauses } from "@messaging-service/core"
import type {
  ClosedReason,
  MessageErrorCode,
  RunGuarded,
  SendOutcome,
} from "@messaging-service/core"
import {
  BaseTelegramClient,
  HttpProxyTcpTransport,
  MtPeerNotFoundError,
  networkMiddlewares,
  SocksProxyTcpTransport,
  TcpTransport,
  TelegramClient,
  tl,
} from "@mtcute/node"
import type { ITelegramStorageProvider, RpcCallMiddleware, TelegramTransport } from "@mtcute/node"
import {
  __tlWriterMap,
  addPublicKey,
  defaultProductionDc,
  NodeCryptoProvider,
} from "@mtcute/node/utils.js"
import { Data, Effect, Redacted } from "effect"
import type { Scope } from "effect"
import type { Inbox } from "./Inbox.ts"
import type { TelegramApplication, TelegramSettings } from "./TelegramSettings.ts"
import { hearDifferences, hearUpdates, makeHearing } from "./updates.ts"

// Outcomes of Telegram's errors

export const refused = (
  code: MessageErrorCode,
  message: string,
  againstNumber = false,
): SendOutcome => ({ _tag: "Refused", error: { code, message }, againstNumber })

const postponed = (afterMillis: number) => ({ _tag: "Postponed", afterMillis }) as const

/** Try again later; nothing was handed over. */
export const soon = postponed(5000)

/** Another worker owns the number and continues. */
export const moved = postponed(500)

export const accepted = { _tag: "Accepted" } as const
export const unknown = { _tag: "Unknown" } as const
export const notConnected = { _tag: "NotConnected" } as const

interface RemoteError {
  readonly code: number
  /** Such as `FLOOD_WAIT_%d`. */
  readonly text: string
  /** The requested pause, if any. */
  readonly seconds: number | null
}

/** The recipient does not exist, or is hidden from this account. */
const strangers: ReadonlySet<string> = new Set([
  "PEER_ID_INVALID",
  "CHAT_ID_INVALID",
  "CHANNEL_INVALID",
  // The account has left the group, or was removed.
  "CHANNEL_PRIVATE",
  "USER_ID_INVALID",
  "USERNAME_INVALID",
  "USERNAME_NOT_OCCUPIED",
  "PHONE_NOT_OCCUPIED",
  "INPUT_USER_DEACTIVATED",
])

/** Known refusals of messages. */
const refusals: ReadonlyMap<string, string> = new Map([
  ["PEER_FLOOD", "the account writes to too many people who do not know it"],
  ["USER_RESTRICTED", "the account is restricted"],
  ["USER_IS_BLOCKED", "the recipient has blocked the account"],
  ["YOU_BLOCKED_USER", "the account has blocked the recipient"],
  ["USER_PRIVACY_RESTRICTED", "the recipient's settings do not let the account write"],
  ["PRIVACY_PREMIUM_REQUIRED", "the recipient takes messages from Premium accounts only"],
  ["ALLOW_PAYMENT_REQUIRED", "the recipient takes messages for payment only"],
  ["CHAT_WRITE_FORBIDDEN", "the account may not write in the group"],
  ["CHAT_RESTRICTED", "the account may not write in the group"],
  ["USER_BANNED_IN_CHANNEL", "the account may not write in groups for now"],
  ["MESSAGE_TOO_LONG", "it is too long"],
  ["MEDIA_CAPTION_TOO_LONG", "the caption is too long"],
  ["MESSAGE_EMPTY", "it is empty"],
  ["FROZEN_METHOD_INVALID", "the account is frozen"],
])

/** Refusals about the sending account. */
const restrictions: ReadonlySet<string> = new Set([
  "PEER_FLOOD",
  "USER_RESTRICTED",
  "FROZEN_METHOD_INVALID",
])

/** Proves that an earlier attempt with this id was shown. */
const sentBefore = "RANDOM_ID_DUPLICATE"

export const isSentBefore = (text: string): boolean => text.startsWith(sentBefore)

/** Bounds of the pause that Telegram asks for. */
const [shortestPause, longestPause] = [1000, 24 * 60 * 60_000]

/** Callers see Telegram's error text, cut to this length. */
const longestWord = 64

/** The request may have taken effect: no answer, or Telegram's own fault. */
export const isUnanswered = ({ code }: Pick<RemoteError, "code">): boolean =>
  code === 0 || code >= 500 || code < 0

/** `isSend`: the error answers the message itself, not a query before it. */
export const afterError = ({ code, seconds, text }: RemoteError, isSend: boolean): SendOutcome => {
  if (isSend && isSentBefore(text)) return accepted
  if (seconds !== null) {
    return postponed(Math.max(shortestPause, Math.min(longestPause, seconds * 1000)))
  }
  if (strangers.has(text)) {
    return refused("recipient_not_found", `Telegram knows no such recipient (${text}).`)
  }
  if (isUnanswered({ code })) return isSend ? unknown : soon
  const known = refusals.get(text)
  // Try later or elsewhere; the error is not about the message.
  if ((code === 420 && known === undefined) || code === 303) return soon
  const why = known === undefined ? "" : `: ${known}`
  return refused(
    "send_failed",
    `Telegram refused the message (${text.slice(0, longestWord)})${why}.`,
    restrictions.has(text),
  )
}

// Proxies: all traffic of an account goes through its proxy. Nothing leaves once another process owns the
// account. Every connection closes with its client: the library forgets those that fail or open late.

/** Default ports. */
const usualPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "socks5:": 1080 }

const toTransport = (proxyUrl: string | null): TelegramTransport => {
  if (proxyUrl === null) return new TcpTransport()
  const { hostname, password, port, protocol, username } = new URL(proxyUrl)
  const settings = {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (usualPorts[protocol] ?? 80) : Number(port),
    ...(username === ""
      ? {}
      : { user: decodeURIComponent(username), password: decodeURIComponent(password) }),
  }
  return protocol === "socks5:"
    ? new SocksProxyTcpTransport({ ...settings, version: 5 })
    : new HttpProxyTcpTransport({ ...settings, tls: protocol === "https:" })
}

type Codec = ReturnType<TelegramTransport["packetCodec"]>

/** The largest accepted frame, in bytes. */
const longestFrame = 16 * 1024 * 1024

/**
 * The frame length is not signed: unbounded, the library would buffer up to 4 GiB. Telegram refuses a
 * connection by a frame with an error.
 */
const bounded = (codec: Codec, onRefusal: () => void): Codec => {
  const decode = codec.decode.bind(codec)
  codec.decode = (reader, isOver) => {
    if (reader.available >= 4) {
      const length = Buffer.from(reader.readSync(4)).readUInt32LE(0)
      reader.rewind(4)
      if (length > longestFrame) throw new Error("the remote frame is too long")
    }
    try {
      return decode(reader, isOver)
    } catch (error) {
      onRefusal()
      throw error
    }
  }
  return codec
}

type Connection = Awaited<ReturnType<TelegramTransport["connect"]>>

/** Fails when opening takes too long, and closes what opens later. */
const inTime = async (millis: number, opening: Promise<Connection>): Promise<Connection> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error("the connection took too long to open"))
      opening.then(
        (connection) => connection.close(),
        () => undefined,
      )
    }, millis)
  })
  try {
    return await Promise.race([opening, late])
  } finally {
    clearTimeout(timer)
  }
}

interface WayOut {
  readonly transport: TelegramTransport
  /** Closes all connections and opens no more. */
  readonly close: () => void
  readonly isClosed: () => boolean
}

interface Bounds {
  readonly openingMillis: number
  /** Whether this process owns the account right now. */
  readonly mayWrite: () => boolean
  /** Telegram refuses the connection. */
  readonly onRefusal?: () => void
}

export const wayOut = (
  proxyUrl: string | null,
  { mayWrite, onRefusal = () => undefined, openingMillis }: Bounds,
): WayOut => {
  const inner = toTransport(proxyUrl)
  const open = new Set<Connection>()
  let isClosed = false
  const closing = (connection: Connection) => {
    open.delete(connection)
    connection.close()
    return new Error("the connection may not be used any more")
  }
  return {
    transport: {
      packetCodec: (dc) => bounded(inner.packetCodec(dc), onRefusal),
      connect: async (dc) => {
        const connection = await inTime(openingMillis, inner.connect(dc))
        if (isClosed || !mayWrite()) throw closing(connection)
        open.add(connection)
        const { read, write } = connection
        return Object.assign(connection, {
          read: async (into: Uint8Array) => {
            try {
              return await read.call(connection, into)
            } catch (error) {
              open.delete(connection)
              throw error
            }
          },
          write: (bytes: Uint8Array) =>
            mayWrite() ? write.call(connection, bytes) : Promise.reject(closing(connection)),
        })
      },
    },
    close: () => {
      isClosed = true
      for (const connection of open) connection.close()
      open.clear()
    },
    isClosed: () => isClosed,
  }
}

/** The library's own choice for a new account. */
export const firstDataCentre = defaultProductionDc.main

/** The data centre of a test server. */
const otherServer = 2

/** Telegram refused the call, or the library gave it up. */
export class CallFailed extends Data.TaggedError("CallFailed")<{
  readonly code: number
  readonly text: string
  readonly seconds: number | null
}> {
  override get message() {
    return `Telegram answered ${this.text}`
  }
}

const toFailure = (error: unknown): CallFailed => {
  if (tl.RpcError.is(error)) {
    const seconds = "seconds" in error && typeof error.seconds === "number" ? error.seconds : null
    return new CallFailed({ code: error.code, text: error.text, seconds })
  }
  if (error instanceof MtPeerNotFoundError) {
    return new CallFailed({ code: 400, text: "PEER_ID_INVALID", seconds: null })
  }
  return new CallFailed({ code: 0, text: "the library gave up", seconds: null })
}

export type Requester = <A>(
  question: (signal: AbortSignal) => Promise<A>,
) => Effect.Effect<A, CallFailed>

/** Calls Telegram; an interruption cancels the call. */
export const requested: Requester = (question) =>
  Effect.tryPromise({ try: question, catch: toFailure })

/** Calls over an open connection; they fail when it is over. */
export interface Questions {
  readonly request: Requester
  readonly waiting: () => number
  readonly end: () => void
}

const connectionOver = Effect.fail(
  new CallFailed({ code: 0, text: "the connection is over", seconds: null }),
)

/** Uses no extra fiber for a call: there are thousands a second. */
export const makeQuestions = (): Questions => {
  const waiting = new Set<() => void>()
  let isOver = false
  return {
    request: <A>(question: (signal: AbortSignal) => Promise<A>) =>
      Effect.callback<A, CallFailed>((resume) => {
        if (isOver) return resume(connectionOver)
        const claiming = new AbortController()
        const report = (answer: Effect.Effect<A, CallFailed>) => {
          waiting.delete(abandon)
          resume(answer)
        }
        /** Also aborts what the question still does: a file's other parts go on when one fails. */
        const failed = (answer: Effect.Effect<never, CallFailed>) => {
          claiming.abort()
          report(answer)
        }
        const abandon = () => failed(connectionOver)
        waiting.add(abandon)
        question(claiming.signal).then(
          (answer) => report(Effect.succeed(answer)),
          (error: unknown) => failed(Effect.fail(toFailure(error))),
        )
        return Effect.sync(abandon)
      }),
    waiting: () => waiting.size,
    end: () => {
      isOver = true
      for (const abandon of waiting) abandon()
    },
  }
}

export const toOutcome = (failed: CallFailed, isSend: boolean): SendOutcome => {
  if (failed.code !== 0) return afterError(failed, isSend)
  return isSend ? unknown : refused("send_failed", "The message could not be made ready.")
}

/** Errors that the library must not retry. */
const notRepeated = [sentBefore]

const systemVersion = `Node ${process.versions.node}`

/** The largest accepted unpacked answer, in bytes. */
const largestUnpacked = 64 * 1024 * 1024

/** The library's own, with bounded unpacking, and digests in one step. */
export class AccountCrypto extends NodeCryptoProvider {
  override gunzip(packed: Uint8Array): Uint8Array {
    return gunzipSync(packed, { maxOutputLength: largestUnpacked })
  }

  override sha256(data: Uint8Array): Buffer {
    return hash("sha256", data, "buffer")
  }
}

const pingName = "mt_ping_delay_disconnect"

/** After so long without a ping Telegram may close a connection; the library's own value for idle ones. */
const silenceSeconds = 142

/**
 * How the library serialises requests. Each ping asks Telegram to close the connection unless another
 * follows in time: 7 seconds while a call waits, when pings follow every 2 seconds. Afterwards the library
 * pings every 20 seconds at most, so Telegram closed each quiet connection. The longer time applies to
 * every ping; a missing pong still reveals a dead connection.
 */
const writerMap: typeof __tlWriterMap = Object.assign({}, __tlWriterMap, {
  [pingName]: (writer: unknown, ping: object) =>
    __tlWriterMap[pingName]?.(writer, { ...ping, disconnectDelay: silenceSeconds }),
})

interface ClientOptions {
  readonly application: TelegramApplication
  readonly storage: ITelegramStorageProvider
  /** The proxy's URL; null without one. */
  readonly proxy: string | null
  /** From 0 up to 1: the random share of reconnect pauses. */
  readonly drawn: number
  /** Whether this process owns the account right now. Default: always. */
  readonly mayWrite?: () => boolean
  /** The library failed, and its connections are closed. */
  readonly failed?: () => void
  /** What Telegram reports of messages. Null: nothing learns of it. */
  readonly inbox?: Inbox | null
}

/**
 * The pause before each new connection, in milliseconds: none before the first, then growing until
 * Telegram answers. An open connection alone resets nothing: it may close at once, again and again.
 */
export const makePauses = (drawn: number, bounds: Parameters<typeof makeReconnectPauses>[0]) => {
  const pauses = makeReconnectPauses(bounds)
  let [isFirst, isRefused] = [true, false]
  return {
    next: (): number => {
      const millis = isFirst ? 0 : pauses.next(isRefused, drawn)
      ;[isFirst, isRefused] = [false, false]
      return millis
    },
    answered: (): void => {
      pauses.reset()
      isFirst = true
    },
    /** Telegram closed the latest connection with an error. */
    refused: (): void => {
      isRefused = true
    },
  }
}

/** A refusal before the library makes an error of it. */
interface RefusedCall {
  readonly _: "mt_rpc_error"
  readonly errorCode: number
  readonly errorMessage: string
}

const isRefused = (answer: unknown): answer is RefusedCall =>
  typeof answer === "object" && answer !== null && "_" in answer && answer._ === "mt_rpc_error"

/**
 * Keeps the first fault as the answer. The library repeats a call after Telegram's own fault, but a
 * message may have been shown before it, whatever the repeat's refusal says.
 */
const storedFaults = (): Readonly<Record<"outer" | "inner", RpcCallMiddleware>> => {
  const faults = new WeakMap<object, RefusedCall>()
  return {
    outer: async (call, next) => {
      const answer: unknown = await next(call)
      if (!isRefused(answer) || isSentBefore(answer.errorMessage)) return answer
      return faults.get(call.request) ?? answer
    },
    inner: async (call, next) => {
      const answer: unknown = await next(call)
      const { request } = call
      const isFault = isRefused(answer) && isUnanswered({ code: answer.errorCode })
      if (isFault && "randomId" in request) faults.set(request, answer)
      return answer
    },
  }
}

const { inner, outer } = storedFaults()

/** The caller receives flood errors and decides how long to wait. */
const middlewares = (
  answered: () => void,
  hearing: ReadonlyArray<RpcCallMiddleware>,
): Array<RpcCallMiddleware> => [
  async (call, next) => {
    const answer: unknown = await next(call)
    answered()
    return answer
  },
  ...hearing,
  outer,
  ...networkMiddlewares.basic({
    floodWaiter: { maxWait: 0, maxRetries: 0, store: false },
    internalErrors: { maxRetries: 2, exceptErrors: notRepeated },
  }),
  inner,
]

/** How long each step of an account's end may take, in real milliseconds. */
const endingMillis = 2000

/**
 * Waits for the ending to succeed, fail or time out. It may wait for writes of a number that another
 * process owns by now, which gets the number only once this client is gone.
 */
export const endInTime = (ending: Promise<void>): Promise<void> => {
  const { promise: tooLate, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, endingMillis)
  return Promise.race([ending.catch(() => undefined), tooLate]).finally(() => clearTimeout(timer))
}

/** Where the library begins work. */
const starts = ["call", "connect", "getPoolSize", "startUpdatesLoop"] as const

/**
 * Refuses work of a destroyed client, and guards all other. The library would reject each call twice:
 * to its caller, and to a promise that it drops, which ends the process.
 */
const refuseOnceClosed = (client: BaseTelegramClient, guarded: RunGuarded): void => {
  for (const name of starts) {
    const work = client[name].bind(client) as (...args: ReadonlyArray<unknown>) => Promise<unknown>
    Object.assign(client, {
      [name]: (...args: ReadonlyArray<unknown>) =>
        client.destroyed
          ? Promise.reject(new Error("the client is closed"))
          : guarded(() => work(...args)),
    })
  }
}

const isLibrarys = isFrom(["@mtcute", "@fuman"], import.meta.url)

interface Guarding {
  readonly way: WayOut
  readonly pauses: ReturnType<typeof makePauses>
  readonly guarded: RunGuarded
}

const openClient = (
  settings: TelegramSettings,
  { application, inbox = null, storage }: ClientOptions,
  { guarded, pauses, way }: Guarding,
): TelegramClient => {
  const { deviceName } = settings
  const crypto = new AccountCrypto()
  if (settings.publicKey !== null) addPublicKey(crypto, settings.publicKey)
  const { server } = settings
  const dc =
    server === null
      ? null
      : { id: otherServer, ipAddress: server.host, port: server.port, mediaOnly: false }
  const hearing = inbox && makeHearing(inbox)
  const base = new BaseTelegramClient({
    apiId: application.id,
    apiHash: Redacted.value(application.hash),
    crypto,
    storage,
    // The process ends clients by itself.
    storageOptions: { cleanup: false },
    transport: way.transport,
    ...(dc === null ? {} : { defaultDcs: { main: dc, media: dc } }),
    initConnectionOptions: { deviceModel: deviceName, systemVersion, appVersion: "1.0" },
    // Connecting may outlive the client.
    reconnectionStrategy: () => (way.isClosed() ? false : pauses.next()),
    // The inbox learns of it, and has no use for a channel's latest messages.
    updates: { catchUp: true, onChannelTooLong: () => undefined },
    writerMap,
    network: {
      middlewares: middlewares(pauses.answered, hearing === null ? [] : [hearDifferences(hearing)]),
      pingInterval: settings.keepAliveMillis,
      floodControl: false,
    },
    // The library may print secrets.
    logLevel: 0,
  })
  hearUpdates(base, hearing)
  refuseOnceClosed(base, guarded)
  const client = new TelegramClient({ client: base })
  client.onError.add(() => undefined)
  return client
}

/** An unconnected client, closed with its scope. */
export const makeClient = (
  settings: TelegramSettings,
  options: ClientOptions,
): Effect.Effect<TelegramClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { drawn, failed, mayWrite = () => true, proxy } = options
    const { firstPauseMillis: first, longestPauseMillis: longest, openingMillis } = settings
    const pauses = makePauses(drawn, { first, longest })
    const way = wayOut(proxy, { mayWrite, onRefusal: pauses.refused, openingMillis })
    const guarded = yield* guardLibrary("telegram", isLibrarys, () => {
      way.close()
      failed?.()
    })
    return yield* Effect.acquireRelease(
      Effect.sync(() => guarded(() => openClient(settings, options, { way, pauses, guarded }))),
      (client) =>
        Effect.promise(() => endInTime(guarded(() => client.destroy()))).pipe(
          Effect.ensuring(Effect.sync(way.close)),
        ),
    )
  })

// Errors that end the session

const endings: ReadonlyMap<string, ClosedReason> = new Map([
  ["AUTH_KEY_UNREGISTERED", "logged_out"],
  ["AUTH_KEY_INVALID", "logged_out"],
  ["AUTH_KEY_PERM_EMPTY", "logged_out"],
  ["SESSION_REVOKED", "logged_out"],
  ["SESSION_EXPIRED", "logged_out"],
  ["SESSION_PASSWORD_NEEDED", "logged_out"],
  // Two connections used the key at once, so Telegram ended it.
  ["AUTH_KEY_DUPLICATED", "replaced"],
  ["USER_DEACTIVATED", "banned"],
  ["USER_DEACTIVATED_BAN", "banned"],
  ["PHONE_NUMBER_BANNED", "banned"],
  ["API_ID_INVALID", "client_outdated"],
  ["UPDATE_APP_TO_LOGIN", "client_outdated"],
])

/**
 * Why the session is over; null when the error does not say so. After an unknown 401 the stored session
 * stays, because it may still be valid.
 */
export const toClosedReason = ({
  code,
  text,
}: Pick<RemoteError, "code" | "text">): ClosedReason | null =>
  endings.get(text) ?? (code === 401 ? "restricted" : null)

/** Whether the stored session is useless. */
export const isWorthless = (reason: ClosedReason): boolean =>
  reason === "logged_out" || reason === "replaced"
