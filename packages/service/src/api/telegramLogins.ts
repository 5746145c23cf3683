/** Logging Telegram accounts in. */

/** How to log in: by a code that Telegram sends, or by a QR code that the account's own app scans. */
export interface BeginTelegramLogin {
  /** `code` or `qr`. */
  readonly method: "qr" | "code"
  /** The account's phone, E.164 with a leading +; required with `code`, unused with `qr`. */
  readonly phone?: string | undefined
}

/** `code_sent` and `password_needed` wait for you; `connected`, `failed` and `expired` are the end. */
export type TelegramLoginState =
  | "showing_qr"
  | "code_sent"
  | "password_needed"
  | "connected"
  | "failed"
  | "expired"

/** How a login stands. */
export interface TelegramLogin {
  /** Where it is. */
  readonly state: TelegramLoginState
  /** What a QR code is to show to the account's own app: a `tg://` link; else null. */
  readonly qrUrl: string | null
  /** When there is another link; null without one. */
  readonly qrExpiresAt: Date | null
  /** Where Telegram sent the code; null when it sent none. */
  readonly codeSentTo: "app" | "sms" | "call" | "email" | null
  /** When the login as a whole is over: ten minutes after it began. */
  readonly expiresAt: Date
  /** Why it failed; else null. */
  readonly error: string | null
}

/**
 * Logins of a workspace's Telegram accounts, where `transport.live.telegram` names an application. One that is
 * `connected` is sent from as soon as a worker has connected it.
 */
export interface TelegramLoginsApi {
  /** Begins to log a number of the platform `telegram` in. Fails with `number_not_found`, `invalid_phone`, `already_connected`, `connect_in_progress`, `telegram_not_configured`, `validation_failed`. */
  readonly begin: (numberId: number, command: BeginTelegramLogin) => Promise<TelegramLogin>
  /** How the login stands. Fails with `number_not_found`, `login_not_found`. */
  readonly get: (numberId: number) => Promise<TelegramLogin>
  /** Gives the code that Telegram sent, which is kept nowhere. Fails with `number_not_found`, `login_not_found`, `validation_failed`, and with `invalid_code` for a wrong one; another may be given then. */
  readonly giveCode: (numberId: number, code: string) => Promise<TelegramLogin>
  /** Gives the account's password, which is kept nowhere. Fails with `number_not_found`, `login_not_found`, `validation_failed`, and with `invalid_password` for a wrong one; another may be given then. */
  readonly givePassword: (numberId: number, password: string) => Promise<TelegramLogin>
  /** Gives the login up. Fails with `number_not_found`, `login_not_found`. */
  readonly cancel: (numberId: number) => Promise<void>
}
