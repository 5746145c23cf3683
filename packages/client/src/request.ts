/**
 * One request to the service, repeated where that can do nothing twice: what was lost on the way or
 * refused for the moment is asked again, after a rest that grows or that the service names.
 */
import { MessagingError, cannotAsk, errorOf, jsonOf, unexpectedAnswer } from "./MessagingError.ts"
import { formOf } from "./upload.ts"
import type { FileToUpload } from "./upload.ts"

/** How to reach the service. */
export interface ConnectionOptions {
  /**
   * Where the service is, with the path that it is mounted under, if any: `https://messages.example.com`.
   * One with a user name or a password in it is refused: errors name the url.
   */
  readonly url: string
  /**
   * Milliseconds in which an attempt must be answered; 30,000 by default, `Infinity` for no limit. An
   * upload has 300,000.
   */
  readonly timeoutMillis?: number
  /** How many times a request is repeated at most; 3 by default, 0 for never. */
  readonly retries?: number
  /**
   * The longest rest before a repeat, in milliseconds; 60,000 by default, which is enough for the
   * limit of requests a minute. When the service asks for a longer one, its refusal is the answer.
   */
  readonly longestRestMillis?: number
  /** Ends every request of this client, as the signal of a single one does. */
  readonly signal?: AbortSignal
  /** Sent with every request, for proxies that want headers of their own. */
  readonly headers?: Readonly<Record<string, string>>
  /** Asks instead of the global `fetch`: for proxies, traces and tests. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** What any method takes last. */
export interface RequestOptions {
  /** Ends the request, and the rest before a repeat; the method rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Milliseconds in which an attempt must be answered, instead of the client's. */
  readonly timeoutMillis?: number
  /** How many times the request is repeated at most, instead of the client's. */
  readonly retries?: number
}

/** What methods take last that create something. */
export interface CreationOptions extends RequestOptions {
  /**
   * 1 to 255 printable ASCII characters. A request with a key that was used before does nothing and
   * gets the first answer, for 24 hours. Without one every call has a key of its own, for its repeats.
   * Give one, such as the id of an order, when the call itself may be repeated.
   */
  readonly idempotencyKey?: string
}

type QueryValue = string | number | boolean | ReadonlyArray<string | number> | undefined

/** What to ask. */
export interface Asked {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** As the document writes it, with the names of its ids in braces. */
  readonly path: string
  /** In their order in the path. */
  readonly ids?: ReadonlyArray<unknown>
  readonly query?: Readonly<Record<string, QueryValue>> | undefined
  readonly json?: unknown
  readonly file?: FileToUpload
  /** The operation takes an idempotency key. */
  readonly keyed?: boolean
}

/** Asks and gives the parsed answer. */
export type Ask = (asked: Asked, options?: CreationOptions) => Promise<unknown>

/** `authorize`: the headers that say who asks. */
export const makeAsk = (
  connection: ConnectionOptions,
  credentials: Readonly<Record<string, string>>,
): Ask => {
  const origin = originOf(connection.url)
  const { fetch = globalThis.fetch, longestRestMillis = 60_000, retries = 3 } = connection
  if (!isTimeout(connection.timeoutMillis ?? 1)) throw new TypeError(wrongTimeout)
  refuseHeaders(connection.headers)
  return async (asked, options = {}) => {
    const url = `${origin}${filled(asked)}${queryText(asked.query)}`
    const headers: Record<string, string> = {
      ...connection.headers,
      ...credentials,
      accept: "application/json",
    }
    if (asked.keyed === true) headers["idempotency-key"] = keyOf(options)
    if (asked.json !== undefined) headers["content-type"] = "application/json"
    const body = asked.json === undefined ? undefined : jsonText(asked.json)
    const usual = asked.file === undefined ? (connection.timeoutMillis ?? 30_000) : 300_000
    const given = [connection.signal, options.signal].filter((each) => each !== undefined)
    const signal = given.length > 1 ? AbortSignal.any(given) : given[0]
    const timeoutMillis = options.timeoutMillis ?? usual
    if (!isTimeout(timeoutMillis)) throw cannotAsk(wrongTimeout, "timeoutMillis")
    for (let repeats = 0; ; repeats++) {
      const outcome = await attempt(fetch, url, { ...asked, body }, headers, timeoutMillis, signal)
      if (!(outcome instanceof MessagingError)) return outcome.answer
      const rest =
        repeats < (options.retries ?? retries) ? restBefore(asked, outcome, repeats) : undefined
      if (rest === undefined || rest > longestRestMillis) throw outcome
      await pause(rest, signal)
    }
  }
}

/** The error does not show the url: it may hold a password. */
const originOf = (url: string): string => {
  const { hash, password, protocol, search, username } = parsedUrl(url)
  if (username !== "" || password !== "") {
    // Requests name their url when they fail, and what reports such errors would keep the password.
    throw new TypeError("The url of the service must hold no user name and no password")
  }
  if ((protocol !== "https:" && protocol !== "http:") || hash !== "" || search !== "") {
    throw new TypeError(
      "The url of the service begins with https:// or http:// and ends with a path",
    )
  }
  return url.replace(/\/+$/, "")
}

const parsedUrl = (url: string): URL => {
  try {
    return new URL(url)
  } catch {
    // The runtime's own error holds the url.
    throw new TypeError("The url of the service is not a url")
  }
}

/** The header that carries a key or a token. Errors do not show it. */
export const bearer = (name: string, secret: string): Readonly<Record<string, string>> => {
  if (typeof secret !== "string" || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(secret)) {
    throw new TypeError(`The ${name} is empty or has characters that no ${name} has`)
  }
  return { authorization: `Bearer ${secret}` }
}

/** Timers take what is longer for nothing at all. */
const longestTimer = 2 ** 31 - 1

const wrongTimeout = "timeoutMillis is a positive number, or Infinity"

const isTimeout = (millis: unknown): boolean => typeof millis === "number" && millis > 0

/** `fetch` would say of them that there is no connection, and show them. */
const refuseHeaders = (headers: ConnectionOptions["headers"]): void => {
  try {
    void new Headers(headers)
  } catch {
    throw new TypeError("The headers have a name or a value that HTTP does not carry")
  }
}

/** The path with its ids, which are never another path: an id of a page's address may be any text. */
const filled = ({ ids = [], path }: Asked): string => {
  let at = 0
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[at++]
    const text = typeof id === "number" || typeof id === "string" ? String(id) : ""
    if (!/^[1-9]\d*$/.test(text)) throw cannotAsk(`${name} is a positive integer`, name)
    return text
  })
}

const keyOf = ({ idempotencyKey: given }: CreationOptions): string => {
  if (given === undefined) return newKey()
  if (typeof given === "string" && /^[\x20-\x7e]{1,255}$/.test(given)) return given
  throw cannotAsk(
    "An idempotency key is 1 to 255 printable ASCII characters",
    "idempotencyKey",
    "invalid_idempotency_key",
  )
}

const jsonText = (body: unknown): string => {
  try {
    const text = JSON.stringify(body) as string | undefined
    if (text !== undefined) return text
  } catch {
    // What it says of a circle is several lines long.
  }
  throw cannotAsk("The body has something that JSON cannot hold", null, "invalid_json")
}

const queryText = (query: Asked["query"] = {}): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  // Several values stand in one parameter, with commas between them.
  const pairs = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`
}

/** Web Crypto's `randomUUID` is missing in pages without TLS. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("")

/** The reason with which an attempt that takes too long is ended. */
const tooLong = Symbol("too long")

const attempt = async (
  fetch: NonNullable<ConnectionOptions["fetch"]>,
  url: string,
  { body, file, method }: Asked & { readonly body: string | undefined },
  headers: Readonly<Record<string, string>>,
  timeoutMillis: number,
  signal: AbortSignal | undefined,
): Promise<MessagingError | { readonly answer: unknown }> => {
  signal?.throwIfAborted()
  const form = file === undefined ? undefined : await formOf(file)
  const ending = new AbortController()
  const end = () => ending.abort(signal?.reason)
  signal?.addEventListener("abort", end)
  const timer =
    timeoutMillis > longestTimer
      ? undefined
      : setTimeout(() => ending.abort(tooLong), timeoutMillis)
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...form?.headers },
      signal: ending.signal,
      // The service redirects nowhere, and a POST that is redirected becomes a GET.
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
      ...form?.init,
    })
    const text = await response.text()
    if (!response.ok) return errorOf(response, text)
    const answer = jsonOf(text)
    return answer === undefined ? unexpectedAnswer(response, "it is not JSON") : { answer }
  } catch (cause) {
    signal?.throwIfAborted()
    const late = ending.signal.reason === tooLong
    return new MessagingError({
      code: late ? "timeout" : "no_answer",
      text: late
        ? `${method} ${url} was not answered within ${timeoutMillis} ms`
        : `${method} ${url} got no answer`,
      status: null,
      cause: late ? undefined : cause,
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener("abort", end)
  }
}

/** A stream can be sent once; a function makes a new one for each attempt. */
const canBeSentAgain = ({ file }: Asked): boolean => file === undefined || file.again

/**
 * Asked again, it does nothing twice and is answered as the first time. A DELETE does nothing twice
 * either, but its repeat is told that there is nothing to delete.
 */
const isRepeatable = ({ keyed, method }: Asked): boolean =>
  keyed === true || method === "GET" || method === "PUT" || method === "PATCH"

/**
 * Milliseconds before the request may be repeated; undefined when it may not. The service answers 503
 * before it does anything. After any other 5xx, and a 503 of a proxy in front of it, the request may
 * have been done.
 */
const restBefore = (asked: Asked, error: MessagingError, repeats: number): number | undefined => {
  if (!canBeSentAgain(asked)) return undefined
  const asItSays = error.retryAfterSeconds === null ? undefined : error.retryAfterSeconds * 1000
  switch (error.status) {
    case null:
      return isRepeatable(asked) ? growingRest(repeats) : undefined
    // The attempt before this one was lost on the way, and is still being answered.
    case 409:
      return error.code === "idempotency_in_progress" ? asItSays : undefined
    // This refuses only keys that were never issued: a minute makes them no better.
    case 429:
      return error.code === "too_many_auth_failures" ? undefined : asItSays
    default:
      return error.status >= 500 && (error.code === "service_unavailable" || isRepeatable(asked))
        ? (asItSays ?? growingRest(repeats))
        : undefined
  }
}

/** From half a second up, doubled with each repeat; by chance up to half shorter, so that clients part. */
const growingRest = (repeats: number): number =>
  Math.min(8000, 500 * 2 ** repeats) * (1 - Math.random() / 2)

const pause = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", end)
        resolve()
      },
      Math.min(millis, longestTimer),
    )
    signal?.addEventListener("abort", end, { once: true })
  })
