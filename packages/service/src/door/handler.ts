/** The HTTP interface over an opened service, as a web-standard handler below a path. */
import { Effect, Redacted } from "effect"
import type { Context } from "effect"
import type { HandlerOptions } from "../api/options.ts"
import type { ComposedService } from "../compose/index.ts"

/** The path in one spelling, such as `/messaging`; empty for the root. */
export const basePathOf = ({ basePath = "" }: HandlerOptions): string =>
  basePath.replace(/^\/*(.*?)\/*$/, (_, inner: string) => (inner === "" ? "" : `/${inner}`))

const unmounted = (): Response =>
  Response.json(
    { error: { code: "not_found", message: "There is nothing at this address." } },
    { status: 404 },
  )

/** The answer to a request that was under way when the service closed, and cannot be ended: it may be done. */
export const closedAnswer = (): Response =>
  Response.json(
    {
      error: {
        code: "internal_error",
        message: "The messaging service is closed. Retry later with the same Idempotency-Key.",
      },
    },
    { status: 500, headers: { "cache-control": "no-store" } },
  )

/** What a handler is told of the service behind it. */
interface Served {
  readonly publicUrl: string
  readonly isClosed: () => boolean
  /** Returns once requests that are under way are to be ended. */
  readonly cutOff: Effect.Effect<void>
}

/** Loads the interface with the first request, so that a program without one never does. */
export const makeHandler = (
  context: Context.Context<ComposedService>,
  options: HandlerOptions,
  { cutOff, isClosed, publicUrl }: Served,
): ((request: Request) => Promise<Response>) => {
  const base = basePathOf(options)
  const addressOf = options.clientAddress
  /** The request as the service's own server would get it, and where it came from. */
  const addresses = new WeakMap<Request, string>()
  const late = new WeakSet<Request>()
  let loaded: Promise<(request: Request) => Promise<Response>> | undefined

  const load = async () => {
    const { webHandler } = await import("@messaging-service/http")
    return Effect.runPromise(
      webHandler(context, {
        operatorToken:
          options.operatorToken === undefined ? null : Redacted.make(options.operatorToken),
        emulator: null,
        publicUrl,
        cameTooLate: (request) => late.has(request),
        cutOff,
        trustProxy: options.trustProxy ?? false,
        clientAddress: (request) => addresses.get(request) ?? "",
      }),
    )
  }

  return async (request) => {
    const url = new URL(request.url)
    if (url.pathname !== base && !url.pathname.startsWith(`${base}/`)) return unmounted()
    url.pathname = url.pathname.slice(base.length)
    const inner = base === "" ? request : new Request(url, request)
    if (isClosed()) late.add(inner)
    if (addressOf !== undefined) addresses.set(inner, addressOf(request))
    return (await (loaded ??= load()))(inner)
  }
}
