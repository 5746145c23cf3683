/**
 * Where and how the adapter connects. These types are public, so this module imports nothing of the
 * library: programs compile without its declarations.
 */

/** Three numbers that tell WhatsApp which client this is. */
export type ClientVersion = readonly [number, number, number]

export interface WhatsAppSettings {
  /** Use TLS except on this machine: the library verifies no certificates of WhatsApp's own. */
  readonly url: URL
  /** Null for the library's own. */
  readonly version: ClientVersion | null
  /** What the phone shows under its linked devices. */
  readonly deviceName: string
  /** How often a silent connection is asked for a sign of life. */
  readonly keepAliveMillis: number
  /** The pause after the first lost connection. */
  readonly firstPauseMillis: number
  /** The longest pause after refusals; without an answer it is at most 15 s. */
  readonly longestPauseMillis: number
  /** A number that stays unconnected for so long is reported as disconnected. */
  readonly lostMillis: number
  /** How often to look for newly linked and leaving numbers. */
  readonly lookMillis: number
  /** The first pause before a copy is sent again for a retry receipt; it doubles. */
  readonly resendMillis: number
  /** Connections that open concurrently. */
  readonly startsAtOnce: number
  /** Trusted certificates of uploads and proxies. Default: the system's. */
  readonly trusted?: ReadonlyArray<string>
}

export const defaultSettings: WhatsAppSettings = {
  url: new URL("wss://web.whatsapp.com/ws/chat"),
  version: null,
  deviceName: "Messaging Service",
  // Detects a dead connection one interval and five seconds after its last frame, at the next look.
  keepAliveMillis: 20_000,
  firstPauseMillis: 1000,
  longestPauseMillis: 5 * 60_000,
  lostMillis: 10 * 60_000,
  lookMillis: 3000,
  resendMillis: 5000,
  startsAtOnce: 8,
}
