/**
 * One step of a login over a connection, and the far side's word on it. A step whose answer did not come
 * leaves it open whether the account was let in: `mayBeIn`.
 */
import { sleepInRealTime } from "@messaging-service/core"
import type { TelegramLoginView } from "@messaging-service/core"
import type { TelegramClient, tl } from "@mtcute/node"
import { Clock, Effect, Queue } from "effect"
import { asked } from "./Client.ts"
import type { CallFailed } from "./Client.ts"
import { isUnanswered } from "./outcomes.ts"

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
export type Step =
  | { readonly user: tl.RawUser }
  | {
      readonly view: TelegramLoginView
      readonly codeHash: string | null
      readonly mayBeIn: boolean
    }

export const failed = (view: TelegramLoginView, error: string): TelegramLoginView => ({
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
export const stepMillis = 30_000

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
export const whoIs = (
  client: TelegramClient,
  view: TelegramLoginView,
): Effect.Effect<Step | null> =>
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

export const sendCode = (
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

export interface CodeGiven {
  readonly phone: string
  readonly codeHash: string
  readonly code: string
}

export const giveCode = (
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

export const givePassword = (
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
export const signInByQr = (
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
export const endSession = (client: TelegramClient): Effect.Effect<boolean> =>
  asked(() => client.call({ _: "auth.logOut" })).pipe(
    Effect.as(true),
    Effect.catchTag("CallFailed", ({ code }) => Effect.succeed(code === 401)),
    Effect.timeoutOrElse({ duration: sessionMillis, orElse: () => Effect.succeed(false) }),
  )
