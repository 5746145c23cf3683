/**
 * Where a request comes from: the socket's address, or the last `X-Forwarded-For` entry behind a
 * proxy that is trusted (`TRUST_PROXY`; contract: Configuration). Wrong keys are counted by it, and
 * keys show it as their last use.
 */
import { Option } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpSettings } from "../HttpOptions.ts"

/** Stands for an unknown address, such as that of a client behind a Unix socket. */
const unknownAddress = "0.0.0.0"

/** Null where it is not known. */
export const knownAddress = (address: string): string | null =>
  address === unknownAddress ? null : address

const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
const ipv4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`)

const mappedPrefix = "::ffff:"
const mappedGroups = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

const withoutMapping = (canonical: string): string => {
  const groups = mappedGroups.exec(canonical)
  if (groups === null) return canonical
  const bytes = [groups[1], groups[2]].flatMap((group) => {
    const value = Number.parseInt(group ?? "0", 16)
    return [value >> 8, value & 0xff]
  })
  return bytes.join(".")
}

/**
 * The one spelling of an IP literal, an IPv4 address inside IPv6 as IPv4; undefined for anything
 * else.
 */
export const normalAddress = (text: string): string | undefined => {
  if (ipv4.test(text)) return text
  if (!/^[0-9a-f:.]+$/i.test(text) || !text.includes(":")) return undefined
  const url = `http://[${text}]/`
  return URL.canParse(url) ? withoutMapping(new URL(url).hostname.slice(1, -1)) : undefined
}

/** Sockets spell addresses in one way already, but for the mapping of a dual stack. */
const socketAddress = (address: string): string => {
  if (address === "") return unknownAddress
  if (!address.startsWith(mappedPrefix)) return address
  const inner = address.slice(mappedPrefix.length)
  return ipv4.test(inner) ? inner : address
}

const peerAddress = (
  request: HttpServerRequest,
  ofWebRequest: HttpSettings["clientAddress"],
): string => {
  if (ofWebRequest !== undefined && request.source instanceof Request) {
    return socketAddress(ofWebRequest(request.source))
  }
  return Option.match(request.remoteAddress, {
    onNone: () => unknownAddress,
    onSome: socketAddress,
  })
}

/** How this service reads the client's address of a request. */
export const clientAddressReader = ({
  trustProxy,
  clientAddress,
}: Pick<HttpSettings, "trustProxy" | "clientAddress">): ((
  request: HttpServerRequest,
) => string) => {
  const peer = (request: HttpServerRequest) => peerAddress(request, clientAddress)
  if (!trustProxy) return peer
  return (request) => {
    const forwarded = request.headers["x-forwarded-for"]
    const last = forwarded?.slice(forwarded.lastIndexOf(",") + 1).trim()
    return (last === undefined ? undefined : normalAddress(last)) ?? peer(request)
  }
}
