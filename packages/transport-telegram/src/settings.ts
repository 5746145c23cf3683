/**
 * What the adapter is told about the far side and about itself; an entry of its own, which loads nothing
 * else.
 */
import { Redacted } from "effect"
import { createPublicKey } from "node:crypto"

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

/** What the id of an application must be, behind "must be". */
export const apiIdRule = "the whole number that Telegram gave the application"

export const parseApiId = (text: string): number | undefined =>
  /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined

/** What the hash of an application must be, behind "must be". */
export const apiHashRule = "the 32 hexadecimal characters that Telegram gave the application"

export const parseApiHash = (text: string): Redacted.Redacted | undefined =>
  /^[\da-f]{32}$/i.test(text) ? Redacted.make(text) : undefined

/** What the address of another server must be, behind "must be". */
export const serverAddressRule = "host:port of another Telegram server"

export const parseServerAddress = (text: string): TelegramServerAddress | undefined => {
  const [, host, port] = /^([\w.-]+):(\d{1,5})$/.exec(text) ?? []
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined
  return { host, port: Number(port) }
}

/** What the key of another server must be, behind "must be". */
export const publicKeyRule = "an RSA public key in PEM"

const pem =
  /^-----BEGIN (RSA )?PUBLIC KEY-----\s[A-Za-z\d+/=\s]+-----END (?:RSA )?PUBLIC KEY-----\s*$/

/** In the form that the library reads (PKCS#1). */
export const parsePublicKey = (text: string): string | undefined => {
  const [whole, rsa] = pem.exec(text) ?? []
  if (whole === undefined) return undefined
  try {
    const key = createPublicKey(text)
    if (key.asymmetricKeyType !== "rsa") return undefined
    // What came in that form cannot be written in it again.
    return rsa === undefined ? key.export({ format: "pem", type: "pkcs1" }).toString() : whole
  } catch {
    return undefined
  }
}
