/**
 * The cookie that names a browser session, which no script can read (contract: Browser sessions), and
 * the proof that a request comes from the dashboard's own page and not from another site.
 */
import { BrowserSessions, refuse } from "@messaging-service/core"
import type { BrowserSession, Refusal } from "@messaging-service/core"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { headerValues } from "../IncomingRequest.ts"
import type { IncomingRequest } from "../IncomingRequest.ts"

type SessionKind = "operator" | "portal"

export const kindOf = ({ workspaceId }: Pick<BrowserSession, "workspaceId">): SessionKind =>
  workspaceId === null ? "operator" : "portal"

export interface SessionCookie {
  /**
   * The id in the request's cookie of that kind; undefined without one. Default: the kind that the
   * request names, else the operator's cookie before a portal's. Several different ids are as good as
   * one that is unknown: another port of the host may have set one of them.
   */
  readonly read: (request: HttpServerRequest, kind?: SessionKind) => string | undefined
  readonly set: (incoming: IncomingRequest, id: string, session: BrowserSession) => void
  readonly clear: (incoming: IncomingRequest) => void
  /** Fails with `cross_site_request` unless the request reads only, or its page is the dashboard's. */
  readonly requireOwnPage: (request: HttpServerRequest) => Effect.Effect<void, Refusal>
  /** The same of a request that may come from no browser. */
  readonly refuseOtherSites: (request: HttpServerRequest) => Effect.Effect<void, Refusal>
}

/** A browser may hold both: its pages name theirs, in a stream's query for want of a header. */
const requestedKind = ({ headers, url }: HttpServerRequest): SessionKind | undefined => {
  const kind = headers["messaging-session"] ?? /[?&]session=(\w+)/.exec(url)?.[1]
  return kind === "operator" || kind === "portal" ? kind : undefined
}

const idForm = /^[0-9a-f]{64}$/

/** What no session has. */
const ambiguous = "0".repeat(64)

/** The values of the cookie of that name. */
const getValues = (request: HttpServerRequest, name: string): ReadonlyArray<string> =>
  headerValues(request, "cookie")
    .flatMap((header) => header.split(";"))
    .flatMap((pair) => {
      const equals = pair.indexOf("=")
      return equals !== -1 && pair.slice(0, equals).trim() === name
        ? pair.slice(equals + 1).trim()
        : []
    })

/** The origin that a request was sent to, as far as it tells. */
const getOrigin = ({ headers, source }: HttpServerRequest): string =>
  source instanceof Request ? new URL(source.url).origin : `http://${headers["host"] ?? ""}`

const crossSite = refuse("cross_site_request")

/** `publicUrl` may have a path: that at which the whole interface is mounted. */
export const makeSessionCookie = (publicUrl: string) =>
  Effect.map(BrowserSessions, ({ cookieSuffix }): SessionCookie => {
    const { origin, pathname, protocol } = new URL(publicUrl)
    const path = pathname.replace(/(.)\/$/, "$1")
    const isSecure = protocol === "https:"
    const prefix = isSecure ? (path === "/" ? "__Host-" : "__Secure-") : ""
    const names = {
      operator: `${prefix}messaging-${cookieSuffix}`,
      portal: `${prefix}messaging-portal-${cookieSuffix}`,
    }
    const attributes = `Path=${path}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`

    const isOwnPage = (request: HttpServerRequest, otherwise: boolean): boolean => {
      const { headers } = request
      if (headers["sec-fetch-site"] !== undefined)
        return headers["sec-fetch-site"] === "same-origin"
      if (headers["origin"] === undefined) return otherwise
      return headers["origin"] === origin || headers["origin"] === getOrigin(request)
    }

    const requireIf = (isAllowed: boolean) => (isAllowed ? Effect.void : Effect.fail(crossSite))

    const readKind = (request: HttpServerRequest, kind: SessionKind): string | undefined => {
      const [value, ...others] = new Set(getValues(request, names[kind]))
      if (value === undefined || value === "") return undefined
      return others.length === 0 && idForm.test(value) ? value : ambiguous
    }

    return {
      read: (request, kind = requestedKind(request)) =>
        kind === undefined
          ? (readKind(request, "operator") ?? readKind(request, "portal"))
          : readKind(request, kind),
      set: ({ answerHeaders }, id, session) => {
        const { createdAt, expiresAt } = session
        const kind = kindOf(session)
        const seconds = Math.floor((expiresAt - createdAt) / 1000)
        answerHeaders["set-cookie"] = `${names[kind]}=${id}; ${attributes}; Max-Age=${seconds}`
      },
      clear: ({ answerHeaders, request }) => {
        const isPortal = readKind(request, "operator") === undefined && readKind(request, "portal")
        const kind = requestedKind(request) ?? (isPortal ? "portal" : "operator")
        answerHeaders["set-cookie"] = `${names[kind]}=; ${attributes}; Max-Age=0`
      },
      requireOwnPage: (request) =>
        requireIf(["GET", "HEAD"].includes(request.method) || isOwnPage(request, false)),
      refuseOtherSites: (request) => requireIf(isOwnPage(request, true)),
    }
  })
