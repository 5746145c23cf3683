/**
 * One account's client of the library: made over the account's own storage, told where the far side is,
 * and with what it says turned into events that are read one after the other. It connects again by itself
 * for as long as it lives.
 */
import { hash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { reconnectPauseMillis } from "@messaging-service/core"
import type { ClosedReason, MessageErrorCode, SendOutcome } from "@messaging-service/core"
import {
  HttpProxyTcpTransport,
  MtPeerNotFoundError,
  networkMiddlewares,
  SocksProxyTcpTransport,
  TcpTransport,
  TelegramClient,
  tl,
} from "@mtcute/node"
import type { ITelegramStorageProvider, RpcCallMiddleware, TelegramTransport } from "@mtcute/node"
import { __tlWriterMap, addPublicKey, NodeCryptoProvider } from "@mtcute/node/utils.js"
import { Data, Effect, Redacted } from "effect"
import type { Scope } from "effect"
import type { TelegramApplication, TelegramSettings } from "./TelegramSettings.ts"

// What the far side's words on a message, or on a question before it, mean for the message. Pure.

export const refused = (
  code: MessageErrorCode,
  message: string,
  againstNumber = false,
): SendOutcome => ({ _tag: "Refused", error: { code, message }, againstNumber })

const postponed = (afterMillis: number) => ({ _tag: "Postponed", afterMillis }) as const

/** When to look again after nothing was handed over. */
export const soon = postponed(5000)

/** Another worker has the number by now, and goes on. */
export const moved = postponed(500)

export const accepted = { _tag: "Accepted" } as const
export const unknown = { _tag: "Unknown" } as const
export const notConnected = { _tag: "NotConnected" } as const

/** What the far side answered in place of a result. */
interface FarSideError {
  readonly code: number
  /** Such as `FLOOD_WAIT_%d`. */
  readonly text: string
  /** For how long to wait, where it says so. */
  readonly seconds: number | null
}

/** No such recipient, or none that this account may know. */
const strangers: ReadonlySet<string> = new Set([
  "PEER_ID_INVALID",
  "USER_ID_INVALID",
  "USERNAME_INVALID",
  "USERNAME_NOT_OCCUPIED",
  "PHONE_NOT_OCCUPIED",
  "INPUT_USER_DEACTIVATED",
])

/** What is known of the words with which messages are refused. */
const refusals: ReadonlyMap<string, string> = new Map([
  ["PEER_FLOOD", "the account writes to too many people who do not know it"],
  ["USER_RESTRICTED", "the account is restricted"],
  ["USER_IS_BLOCKED", "the recipient has blocked the account"],
  ["YOU_BLOCKED_USER", "the account has blocked the recipient"],
  ["USER_PRIVACY_RESTRICTED", "the recipient's settings do not let the account write"],
  ["PRIVACY_PREMIUM_REQUIRED", "the recipient takes messages from Premium accounts only"],
  ["ALLOW_PAYMENT_REQUIRED", "the recipient takes messages for payment only"],
  ["MESSAGE_TOO_LONG", "it is too long"],
  ["MEDIA_CAPTION_TOO_LONG", "the caption is too long"],
  ["MESSAGE_EMPTY", "it is empty"],
  ["FROZEN_METHOD_INVALID", "the account is frozen"],
])

/** Those of them that tell of the account that sends. */
const restrictions: ReadonlySet<string> = new Set([
  "PEER_FLOOD",
  "USER_RESTRICTED",
  "FROZEN_METHOD_INVALID",
])

/** It was sent before under this id: the proof that it was shown. */
const sentBefore = "RANDOM_ID_DUPLICATE"

export const isSentBefore = (text: string): boolean => text.startsWith(sentBefore)

/** No pause that the far side asks for is shorter or longer: then it is asked again. */
const [shortestPause, longestPause] = [1000, 24 * 60 * 60_000]

/** No word of the far side's is longer; what it says is shown to callers. */
const longestWord = 64

/** The far side may have done what it was asked for: no answer came, or a fault of its own before it. */
export const isUnanswered = ({ code }: Pick<FarSideError, "code">): boolean =>
  code === 0 || code >= 500 || code < 0

/** `isSend`: the error came to the message itself, and not to a question before it. */
export const afterError = ({ code, seconds, text }: FarSideError, isSend: boolean): SendOutcome => {
  if (isSend && isSentBefore(text)) return accepted
  if (seconds !== null) {
    return postponed(Math.max(shortestPause, Math.min(longestPause, seconds * 1000)))
  }
  if (strangers.has(text)) {
    return refused("recipient_not_found", `Telegram knows no such recipient (${text}).`)
  }
  // A fault of the far side's own: the message may have been shown before it.
  if (isUnanswered({ code })) return isSend ? unknown : soon
  const known = refusals.get(text)
  // It is to be asked later, or somewhere else; that is not about the message.
  if ((code === 420 && known === undefined) || code === 303) return soon
  const why = known === undefined ? "" : `: ${known}`
  return refused(
    "send_failed",
    `Telegram refused the message (${text.slice(0, longestWord)})${why}.`,
    restrictions.has(text),
  )
}

// The way out of one account's connections: its proxy, for its messages and its files alike, or the
// network itself. A proxy that does not answer is never gone around. Nothing leaves once the account is
// another process's, and nothing stays open once its client is gone: the library itself forgets
// connections that end with an error, or that are opened too late.

/** Ports that need not stand in a URL. */
const usualPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "socks5:": 1080 }

const transportOf = (proxyUrl: string | null): TelegramTransport => {
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

/** No frame of the far side is longer, in bytes. */
const longestFrame = 16 * 1024 * 1024

/** The length before a frame is not signed: on its word alone the library would keep up to 4 GiB. */
const bounded = (codec: Codec): Codec => {
  const decode = codec.decode.bind(codec)
  codec.decode = (reader, isOver) => {
    if (reader.available >= 4) {
      const length = Buffer.from(reader.readSync(4)).readUInt32LE(0)
      reader.rewind(4)
      if (length > longestFrame) throw new Error("a frame of the far side is too long")
    }
    return decode(reader, isOver)
  }
  return codec
}

type Connection = Awaited<ReturnType<TelegramTransport["connect"]>>

/** Fails when it takes too long; what comes after that is closed. */
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
  /** Closes what is open, and lets nothing be opened any more. */
  readonly close: () => void
}

interface Bounds {
  /** How long a connection may take until it is open. */
  readonly openingMillis: number
  /** Whether the account is this process's at this very moment. */
  readonly mayWrite: () => boolean
}

export const wayOut = (proxyUrl: string | null, { mayWrite, openingMillis }: Bounds): WayOut => {
  const inner = transportOf(proxyUrl)
  const open = new Set<Connection>()
  let isClosed = false
  const closing = (connection: Connection) => {
    open.delete(connection)
    connection.close()
    return new Error("the connection may not be used any more")
  }
  return {
    transport: {
      packetCodec: (dc) => bounded(inner.packetCodec(dc)),
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
  }
}

/** The data centre that another server than Telegram's own calls itself. */
const otherServer = 2

/** A question that the far side refused, or that the library gave up. */
export class CallFailed extends Data.TaggedError("CallFailed")<{
  readonly code: number
  readonly text: string
  readonly seconds: number | null
}> {
  override get message() {
    return `the far side answered ${this.text}`
  }
}

const failureOf = (error: unknown): CallFailed => {
  if (tl.RpcError.is(error)) {
    const seconds = "seconds" in error && typeof error.seconds === "number" ? error.seconds : null
    return new CallFailed({ code: error.code, text: error.text, seconds })
  }
  if (error instanceof MtPeerNotFoundError) {
    return new CallFailed({ code: 400, text: "PEER_ID_INVALID", seconds: null })
  }
  return new CallFailed({ code: 0, text: "the library gave up", seconds: null })
}

/** Puts a question to the far side; the signal takes it back. */
export type Ask = <A>(question: (signal: AbortSignal) => Promise<A>) => Effect.Effect<A, CallFailed>

/** A question to the far side, which is taken back when it is interrupted. */
export const asked: Ask = (question) => Effect.tryPromise({ try: question, catch: failureOf })

/** Questions over an open connection, which end with it. */
export interface Questions {
  /** The same as `asked`, and fails at once when the connection is over. */
  readonly ask: Ask
  /** How many wait for their answer. */
  readonly waiting: () => number
  /** The connection is over. */
  readonly end: () => void
}

const connectionOver = Effect.fail(
  new CallFailed({ code: 0, text: "the connection is over", seconds: null }),
)

/** Without a fiber of its own for each question, beside that which asks: there are thousands a second. */
export const makeQuestions = (): Questions => {
  const waiting = new Set<() => void>()
  let isOver = false
  return {
    ask: <A>(question: (signal: AbortSignal) => Promise<A>) =>
      Effect.callback<A, CallFailed>((resume) => {
        if (isOver) return resume(connectionOver)
        const taking = new AbortController()
        const giveUp = () => {
          waiting.delete(giveUp)
          taking.abort()
          resume(connectionOver)
        }
        const told = (answer: Effect.Effect<A, CallFailed>) => {
          waiting.delete(giveUp)
          resume(answer)
        }
        waiting.add(giveUp)
        question(taking.signal).then(
          (answer) => told(Effect.succeed(answer)),
          (error: unknown) => told(Effect.fail(failureOf(error))),
        )
        return Effect.sync(giveUp)
      }),
    waiting: () => waiting.size,
    end: () => {
      isOver = true
      for (const giveUp of waiting) giveUp()
    },
  }
}

/** What a failed call means for the message that it was made for. */
export const outcomeOf = (failed: CallFailed, isSend: boolean): SendOutcome => {
  if (failed.code !== 0) return afterError(failed, isSend)
  return isSend ? unknown : refused("send_failed", "The message could not be made ready.")
}

/** Errors of which a repeat says nothing new. */
const notRepeated = [sentBefore]

const systemVersion = `Node ${process.versions.node}`

/** What is packed must not unpack to more, in bytes: no answer of the far side is so large. */
const largestUnpacked = 64 * 1024 * 1024

/** The library's own, but nothing unpacks without a bound, and digests are made in one step. */
export class AccountCrypto extends NodeCryptoProvider {
  override gunzip(packed: Uint8Array): Uint8Array {
    return gunzipSync(packed, { maxOutputLength: largestUnpacked })
  }

  override sha256(data: Uint8Array): Buffer {
    return hash("sha256", data, "buffer")
  }
}

const pingName = "mt_ping_delay_disconnect"

/** After so long without another ping Telegram may close a connection: what the library says on an idle one. */
const silenceSeconds = 142

/**
 * How the library writes what it sends. With a ping it asks Telegram to close the connection unless another
 * ping comes in time. While a call waits for its answer that time is short: 7 seconds, as such pings follow
 * one another every 2. Once the answer is there it pings only every 20 seconds or later, so Telegram closed
 * each connection that fell silent, and the question at the next one began the same again. The longer time
 * holds for every ping; a dead connection is still noticed by the pong that does not come.
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
  /** From 0 up to 1: what of the pauses before new connections is chance. */
  readonly drawn: number
  /** Whether the account is this process's at this very moment; it always is, if not given. */
  readonly mayWrite?: () => boolean
}

/**
 * The pause before each new connection, in milliseconds: none before the first, and from then on longer
 * ones until the far side has answered something. That a connection could be opened says nothing: the
 * far side, or a proxy, may end it at once, again and again.
 */
export const makePauses = (drawn: number, bounds: Parameters<typeof reconnectPauseMillis>[2]) => {
  let failures = 0
  return {
    next: (): number => {
      failures++
      return failures === 1 ? 0 : reconnectPauseMillis(failures - 2, drawn, bounds)
    },
    answered: (): void => {
      failures = 0
    },
  }
}

/** What refuses a call, as the library has it before it makes an error of it. */
interface RefusedCall {
  readonly _: "mt_rpc_error"
  readonly errorCode: number
  readonly errorMessage: string
}

const isRefused = (answer: unknown): answer is RefusedCall =>
  typeof answer === "object" && answer !== null && "_" in answer && answer._ === "mt_rpc_error"

/**
 * The library repeats a call by itself after a fault of the far side's own. A message may have been shown
 * before the fault, so that a refusal of the repeat does not say that it was not: the fault stays the answer.
 */
const keptFaults = (): Readonly<Record<"outer" | "inner", RpcCallMiddleware>> => {
  const faults = new WeakMap<object, RefusedCall>()
  return {
    /** Around what repeats calls. */
    outer: async (call, next) => {
      const answer: unknown = await next(call)
      if (!isRefused(answer) || isSentBefore(answer.errorMessage)) return answer
      return faults.get(call.request) ?? answer
    },
    /** Within it: hears each answer. */
    inner: async (call, next) => {
      const answer: unknown = await next(call)
      const { request } = call
      const isFault = isRefused(answer) && isUnanswered({ code: answer.errorCode })
      if (isFault && "randomId" in request) faults.set(request, answer)
      return answer
    },
  }
}

const { inner, outer } = keptFaults()

/** The caller hears of a flood, and decides how long to rest. */
const middlewares = (answered: () => void): Array<RpcCallMiddleware> => [
  async (call, next) => {
    const answer: unknown = await next(call)
    answered()
    return answer
  },
  outer,
  ...networkMiddlewares.basic({
    floodWaiter: { maxWait: 0, maxRetries: 0, store: false },
    internalErrors: { maxRetries: 2, exceptErrors: notRepeated },
  }),
  inner,
]

/** How long each thing that an account still does at its end may take, in real milliseconds. */
const endingMillis = 2000

/**
 * Done once what is done at the end is, or has failed, or takes too long. A client that ends waits for
 * what it still writes. That waits in turn where its number is another process's by now, and the other
 * gets the number only once this client is gone.
 */
export const endInTime = (ending: Promise<void>): Promise<void> => {
  const { promise: tooLate, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, endingMillis)
  return Promise.race([ending.catch(() => undefined), tooLate]).finally(() => clearTimeout(timer))
}

/** A client that is not connected yet, and is gone with its scope. */
export const makeClient = (
  settings: TelegramSettings,
  { application, drawn, mayWrite = () => true, proxy, storage }: ClientOptions,
): Effect.Effect<TelegramClient, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { deviceName, firstPauseMillis: first, longestPauseMillis: longest } = settings
      const crypto = new AccountCrypto()
      if (settings.publicKey !== null) addPublicKey(crypto, settings.publicKey)
      const { server } = settings
      const dc =
        server === null
          ? null
          : { id: otherServer, ipAddress: server.host, port: server.port, mediaOnly: false }
      const pauses = makePauses(drawn, { first, longest })
      const way = wayOut(proxy, { mayWrite, openingMillis: settings.openingMillis })
      const client = new TelegramClient({
        apiId: application.id,
        apiHash: Redacted.value(application.hash),
        crypto,
        storage,
        // The process ends clients by itself.
        storageOptions: { cleanup: false },
        transport: way.transport,
        ...(dc === null ? {} : { defaultDcs: { main: dc, media: dc } }),
        initConnectionOptions: { deviceModel: deviceName, systemVersion, appVersion: "1.0" },
        reconnectionStrategy: pauses.next,
        updates: { catchUp: true },
        writerMap,
        network: {
          middlewares: middlewares(pauses.answered),
          pingInterval: settings.keepAliveMillis,
          // Pauses are drawn above.
          floodControl: false,
        },
        // What the library would print may hold secrets.
        logLevel: 0,
      })
      client.onError.add(() => undefined)
      return { client, way }
    }),
    ({ client, way }) =>
      Effect.promise(() => endInTime(client.destroy())).pipe(
        Effect.ensuring(Effect.sync(way.close)),
      ),
  ).pipe(Effect.map(({ client }) => client))

// What errors of the far side mean for a number as a whole: a table from its words to reasons. Pure.

const endings: ReadonlyMap<string, ClosedReason> = new Map([
  ["AUTH_KEY_UNREGISTERED", "logged_out"],
  ["AUTH_KEY_INVALID", "logged_out"],
  ["AUTH_KEY_PERM_EMPTY", "logged_out"],
  ["SESSION_REVOKED", "logged_out"],
  ["SESSION_EXPIRED", "logged_out"],
  ["SESSION_PASSWORD_NEEDED", "logged_out"],
  // The same key was used from two places at once, and Telegram has ended it.
  ["AUTH_KEY_DUPLICATED", "replaced"],
  ["USER_DEACTIVATED", "banned"],
  ["USER_DEACTIVATED_BAN", "banned"],
  ["PHONE_NUMBER_BANNED", "banned"],
  ["API_ID_INVALID", "client_outdated"],
  ["UPDATE_APP_TO_LOGIN", "client_outdated"],
])

/**
 * Null for what says nothing about the session. Of other words that refuse the account (401) it is not
 * known whether the session is over for good, so that what the number has is kept.
 */
export const endingOf = ({
  code,
  text,
}: Pick<FarSideError, "code" | "text">): ClosedReason | null =>
  endings.get(text) ?? (code === 401 ? "restricted" : null)

/** Whether what the number has is worth nothing any more. */
export const isWorthless = (reason: ClosedReason): boolean =>
  reason === "logged_out" || reason === "replaced"
