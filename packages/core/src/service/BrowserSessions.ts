/** Signs browsers in and out, and admits their requests (contract: Browser sessions). */
import { Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../model/Refusal.ts"
import type { Failure, StoreUnavailable } from "../model/Refusal.ts"
import { Ids } from "../model/Ids.ts"
import { minuteMillis, minuteStart } from "../model/Auth.ts"
import { Admission } from "./Keys.ts"
import { inputDecoder, textBetween } from "../model/Input.ts"
import { hashSecret, Secrets, sign } from "../model/Secrets.ts"
import { RealTime } from "../model/Time.ts"
import type { BrowserSession, SessionQuery } from "../store/BrowserSessionStore.ts"
import { Store } from "../store/Store.ts"

/** Requests of one session in a clock minute. */
export const sessionRequestsPerMinute = 600

/** Sessions of a workspace's portal, and of the operator, that may be valid at once. */
export const sessionLimit = 20

/** An operator's session ends this long after its start, in milliseconds. */
const operatorSessionMillis = 12 * 3_600_000

/** A link signs in for this long after it was made, in milliseconds. */
export const linkMillis = 15 * 60_000

/** Ended links are listed for this long, in milliseconds. */
const linksRetentionMillis = 30 * 86_400_000

/** Links of a workspace that may wait to be used. */
export const unusedLinks = 100

/** Hexadecimal digits of a session's id and of a link's code: 32 random bytes. */
export const secretDigits = 64

export const SignInBody = Schema.Struct({
  token: Schema.optionalKey(textBetween(1, 1000)),
  code: Schema.optionalKey(textBetween(1, 1000)),
})
  .check(
    Schema.makeFilter(
      ({ code, token }) =>
        (token === undefined) !== (code === undefined)
          ? undefined
          : "must have exactly one of token and code",
      { toJsonSchema: () => ({ oneOf: [{ required: ["token"] }, { required: ["code"] }] }) },
    ),
  )
  .annotate({
    identifier: "SignIn",
    description: "The operator token, or the code of a link.",
  })

export type SignIn = typeof SignInBody.Encoded

const decodeSignIn = inputDecoder(SignInBody)

/** Where a session is used: what an operator's session must match, and who counts wrong secrets. */
export interface SignInContext {
  /** Null where the operator has no access: all operator sessions have ended there. */
  readonly operatorToken: string | null
  /** Null when unknown. */
  readonly clientAddress: string | null
}

/** A session that has just begun, with the id for its cookie. */
export interface SignedIn {
  readonly id: string
  readonly session: BrowserSession
}

export class BrowserSessions extends Context.Service<
  BrowserSessions,
  {
    /** Six characters for the cookie's name, the same for all processes of a service. */
    readonly cookieSuffix: string
    /**
     * POST /session. Fails with `invalid_operator_token`, `invalid_portal_code`, and
     * `too_many_auth_failures` as for wrong operator tokens.
     */
    signIn(command: SignIn, context: SignInContext): Effect.Effect<SignedIn, Failure>
    /** Counts a request. Fails with `session_ended`, `rate_limited`. */
    admit(id: string, operatorToken: string | null): Effect.Effect<BrowserSession, Failure>
    /** Whether the session has not ended; counts no request. */
    isValid(id: string, operatorToken: string | null): Effect.Effect<boolean, StoreUnavailable>
    /** Ends it, if it has not. */
    end(id: string): Effect.Effect<void, StoreUnavailable>
    /** Makes a link for the operator, and returns its code. */
    operatorLink(operatorToken: string): Effect.Effect<string, StoreUnavailable>
  }
>()("core/BrowserSessions") {
  static readonly layer = Layer.effect(
    BrowserSessions,
    Effect.gen(function* make() {
      const store = (yield* Store).browserSessions
      const { systemMillis } = yield* RealTime
      const { browserSessions: secret } = (yield* Secrets).keys
      const queries = queriesWith(secret)
      return BrowserSessions.of({
        cookieSuffix: sign(secret, ["cookie"]).slice(0, 6),
        ...(yield* makeSignIn(queries)),
        admit: Effect.fn("BrowserSessions.admit")(function* admit(id, operatorToken) {
          const now = yield* systemMillis
          const query = { ...queries.of(id, operatorToken, now), minuteStart: minuteStart(now) }
          const used = yield* store.use(query)
          if (used === null) return yield* refuse("session_ended")
          if (used.count > sessionRequestsPerMinute) return yield* tooManyRequests(now)
          return used.session
        }),
        isValid: Effect.fn("BrowserSessions.isValid")(function* isValid(id, operatorToken) {
          return yield* store.isValid(queries.of(id, operatorToken, yield* systemMillis))
        }),
        end: (id) => store.end(hashSecret(id)),
      })
    }),
  )
}

/** What the store is asked with; `secret` signs. */
const queriesWith = (secret: string) => {
  const tokenFingerprint = (operatorToken: string | null): string | null =>
    operatorToken === null ? null : sign(secret, ["operator token", operatorToken])
  return {
    tokenFingerprint,
    of: (id: string, operatorToken: string | null, now: number): SessionQuery => ({
      hash: hashSecret(id),
      now,
      tokenMark: tokenFingerprint(operatorToken),
    }),
  }
}

const tooManyRequests = (now: number) =>
  refuse("rate_limited", {
    message: `The session's limit of ${sessionRequestsPerMinute} requests is used up until the minute ends.`,
    retryAfter: Math.ceil((minuteStart(now) + minuteMillis - now) / 1000),
  })

/** For the operator; the start is `createdAt`. */
const operatorSession = (createdAt: number): BrowserSession => ({
  workspaceId: null,
  role: "owner",
  returnUrl: null,
  createdAt,
  expiresAt: createdAt + operatorSessionMillis,
})

const makeSignIn = Effect.fnUntraced(function* makeSignIn(queries: ReturnType<typeof queriesWith>) {
  const store = (yield* Store).browserSessions
  const admission = yield* Admission
  const ids = yield* Ids
  const { systemMillis } = yield* RealTime

  const byToken = Effect.fnUntraced(function* byToken(
    token: string,
    { clientAddress, operatorToken }: SignInContext,
  ) {
    if (operatorToken === null) return yield* refuse("invalid_operator_token")
    yield* admission.checkOperatorToken(token, operatorToken, clientAddress)
    const id = ids.hex(secretDigits)
    const session = operatorSession(yield* systemMillis)
    const { hash, tokenMark } = queries.of(id, operatorToken, session.createdAt)
    yield* store.insert({ ...session, hash, tokenMark }, sessionLimit)
    return { id, session }
  })

  const byCode = Effect.fnUntraced(function* byCode(
    code: string,
    { clientAddress, operatorToken }: SignInContext,
  ) {
    const id = ids.hex(secretDigits)
    const query = queries.of(id, operatorToken, yield* systemMillis)
    const exchanged = store.exchange({ ...query, codeHash: hashSecret(code) }, sessionLimit)
    const invalid = refuse("invalid_portal_code")
    const session = yield* admission.guardOperators(clientAddress, exchanged, invalid)
    return { id, session }
  })

  return {
    signIn: Effect.fn("BrowserSessions.signIn")(function* signIn(
      command: SignIn,
      context: SignInContext,
    ) {
      const { code = "", token } = yield* Effect.fromResult(decodeSignIn(command))
      return yield* token === undefined ? byCode(code, context) : byToken(token, context)
    }),
    operatorLink: Effect.fn("BrowserSessions.operatorLink")(function* operatorLink(
      operatorToken: string,
    ) {
      const code = ids.hex(secretDigits)
      const { createdAt, returnUrl, role, workspaceId } = operatorSession(yield* systemMillis)
      const link = {
        workspaceId,
        role,
        returnUrl,
        codeHash: hashSecret(code),
        tokenMark: queries.tokenFingerprint(operatorToken),
        createdAt,
        codeExpiresAt: createdAt + linkMillis,
        sessionMillis: operatorSessionMillis,
      }
      yield* store.insertLink(link, unusedLinks)
      return code
    }),
  }
})

/** Deletes what has ended. */
export const forgetBrowserSessions = Effect.gen(function* forgetBrowserSessions() {
  const store = (yield* Store).browserSessions
  const { systemMillis } = yield* RealTime
  return Effect.flatMap(systemMillis, (now) => store.forget(now, now - linksRetentionMillis))
})
