/**
 * Logs accounts in. Each step of a login by code opens its own connection from stored keys, so any
 * process may run it. A QR login needs one lasting connection, on which Telegram reports the scan.
 * Codes and passwords are not stored.
 *
 * After Telegram lets the account in, the login closes its connection before it stores the account:
 * the account's worker connects with the same key.
 *
 * No session is orphaned. Before a step that may let the account in, the login stores that it may
 * (`mayBeIn`). After a crash the next step first asks who the connection is. A login that was given up
 * or has expired is logged out.
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
import type { Context } from "effect"
import { requested, isUnanswered, makeClient } from "./Client.ts"
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

// Steps: each runs over one connection. Without an answer the account may be in (`mayBeIn`).

/** Telegram's refusals by our names; others keep their own. */
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

const getReason = ({ code, seconds, text }: CallFailed): string => {
  if (seconds !== null) return `too_many_attempts: wait ${seconds} s`
  return code === 0 ? "connection_lost" : (refusals.get(text) ?? text.toLowerCase())
}

/** Another try may succeed. */
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

/** A step ends with an account, or with the login's next state. */
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

const asksForPassword = "SESSION_PASSWORD_NEEDED"

const needsPassword = (view: TelegramLoginView): Step => ({
  view: { ...view, state: "password_needed", qr: null },
  codeHash: null,
  mayBeIn: false,
})

/** How long one step may take, in service time. */
const stepMillis = 30_000

/** How long a process owns the login for a step; longer than any step. */
export const heldMillis = 2 * stepMillis

const inTime = <A>(view: TelegramLoginView, work: Effect.Effect<A>): Effect.Effect<A | Step> =>
  Effect.timeoutOrElse(work, {
    duration: stepMillis,
    orElse: () => Effect.succeed(failedStep(view, "connection_lost", true)),
  })

/** Turns a refusal into a step; `wrong` when the user may type again. */
const settle = (
  view: TelegramLoginView,
  work: Effect.Effect<Step, CallFailed>,
): Effect.Effect<Step | "wrong"> =>
  Effect.catchTag(work, "CallFailed", (error): Effect.Effect<Step | "wrong"> => {
    if (error.text === asksForPassword) return Effect.succeed(needsPassword(view))
    if (wrong.has(error.text)) return Effect.succeed("wrong")
    return Effect.succeed(failedStep(view, getReason(error), isUnanswered(error)))
  })

/** For a step without typed input. */
const neverWrong = (view: TelegramLoginView, step: Step | "wrong"): Step =>
  step === "wrong" ? failedStep(view, "connection_lost") : step

/** The timeout of asking for, or ending, the session. */
const sessionMillis = 5000

/**
 * Who the connection is, whatever became of earlier answers: an account, or one that needs its password.
 * Null when it is not in, or without an answer.
 */
const whoIs = (client: TelegramClient, view: TelegramLoginView): Effect.Effect<Step | null> =>
  requested(async (abortSignal): Promise<Step | null> => {
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
 * Checks after a refusal whether an earlier try succeeded: when the connection breaks after an answer,
 * the library repeats the request with a used code.
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

const toUser = (
  client: TelegramClient,
  view: TelegramLoginView,
  authorization: tl.auth.TypeAuthorization,
): Effect.Effect<Step, CallFailed> =>
  authorization._ === "auth.authorization"
    ? Effect.map(
        requested(() => client.notifyLoggedIn(authorization)),
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
    const sent = yield* requested(() => client.call({ ...call, settings: { _: "codeSettings" } }))
    if (sent._ === "auth.sentCodeSuccess") return yield* toUser(client, view, sent.authorization)
    if (sent._ !== "auth.sentCode") return failedStep(view, "payment_required")
    const codeSentTo = waysOf.get(sent.type._) ?? null
    return codeSentTo === null
      ? failedStep(view, "email_required")
      : { view: { ...view, codeSentTo }, codeHash: sent.phoneCodeHash, mayBeIn: false }
  }).pipe(
    (work) => settle(view, work),
    (work) => inTime(view, work),
    Effect.map((step) => neverWrong(view, step)),
    // Requesting a code lets no account in.
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
  requested(() =>
    client.call({
      _: "auth.signIn",
      phoneNumber: phone,
      phoneCodeHash: codeHash,
      ...(view.codeSentTo === "email"
        ? { emailVerification: { _: "emailVerificationCode", code } }
        : { phoneCode: code }),
    }),
  ).pipe(
    Effect.flatMap((authorization) => toUser(client, view, authorization)),
    (work) => settle(view, work),
    (work) => inTime(view, work),
    (work) => unlessIn(client, view, work),
  )

const givePassword = (
  client: TelegramClient,
  view: TelegramLoginView,
  password: string,
): Effect.Effect<Step | "wrong"> =>
  requested(() => client.checkPassword(password)).pipe(
    Effect.map(({ raw }) => ({ user: raw as tl.RawUser })),
    (work) => settle(view, work),
    (work) => inTime(view, work),
    (work) => unlessIn(client, view, work),
  )

/** How long a QR code is valid when Telegram's expiry is implausible by this machine's clock. */
const usualQrMillis = 30_000
const [shortestQrMillis, longestQrMillis] = [10_000, 60_000]

/** How long a code is valid by the service's clock, which may differ from Telegram's. */
const qrMillis = (expiresAt: number, now: number): number => {
  const reported = expiresAt - now
  return reported < shortestQrMillis || reported > longestQrMillis ? usualQrMillis : reported
}

/** Shows codes until one is scanned. */
const signInByQr = (
  client: TelegramClient,
  view: TelegramLoginView,
  format: (qr: NonNullable<TelegramLoginView["qr"]>) => void,
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
    const request = requested((abortSignal) =>
      client.call({ ...call, exceptIds: [] }, { abortSignal }),
    )
    let answer = yield* request
    while (answer._ === "auth.loginToken") {
      const now = yield* Clock.currentTimeMillis
      const millis = qrMillis(answer.expires * 1000, now)
      const url = `tg://login?token=${Buffer.from(answer.token).toString("base64url")}`
      format({ url, expiresAt: now + millis })
      yield* Effect.raceFirst(Queue.take(scans), sleepInRealTime(millis))
      answer = yield* request
      // The connection may have lost the answer that let the account in.
      const further = answer._ === "auth.loginToken" ? yield* whoIs(client, view) : null
      if (further !== null) return further
    }
    if (answer._ === "auth.loginTokenMigrateTo") {
      const { dcId, token } = answer
      yield* requested(() => client.changePrimaryDc(dcId))
      answer = yield* requested((abortSignal) =>
        client.call({ _: "auth.importLoginToken", token }, { abortSignal }),
      )
    }
    // A second migration would never end.
    return answer._ === "auth.loginTokenSuccess"
      ? yield* toUser(client, view, answer.authorization)
      : failedStep(view, "connection_lost", true)
  }).pipe(
    Effect.scoped,
    (work) => settle(view, work),
    Effect.map((step) => neverWrong(view, step)),
  )

/** Logs the session out; whether Telegram has ended it. */
const endSession = (client: TelegramClient): Effect.Effect<boolean> =>
  requested(() => client.call({ _: "auth.logOut" })).pipe(
    Effect.as(true),
    Effect.catchTag("CallFailed", ({ code }) => Effect.succeed(code === 401)),
    Effect.timeoutOrElse({ duration: sessionMillis, orElse: () => Effect.succeed(false) }),
  )

// Connections of logins, with keys in memory

/** The number's stored credentials; null also when an older secrets key sealed them. */
const storedText = (vault: typeof SessionVault.Service, numberId: NumberId) =>
  Effect.catchTag(vault.credentials(numberId), "CannotOpen", () => Effect.succeed(null))

/** A login fails when an older secrets key sealed the proxy: never connect around a proxy. */
const proxyUnreadable = "proxy_unreadable" as const

export const makeLoginClients = (
  settings: TelegramSettings,
  proxies: typeof NumberProxies.Service,
) => {
  const { application } = settings

  /** A client, closed with its scope, and its keys; null without an application. */
  const open = Effect.fnUntraced(function* open(
    numberId: NumberId,
    started: ReadonlyArray<KeyChange>,
  ) {
    const keys = keysInMemory(started)
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
    /** Ends the session of these keys; whether Telegram confirmed. */
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

// Ownership of a login: any process may take it by exchanging the vault's text, and each further write
// is an exchange too. It fails once the login was given up, was replaced, or has another owner.
// Ownership expires, so a dead process blocks no others.

/** The vault's text, for the exchange, and its content; null when there is none. */
interface Stored {
  readonly text: string | null
  readonly credentials: Credentials | null
}

/** A login that this process owns. */
interface OwnedLogin {
  readonly numberId: NumberId
  /** As it was when taken. */
  readonly login: LoginCredentials
  written: LoginCredentials
  text: string
}

/** Whether a process owns it at that time. */
export const isHeld = ({ stepUntil }: LoginCredentials, now: number): boolean =>
  stepUntil !== null && stepUntil > now

/** Unique for each write, so that no process takes another's write for its own. */
const getText = (login: LoginCredentials) => toText({ ...login, writing: randomUUID() })

/** Whether the vault has one of these authorization keys for the number. */
const hasAuthKey = (
  vault: typeof SessionVault.Service,
  numberId: NumberId,
  keys: ReadonlyArray<KeyChange>,
): Effect.Effect<boolean> => {
  const desired = keys.filter(({ type, value }) => type === "auth-key" && value !== null)
  const found = vault.keys(
    numberId,
    "auth-key",
    desired.map(({ id }) => id),
  )
  return Effect.map(
    retryUntilStoreAnswers(Effect.catchTag(found, "CannotOpen", () => Effect.succeed(new Map()))),
    (stored) => desired.some(({ id, value }) => stored.get(id) === value),
  )
}

export const makeOwnedLogins = (vault: typeof SessionVault.Service) => {
  const exchange = (
    numberId: NumberId,
    before: string | null,
    after: string | null,
    keys: ReadonlyArray<KeyChange> = [],
    account: LoggedIn | null = null,
  ) => retryUntilStoreAnswers(vault.exchange(numberId, before, after, keys, account))

  return {
    readStored: (numberId: NumberId): Effect.Effect<Stored> =>
      Effect.map(retryUntilStoreAnswers(storedText(vault, numberId)), (text) => ({
        text,
        credentials: text === null ? null : fromText(text),
      })),

    /** Replaces what was read; null when the vault has changed. */
    take: (
      numberId: NumberId,
      before: string | null,
      login: LoginCredentials,
      written: LoginCredentials = login,
    ): Effect.Effect<OwnedLogin | null> => {
      const text = getText(written)
      return Effect.map(exchange(numberId, before, text), (isClaimed) =>
        isClaimed === true ? { numberId, login, written, text } : null,
      )
    },

    /** Writes the login's new state; false when this process lost it. */
    goOn: (login: OwnedLogin, written: LoginCredentials): Effect.Effect<boolean> => {
      const text = getText(written)
      // An interruption must not hide that the write succeeded.
      return retryUntilStoreAnswers(
        Effect.uninterruptible(
          Effect.map(vault.exchange(login.numberId, login.text, text, []), (done) => {
            const isWritten = done === true
            if (isWritten) Object.assign(login, { written, text })
            return isWritten
          }),
        ),
      )
    },

    /** Replaces the login by its account, and sets the number's phone; false as above. */
    keepAccount: (
      { numberId, text }: OwnedLogin,
      account: AccountCredentials,
      keys: ReadonlyArray<KeyChange>,
    ): Effect.Effect<Exchanged> =>
      exchange(numberId, text, toText(account), keys, {
        phone: account.phone === "" ? null : account.phone,
      }),

    /** Deletes what was read; false when the vault has changed. */
    forget: (numberId: NumberId, before: string): Effect.Effect<boolean> =>
      Effect.map(exchange(numberId, before, null), (isMissing) => isMissing === true),

    /** Runs work on it. An interruption releases it at once. */
    whileOwned: <A>(login: OwnedLogin, work: Effect.Effect<A>): Effect.Effect<A> =>
      Effect.onInterrupt(work, () =>
        Effect.ignore(
          Effect.suspend(() =>
            vault.exchange(
              login.numberId,
              login.text,
              getText({ ...login.written, stepUntil: null }),
              [],
            ),
          ),
        ),
      ),

    hasKey: (numberId: NumberId, keys: ReadonlyArray<KeyChange>) =>
      hasAuthKey(vault, numberId, keys),
  }
}

/** The pause between two looks at a login that another step owns, in real milliseconds. */
const againMillis = 250

/** How long to wait for the next QR code after one has expired. */
const nextQrMillis = 15_000

interface LoginServices {
  readonly settings: TelegramSettings
  readonly vault: typeof SessionVault.Service
  readonly logins: ReturnType<typeof makeOwnedLogins>
  readonly clients: ReturnType<typeof makeLoginClients>
  /** Logins by QR code with their connection in this process. */
  readonly showing: FiberMap.FiberMap<NumberId>
  readonly context: Context.Context<never>
  /** The service's time, also for calling fibers with another clock. */
  readonly time: Effect.Effect<number>
  readonly pause: Effect.Effect<void>
  readonly visible: ((numberId: NumberId, url: string) => Effect.Effect<void>) | undefined
}

/** The login to show: one in progress, or how one has ended. */
const toView = ({ credentials: stored }: Stored, now: number) => {
  if (stored === null) return null
  if (stored.kind === "login") {
    return stored.isCancelled ? null : { ...stored, view: viewAt(stored, now) }
  }
  return stored.login !== null && stored.login.expiresAt > now ? stored.login : null
}

const readView = Effect.fnUntraced(function* readView(
  { logins, time }: LoginServices,
  numberId: NumberId,
) {
  const login = toView(yield* logins.readStored(numberId), yield* time)
  return login !== null && "kind" in login ? login.view : login
})

/** Whether no other process needs the session of a login that this process has lost. */
const isOfNoUse = Effect.fnUntraced(function* isOfNoUse(
  { logins }: LoginServices,
  { login, numberId }: OwnedLogin,
  keys: ReadonlyArray<KeyChange>,
) {
  const { credentials: stored } = yield* logins.readStored(numberId)
  // Another process continues it.
  if (stored?.kind === "login" && stored.id === login.id && !stored.isCancelled) return false
  return stored?.kind !== "account" || !(yield* logins.hasKey(numberId, keys))
})

const keepAccount = Effect.fnUntraced(function* keepAccount(
  services: LoginServices,
  login: OwnedLogin,
  keys: ReadonlyArray<KeyChange>,
  { id, phone = "" }: tl.RawUser,
) {
  const { clients, logins } = services
  const view: TelegramLoginView = { ...login.login.view, state: "connected", qr: null }
  const account = { kind: "account", userId: id, phone, login: view } as const
  const isStored = yield* logins.keepAccount(login, account, keys)
  if (isStored === true) return view
  if (isStored === "phone_of_another_number") {
    const mayBeIn = !(yield* clients.end(login.numberId, keys))
    const refused = failed(login.login.view, isStored)
    const next = { ...login.login, view: refused, keys, stepUntil: null, mayBeIn }
    if (yield* logins.goOn(login, next)) return refused
  } else if (yield* isOfNoUse(services, login, keys)) yield* clients.end(login.numberId, keys)
  return yield* readView(services, login.numberId)
})

/** Runs one step over one connection, and stores the result; null when the login was given up. */
const connected = Effect.fnUntraced(function* connected(
  services: LoginServices,
  owned: OwnedLogin,
  work: (client: TelegramClient, keys: KeysInMemory) => Effect.Effect<Step | "wrong" | null>,
): Effect.fn.Return<AfterSecret> {
  const { clients, logins } = services
  const { login, numberId } = owned
  const done = yield* Effect.scoped(
    Effect.gen(function* overConnection() {
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
  if (step !== "wrong" && "user" in step)
    return yield* keepAccount(services, owned, keys, step.user)
  const after = step === "wrong" ? next : { ...next, ...step }
  if (!(yield* logins.goOn(owned, after))) return yield* readView(services, numberId)
  return step === "wrong" ? step : step.view
})

/** Stores each shown code, so that every process can show it. Null when the login is another's now. */
const storeCodes = Effect.fnUntraced(function* storeCodes(
  { logins, visible, time }: LoginServices,
  owned: OwnedLogin,
  codes: Queue.Dequeue<NonNullable<TelegramLoginView["qr"]>>,
  keys: KeysInMemory,
) {
  const { login, numberId } = owned
  for (;;) {
    const qr = yield* Queue.take(codes)
    const now = yield* time
    const isStored = yield* logins.goOn(owned, {
      ...login,
      keys: keys.all(),
      view: { ...login.view, qr },
      stepUntil: Math.max(now, qr.expiresAt) + nextQrMillis,
      mayBeIn: true,
    })
    if (!isStored) return null
    if (visible !== undefined) yield* visible(numberId, qr.url)
  }
})

/** Shows codes until one is scanned. */
const showQr = (services: LoginServices, owned: OwnedLogin) =>
  Effect.gen(function* showCodes() {
    const { logins, time } = services
    const { login } = owned
    const codes = yield* Queue.unbounded<NonNullable<TelegramLoginView["qr"]>>()
    const left = login.view.expiresAt - (yield* time)
    const shows = connected(services, owned, (client, keys) =>
      Effect.raceFirst(
        signInByQr(client, login.view, (qr) => void Queue.offerUnsafe(codes, qr)),
        storeCodes(services, owned, codes, keys),
      ),
    )
    yield* logins.whileOwned(owned, shows).pipe(Effect.timeoutOption(left))
  }).pipe(
    Effect.annotateLogs({ number: owned.numberId }),
    Effect.provideService(References.CurrentLogAnnotations, {}),
    Effect.provideContext(services.context),
  )

/**
 * Ends the session that an ended login may have left, before its keys are overwritten. Returns what to
 * exchange next, and the login if Telegram did not confirm; null when the vault has changed.
 */
const endBefore = Effect.fnUntraced(function* endBefore(
  { clients, logins, time }: LoginServices,
  numberId: NumberId,
  stored: Stored,
) {
  const { credentials: login, text } = stored
  if (login?.kind !== "login" || !login.mayBeIn) return { text, owned: null }
  const stepUntil = (yield* time) + heldMillis
  const written = { ...login, stepUntil, isCancelled: true }
  const owned = yield* logins.take(numberId, text, login, written)
  if (owned === null) return null
  const isEnded = yield* logins.whileOwned(owned, clients.end(numberId, login.keys))
  return { text: owned.text, owned: isEnded ? null : owned }
})

/**
 * Logs out an account that was shut out; whether Telegram has ended its session. Keys that an older
 * secrets key sealed can end nothing.
 */
const endAccount = ({ clients, vault }: LoginServices, numberId: NumberId) =>
  retryUntilStoreAnswers(accountKeys(vault, numberId)).pipe(
    Effect.flatMap((keys) => clients.end(numberId, keys)),
    Effect.catchTag("CannotOpen", () => Effect.succeed(true)),
  )

const newLogin = (
  method: TelegramLoginRequest["method"],
  phone: string | null,
  now: number,
): LoginCredentials => ({
  kind: "login",
  id: randomUUID(),
  view: {
    state: method === "qr" ? "showing_qr" : "code_sent",
    qr: null,
    codeSentTo: null,
    expiresAt: now + telegramLoginMillis,
    error: null,
  },
  method,
  phone,
  codeHash: null,
  keys: [],
  stepUntil: now + stepMillis,
  mayBeIn: false,
  isCancelled: false,
})

/** `later` while another process works on the former login, or has just written. */
const startNow = Effect.fnUntraced(function* startNow(
  services: LoginServices,
  numberId: NumberId,
  request: TelegramLoginRequest,
  isShutOut: boolean,
): Effect.fn.Return<TelegramLoginView | "later" | null> {
  const { logins, showing, time } = services
  const stored = yield* logins.readStored(numberId)
  const { credentials } = stored
  const now = yield* time
  // Never overwrite an account that its worker connects, or has yet to log out.
  if (credentials?.kind === "account" && !isShutOut) return null
  if (credentials?.kind === "login") {
    if (!hasEnded(credentials, now)) return null
    if (credentials.mayBeIn && isHeld(credentials, now)) return "later"
  }
  yield* FiberMap.remove(showing, numberId)
  const phone = request.method === "qr" ? null : request.phone.replace(/^\+/, "")
  const login = newLogin(request.method, phone, now)
  // Never overwrite keys of a session that may still exist: that would orphan it.
  if (credentials?.kind === "account" && !(yield* endAccount(services, numberId))) {
    return failed(login.view, "connection_lost")
  }
  const ended = yield* endBefore(services, numberId, stored)
  if (ended === null) return "later"
  if (ended.owned !== null) {
    const { keys } = ended.owned.login
    const view = failed(login.view, "connection_lost")
    const unsaid = { ...login, view, keys, stepUntil: null, mayBeIn: true }
    return (yield* logins.goOn(ended.owned, unsaid)) ? view : "later"
  }
  const owned = yield* logins.take(numberId, ended.text, login)
  if (owned === null) return "later"
  if (phone === null) {
    yield* FiberMap.run(showing, numberId, showQr(services, owned))
    return login.view
  }
  const sends = connected(services, owned, (client) => sendCode(client, login.view, phone))
  const view = yield* logins.whileOwned(owned, sends)
  return view === "wrong" ? null : view
})

/** Runs a step with a typed code or password. */
const typed = Effect.fnUntraced(function* typed(
  services: LoginServices,
  numberId: NumberId,
  state: TelegramLoginView["state"],
  work: (client: TelegramClient, login: LoginCredentials) => Effect.Effect<Step | "wrong">,
): Effect.fn.Return<AfterSecret> {
  const { logins, pause, time } = services
  for (;;) {
    const stored = yield* logins.readStored(numberId)
    const now = yield* time
    const login = toView(stored, now)
    if (login === null || !("kind" in login)) return login
    if (login.view.state !== state) return login.view
    if (!isHeld(login, now)) {
      const written = { ...login, stepUntil: now + heldMillis, mayBeIn: true }
      const owned = yield* logins.take(numberId, stored.text, login, written)
      if (owned !== null) {
        const step = connected(services, owned, (client) => work(client, login))
        return yield* logins.whileOwned(owned, step)
      }
    }
    yield* pause
  }
})

/** Shows the login; takes over a QR login of a process that is gone. */
const lookAt = Effect.fnUntraced(function* lookAt(services: LoginServices, numberId: NumberId) {
  const { logins, showing, time } = services
  const stored = yield* logins.readStored(numberId)
  const now = yield* time
  const login = toView(stored, now)
  if (login === null || !("kind" in login)) return login
  const isVisible = isHeld(login, now) || (yield* FiberMap.has(showing, numberId))
  if (login.view.state === "showing_qr" && !isVisible) {
    // The process that showed it is gone, or has lost its connection.
    const written = { ...login, stepUntil: now + stepMillis }
    const owned = yield* logins.take(numberId, stored.text, login, written)
    if (owned !== null) yield* FiberMap.run(showing, numberId, showQr(services, owned))
  }
  return login.view
})

const cancelLogin = Effect.fnUntraced(function* cancelLogin(
  { clients, logins, showing, time }: LoginServices,
  numberId: NumberId,
) {
  for (;;) {
    yield* FiberMap.remove(showing, numberId)
    const stored = yield* logins.readStored(numberId)
    const login = toView(stored, yield* time)
    if (login === null || !("kind" in login) || stored.text === null) return false
    const { keys, mayBeIn } = login
    if (!mayBeIn) {
      if (yield* logins.forget(numberId, stored.text)) return true
      continue
    }
    const input = { ...login, stepUntil: null, isCancelled: true }
    const owned = yield* logins.take(numberId, stored.text, input)
    if (owned === null) continue
    if (yield* clients.end(numberId, keys)) yield* logins.forget(numberId, owned.text)
    return true
  }
})

/**
 * `SessionVault` must be one without an owner: any process may log a number in. `shown` receives each
 * QR code.
 */
export const layerLogin = (
  settings: TelegramSettings,
  visible?: (numberId: NumberId, url: string) => Effect.Effect<void>,
): Layer.Layer<never, never, SessionVault | NumberProxies> =>
  Layer.effect(
    TelegramLogin,
    Effect.gen(function* makeLogin() {
      const vault = yield* SessionVault
      const context = yield* Effect.context<never>()
      const services: LoginServices = {
        settings,
        vault,
        logins: makeOwnedLogins(vault),
        clients: makeLoginClients(settings, yield* NumberProxies),
        showing: yield* FiberMap.make<NumberId>(),
        context,
        time: (yield* Clock.Clock).currentTimeMillis,
        pause: Effect.provideContext(sleepInRealTime(againMillis), context),
        visible,
      }
      return TelegramLogin.of({
        isConfigured: settings.application !== null,
        begin: Effect.fn("TelegramLogin.begin")(function* begin(
          numberId,
          request,
          isShutOut = false,
        ) {
          for (;;) {
            const started = yield* startNow(services, numberId, request, isShutOut)
            if (started !== "later") return started
            yield* services.pause
          }
        }),
        look: Effect.fn("TelegramLogin.look")((numberId) => lookAt(services, numberId)),
        giveCode: Effect.fn("TelegramLogin.giveCode")((numberId, code) =>
          typed(services, numberId, "code_sent", (client, { codeHash, phone, view }) =>
            giveCode(client, view, { code, codeHash: codeHash ?? "", phone: phone ?? "" }),
          ),
        ),
        givePassword: Effect.fn("TelegramLogin.givePassword")((numberId, password) =>
          typed(services, numberId, "password_needed", (client, { view }) =>
            givePassword(client, view, password),
          ),
        ),
        cancel: Effect.fn("TelegramLogin.cancel")((numberId) => cancelLogin(services, numberId)),
      })
    }),
  )
