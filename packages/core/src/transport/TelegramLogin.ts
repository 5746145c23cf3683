/**
 * The port through which Telegram accounts are logged in (contract: Telegram login). A login is kept with
 * what the number has, sealed, so that any process may go on with it; its codes and passwords are kept
 * nowhere. Once it is through, the worker that has the number connects it.
 */
import { Context, Effect } from "effect"
import type { NumberId } from "../Ids.ts"
import type { Phone } from "../recipient/Phone.ts"

/** How long a login lasts in all. */
export const telegramLoginMillis = 10 * 60 * 1000

export const telegramLoginStates = [
  "showing_qr",
  "code_sent",
  "password_needed",
  "connected",
  "failed",
  "expired",
] as const

export type TelegramLoginState = (typeof telegramLoginStates)[number]

/** How a login code reached its person. */
export const codeWays = ["app", "sms", "call", "email"] as const

/** How a login stands. */
export interface TelegramLoginView {
  readonly state: TelegramLoginState
  /** What a QR code shows to the account's own app, and until when. */
  readonly qr: { readonly url: string; readonly expiresAt: number } | null
  readonly codeSentTo: (typeof codeWays)[number] | null
  /** When the login as a whole is over. */
  readonly expiresAt: number
  /** Why it failed. */
  readonly error: string | null
}

export type TelegramLoginRequest =
  | { readonly method: "qr" }
  | { readonly method: "code"; readonly phone: Phone }

/** How it stands after a code or a password; `wrong`: it may be given again; null: there is no login. */
export type AfterSecret = TelegramLoginView | "wrong" | null

/** Logging accounts in at the far side. Never fails: what went wrong is how the login stands. */
export interface TelegramLoginPort {
  /** Whether there is an application, without which the far side lets no account in. */
  readonly isConfigured: boolean
  /**
   * Begins in place of what there was; null while one goes on, or the number has an account. `isShutOut`:
   * the remote server has shut that account out, so the login takes its place.
   */
  begin(
    numberId: NumberId,
    request: TelegramLoginRequest,
    isShutOut?: boolean,
  ): Effect.Effect<TelegramLoginView | null>
  /** Null where there is none. */
  look(numberId: NumberId): Effect.Effect<TelegramLoginView | null>
  giveCode(numberId: NumberId, code: string): Effect.Effect<AfterSecret>
  givePassword(numberId: NumberId, password: string): Effect.Effect<AfterSecret>
  /** Gives a login up that goes on; whether there was one. */
  cancel(numberId: NumberId): Effect.Effect<boolean>
}

/** Without an adapter no account can be logged in. */
export const TelegramLogin = Context.Reference<TelegramLoginPort>("core/TelegramLogin", {
  defaultValue: () => ({
    isConfigured: false,
    begin: () => Effect.succeed(null),
    look: () => Effect.succeed(null),
    giveCode: () => Effect.succeed(null),
    givePassword: () => Effect.succeed(null),
    cancel: () => Effect.succeed(false),
  }),
})
