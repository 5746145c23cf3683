/**
 * Logging an account in. Each step of a login by code makes a connection of its own with what the step
 * before has left, so that any process may take it; a QR code needs one that stays, since the far side
 * says on it that the code was scanned. Of what was typed nothing is kept.
 *
 * Once the far side has let the account in, the login's connection is closed before the vault has the
 * account: its worker connects with the same key.
 */
import {
  NumberProxies,
  SessionVault,
  TelegramLogin,
  telegramLoginMillis,
} from "@messaging-service/core/ports"
import type {
  AfterSecret,
  NumberId,
  TelegramLoginRequest,
  TelegramLoginView,
} from "@messaging-service/core/ports"
import type { TelegramClient, tl } from "@mtcute/node"
import { Clock, Effect, FiberMap, Layer, Redacted, References } from "effect"
import { CallFailed, asked, makeClient } from "./Client.ts"
import { fromText, toText } from "./credentials.ts"
import type { LoginCredentials } from "./credentials.ts"
import { patiently } from "./keepConnected.ts"
import type { TelegramSettings } from "./settings.ts"
import { keysInMemory, makeStorage } from "./storage.ts"

/** How the far side's refusals are called; any other one by its own name. */
const refusals: Readonly<Record<string, string>> = {
  PHONE_NUMBER_INVALID: "phone_invalid",
  PHONE_NUMBER_BANNED: "phone_banned",
  PHONE_NUMBER_FLOOD: "too_many_attempts",
  PHONE_PASSWORD_FLOOD: "too_many_attempts",
  PHONE_NUMBER_UNOCCUPIED: "phone_not_registered",
  PHONE_CODE_EXPIRED: "code_expired",
  API_ID_INVALID: "application_refused",
  API_ID_PUBLISHED_FLOOD: "application_refused",
  USER_DEACTIVATED: "account_deactivated",
  USER_DEACTIVATED_BAN: "account_banned",
  UPDATE_APP_TO_LOGIN: "client_outdated",
}

const reasonOf = ({ code, seconds, text }: CallFailed): string => {
  if (seconds !== null) return `too_many_attempts: wait ${seconds} s`
  return code === 0 ? "connection_lost" : (refusals[text] ?? text.toLowerCase())
}

/** Another try may be right. */
const wrong: ReadonlySet<string> = new Set([
  "PHONE_CODE_INVALID",
  "PHONE_CODE_EMPTY",
  "EMAIL_CODE_INVALID",
  "CODE_INVALID",
  "PASSWORD_HASH_INVALID",
])

const waysOf: Readonly<Record<string, TelegramLoginView["codeSentTo"]>> = {
  "auth.sentCodeTypeApp": "app",
  "auth.sentCodeTypeSms": "sms",
  "auth.sentCodeTypeSmsWord": "sms",
  "auth.sentCodeTypeSmsPhrase": "sms",
  "auth.sentCodeTypeFragmentSms": "sms",
  "auth.sentCodeTypeFirebaseSms": "sms",
  "auth.sentCodeTypeCall": "call",
  "auth.sentCodeTypeFlashCall": "call",
  "auth.sentCodeTypeMissedCall": "call",
  "auth.sentCodeTypeEmailCode": "email",
}

/** How a step ended: with an account, or with how the login stands. */
type Step =
  | { readonly user: tl.RawUser }
  | { readonly view: TelegramLoginView; readonly codeHash: string | null }

const failed = (view: TelegramLoginView, error: string): TelegramLoginView => ({
  ...view,
  state: "failed",
  qr: null,
  error,
})

const needsPassword = (view: TelegramLoginView): TelegramLoginView => ({
  ...view,
  state: "password_needed",
  qr: null,
})

const isOver = ({ state }: TelegramLoginView): boolean =>
  state === "failed" || state === "expired" || state === "connected"

/** A login is no worker's, so that its vault refuses no write for having moved. */
const stored = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A> => Effect.orDie(patiently(work))

/** How long one step may take, in service time. */
const stepMillis = 30_000

/** `SessionVault` must be one without an owner: any process may log a number in that has no session. */
export const layerLogin = (
  settings: TelegramSettings,
): Layer.Layer<never, never, SessionVault | NumberProxies> =>
  Layer.effect(
    TelegramLogin,
    Effect.gen(function* () {
      const vault = yield* SessionVault
      const proxies = yield* NumberProxies
      const { application } = settings
      /** Logins by QR code whose connection this process has. */
      const showing = yield* FiberMap.make<NumberId>()
      const context = yield* Effect.context<never>()
      const run = Effect.runPromiseWith(context)

      const keptOf = (numberId: NumberId) =>
        Effect.map(stored(vault.credentials(numberId)), (text) =>
          text === null ? null : fromText(text),
        )

      const loginOf = Effect.fnUntraced(function* (numberId: NumberId) {
        const kept = yield* keptOf(numberId)
        const now = yield* Clock.currentTimeMillis
        if (kept === null) return null
        if (kept.kind === "login") {
          const isPast = !isOver(kept.view) && kept.view.expiresAt <= now
          const view: TelegramLoginView = { ...kept.view, state: "expired", qr: null }
          return isPast ? { ...kept, view } : kept
        }
        return kept.login !== null && kept.login.expiresAt > now ? kept.login : null
      })

      const keep = (numberId: NumberId, login: LoginCredentials) =>
        stored(vault.replace(numberId, toText(login), []))

      const keepAccount = (
        numberId: NumberId,
        { keys, view }: LoginCredentials,
        { id, phone = "" }: tl.RawUser,
      ) => {
        const login: TelegramLoginView = { ...view, state: "connected", qr: null }
        const account = { kind: "account", userId: id, phone, login } as const
        return Effect.as(stored(vault.replace(numberId, toText(account), keys)), login)
      }

      /** One connection over what the login has, and what it has afterwards. */
      const connected = Effect.fnUntraced(function* (
        numberId: NumberId,
        login: LoginCredentials,
        work: (client: TelegramClient) => Effect.Effect<Step>,
      ) {
        const keys = keysInMemory(login.keys)
        const proxy = yield* stored(proxies.of(numberId))
        const step = yield* Effect.scoped(
          Effect.gen(function* () {
            if (application === null) {
              return { view: failed(login.view, "telegram_not_configured"), codeHash: null }
            }
            const client = yield* makeClient(settings, {
              application,
              storage: makeStorage(keys),
              proxy: proxy === null ? null : Redacted.value(proxy),
              drawn: 0,
            })
            return yield* work(client)
          }),
        )
        const next: LoginCredentials = { ...login, keys: keys.all() }
        if ("user" in step) return yield* keepAccount(numberId, next, step.user)
        const { codeHash, view } = step
        yield* keep(numberId, { ...next, view, codeHash })
        return view
      })

      /** The far side's word on a step. */
      const settle = (
        view: TelegramLoginView,
        codeHash: string | null,
        work: Effect.Effect<Step, CallFailed>,
      ): Effect.Effect<Step, CallFailed> =>
        work.pipe(
          Effect.catchTag("CallFailed", (error): Effect.Effect<Step, CallFailed> => {
            if (error.text === "SESSION_PASSWORD_NEEDED") {
              return Effect.succeed({ view: needsPassword(view), codeHash })
            }
            return wrong.has(error.text)
              ? Effect.fail(error)
              : Effect.succeed({ view: failed(view, reasonOf(error)), codeHash })
          }),
        )

      const inTime = (view: TelegramLoginView, work: Effect.Effect<Step>): Effect.Effect<Step> =>
        Effect.timeoutOrElse(work, {
          duration: stepMillis,
          orElse: () => Effect.succeed({ view: failed(view, "connection_lost"), codeHash: null }),
        })

      const userOf = (
        client: TelegramClient,
        view: TelegramLoginView,
        authorization: tl.auth.TypeAuthorization,
      ): Effect.Effect<Step, CallFailed> =>
        authorization._ === "auth.authorization"
          ? Effect.map(
              asked(() => client.notifyLoggedIn(authorization)),
              (user) => ({ user }),
            )
          : Effect.succeed({ view: failed(view, "phone_not_registered"), codeHash: null })

      const sendCode = (
        client: TelegramClient,
        view: TelegramLoginView,
        phoneNumber: string,
      ): Effect.Effect<Step> =>
        settle(
          view,
          null,
          Effect.gen(function* () {
            const { hash: apiHash, id: apiId } = yield* Effect.promise(() =>
              client.getApiCredentials(),
            )
            const call = { _: "auth.sendCode", phoneNumber, apiId, apiHash } as const
            const sent = yield* asked(() =>
              client.call({ ...call, settings: { _: "codeSettings" } }),
            )
            if (sent._ !== "auth.sentCode") {
              return { view: failed(view, "payment_required"), codeHash: null }
            }
            const codeSentTo = waysOf[sent.type._] ?? null
            return codeSentTo === null
              ? { view: failed(view, "email_required"), codeHash: null }
              : { view: { ...view, codeSentTo }, codeHash: sent.phoneCodeHash }
          }),
        ).pipe(
          Effect.catchTag("CallFailed", (error) =>
            Effect.succeed({ view: failed(view, reasonOf(error)), codeHash: null }),
          ),
        )

      /** Shows codes until one was scanned; each is kept, so that every process can show it. */
      const showQr = (numberId: NumberId, login: LoginCredentials) =>
        connected(numberId, login, (client) =>
          settle(
            login.view,
            null,
            asked((abortSignal) =>
              client.signInQr({
                abortSignal,
                onUrlUpdated: (url, expires) => {
                  const view = { ...login.view, qr: { url, expiresAt: expires.getTime() } }
                  void run(keep(numberId, { ...login, view }))
                },
              }),
            ).pipe(Effect.map(({ raw }) => ({ user: raw as tl.RawUser }))),
          ).pipe(
            Effect.catchTag("CallFailed", (error) =>
              Effect.succeed({ view: failed(login.view, reasonOf(error)), codeHash: null }),
            ),
          ),
        ).pipe(
          Effect.timeoutOption(telegramLoginMillis),
          Effect.annotateLogs({ number: numberId }),
          Effect.provideService(References.CurrentLogAnnotations, {}),
          Effect.provideContext(context),
        )

      const begin = Effect.fn("TelegramLogin.begin")(function* (
        numberId: NumberId,
        request: TelegramLoginRequest,
      ) {
        const kept = yield* keptOf(numberId)
        // An account that its worker is connecting, or has yet to log out, is not written over.
        if (kept?.kind === "account") return null
        const before = yield* loginOf(numberId)
        if (before !== null && "kind" in before && !isOver(before.view)) return null
        yield* FiberMap.remove(showing, numberId)
        const view: TelegramLoginView = {
          state: request.method === "qr" ? "showing_qr" : "code_sent",
          qr: null,
          codeSentTo: null,
          expiresAt: (yield* Clock.currentTimeMillis) + telegramLoginMillis,
          error: null,
        }
        const phone = request.method === "qr" ? null : request.phone.replace(/^\+/, "")
        const { method } = request
        const login: LoginCredentials = {
          kind: "login",
          view,
          method,
          phone,
          codeHash: null,
          keys: [],
        }
        yield* keep(numberId, login)
        if (phone !== null) {
          return yield* connected(numberId, login, (client) =>
            inTime(view, sendCode(client, view, phone)),
          )
        }
        yield* FiberMap.run(showing, numberId, showQr(numberId, login))
        return view
      })

      /** A step that takes what was typed, and says whether it was wrong. */
      const typed = Effect.fnUntraced(function* (
        numberId: NumberId,
        state: TelegramLoginView["state"],
        work: (client: TelegramClient, login: LoginCredentials) => Effect.Effect<Step, CallFailed>,
      ): Effect.fn.Return<AfterSecret> {
        const login = yield* loginOf(numberId)
        if (login === null) return null
        if (!("kind" in login)) return login
        const { codeHash, view } = login
        if (view.state !== state) return view
        let isWrong = false
        const next = yield* connected(numberId, login, (client) =>
          inTime(
            view,
            settle(view, codeHash, work(client, login)).pipe(
              Effect.catchTag("CallFailed", () => {
                isWrong = true
                return Effect.succeed({ view, codeHash })
              }),
            ),
          ),
        )
        return isWrong ? "wrong" : next
      })

      return TelegramLogin.of({
        isConfigured: application !== null,
        begin,
        look: Effect.fn("TelegramLogin.look")(function* (numberId) {
          const login = yield* loginOf(numberId)
          return login === null || !("kind" in login) ? login : login.view
        }),
        giveCode: Effect.fn("TelegramLogin.giveCode")((numberId, code) =>
          typed(numberId, "code_sent", (client, { codeHash, phone, view }) =>
            Effect.flatMap(
              asked(() =>
                client.call({
                  _: "auth.signIn",
                  phoneNumber: phone ?? "",
                  phoneCodeHash: codeHash ?? "",
                  ...(view.codeSentTo === "email"
                    ? { emailVerification: { _: "emailVerificationCode", code } }
                    : { phoneCode: code }),
                }),
              ),
              (authorization) => userOf(client, view, authorization),
            ),
          ),
        ),
        givePassword: Effect.fn("TelegramLogin.givePassword")((numberId, password) =>
          typed(numberId, "password_needed", (client) =>
            Effect.map(
              asked(() => client.checkPassword(password)),
              ({ raw }) => ({ user: raw as tl.RawUser }),
            ),
          ),
        ),
        cancel: Effect.fn("TelegramLogin.cancel")(function* (numberId) {
          const login = yield* loginOf(numberId)
          if (login === null || !("kind" in login)) return false
          yield* FiberMap.remove(showing, numberId)
          yield* stored(vault.wipe(numberId))
          return true
        }),
      })
    }),
  )
