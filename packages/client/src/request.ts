/**
 * One request to the service. The client retries a lost or temporarily refused request when a repeat
 * cannot act twice. Before each retry it rests: longer each time, or as long as the service says.
 */
import {
  MessagingError,
  rejectedLocally,
  getError,
  toJson,
  unexpectedAnswer,
} from "./MessagingError.ts"
import { getForm } from "./upload.ts"
import type { FileToUpload } from "./upload.ts"

/** Address and limits of a client. */
export interface ConnectionOptions {
  /**
   * URL of the service, with the path that it is mounted at, if any: `https://messages.example.com`.
   * The client refuses a user name or a password in it, because errors name the URL.
   */
  readonly url: string
  /**
   * Timeout of an attempt, in milliseconds. Default: 30,000, and 300,000 for an upload. `Infinity` for
   * none.
   */
  readonly timeoutMillis?: number
  /** Maximum of retries per request. Default: 3; 0 for none. */
  readonly retries?: number
  /**
   * Longest rest before a retry, in milliseconds. Default: 60,000, which outlasts the limit of
   * requests per minute. When the service asks for a longer rest, the method rejects with its refusal.
   */
  readonly longestRestMillis?: number
  /** Ends every request of this client. */
  readonly signal?: AbortSignal
  /** Headers of every request, for proxies that need some. */
  readonly headers?: Readonly<Record<string, string>>
  /** Replaces the global `fetch`: for proxies, traces and tests. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** Last argument of every method. */
export interface RequestOptions {
  /** Ends the request, and the rest before a retry; the method rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Timeout of an attempt in milliseconds, instead of the client's. */
  readonly timeoutMillis?: number
  /** Maximum of retries, instead of the client's. */
  readonly retries?: number
}

/** Last argument of methods that create something. */
export interface CreationOptions extends RequestOptions {
  /**
   * 1 to 255 printable ASCII characters. For 24 hours, a request with a used key does nothing and gets
   * the first response. By default each call has its own key, for its retries. Set one, such as the id
   * of an order, when you may repeat the call itself.
   */
  readonly idempotencyKey?: string
}

type QueryValue = string | number | boolean | ReadonlyArray<string | number> | undefined

/** A request. */
export interface RequestSpec {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** As the document writes it, with the names of its ids in braces. */
  readonly path: string
  /** In their order in the path. */
  readonly ids?: ReadonlyArray<unknown>
  readonly query?: Readonly<Record<string, QueryValue>> | undefined
  readonly json?: unknown
  readonly file?: FileToUpload
  /** Whether the operation takes an idempotency key. */
  readonly keyed?: boolean
  /** Whether the answer is a page of a list. */
  readonly isPaged?: boolean
  /** The content type of an answer that is given as a stream. */
  readonly streams?: "text/csv"
}

/** Sends the request and returns the parsed response. */
export type Requester = (request: RequestSpec, options?: CreationOptions) => Promise<unknown>

/** `authorize`: the headers that authenticate the caller. */
export const makeRequester = (
  connection: ConnectionOptions,
  credentials: Readonly<Record<string, string>>,
): Requester => {
  const origin = toOrigin(connection.url)
  const { fetch = globalThis.fetch, longestRestMillis = 60_000, retries = 3 } = connection
  if (!isTimeout(connection.timeoutMillis ?? 1)) throw new TypeError(wrongTimeout)
  refuseHeaders(connection.headers)
  return async (request, options = {}) => {
    const url = `${origin}${filled(request)}${queryText(request.query)}`
    const headers: Record<string, string> = {
      ...connection.headers,
      ...credentials,
      accept: request.streams ?? "application/json",
    }
    if (request.keyed === true) headers["idempotency-key"] = toKey(options)
    if (request.json !== undefined) headers["content-type"] = "application/json"
    const body = request.json === undefined ? undefined : jsonText(request.json)
    const usual = request.file === undefined ? (connection.timeoutMillis ?? 30_000) : 300_000
    const signals = [connection.signal, options.signal].filter((each) => each !== undefined)
    const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0]
    const timeoutMillis = options.timeoutMillis ?? usual
    if (!isTimeout(timeoutMillis)) throw rejectedLocally(wrongTimeout, "timeoutMillis")
    for (let repeats = 0; ; repeats++) {
      const outcome = await attempt(
        fetch,
        url,
        { ...request, body },
        headers,
        timeoutMillis,
        signal,
      )
      if (!(outcome instanceof MessagingError)) return outcome.answer
      const rest =
        repeats < (options.retries ?? retries) ? restBefore(request, outcome, repeats) : undefined
      if (rest === undefined || rest > longestRestMillis) throw outcome
      await pause(rest, signal)
    }
  }
}

/**
 * Opens a stream of server-sent events, which continues after `lastEventId`. Null when the service could
 * not be reached, failed or is full: try again. Rejects with other refusals.
 */
export type OpenEvents = (
  path: string,
  lastEventId: string | undefined,
  signal: AbortSignal | undefined,
) => Promise<ReadableStream<Uint8Array> | null>

export const makeOpenEvents = (
  connection: ConnectionOptions,
  credentials: Readonly<Record<string, string>>,
): OpenEvents => {
  const origin = toOrigin(connection.url)
  const { fetch = globalThis.fetch } = connection
  return async (path, lastEventId, signal) => {
    const signals = [connection.signal, signal].filter((each) => each !== undefined)
    const response = await fetch(origin + path, {
      method: "GET",
      redirect: "manual",
      headers: {
        ...connection.headers,
        ...credentials,
        accept: "text/event-stream",
        ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      },
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    }).catch((error: unknown) => {
      signal?.throwIfAborted()
      connection.signal?.throwIfAborted()
      // `fetch` fails so without an answer.
      if (error instanceof TypeError) return null
      throw error
    })
    if (response === null) return null
    if (response.ok && /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")) {
      return response.body
    }
    // A broken body says nothing more.
    const text = await response.text().catch(() => "")
    // Also of a proxy, while the service restarts.
    if (response.status >= 500) return null
    throw response.ok
      ? unexpectedAnswer(response, "it is no stream of events")
      : getError(response, text)
  }
}

/** The error hides the url, which may hold a password. */
const toOrigin = (url: string): string => {
  const { hash, password, protocol, search, username } = parsedUrl(url)
  if (username !== "" || password !== "") {
    // Failing requests name their url, so an error reporter would store the password.
    throw new TypeError("The service's URL must not contain a user name or password")
  }
  if ((protocol !== "https:" && protocol !== "http:") || hash !== "" || search !== "") {
    throw new TypeError("The service's URL must begin with https:// or http:// and end with a path")
  }
  return url.replace(/\/+$/, "")
}

const parsedUrl = (url: string): URL => {
  try {
    return new URL(url)
  } catch {
    // The runtime's own error contains the url.
    throw new TypeError("The service's URL is not valid")
  }
}

/** The header that carries a key or a token. Errors do not show it. */
export const bearer = (name: string, secret: string): Readonly<Record<string, string>> => {
  if (typeof secret !== "string" || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(secret)) {
    throw new TypeError(`The ${name} is empty or has invalid characters`)
  }
  return { authorization: `Bearer ${secret}` }
}

/** Timers fire at once for longer delays. */
const longestTimer = 2 ** 31 - 1

const wrongTimeout = "timeoutMillis must be a positive number, or Infinity"

const isTimeout = (millis: unknown): boolean => typeof millis === "number" && millis > 0

/** `fetch` would report them as a failed connection, and show them. */
const refuseHeaders = (headers: ConnectionOptions["headers"]): void => {
  try {
    void new Headers(headers)
  } catch {
    throw new TypeError("The headers have a name or a value that HTTP does not allow")
  }
}

const idRule = { pattern: /^[1-9]\d*$/, rule: "a positive integer" }

/** Of a receiver. */
const labelRule = { pattern: /^[a-z0-9_-]{1,63}$/, rule: "a label of a host name, in lower case" }

/** The path with its ids, escaped: an id may be any text, and never becomes another path. */
const filled = ({ ids = [], path }: RequestSpec): string => {
  let at = 0
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[at++]
    const text = typeof id === "number" || typeof id === "string" ? String(id) : ""
    const { pattern, rule } = name === "name" ? labelRule : idRule
    if (!pattern.test(text)) throw rejectedLocally(`${name} is ${rule}`, name)
    return text
  })
}

const toKey = ({ idempotencyKey: text }: CreationOptions): string => {
  if (text === undefined) return newKey()
  if (typeof text === "string" && /^[\x20-\x7e]{1,255}$/.test(text)) return text
  throw rejectedLocally(
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
    // Its message about a circular value has several lines.
  }
  throw rejectedLocally("The body has a value that JSON cannot represent", null, "invalid_json")
}

const queryText = (query: RequestSpec["query"] = {}): string => {
  const parameters = Object.entries(query).filter(([, value]) => value !== undefined)
  // One parameter carries several values, separated by commas.
  const pairs = parameters.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`
}

/** Web Crypto's `randomUUID` is missing in pages without TLS. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("")

/** The abort reason of an attempt that exceeds its timeout. */
const tooLong = Symbol("too long")

/** Every answer is an object; a page that did not say what follows would be asked for again and again. */
const isAnswer = (answer: unknown, isPaged: boolean): boolean => {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return false
  if (!isPaged) return true
  const { data, next_cursor: next } = answer as Readonly<Record<string, unknown>>
  return Array.isArray(data) && (next === null || typeof next === "string")
}

const attempt = async (
  fetch: NonNullable<ConnectionOptions["fetch"]>,
  url: string,
  {
    body,
    file,
    isPaged = false,
    method,
    streams,
  }: RequestSpec & { readonly body: string | undefined },
  headers: Readonly<Record<string, string>>,
  timeoutMillis: number,
  signal: AbortSignal | undefined,
): Promise<MessagingError | { readonly answer: unknown }> => {
  signal?.throwIfAborted()
  const form = file === undefined ? undefined : await getForm(file)
  const ending = new AbortController()
  const end = () => ending.abort(signal?.reason)
  signal?.addEventListener("abort", end)
  let isStreaming = false
  const timer =
    timeoutMillis > longestTimer
      ? undefined
      : setTimeout(() => ending.abort(tooLong), timeoutMillis)
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...form?.headers },
      signal: ending.signal,
      // The service never redirects, and a redirected POST becomes a GET.
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
      ...form?.init,
    })
    if (response.ok && streams !== undefined) {
      isStreaming = response.headers.get("content-type")?.startsWith(streams) === true
      return isStreaming
        ? { answer: response.body }
        : unexpectedAnswer(response, `it is not ${streams}`)
    }
    const text = await response.text()
    if (!response.ok) return getError(response, text)
    const answer = toJson(text)
    if (answer === undefined) return unexpectedAnswer(response, "it is not JSON")
    return isAnswer(answer, isPaged)
      ? { answer }
      : unexpectedAnswer(response, "it has another form")
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
    // A signal ends a stream until its last byte.
    if (!isStreaming) signal?.removeEventListener("abort", end)
  }
}

/** A stream serves one attempt; a function returns a new one for each. */
const canBeSentAgain = ({ file }: RequestSpec): boolean => file === undefined || file.again

/**
 * A repeat does nothing and gets the first response. A repeated DELETE does nothing either, but gets a
 * not-found response.
 */
const isRepeatable = ({ keyed, method }: RequestSpec): boolean =>
  keyed === true || method === "GET" || method === "PUT" || method === "PATCH"

/**
 * Milliseconds before a retry; undefined when a retry is unsafe. The service answers 503 before it
 * does anything. After any other 5xx, and a proxy's 503, the request may have taken effect.
 */
const restBefore = (
  request: RequestSpec,
  error: MessagingError,
  repeats: number,
): number | undefined => {
  if (!canBeSentAgain(request)) return undefined
  const asItSays = error.retryAfterSeconds === null ? undefined : error.retryAfterSeconds * 1000
  switch (error.status) {
    case null:
      return isRepeatable(request) ? backoffDelay(repeats) : undefined
    // The previous attempt got lost on the way, and the service is still processing it.
    case 409:
      return error.code === "idempotency_in_progress" ? asItSays : undefined
    // This refuses only keys that never existed, so waiting does not help.
    case 429:
      return error.code === "too_many_auth_failures" ? undefined : asItSays
    default:
      return error.status >= 500 && (error.code === "service_unavailable" || isRepeatable(request))
        ? (asItSays ?? backoffDelay(repeats))
        : undefined
  }
}

/** Half a second, doubled with each retry; randomly up to half shorter, so that clients spread out. */
const backoffDelay = (repeats: number): number =>
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
