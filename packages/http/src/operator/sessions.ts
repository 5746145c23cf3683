/** Signing a browser in and out (contract: Browser sessions). */
import {
  BrowserSessions,
  described,
  refuse,
  roles,
  SignInBody,
  TelegramLogins,
} from "@messaging-service/core"
import type { BrowserSession, SignIn } from "@messaging-service/core"
import { Clock, Effect, Redacted, Schema } from "effect"
import { jsonBody, IdJson, json, Time } from "../Entry.ts"
import { getPublicUrl } from "../HttpOptions.ts"
import type { HttpSettings } from "../HttpOptions.ts"
import { findAuthorization, knownAddress } from "../IncomingRequest.ts"
import type { ClientAddressOf, IncomingRequest } from "../IncomingRequest.ts"
import { operatorRoute } from "./pipeline.ts"
import type { OperatorRoute } from "./pipeline.ts"
import { kindOf } from "./sessionCookie.ts"
import type { SessionCookie } from "./sessionCookie.ts"

const SessionJson = Schema.Struct({
  kind: Schema.Literals(["operator", "portal"]),
  workspaceId: described(Schema.NullOr(IdJson), "Null for the operator."),
  role: described(Schema.Literals(roles), "The operator's is `owner`."),
  createdAt: Time,
  expiresAt: Time,
  now: described(Time, "The service's time."),
  simulated: described(Schema.Boolean, "Whether there are emulator controls."),
  adjustableClock: described(Schema.Boolean, "Whether the emulator can move the clock."),
  telegram: described(Schema.Boolean, "Whether Telegram accounts can be logged in."),
  returnUrl: described(Schema.NullOr(Schema.String), "Where a portal leads back to."),
}).annotate({ identifier: "BrowserSession" })

const CurrentSessionJson = Schema.Struct({
  session: described(Schema.NullOr(SessionJson), "Null without a valid cookie."),
}).annotate({ identifier: "CurrentSession" })

const SignedOutJson = Schema.Struct({ signed_out: Schema.Literal(true) }).annotate({
  identifier: "SignedOut",
})

const example = {
  kind: "operator",
  workspace_id: null,
  role: "owner",
  created_at: "2030-01-31T07:00:00Z",
  expires_at: "2030-01-31T19:00:00Z",
  now: "2030-01-31T07:00:00Z",
  simulated: true,
  adjustable_clock: false,
  telegram: true,
  return_url: null,
} as const

const route = operatorRoute("Browser sessions")

const sessionPath = "/admin/v1/session"

/** What the session operations need of the service that serves them. */
interface SessionContext {
  readonly settings: HttpSettings
  readonly cookie: SessionCookie
  readonly getAddress: ClientAddressOf
}

const findToken = ({ settings: { operatorToken } }: SessionContext): string | null =>
  operatorToken === null ? null : Redacted.value(operatorToken)

/** The id in the cookie. A request with `Authorization` has no session. */
const findId = (
  { cookie }: SessionContext,
  { request }: IncomingRequest,
  kind?: ReturnType<typeof kindOf>,
): string | undefined =>
  findAuthorization(request) === undefined ? cookie.read(request, kind) : undefined

const requireOwnPage = (context: SessionContext) => (incoming: IncomingRequest) =>
  findId(context, incoming) === undefined
    ? context.cookie.refuseOtherSites(incoming.request)
    : context.cookie.requireOwnPage(incoming.request)

const shownSession = Effect.fnUntraced(function* shownSession(
  { settings: { adjustableClock = false, emulator } }: SessionContext,
  session: BrowserSession,
) {
  const logins = yield* TelegramLogins
  return {
    ...session,
    kind: kindOf(session),
    now: yield* Clock.currentTimeMillis,
    simulated: emulator !== null,
    adjustableClock: emulator !== null && adjustableClock,
    telegram: logins.isConfigured,
  }
})

const signInRoute = (context: SessionContext): OperatorRoute =>
  route(`POST ${sessionPath}`, {
    id: "signIn",
    right: "open",
    summary: "Sign a browser in",
    about:
      "Sets a cookie that no script can read. A code works once. An operator's session lasts 12 hours, and 2 hours without a request.",
    request: json<SignIn>()(SignInBody, { code: "0".repeat(64) }),
    success: "The session, and its cookie.",
    answer: jsonBody(SessionJson, example),
    refused: ["invalid_portal_code", "cross_site_request"],
    before: requireOwnPage(context),
    handler: Effect.fnUntraced(function* signIn({ incoming, request }) {
      const sessions = yield* BrowserSessions
      const clientAddress = knownAddress(context.getAddress(incoming.request))
      const signInContext = { operatorToken: findToken(context), clientAddress }
      const { id, session } = yield* sessions.signIn(request, signInContext)
      const former = findId(context, incoming, kindOf(session))
      if (former !== undefined) yield* sessions.end(former)
      context.cookie.set(incoming, id, session)
      return yield* shownSession(context, session)
    }),
  })

const getSessionRoute = (context: SessionContext): OperatorRoute =>
  route(`GET ${sessionPath}`, {
    id: "getSession",
    right: "open",
    summary: "Read the browser's session",
    success: "The session, or null.",
    answer: jsonBody(CurrentSessionJson, { session: example }),
    handler: Effect.fnUntraced(function* getSession({ incoming }) {
      const sessions = yield* BrowserSessions
      const id = findId(context, incoming)
      if (id === undefined) return { session: null }
      const session = yield* Effect.catchIf(
        sessions.admit(id, findToken(context)),
        (failure) => failure._tag === "Refusal" && failure.code === "session_ended",
        () => Effect.succeed(null),
      )
      return { session: session === null ? null : yield* shownSession(context, session) }
    }),
  })

const signOutRoute = (context: SessionContext): OperatorRoute =>
  route(`DELETE ${sessionPath}`, {
    id: "signOut",
    right: "open",
    summary: "Sign the browser out",
    about: "Ends the session and clears the cookie. Without a session the answer is the same.",
    success: "Signed out.",
    answer: jsonBody(SignedOutJson, { signed_out: true }),
    refused: ["cross_site_request"],
    before: requireOwnPage(context),
    handler: Effect.fnUntraced(function* signOut({ incoming }) {
      const sessions = yield* BrowserSessions
      const id = findId(context, incoming)
      if (id !== undefined) yield* sessions.end(id)
      context.cookie.clear(incoming)
      return { signed_out: true as const }
    }),
  })

const SignInLinkJson = Schema.Struct({
  url: described(Schema.String, "Shown only here."),
}).annotate({ identifier: "SignInLink" })

const signInLinkRoute = (context: SessionContext): OperatorRoute =>
  route("POST /admin/v1/sign-in-links", {
    id: "createSignInLink",
    right: "operator",
    summary: "Create a link for the operator",
    about: "It signs a browser in, once, within 15 minutes.",
    status: 201,
    success: "The link.",
    answer: jsonBody(SignInLinkJson, { url: `https://example.com/sign-in#code=${"0".repeat(64)}` }),
    refused: ["role_required"],
    handler: Effect.fnUntraced(function* createSignInLink({ role }) {
      const sessions = yield* BrowserSessions
      const token = findToken(context)
      if (role !== "owner" || token === null) return yield* refuse("role_required")
      const code = yield* sessions.operatorLink(token)
      return { url: `${yield* getPublicUrl(context.settings)}/sign-in#code=${code}` }
    }),
  })

export const sessionRoutes = (
  settings: HttpSettings,
  cookie: SessionCookie,
  getAddress: ClientAddressOf,
): ReadonlyArray<OperatorRoute> => {
  const context = { settings, cookie, getAddress }
  return [
    signInRoute(context),
    getSessionRoute(context),
    signOutRoute(context),
    signInLinkRoute(context),
  ]
}
