/**
 * Where and how the adapter connects. These types are public, so this module imports nothing of the
 * library: programs compile without its declarations.
 */
import type { Redacted } from "effect"

/** The operator's application at Telegram. */
export interface TelegramApplication {
  readonly id: number
  readonly hash: Redacted.Redacted
}

/** A test server. */
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
  /** How often to check a silent connection. */
  readonly keepAliveMillis: number
  /** The timeout of opening a connection, with its proxy. */
  readonly openingMillis: number
  /** The pause after the first lost connection. */
  readonly firstPauseMillis: number
  /** The longest pause after refusals; without an answer it is at most 15 s. */
  readonly longestPauseMillis: number
  /** A number that stays unconnected for so long is reported as disconnected. */
  readonly lostMillis: number
  /** How often to look for newly logged-in and leaving numbers. */
  readonly lookMillis: number
  /** Connections that open concurrently. */
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
