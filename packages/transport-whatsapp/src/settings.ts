/**
 * What the adapter is told about the far side and about itself; an entry of its own, which loads nothing
 * else.
 */
import { BlockList, isIP } from "node:net"

/** Three numbers that tell WhatsApp which client this is. */
export type ClientVersion = readonly [number, number, number]

export interface WhatsAppSettings {
  /** Where sessions connect; see `parseWhatsAppUrl`. */
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

const defaultUrl = "wss://web.whatsapp.com/ws/chat"

export const defaultSettings: WhatsAppSettings = {
  url: new URL(defaultUrl),
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

const loopbackAddresses = (): BlockList => {
  const loopback = new BlockList()
  loopback.addSubnet("127.0.0.0", 8, "ipv4")
  loopback.addAddress("::1", "ipv6")
  return loopback
}

const isLoopback = (hostname: string): boolean => {
  const host = hostname.replace(/^\[(.*)\]$/, "$1")
  const family = isIP(host)
  if (family === 0) return host === "localhost"
  return loopbackAddresses().check(host, family === 6 ? "ipv6" : "ipv4")
}

/** What a URL of WhatsApp must be, behind "must be". */
export const whatsAppUrlRule = "a wss:// URL, or a ws:// one of this machine (127.0.0.1)"

/**
 * The library verifies no certificates of WhatsApp's own, so trust in the far side rests on TLS:
 * without it only this machine is spoken to. Undefined for any other text.
 */
export const parseWhatsAppUrl = (text: string): URL | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.username !== "" || url.password !== "" || url.hash !== "") return undefined
  if (url.protocol === "wss:") return url
  return url.protocol === "ws:" && isLoopback(url.hostname) ? url : undefined
}

/** What a client version must be, behind "must be". */
export const clientVersionRule = "three whole numbers with dots, such as 2.3000.1043857760"

export const parseClientVersion = (text: string): ClientVersion | undefined => {
  const [, first, second, third] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,12})$/.exec(text) ?? []
  return third === undefined ? undefined : [Number(first), Number(second), Number(third)]
}

/** What a device name must be, behind "must be". */
export const deviceNameRule = "1 to 50 characters"

export const parseDeviceName = (text: string): string | undefined =>
  text.trim() !== "" && [...text].length <= 50 && !/[\p{Cc}]/u.test(text) ? text : undefined
