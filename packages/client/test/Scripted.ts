/** A client with responses that the test scripts, in a time that only the test moves. */
import { afterEach, beforeEach, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { messagingClient, operatorClient } from "../src/index.ts"
import type { ConnectionOptions, MessagingError } from "../src/index.ts"

/** Outcome of an attempt: a response, or `fetch`'s error; null hangs. */
export type Outcome = Response | Error | null

interface Attempt {
  readonly url: string
  readonly init: RequestInit
  readonly headers: Headers
}

/** Answers the attempts in order, then repeats the last outcome. */
export const scripted = (...outcomes: ReadonlyArray<() => Outcome>) => {
  const attempts: Array<Attempt> = []
  const fetch: NonNullable<ConnectionOptions["fetch"]> = (url, init) =>
    new Promise((resolve, reject) => {
      const outcome = outcomes[Math.min(attempts.length, outcomes.length - 1)]?.() ?? null
      attempts.push({ url, init, headers: new Headers(init.headers) })
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason))
      if (outcome instanceof Response) resolve(outcome)
      else if (outcome !== null) reject(outcome)
    })
  return { attempts, fetch }
}

export const answered =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  () =>
    new Response(JSON.stringify(body), { status, headers })

export const refused = (
  status: number,
  code: string,
  more: object = {},
  headers: Record<string, string> = {},
) =>
  answered(
    status,
    { error: { code, message: "No.", field: null, docs: "", request_id: "req_1", ...more } },
    headers,
  )

export const lost = () => new TypeError("fetch failed")
export const accepted = answered(202, { id: 1, status: "queued" })

export const aClient = (
  fetch: NonNullable<ConnectionOptions["fetch"]>,
  more: Partial<ConnectionOptions> = {},
) => messagingClient({ url: "https://messages.test", key: "svc_live_secret", fetch, ...more })

export const anOperator = (fetch: NonNullable<ConnectionOptions["fetch"]>) =>
  operatorClient({ url: "https://messages.test", token: "secret", fetch })

export const message = { to: { phone: "+15550100002" }, text: "Hello" }

/** Milliseconds. */
const stoppedTime = () => vi.getMockedSystemTime()?.getTime() ?? Number.NaN

/** Advances time until the request ends; returns its result and its rests. */
export const ended = async <A>(request: Promise<A>) => {
  const started = stoppedTime()
  const outcomes: Array<{ readonly value?: A; readonly error?: MessagingError }> = []
  request.then(
    (value) => outcomes.push({ value }),
    (error: MessagingError) => outcomes.push({ error }),
  )
  await vi.advanceTimersByTimeAsync(0)
  while (outcomes.length === 0) await vi.advanceTimersToNextTimerAsync()
  return { ...outcomes[0], millis: stoppedTime() - started }
}

/** As the house writes tests, over promises. */
export const test = (name: string, body: () => Promise<void>) =>
  it.effect(name, () => Effect.promise(body))

/** In every test of the file, only the test moves the time. */
export const stopTime = () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
}
