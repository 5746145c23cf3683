/**
 * Where the adapter connects, and what it says of itself there. In a file of its own, because the
 * package offers these types, and programs compile without the library's declarations.
 */

/** Three numbers that tell WhatsApp which client this is. */
export type ClientVersion = readonly [number, number, number]

export interface WhatsAppSettings {
  /**
   * Where sessions connect. The library verifies no certificates of WhatsApp's own, so trust in the
   * remote server rests on TLS: only this machine may be reached without it.
   */
  readonly url: URL
  /** Null for the library's own. */
  readonly version: ClientVersion | null
  /** What the phone shows under its linked devices. */
  readonly deviceName: string
  /** How often a silent connection is asked for a sign of life. */
  readonly keepAliveMillis: number
  /** The pause after the first lost connection; it doubles up to the longest. */
  readonly firstPauseMillis: number
  readonly longestPauseMillis: number
  /** A number that could not be connected for so long is not connected any more: that is told. */
  readonly lostMillis: number
  /** How often it is looked which numbers are linked, and which leave. */
  readonly lookMillis: number
  /** The first pause before a copy that was asked for again is handed over once more; it doubles. */
  readonly resendMillis: number
  /** Connections that are opened side by side; the others wait for their turn. */
  readonly startsAtOnce: number
  /** The certificates that uploads and proxies may show, where those are not the system's own. */
  readonly trusted?: ReadonlyArray<string>
}

export const defaultSettings: WhatsAppSettings = {
  url: new URL("wss://web.whatsapp.com/ws/chat"),
  version: null,
  deviceName: "Messaging Service",
  // A dead connection is noticed one interval and five seconds after its last word, at the next look.
  keepAliveMillis: 20_000,
  firstPauseMillis: 1000,
  longestPauseMillis: 5 * 60_000,
  lostMillis: 10 * 60_000,
  lookMillis: 3000,
  resendMillis: 5000,
  startsAtOnce: 8,
}
