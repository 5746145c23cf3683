/**
 * The guard against wrong keys (contract: Wrong keys): how many wrong credentials each address has
 * sent in the clock minute, and which keys were found unknown just now.
 *
 * All of it is this process's own and in memory, so that refusing costs no statement: several servers
 * each allow an address its 30, and a restart begins anew. That is enough, since keys are too long to
 * be guessed; the guard is there to make guessing cheap to refuse.
 */
import ipaddr from "ipaddr.js"
import { sharedResources } from "../limit/sharedResources.ts"
import { minuteStart, wrongKeysPerMinute } from "../request/RateWindow.ts"

/** The interfaces whose wrong credentials are counted apart. */
export type Api = "v1" | "v2" | "operator"

/**
 * How long a key that was not found is taken for unknown without asking the store, milliseconds: a
 * key that was sent before it was made (keys are random, so that this does not happen by chance)
 * works this much later at the latest.
 */
const unknownKeyMillis = 10_000

/** Forgets what came first where there is no room for another entry. */
const makeRoom = (entries: Map<string, unknown>, most: number): void => {
  if (entries.size < most) return
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}

/** A guard that has counted nothing. */
export const makeWrongKeys = () => {
  /** By interface, in the minute that they began in. */
  const counted = new Map<Api, { readonly start: number; readonly byGroup: Map<string, number> }>()
  const unknownSince = new Map<string, number>()

  const ofMinute = (api: Api, now: number): Map<string, number> => {
    const start = minuteStart(now)
    const present = counted.get(api)
    if (present?.start === start) return present.byGroup
    const byGroup = new Map<string, number>()
    counted.set(api, { start, byGroup })
    return byGroup
  }

  return {
    /** Counts a wrong credential; whether it is one too many, and so to be refused as such. */
    count: (api: Api, address: string, now: number): boolean => {
      const byGroup = ofMinute(api, now)
      const group = addressGroup(address)
      const count = (byGroup.get(group) ?? 0) + 1
      if (count === 1) makeRoom(byGroup, sharedResources.wrongKeyAddresses.whole)
      byGroup.set(group, count)
      return count > wrongKeysPerMinute
    },
    /** Whether the address has already sent one too many in this minute. */
    isExceeded: (api: Api, address: string, now: number): boolean =>
      (ofMinute(api, now).get(addressGroup(address)) ?? 0) > wrongKeysPerMinute,
    /** Whether the store did not know the key with that hash a moment ago. */
    isUnknown: (hash: string, now: number): boolean => {
      const since = unknownSince.get(hash)
      if (since === undefined) return false
      // A clock that was set back must not make the moment longer.
      if (now >= since && now < since + unknownKeyMillis) return true
      unknownSince.delete(hash)
      return false
    },
    /** Remembers that the store does not know the key with that hash. */
    noteUnknown: (hash: string, now: number): void => {
      unknownSince.delete(hash)
      makeRoom(unknownSince, sharedResources.unknownKeys.whole)
      unknownSince.set(hash, now)
    },
  }
}

/** Of the eight parts of an IPv6 address those that make the /64. */
const networkParts = 4

/**
 * Which addresses count as one caller: IPv6 gives each customer a whole /64, so all addresses of one
 * /64 are the same caller; an IPv4 address, and any other text, stands for itself.
 */
export const addressGroup = (address: string): string => {
  if (!address.includes(":")) return address
  const [plain = ""] = address.split("%", 1)
  if (!ipaddr.IPv6.isValid(plain)) return address
  const parsed = ipaddr.IPv6.parse(plain)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  const network = parsed.parts.slice(0, networkParts).map((part) => part.toString(16))
  return `${network.join(":")}::/64`
}
