/**
 * Which addresses count as one caller: IPv6 gives each customer a whole /64, so all addresses of
 * one /64 are the same caller; an IPv4 address stands for itself.
 */
import ipaddr from "ipaddr.js"

/** Of the eight parts of an IPv6 address those that make the /64. */
const networkParts = 4

/** The same text for all addresses of one holder; any other text stands for itself. */
export const addressGroup = (address: string): string => {
  if (!address.includes(":")) return address
  const [plain = ""] = address.split("%", 1)
  if (!ipaddr.IPv6.isValid(plain)) return address
  const parsed = ipaddr.IPv6.parse(plain)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  const network = parsed.parts.slice(0, networkParts).map((part) => part.toString(16))
  return `${network.join(":")}::/64`
}
