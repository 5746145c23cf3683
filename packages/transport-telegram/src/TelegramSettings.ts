/**
 * Where the adapter connects, and what it says of itself there. In a file of its own, because the
 * package offers these types, and programs compile without the library's declarations.
 */
import type { Redacted } from "effect"

/** The operator's application, as Telegram knows it. */
export interface TelegramApplication {
  readonly id: number
  readonly hash: Redacted.Redacted
}

/** Another server than Telegram's own, for tests. */
export interface TelegramServerAddress {
  readonly host: string
  readonly port: number
}

export interface TelegramSettings {
  /** Null: no account can be logged in. */
  readonly application: TelegramApplication | null
  /** Null for Telegram itself. */
  readonly server: TelegramServerAddress | null
  /** The key of that server in PEM (PKCS#1); null for Telegram's own keys. */
  readonly publicKey: string | null
  /** What the account's own apps show among its devices. */
  readonly deviceName: string
  /** How often a silent connection is asked for a sign of life. */
  readonly keepAliveMillis: number
  /** How long a connection may take until it is open, with what a proxy asks before. */
  readonly openingMillis: number
  /** The pause after the first lost connection; it doubles up to the longest. */
  readonly firstPauseMillis: number
  readonly longestPauseMillis: number
  /** A number that could not be connected for so long is not connected any more: that is told. */
  readonly lostMillis: number
  /** How often it is looked which numbers are logged in, and which leave. */
  readonly lookMillis: number
  /** Connections that are opened side by side; the others wait for their turn. */
  readonly startsAtOnce: number
}

export const defaultSettings: TelegramSettings = {
  application: null,
  server: null,
  publicKey: null,
  deviceName: "Messaging Service",
  keepAliveMillis: 20_000,
  openingMillis: 30_000,
  firstPauseMillis: 1000,
  longestPauseMillis: 5 * 60_000,
  lostMillis: 10 * 60_000,
  lookMillis: 3000,
  startsAtOnce: 8,
}
