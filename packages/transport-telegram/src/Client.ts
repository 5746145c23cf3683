/**
 * One account's client of the library: made over the account's own storage, told where the far side is,
 * and with what it says turned into events that are read one after the other. It connects again by itself
 * for as long as it lives.
 */
import { reconnectPauseMillis } from "@messaging-service/core"
import type { SendOutcome } from "@messaging-service/core"
import { MtPeerNotFoundError, TelegramClient, networkMiddlewares, tl } from "@mtcute/node"
import type { ITelegramStorageProvider, RpcCallMiddleware } from "@mtcute/node"
import { NodeCryptoProvider, __tlWriterMap, addPublicKey } from "@mtcute/node/utils.js"
import { Data, Effect, Redacted } from "effect"
import type { Scope } from "effect"
import { hash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { afterError, isSentBefore, isUnanswered, refused, sentBefore, unknown } from "./outcomes.ts"
import { wayOut } from "./proxy.ts"
import type { TelegramApplication, TelegramSettings } from "./settings.ts"

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

export interface ClientOptions {
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
