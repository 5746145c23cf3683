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
import { randomUUID } from "node:crypto"
import {
  NumberProxies,
  retryUntilStoreAnswers,
  SessionVault,
  sleepInRealTime,
  TelegramLogin,
  telegramLoginMillis,
} from "@messaging-service/core"
import type {
  AfterSecret,
  Exchanged,
  KeyChange,
  LoggedIn,
  NumberId,
  TelegramLoginRequest,
  TelegramLoginView,
} from "@messaging-service/core"
import type { TelegramClient, tl } from "@mtcute/node"
import { Clock, Effect, FiberMap, Layer, Queue, Redacted, References } from "effect"
import { asked, isUnanswered, makeClient } from "./Client.ts"
import type { CallFailed } from "./Client.ts"
import type { TelegramSettings } from "./TelegramSettings.ts"
import {
  accountKeys,
  fromText,
  hasEnded,
  keysInMemory,
  makeStorage,
  toText,
  viewAt,
} from "./storage.ts"
import type { AccountCredentials, Credentials, KeysInMemory, LoginCredentials } from "./storage.ts"

// One step of a login over a connection, and the far side's word on it. A step whose answer did not come
// leaves it open whether the account was let in: `mayBeIn`.

/** How the far side's refusals are called; any other one by its own name. */
const refusals: ReadonlyMap<string, string> = new Map([
  ["PHONE_NUMBER_INVALID", "phone_invalid"],
  ["PHONE_NUMBER_BANNED", "phone_banned"],
  ["PHONE_NUMBER_FLOOD", "too_many_attempts"],
  ["PHONE_PASSWORD_FLOOD", "too_many_attempts"],
  ["PHONE_NUMBER_UNOCCUPIED", "phone_not_registered"],
  ["PHONE_CODE_EXPIRED", "code_expired"],
  ["API_ID_INVALID", "application_refused"],
  ["API_ID_PUBLISHED_FLOOD", "application_refused"],
  ["USER_DEACTIVATED", "account_deactivated"],
  ["USER_DEACTIVATED_BAN", "account_banned"],
  ["UPDATE_APP_TO_LOGIN", "client_outdated"],
])

const reasonOf = ({ code, seconds, text }: CallFailed): string => {
  if (seconds !== null) return `too_many_attempts: wait ${seconds} s`
  return code === 0 ? "connection_lost" : (refusals.get(text) ?? text.toLowerCase())
}

/** Another try may be right. */
const wrong: ReadonlySet<string> = new Set([
  "PHONE_CODE_INVALID",
  "PHONE_CODE_EMPTY",
  "EMAIL_CODE_INVALID",
  "CODE_INVALID",
  "PASSWORD_HASH_INVALID",
])

type Way = NonNullable<TelegramLoginView["codeSentTo"]>

const waysOf: ReadonlyMap<string, Way> = new Map([
  ["auth.sentCodeTypeApp", "app"],
  ["auth.sentCodeTypeSms", "sms"],
  ["auth.sentCodeTypeSmsWord", "sms"],
  ["auth.sentCodeTypeSmsPhrase", "sms"],
  ["auth.sentCodeTypeFragmentSms", "sms"],
  ["auth.sentCodeTypeFirebaseSms", "sms"],
  ["auth.sentCodeTypeCall", "call"],
  ["auth.sentCodeTypeFlashCall", "call"],
  ["auth.sentCodeTypeMissedCall", "call"],
  ["auth.sentCodeTypeEmailCode", "email"],
])

/** How a step ended: with an account, or with how the login stands. */
type Step =
  | { readonly user: tl.RawUser }
  | {
      readonly view: TelegramLoginView
      readonly codeHash: string | null
      readonly mayBeIn: boolean
    }

const failed = (view: TelegramLoginView, error: string): TelegramLoginView => ({
  ...view,
  state: "failed",
  qr: null,
  error,
})

const failedStep = (view: TelegramLoginView, error: string, mayBeIn = false): Step => ({
  view: failed(view, error),
  codeHash: null,
  mayBeIn,
})

/** The code was right, or was scanned. */
const asksForPassword = "SESSION_PASSWORD_NEEDED"

const needsPassword = (view: TelegramLoginView): Step => ({
  view: { ...view, state: "password_needed", qr: null },
  codeHash: null,
  mayBeIn: false,
})

/** How long one step may take, in service time. */
const stepMillis = 30_000

/** How long the process that takes a step has the login to itself: longer than all that a step may take. */
export const heldMillis = 2 * stepMillis

const inTime = <A>(view: TelegramLoginView, work: Effect.Effect<A>): Effect.Effect<A | Step> =>
  Effect.timeoutOrElse(work, {
    duration: stepMillis,
    orElse: () => Effect.succeed(failedStep(view, "connection_lost", true)),
  })

/** The far side's word; `wrong` where what was typed may be given again. */
const settle = (
  view: TelegramLoginView,
  work: Effect.Effect<Step, CallFailed>,
): Effect.Effect<Step | "wrong"> =>
  Effect.catchTag(work, "CallFailed", (error): Effect.Effect<Step | "wrong"> => {
    if (error.text === asksForPassword) return Effect.succeed(needsPassword(view))
    if (wrong.has(error.text)) return Effect.succeed("wrong")
    return Effect.succeed(failedStep(view, reasonOf(error), isUnanswered(error)))
  })

/** Of a step that takes nothing that was typed, so that nothing can be typed again. */
const neverWrong = (view: TelegramLoginView, step: Step | "wrong"): Step =>
  step === "wrong" ? failedStep(view, "connection_lost") : step

/** How long a question about the session may take, and one try to end it. */
const sessionMillis = 5000

/**
 * How far the far side has let the connection in, whatever became of its answers: an account, or the
 * password to be given next. Null when it is not in at all, or no answer came.
 */
const whoIs = (client: TelegramClient, view: TelegramLoginView): Effect.Effect<Step | null> =>
  asked(async (abortSignal): Promise<Step | null> => {
    const [self] = await client.call(
      { _: "users.getUsers", id: [{ _: "inputUserSelf" }] },
      { abortSignal },
    )
    return self?._ === "user" ? { user: await client.notifyLoggedIn(self) } : null
  }).pipe(
    Effect.catch(({ text }) =>
      Effect.succeed(
        text === asksForPassword && view.state !== "password_needed" ? needsPassword(view) : null,
      ),
    ),
    Effect.timeoutOrElse({ duration: sessionMillis, orElse: () => Effect.succeed(null) }),
  )

/**
 * What was refused may have been taken before: where the connection broke behind the answer, the library
 * asks once more by itself, and the code is used up by then.
 */
const unlessIn = (
  client: TelegramClient,
  view: TelegramLoginView,
  work: Effect.Effect<Step | "wrong">,
): Effect.Effect<Step | "wrong"> =>
  Effect.flatMap(work, (step) =>
    step === "wrong" || ("view" in step && step.view.state === "failed")
      ? Effect.map(whoIs(client, view), (further) => further ?? step)
      : Effect.succeed(step),
  )

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
    : Effect.succeed(failedStep(view, "phone_not_registered"))

const sendCode = (
  client: TelegramClient,
  view: TelegramLoginView,
  phoneNumber: string,
): Effect.Effect<Step> =>
  Effect.gen(function* () {
    const { hash: apiHash, id: apiId } = yield* Effect.promise(() => client.getApiCredentials())
    const call = { _: "auth.sendCode", phoneNumber, apiId, apiHash } as const
    const sent = yield* asked(() => client.call({ ...call, settings: { _: "codeSettings" } }))
    if (sent._ === "auth.sentCodeSuccess") return yield* userOf(client, view, sent.authorization)
    if (sent._ !== "auth.sentCode") return failedStep(view, "payment_required")
    const codeSentTo = waysOf.get(sent.type._) ?? null
    return codeSentTo === null
      ? failedStep(view, "email_required")
      : { view: { ...view, codeSentTo }, codeHash: sent.phoneCodeHash, mayBeIn: false }
  }).pipe(
    (work) => settle(view, work),
    (work) => inTime(view, work),
    Effect.map((step) => neverWrong(view, step)),
    // Asking for a code lets no account in.
    Effect.map((step): Step => ("user" in step ? step : { ...step, mayBeIn: false })),
  )

interface CodeGiven {
  readonly phone: string
  readonly codeHash: string
  readonly code: string
}

const giveCode = (
  client: TelegramClient,
  view: TelegramLoginView,
  { code, codeHash, phone }: CodeGiven,
): Effect.Effect<Step | "wrong"> =>
  asked(() =>
    client.call({
      _: "auth.signIn",
      phoneNumber: phone,
      phoneCodeHash: codeHash,
      ...(view.codeSentTo === "email"
        ? { emailVerification: { _: "emailVerificationCode", code } }
        : { phoneCode: code }),
    }),
  ).pipe(
    Effect.flatMap((authorization) => userOf(client, view, authorization)),
    (work) => settle(view, work),
    (work) => inTime(view, work),
    (work) => unlessIn(client, view, work),
  )

const givePassword = (
  client: TelegramClient,
  view: TelegramLoginView,
  password: string,
): Effect.Effect<Step | "wrong"> =>
  asked(() => client.checkPassword(password)).pipe(
    Effect.map(({ raw }) => ({ user: raw as tl.RawUser })),
    (work) => settle(view, work),
    (work) => inTime(view, work),
    (work) => unlessIn(client, view, work),
  )

/** How long a QR code stands, unless the far side's word on it makes sense by this machine's clock. */
const usualQrMillis = 30_000
const [shortestQrMillis, longestQrMillis] = [10_000, 60_000]

/** Until when a code stands by the service's clock, whose time need not be the far side's. */
const qrMillis = (expiresAt: number, now: number): number => {
  const told = expiresAt - now
  return told < shortestQrMillis || told > longestQrMillis ? usualQrMillis : told
}

/** Shows one code after the other until one was scanned. */
const signInByQr = (
  client: TelegramClient,
  view: TelegramLoginView,
  shown: (qr: NonNullable<TelegramLoginView["qr"]>) => void,
): Effect.Effect<Step> =>
  Effect.gen(function* () {
    const scans = yield* Queue.sliding<true>(1)
    const hears = (update: tl.TypeUpdates) => {
      if (update._ === "updateShort" && update.update._ === "updateLoginToken") {
        Queue.offerUnsafe(scans, true)
      }
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => client.onServerUpdate.add(hears)),
      () => Effect.sync(() => client.onServerUpdate.remove(hears)),
    )
    const { hash: apiHash, id: apiId } = yield* Effect.promise(() => client.getApiCredentials())
    const call = { _: "auth.exportLoginToken", apiId, apiHash } as const
    const ask = asked((abortSignal) => client.call({ ...call, exceptIds: [] }, { abortSignal }))
    let answer = yield* ask
    while (answer._ === "auth.loginToken") {
      const now = yield* Clock.currentTimeMillis
      const millis = qrMillis(answer.expires * 1000, now)
      const url = `tg://login?token=${Buffer.from(answer.token).toString("base64url")}`
      shown({ url, expiresAt: now + millis })
      yield* Effect.raceFirst(Queue.take(scans), sleepInRealTime(millis))
      answer = yield* ask
      // The answer that let the account in may have been lost with the connection.
      const further = answer._ === "auth.loginToken" ? yield* whoIs(client, view) : null
      if (further !== null) return further
    }
    if (answer._ === "auth.loginTokenMigrateTo") {
      const { dcId, token } = answer
      yield* asked(() => client.changePrimaryDc(dcId))
      answer = yield* asked((abortSignal) =>
        client.call({ _: "auth.importLoginToken", token }, { abortSignal }),
      )
    }
    // One that was sent on from there once more would be sent on for ever.
    return answer._ === "auth.loginTokenSuccess"
      ? yield* userOf(client, view, answer.authorization)
      : failedStep(view, "connection_lost", true)
  }).pipe(
    Effect.scoped,
    (work) => settle(view, work),
    Effect.map((step) => neverWrong(view, step)),
  )

/** Logs the session out; whether the far side has none of it any more. */
const endSession = (client: TelegramClient): Effect.Effect<boolean> =>
  asked(() => client.call({ _: "auth.logOut" })).pipe(
    Effect.as(true),
    Effect.catchTag("CallFailed", ({ code }) => Effect.succeed(code === 401)),
    Effect.timeoutOrElse({ duration: sessionMillis, orElse: () => Effect.succeed(false) }),
  )

// Connections of logins, which have their keys in memory: for a step, and to end what a login may have
// left at the far side.

/** What the number has; null also where an older secrets key sealed it, which is gone. */
const storedText = (vault: typeof SessionVault.Service, numberId: NumberId) =>
  Effect.catchTag(vault.credentials(numberId), "CannotOpen", () => Effect.succeed(null))

/** Why a login fails whose number has a proxy that an older secrets key sealed. */
const proxyUnreadable = "proxy_unreadable" as const

export const makeLoginClients = (
  settings: TelegramSettings,
  proxies: typeof NumberProxies.Service,
) => {
  const { application } = settings

  /**
   * A client that is gone with its scope, and its keys; null without an application. A number whose proxy
   * an older secrets key sealed is not connected past that proxy.
   */
  const open = Effect.fnUntraced(function* open(
    numberId: NumberId,
    begun: ReadonlyArray<KeyChange>,
  ) {
    const keys = keysInMemory(begun)
    if (application === null) return null
    const proxy = yield* retryUntilStoreAnswers(
      Effect.catchTag(proxies.of(numberId), "CannotOpen", () => Effect.succeed(proxyUnreadable)),
    )
    if (proxy === proxyUnreadable) return proxyUnreadable
    const client = yield* makeClient(settings, {
      application,
      storage: makeStorage(keys),
      proxy: proxy === null ? null : Redacted.value(proxy),
      drawn: 0,
    })
    return { client, keys }
  })

  return {
    open,
    /** Whether the far side is known to have no session with these keys any more. */
    end: (numberId: NumberId, keys: ReadonlyArray<KeyChange>): Effect.Effect<boolean> =>
      Effect.scoped(
        Effect.flatMap(open(numberId, keys), (opened) =>
          opened === null || opened === proxyUnreadable
            ? Effect.succeed(false)
            : endSession(opened.client),
        ),
      ),
  }
}

// Who works on a login. Any process may, and one at a time does: it takes the login by exchanging what the
// vault has, and each further writing of its own is an exchange too, which fails once the login was given
// up, was replaced, or is another process's. A hold lapses by itself, so that a process that died keeps
// none of the others from going on.

/** What the vault has of a number: the text that is exchanged, and what it says. Both null without. */
interface Kept {
  readonly text: string | null
  readonly credentials: Credentials | null
}

/** A login that this process works on. */
interface HeldLogin {
  readonly numberId: NumberId
  /** As it stood when it was taken. */
  readonly login: LoginCredentials
  /** As the vault has it. */
  written: LoginCredentials
  text: string
}

/** Whether a process works on it at that time. */
export const isHeld = ({ stepUntil }: LoginCredentials, now: number): boolean =>
  stepUntil !== null && stepUntil > now

export const makeHeldLogins = (vault: typeof SessionVault.Service) => {
  /** Another text with each writing, so that what one process wrote is not taken for another's. */
  const textOf = (login: LoginCredentials) => toText({ ...login, writing: randomUUID() })

  const exchange = (
    numberId: NumberId,
    before: string | null,
    after: string | null,
    keys: ReadonlyArray<KeyChange> = [],
    account: LoggedIn | null = null,
  ) => retryUntilStoreAnswers(vault.exchange(numberId, before, after, keys, account))

  return {
    keptOf: (numberId: NumberId): Effect.Effect<Kept> =>
      Effect.map(retryUntilStoreAnswers(storedText(vault, numberId)), (text) => ({
        text,
        credentials: text === null ? null : fromText(text),
      })),

    /** Puts that in place of what was read; null when it is not there any more. */
    take: (
      numberId: NumberId,
      before: string | null,
      login: LoginCredentials,
      written: LoginCredentials = login,
    ): Effect.Effect<HeldLogin | null> => {
      const text = textOf(written)
      return Effect.map(exchange(numberId, before, text), (isTaken) =>
        isTaken === true ? { numberId, login, written, text } : null,
      )
    },

    /** Writes how it stands now; false when it is this process's no more. */
    goOn: (held: HeldLogin, written: LoginCredentials): Effect.Effect<boolean> => {
      const text = textOf(written)
      // What was written is known to be, also by the one that is interrupted meanwhile.
      return retryUntilStoreAnswers(
        Effect.uninterruptible(
          Effect.map(vault.exchange(held.numberId, held.text, text, []), (done) => {
            const isWritten = done === true
            if (isWritten) Object.assign(held, { written, text })
            return isWritten
          }),
        ),
      )
    },

    /** The account takes the login's place, and its phone becomes the number's; false as above. */
    keepAccount: (
      { numberId, text }: HeldLogin,
      account: AccountCredentials,
      keys: ReadonlyArray<KeyChange>,
    ): Effect.Effect<Exchanged> =>
      exchange(numberId, text, toText(account), keys, {
        phone: account.phone === "" ? null : account.phone,
      }),

    /** Nothing is left of what was read; false when that is not there any more. */
    forget: (numberId: NumberId, before: string): Effect.Effect<boolean> =>
      Effect.map(exchange(numberId, before, null), (isGone) => isGone === true),

    /** Runs what is done with it. When that is interrupted, others need not wait until the hold lapses. */
    whileHeld: <A>(held: HeldLogin, work: Effect.Effect<A>): Effect.Effect<A> =>
      Effect.onInterrupt(work, () =>
        Effect.ignore(
          Effect.suspend(() =>
            vault.exchange(
              held.numberId,
              held.text,
              textOf({ ...held.written, stepUntil: null }),
              [],
            ),
          ),
        ),
      ),

    /** Whether the vault has one of these authorization keys for the number. */
    hasKey: (numberId: NumberId, keys: ReadonlyArray<KeyChange>): Effect.Effect<boolean> => {
      const wanted = keys.filter(({ type, value }) => type === "auth-key" && value !== null)
      const found = vault.keys(
        numberId,
        "auth-key",
        wanted.map(({ id }) => id),
      )
      return Effect.map(
        retryUntilStoreAnswers(
          Effect.catchTag(found, "CannotOpen", () => Effect.succeed(new Map())),
        ),
        (kept) => wanted.some(({ id, value }) => kept.get(id) === value),
      )
    },
  }
}

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

      const viewOf = Effect.fnUntraced(function* viewOf(numberId: NumberId) {
        const login = shownOf(yield* logins.keptOf(numberId), yield* time)
        return login !== null && "kind" in login ? login.view : login
      })

      /** Whether the session of a login that this process holds no more is of no use to any other one. */
      const isOfNoUse = Effect.fnUntraced(function* isOfNoUse(
        { login, numberId }: HeldLogin,
        keys: ReadonlyArray<KeyChange>,
      ) {
        const { credentials: kept } = yield* logins.keptOf(numberId)
        // Another process goes on with it.
        if (kept?.kind === "login" && kept.id === login.id && !kept.isCancelled) return false
        return kept?.kind !== "account" || !(yield* logins.hasKey(numberId, keys))
      })

      const keepAccount = Effect.fnUntraced(function* keepAccount(
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
      const connected = Effect.fnUntraced(function* connected(
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
      const endBefore = Effect.fnUntraced(function* endBefore(numberId: NumberId, kept: Kept) {
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
      const beginNow = Effect.fnUntraced(function* beginNow(
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
      const typed = Effect.fnUntraced(function* typed(
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
        begin: Effect.fn("TelegramLogin.begin")(function* begin(
          numberId,
          request,
          isShutOut = false,
        ) {
          for (;;) {
            const begun = yield* beginNow(numberId, request, isShutOut)
            if (begun !== "later") return begun
            yield* pause
          }
        }),
        look: Effect.fn("TelegramLogin.look")(function* look(numberId) {
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
        cancel: Effect.fn("TelegramLogin.cancel")(function* cancel(numberId) {
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
