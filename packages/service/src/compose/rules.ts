/**
 * What settings must be, whether they come as variables or as options: each rule once, in the words
 * that follow "must be".
 */
import { Redacted } from "effect"
import { createPublicKey } from "node:crypto"
import { BlockList, isIP } from "node:net"
import type { LiveTelegram } from "./transports.ts"

/** Live numbers that one process may be told to take. */
export const mostNumbers = 100_000

/** Shorter ones could be guessed; one that is generated at random has as many in hexadecimal. */
const shortestToken = 32

export const operatorTokenRule = `at least ${shortestToken} printable ASCII characters`

/** Whether it is long enough, and a header can carry it as it stands. */
export const isOperatorToken = (text: string): boolean =>
  text.length >= shortestToken && /^[!-~](?:[ -~]*[!-~])$/.test(text)

export const originRule = "an origin such as https://messages.example.com"

/** An origin, with or without the slash behind it. Undefined for any other text. */
export const parseOrigin = (text: string): string | undefined => {
  if (!URL.canParse(text)) return undefined
  const { href, origin, protocol } = new URL(text)
  return /^https?:$/.test(protocol) && href === `${origin}/` ? origin : undefined
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
 * The library verifies no certificates of WhatsApp's own, so trust in the remote server rests on TLS:
 * only this machine may be reached without it. Undefined for any other text.
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

export const parseClientVersion = (text: string): readonly [number, number, number] | undefined => {
  const [, first, second, third] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,12})$/.exec(text) ?? []
  return third === undefined ? undefined : [Number(first), Number(second), Number(third)]
}

/** What a device name must be, behind "must be". */
export const deviceNameRule = "1 to 50 characters"

export const parseDeviceName = (text: string): string | undefined =>
  text.trim() !== "" && [...text].length <= 50 && !/[\p{Cc}]/u.test(text) ? text : undefined

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

export const parseServerAddress = (text: string): LiveTelegram["server"] => {
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
