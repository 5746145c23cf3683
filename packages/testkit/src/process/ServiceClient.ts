/** Requests to a service that runs as processes, and waits for their results. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { buildersWith } from "../world/http.ts"
import { ProcessError, ofOneKey, waitUntil } from "./ServiceProcess.ts"

export interface Answer<Body> {
  readonly status: number
  readonly headers: Headers
  /** In the caller's expected type, unchecked. */
  readonly body: Body
}

/** A request with a bearer token and, if there is one, a JSON body. */
export const call = <Body = unknown>(
  method: string,
  url: string,
  options: { readonly token?: string; readonly body?: unknown } = {},
): Effect.Effect<Answer<Body>, ProcessError> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(url, {
        method,
        signal,
        headers: {
          ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
          ...(options.body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      })
      const body = (await response.json()) as Body
      return { status: response.status, headers: response.headers, body }
    },
    catch: (cause) => new ProcessError({ message: `${method} ${url}: ${String(cause)}` }),
  })

/** The Message fields that tests read. */
export interface ObservedMessage {
  readonly id: number
  readonly status: string
  readonly error: { readonly code: string } | null
}

export const aCaller = (url: string, key: string) => {
  const messages = `${url}/api/v2/messages`
  const read = (id: number) => call<ObservedMessage>("GET", `${messages}/${id}`, { token: key })
  return {
    /** POST /messages with that text to a phone that exists. */
    send: (text: string, more: Readonly<Record<string, unknown>> = {}) =>
      call<ObservedMessage>("POST", messages, {
        token: key,
        body: { to: { phone: "+15550100002" }, text, ...more },
      }),
    read,
    cancel: (id: number) => call<ObservedMessage>("DELETE", `${messages}/${id}`, { token: key }),
    /** Waits until the message has that status. */
    until: (id: number, status: string) =>
      waitUntil(
        `message ${id} is ${status}`,
        Effect.map(read(id), ({ body }) => (body.status === status ? body : undefined)),
        ofOneKey,
      ),
  }
}

/**
 * A message in flight at its phone, with a waiting request to cancel it: only an attempt in flight
 * makes a cancel wait, and others asked for later have their answers before it. The phone must be slow.
 */
export const anAttemptUnderWay = (caller: ReturnType<typeof aCaller>) =>
  Effect.gen(function* () {
    const send_at = new Date(Date.now() + 3_600_000).toISOString()
    const { body: other } = yield* caller.send("later", { send_at })
    return yield* waitUntil(
      "an attempt is under way",
      Effect.gen(function* () {
        const message = (yield* caller.send("under way")).body
        const cancelling = yield* Effect.forkScoped(caller.cancel(message.id), {
          startImmediately: true,
        })
        for (let requests = 0; requests < 2; requests++) yield* caller.cancel(other.id)
        return cancelling.pollUnsafe() === undefined ? { message, cancelling } : undefined
      }),
      ofOneKey,
    )
  })

/** The operator, with builders of records and the emulator controls. */
export const anOperator = (url: string, token: string) => {
  const request = <Body = unknown>(method: string, path: string, body?: unknown) =>
    call<Body>(method, `${url}/admin/v1${path}`, { token, body })
  return {
    request,
    ...buildersWith(<Body>(path: string, json: unknown) =>
      Effect.map(request<Body>("POST", path, json), ({ body, status }) => {
        assert.strictEqual(status, 201, JSON.stringify(body))
        return body
      }),
    ),
    /** Sets the phone's behaviour. */
    behave: (numberId: number, behaviour: Readonly<Record<string, unknown>>) =>
      request("PUT", `/simulator/numbers/${numberId}/behaviour`, behaviour),
    advance: (seconds: number) =>
      request<{ readonly now: string }>("POST", "/simulator/clock/advance", { seconds }),
    now: Effect.map(
      request<{ readonly now: string }>("GET", "/simulator/clock"),
      ({ body }) => body.now,
    ),
    /** The texts that reached the remote server, newest first. */
    sent: Effect.map(
      request<{ readonly data: ReadonlyArray<{ readonly text: string }> }>(
        "GET",
        "/simulator/sent",
      ),
      ({ body }) => body.data.map(({ text }) => text),
    ),
  }
}
