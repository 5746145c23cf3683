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
  NumberStore,
  SessionVault,
  TelegramLogin,
  hasPhone,
  patiently,
  telegramLoginMillis,
} from "@messaging-service/core/ports"
import type {
  AfterSecret,
  NumberId,
  TelegramLoginRequest,
  TelegramLoginView,
} from "@messaging-service/core/ports"
import type { TelegramClient, tl } from "@mtcute/node"
import { Clock, Effect, FiberMap, Layer, Option, Queue, References, Semaphore } from "effect"
import { randomUUID } from "node:crypto"
import { hasEnded, toText, viewAt } from "./credentials.ts"
import type { LoginCredentials } from "./credentials.ts"
import { makeLoginClients, storedCredentials } from "./loginClient.ts"
import {
  endSession,
  failed,
  giveCode,
  givePassword,
  sendCode,
  signInByQr,
  stepMillis,
  whoIs,
} from "./loginSteps.ts"
import type { Step } from "./loginSteps.ts"
import type { TelegramSettings } from "./settings.ts"
import type { KeysInMemory } from "./storage.ts"

/** A login is no worker's, so that its vault refuses no write for having moved. */
const stored = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A> => Effect.orDie(patiently(work))

/** How long after the end of a QR code the next one is waited for. */
const nextQrMillis = 15_000

/**
 * `SessionVault` must be one without an owner: any process may log a number in that has no session. Each
 * QR code is also handed to `shown`, where one is given.
 */
export const layerLogin = (
  settings: TelegramSettings,
  shown?: (numberId: NumberId, url: string) => Effect.Effect<void>,
): Layer.Layer<never, never, SessionVault | NumberProxies | NumberStore> =>
  Layer.effect(
    TelegramLogin,
    Effect.gen(function* () {
      const vault = yield* SessionVault
      const numbers = yield* NumberStore
      const clients = makeLoginClients(settings, yield* NumberProxies)
      /** Logins by QR code whose connection this process has. */
      const showing = yield* FiberMap.make<NumberId>()
      const context = yield* Effect.context<never>()
      // The service's own, also for those that call.
      const { currentTimeMillis: time } = yield* Clock.Clock
      /** One step of a number's login at a time: two would use one key from two connections. */
      const turns = new Map<NumberId, Semaphore.Semaphore>()
      /** Looking whether a login is still the number's, and writing what became of it, are one. */
      const writing = Semaphore.makeUnsafe(1)

      const turnOf = (numberId: NumberId) => {
        const turn = turns.get(numberId) ?? Semaphore.makeUnsafe(1)
        turns.set(numberId, turn)
        return turn
      }

      const keptOf = (numberId: NumberId) => stored(storedCredentials(vault, numberId))

      const isCurrent = (numberId: NumberId, { id }: LoginCredentials) =>
        Effect.map(
          keptOf(numberId),
          (kept) => kept?.kind === "login" && kept.id === id && !kept.isCancelled,
        )

      const loginOf = Effect.fnUntraced(function* (numberId: NumberId) {
        const kept = yield* keptOf(numberId)
        const now = yield* time
        if (kept === null) return null
        if (kept.kind === "login") {
          return kept.isCancelled ? null : { ...kept, view: viewAt(kept, now) }
        }
        return kept.login !== null && kept.login.expiresAt > now ? kept.login : null
      })

      const keep = (numberId: NumberId, login: LoginCredentials) =>
        stored(vault.replace(numberId, toText(login), []))

      /** Unless it was given up, or another one has begun; whether it was kept. */
      const ifCurrent = (
        numberId: NumberId,
        login: LoginCredentials,
        write: Effect.Effect<void>,
      ): Effect.Effect<boolean> =>
        writing.withPermits(1)(
          Effect.tap(isCurrent(numberId, login), (is) => (is ? write : Effect.void)),
        )

      const keepStep = (numberId: NumberId, login: LoginCredentials) =>
        ifCurrent(numberId, login, keep(numberId, login))

      const keepAccount = (
        numberId: NumberId,
        login: LoginCredentials,
        { id, phone = "" }: tl.RawUser,
      ) => {
        const view: TelegramLoginView = { ...login.view, state: "connected", qr: null }
        const account = { kind: "account", userId: id, phone, login: view } as const
        const write = stored(vault.replace(numberId, toText(account), login.keys))
        return Effect.map(ifCurrent(numberId, login, write), (isKept) => (isKept ? view : null))
      }

      /** Whether another number of the workspace has that phone: no account is connected twice. */
      const isAnothers = Effect.fnUntraced(function* (numberId: NumberId, phone: string) {
        const number = yield* numbers.find(numberId)
        if (number === null || phone === "") return false
        const all = yield* numbers.list(number.workspaceId)
        return all.some((other) => hasPhone(other, null, number, phone))
      })

      /** One connection over what the login has, and what it has afterwards; null when it was given up. */
      const connected = Effect.fnUntraced(function* (
        numberId: NumberId,
        login: LoginCredentials,
        work: (client: TelegramClient, keys: KeysInMemory) => Effect.Effect<Step | "wrong" | null>,
      ): Effect.fn.Return<AfterSecret> {
        const done = yield* Effect.scoped(
          Effect.gen(function* () {
            const opened = yield* clients.open(numberId, login.keys)
            if (opened === null) return null
            const { client, keys } = opened
            const before = login.mayBeIn ? yield* whoIs(client, login.view) : null
            const step = before ?? (yield* work(client, keys))
            const isLeft = step !== null && step !== "wrong" && "user" in step
            if (isLeft && !(yield* isCurrent(numberId, login))) {
              yield* endSession(client)
              return null
            }
            if (isLeft && (yield* stored(isAnothers(numberId, step.user.phone ?? "")))) {
              const mayBeIn = !(yield* endSession(client))
              const view = failed(login.view, "phone_of_another_number")
              return { step: { view, codeHash: null, mayBeIn }, keys: keys.all() }
            }
            return { step, keys: keys.all() }
          }),
        )
        if (done === null || done.step === null) return null
        const { keys, step } = done
        const next: LoginCredentials = { ...login, keys, stepUntil: null, mayBeIn: false }
        if (step === "wrong") return (yield* keepStep(numberId, next)) ? "wrong" : null
        if ("user" in step) return yield* keepAccount(numberId, next, step.user)
        return (yield* keepStep(numberId, { ...next, ...step })) ? step.view : null
      })

      /** Shows codes until one was scanned; each is kept, so that every process can show it. */
      const showQr = (numberId: NumberId, login: LoginCredentials) =>
        Effect.gen(function* () {
          const codes = yield* Queue.unbounded<NonNullable<TelegramLoginView["qr"]>>()
          const keepShown = (keys: KeysInMemory) =>
            Effect.gen(function* () {
              for (;;) {
                const qr = yield* Queue.take(codes)
                const now = yield* time
                const isKept = yield* keepStep(numberId, {
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
          yield* connected(numberId, login, (client, keys) =>
            Effect.raceFirst(
              signInByQr(client, login.view, (qr) => void Queue.offerUnsafe(codes, qr)),
              keepShown(keys),
            ),
          ).pipe(Effect.timeoutOption(left))
        }).pipe(
          Effect.annotateLogs({ number: numberId }),
          Effect.provideService(References.CurrentLogAnnotations, {}),
          Effect.provideContext(context),
        )

      const beginNow = Effect.fnUntraced(function* (
        numberId: NumberId,
        request: TelegramLoginRequest,
      ) {
        const kept = yield* keptOf(numberId)
        const now = yield* time
        // An account that its worker is connecting, or has yet to log out, is not written over.
        if (kept?.kind === "account") return null
        if (kept !== null && !hasEnded(kept, now)) return null
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
        if (kept?.mayBeIn === true && !(yield* clients.end(numberId, kept.keys))) {
          // What the login before may have left is ended first, so its keys are not written over.
          const view = failed(login.view, "connection_lost")
          yield* keep(numberId, { ...login, view, keys: kept.keys, mayBeIn: true })
          return view
        }
        yield* keep(numberId, login)
        if (phone === null) {
          yield* FiberMap.run(showing, numberId, showQr(numberId, login))
          return login.view
        }
        const view = yield* connected(numberId, login, (client) =>
          sendCode(client, login.view, phone),
        )
        return view === "wrong" ? null : view
      })

      /** A step that takes what was typed, and says whether it was wrong. */
      const typed = (
        numberId: NumberId,
        state: TelegramLoginView["state"],
        work: (client: TelegramClient, login: LoginCredentials) => Effect.Effect<Step | "wrong">,
      ): Effect.Effect<AfterSecret> =>
        turnOf(numberId).withPermits(1)(
          Effect.gen(function* () {
            const login = yield* loginOf(numberId)
            if (login === null) return null
            if (!("kind" in login)) return login
            if (login.view.state !== state) return login.view
            const stepUntil = (yield* time) + stepMillis
            if (!(yield* keepStep(numberId, { ...login, stepUntil, mayBeIn: true }))) return null
            return yield* connected(numberId, login, (client) => work(client, login))
          }),
        )

      return TelegramLogin.of({
        isConfigured: settings.application !== null,
        begin: Effect.fn("TelegramLogin.begin")((numberId, request) =>
          // What goes on there is a login, or the beginning of one.
          turnOf(numberId)
            .withPermitsIfAvailable(1)(beginNow(numberId, request))
            .pipe(Effect.map(Option.getOrNull)),
        ),
        look: Effect.fn("TelegramLogin.look")(function* (numberId) {
          const login = yield* loginOf(numberId)
          if (login === null || !("kind" in login)) return login
          const { stepUntil, view } = login
          const isLeft = (stepUntil ?? 0) <= (yield* time)
          if (view.state === "showing_qr" && isLeft) {
            // The process that showed it is gone, or has lost the far side.
            yield* FiberMap.run(showing, numberId, showQr(numberId, login), {
              onlyIfMissing: true,
            })
          }
          return view
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
          yield* FiberMap.remove(showing, numberId)
          const login = yield* loginOf(numberId)
          if (login === null || !("kind" in login)) return false
          const { keys, mayBeIn } = login
          const given = { ...login, isCancelled: true }
          const isGiven = yield* ifCurrent(
            numberId,
            login,
            mayBeIn ? keep(numberId, given) : stored(vault.wipe(numberId)),
          )
          if (!isGiven || !mayBeIn) return isGiven
          if (yield* clients.end(numberId, keys)) {
            const still = yield* keptOf(numberId)
            if (still?.kind === "login" && still.id === login.id) {
              yield* stored(vault.wipe(numberId))
            }
          }
          return true
        }),
      })
    }),
  )
