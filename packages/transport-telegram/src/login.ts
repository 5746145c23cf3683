/**
 * Logging an account in. Each step of a login by code makes a connection of its own with what the step
 * before has left, so that any process may take it; a QR code needs one that stays, since the far side
 * says on it that the code was scanned. Of what was typed nothing is kept.
 *
 * Once the far side has let the account in, the login's connection is closed before the vault has the
 * account: its worker connects with the same key.
 *
 * No session is left at the far side that is not kept here. Before each step that may let the account in
 * it is written down that it may (`mayBeIn`): after a process that died the next step asks first who the
 * connection is, and what is given up or has run out meanwhile is logged out.
 */
import {
  NumberProxies,
  SessionVault,
  TelegramLogin,
  retryUntilStoreAnswers,
  sleepInRealTime,
  telegramLoginMillis,
} from "@messaging-service/core"
import type {
  AfterSecret,
  KeyChange,
  NumberId,
  TelegramLoginRequest,
  TelegramLoginView,
} from "@messaging-service/core"
import type { TelegramClient, tl } from "@mtcute/node"
import { Clock, Effect, FiberMap, Layer, Queue, References } from "effect"
import { randomUUID } from "node:crypto"
import { hasEnded, viewAt } from "./credentials.ts"
import type { LoginCredentials } from "./credentials.ts"
import { isHeld, makeHeldLogins } from "./heldLogins.ts"
import type { HeldLogin, Kept } from "./heldLogins.ts"
import { makeLoginClients, proxyUnreadable } from "./loginClient.ts"
import {
  failed,
  giveCode,
  givePassword,
  heldMillis,
  sendCode,
  signInByQr,
  stepMillis,
  whoIs,
} from "./loginSteps.ts"
import type { Step } from "./loginSteps.ts"
import type { TelegramSettings } from "./settings.ts"
import { accountKeys } from "./storage.ts"
import type { KeysInMemory } from "./storage.ts"

/** How often a login is looked at that another step, or process, works on, in real milliseconds. */
const againMillis = 250

/** How long after the end of a QR code the next one is waited for. */
const nextQrMillis = 15_000

/**
 * `SessionVault` must be one without an owner: any process may log a number in that has no session. Each
 * QR code is also handed to `shown`, where one is given.
 */
export const layerLogin = (
  settings: TelegramSettings,
  shown?: (numberId: NumberId, url: string) => Effect.Effect<void>,
): Layer.Layer<never, never, SessionVault | NumberProxies> =>
  Layer.effect(
    TelegramLogin,
    Effect.gen(function* () {
      const vault = yield* SessionVault
      const logins = makeHeldLogins(vault)
      const clients = makeLoginClients(settings, yield* NumberProxies)
      /** Logins by QR code whose connection this process has. */
      const showing = yield* FiberMap.make<NumberId>()
      const context = yield* Effect.context<never>()
      // The service's own, also for those that call.
      const { currentTimeMillis: time } = yield* Clock.Clock
      const pause = Effect.provideContext(sleepInRealTime(againMillis), context)

      /** The login that is to be shown of what the vault has: one that goes on, or how one has ended. */
      const shownOf = ({ credentials: kept }: Kept, now: number) => {
        if (kept === null) return null
        if (kept.kind === "login") {
          return kept.isCancelled ? null : { ...kept, view: viewAt(kept, now) }
        }
        return kept.login !== null && kept.login.expiresAt > now ? kept.login : null
      }

      const viewOf = Effect.fnUntraced(function* (numberId: NumberId) {
        const login = shownOf(yield* logins.keptOf(numberId), yield* time)
        return login !== null && "kind" in login ? login.view : login
      })

      /** Whether the session of a login that this process holds no more is of no use to any other one. */
      const isOfNoUse = Effect.fnUntraced(function* (
        { login, numberId }: HeldLogin,
        keys: ReadonlyArray<KeyChange>,
      ) {
        const { credentials: kept } = yield* logins.keptOf(numberId)
        // Another process goes on with it.
        if (kept?.kind === "login" && kept.id === login.id && !kept.isCancelled) return false
        return kept?.kind !== "account" || !(yield* logins.hasKey(numberId, keys))
      })

      const keepAccount = Effect.fnUntraced(function* (
        held: HeldLogin,
        keys: ReadonlyArray<KeyChange>,
        { id, phone = "" }: tl.RawUser,
      ) {
        const view: TelegramLoginView = { ...held.login.view, state: "connected", qr: null }
        const account = { kind: "account", userId: id, phone, login: view } as const
        const isKept = yield* logins.keepAccount(held, account, keys)
        if (isKept === true) return view
        if (isKept === "phone_of_another_number") {
          const mayBeIn = !(yield* clients.end(held.numberId, keys))
          const refused = failed(held.login.view, isKept)
          const next = { ...held.login, view: refused, keys, stepUntil: null, mayBeIn }
          if (yield* logins.goOn(held, next)) return refused
        } else if (yield* isOfNoUse(held, keys)) yield* clients.end(held.numberId, keys)
        return yield* viewOf(held.numberId)
      })

      /** One connection over what the login has, and how it stands afterwards; null when it was given up. */
      const connected = Effect.fnUntraced(function* (
        held: HeldLogin,
        work: (client: TelegramClient, keys: KeysInMemory) => Effect.Effect<Step | "wrong" | null>,
      ): Effect.fn.Return<AfterSecret> {
        const { login, numberId } = held
        const done = yield* Effect.scoped(
          Effect.gen(function* () {
            const opened = yield* clients.open(numberId, login.keys)
            if (opened === null) return null
            if (opened === proxyUnreadable) {
              const view = failed(login.view, proxyUnreadable)
              return { step: { view, codeHash: null, mayBeIn: login.mayBeIn }, keys: login.keys }
            }
            const { client, keys } = opened
            const before = login.mayBeIn ? yield* whoIs(client, login.view) : null
            const step = before ?? (yield* work(client, keys))
            return { step, keys: keys.all() }
          }),
        )
        if (done === null || done.step === null) return null
        const { keys, step } = done
        const next: LoginCredentials = { ...login, keys, stepUntil: null, mayBeIn: false }
        if (step !== "wrong" && "user" in step) return yield* keepAccount(held, keys, step.user)
        const after = step === "wrong" ? next : { ...next, ...step }
        if (!(yield* logins.goOn(held, after))) return yield* viewOf(numberId)
        return step === "wrong" ? step : step.view
      })

      /** Shows codes until one was scanned; each is kept, so that every process can show it. */
      const showQr = (held: HeldLogin) =>
        Effect.gen(function* () {
          const { login, numberId } = held
          const codes = yield* Queue.unbounded<NonNullable<TelegramLoginView["qr"]>>()
          const keepShown = (keys: KeysInMemory) =>
            Effect.gen(function* () {
              for (;;) {
                const qr = yield* Queue.take(codes)
                const now = yield* time
                const isKept = yield* logins.goOn(held, {
                  ...login,
                  keys: keys.all(),
                  view: { ...login.view, qr },
                  stepUntil: Math.max(now, qr.expiresAt) + nextQrMillis,
                  mayBeIn: true,
                })
                if (!isKept) return null
                if (shown !== undefined) yield* shown(numberId, qr.url)
              }
            })
          const left = login.view.expiresAt - (yield* time)
          const shows = connected(held, (client, keys) =>
            Effect.raceFirst(
              signInByQr(client, login.view, (qr) => void Queue.offerUnsafe(codes, qr)),
              keepShown(keys),
            ),
          )
          yield* logins.whileHeld(held, shows).pipe(Effect.timeoutOption(left))
        }).pipe(
          Effect.annotateLogs({ number: held.numberId }),
          Effect.provideService(References.CurrentLogAnnotations, {}),
          Effect.provideContext(context),
        )

      /**
       * Ends what a login that is over may have left, before its keys are written over. What is exchanged
       * next, and whether the far side has heard; null when the vault has something else by now.
       */
      const endBefore = Effect.fnUntraced(function* (numberId: NumberId, kept: Kept) {
        const { credentials: login, text } = kept
        if (login?.kind !== "login" || !login.mayBeIn) return { text, held: null }
        const stepUntil = (yield* time) + heldMillis
        const written = { ...login, stepUntil, isCancelled: true }
        const held = yield* logins.take(numberId, text, login, written)
        if (held === null) return null
        const isEnded = yield* logins.whileHeld(held, clients.end(numberId, login.keys))
        return { text: held.text, held: isEnded ? null : held }
      })

      /**
       * Logs an account out that was shut out; whether the remote server knows its session no more. Keys
       * that an older secrets key sealed can end nothing.
       */
      const endAccount = (numberId: NumberId) =>
        retryUntilStoreAnswers(accountKeys(vault, numberId)).pipe(
          Effect.flatMap((keys) => clients.end(numberId, keys)),
          Effect.catchTag("CannotOpen", () => Effect.succeed(true)),
        )

      /** `later` when another process works on what was before, or has just written. */
      const beginNow = Effect.fnUntraced(function* (
        numberId: NumberId,
        request: TelegramLoginRequest,
        isShutOut: boolean,
      ): Effect.fn.Return<TelegramLoginView | "later" | null> {
        const kept = yield* logins.keptOf(numberId)
        const { credentials } = kept
        const now = yield* time
        // An account that its worker is connecting, or has yet to log out, is not written over.
        if (credentials?.kind === "account" && !isShutOut) return null
        if (credentials?.kind === "login") {
          if (!hasEnded(credentials, now)) return null
          if (credentials.mayBeIn && isHeld(credentials, now)) return "later"
        }
        yield* FiberMap.remove(showing, numberId)
        const phone = request.method === "qr" ? null : request.phone.replace(/^\+/, "")
        const login: LoginCredentials = {
          kind: "login",
          id: randomUUID(),
          view: {
            state: request.method === "qr" ? "showing_qr" : "code_sent",
            qr: null,
            codeSentTo: null,
            expiresAt: now + telegramLoginMillis,
            error: null,
          },
          method: request.method,
          phone,
          codeHash: null,
          keys: [],
          stepUntil: now + stepMillis,
          mayBeIn: false,
          isCancelled: false,
        }
        // Nothing that the remote server may still know is written over, so that no device is left there.
        if (credentials?.kind === "account" && !(yield* endAccount(numberId))) {
          return failed(login.view, "connection_lost")
        }
        const ended = yield* endBefore(numberId, kept)
        if (ended === null) return "later"
        if (ended.held !== null) {
          const { keys } = ended.held.login
          const view = failed(login.view, "connection_lost")
          const unsaid = { ...login, view, keys, stepUntil: null, mayBeIn: true }
          return (yield* logins.goOn(ended.held, unsaid)) ? view : "later"
        }
        const held = yield* logins.take(numberId, ended.text, login)
        if (held === null) return "later"
        if (phone === null) {
          yield* FiberMap.run(showing, numberId, showQr(held))
          return login.view
        }
        const sends = connected(held, (client) => sendCode(client, login.view, phone))
        const view = yield* logins.whileHeld(held, sends)
        return view === "wrong" ? null : view
      })

      /** A step that takes what was typed, and says whether it was wrong. */
      const typed = Effect.fnUntraced(function* (
        numberId: NumberId,
        state: TelegramLoginView["state"],
        work: (client: TelegramClient, login: LoginCredentials) => Effect.Effect<Step | "wrong">,
      ): Effect.fn.Return<AfterSecret> {
        for (;;) {
          const kept = yield* logins.keptOf(numberId)
          const now = yield* time
          const login = shownOf(kept, now)
          if (login === null || !("kind" in login)) return login
          if (login.view.state !== state) return login.view
          if (!isHeld(login, now)) {
            const written = { ...login, stepUntil: now + heldMillis, mayBeIn: true }
            const held = yield* logins.take(numberId, kept.text, login, written)
            if (held !== null) {
              const step = connected(held, (client) => work(client, login))
              return yield* logins.whileHeld(held, step)
            }
          }
          yield* pause
        }
      })

      return TelegramLogin.of({
        isConfigured: settings.application !== null,
        begin: Effect.fn("TelegramLogin.begin")(function* (numberId, request, isShutOut = false) {
          for (;;) {
            const begun = yield* beginNow(numberId, request, isShutOut)
            if (begun !== "later") return begun
            yield* pause
          }
        }),
        look: Effect.fn("TelegramLogin.look")(function* (numberId) {
          const kept = yield* logins.keptOf(numberId)
          const now = yield* time
          const login = shownOf(kept, now)
          if (login === null || !("kind" in login)) return login
          const isShown = isHeld(login, now) || (yield* FiberMap.has(showing, numberId))
          if (login.view.state === "showing_qr" && !isShown) {
            // The process that showed it is gone, or has lost the far side.
            const written = { ...login, stepUntil: now + stepMillis }
            const held = yield* logins.take(numberId, kept.text, login, written)
            if (held !== null) yield* FiberMap.run(showing, numberId, showQr(held))
          }
          return login.view
        }),
        giveCode: Effect.fn("TelegramLogin.giveCode")((numberId, code) =>
          typed(numberId, "code_sent", (client, { codeHash, phone, view }) =>
            giveCode(client, view, { code, codeHash: codeHash ?? "", phone: phone ?? "" }),
          ),
        ),
        givePassword: Effect.fn("TelegramLogin.givePassword")((numberId, password) =>
          typed(numberId, "password_needed", (client, { view }) =>
            givePassword(client, view, password),
          ),
        ),
        cancel: Effect.fn("TelegramLogin.cancel")(function* (numberId) {
          for (;;) {
            yield* FiberMap.remove(showing, numberId)
            const kept = yield* logins.keptOf(numberId)
            const login = shownOf(kept, yield* time)
            if (login === null || !("kind" in login) || kept.text === null) return false
            const { keys, mayBeIn } = login
            if (!mayBeIn) {
              if (yield* logins.forget(numberId, kept.text)) return true
              continue
            }
            const given = { ...login, stepUntil: null, isCancelled: true }
            const held = yield* logins.take(numberId, kept.text, given)
            if (held === null) continue
            if (yield* clients.end(numberId, keys)) yield* logins.forget(numberId, held.text)
            return true
          }
        }),
      })
    }),
  )
