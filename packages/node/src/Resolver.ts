/**
 * From a link's host to the addresses that may be called, all of them checked: the rule of who may be
 * reached is asked of what a name resolves to, not of the name.
 */
import { EgressError, isPublicAddress } from "@messaging-service/core"
import type { OutboundRule } from "@messaging-service/core"
import { Effect } from "effect"
import { lookup } from "node:dns/promises"
import { isIP } from "node:net"

/** All addresses of a host name. Fails with `dns` when there is none. */
export type Resolver = (hostname: string) => Effect.Effect<ReadonlyArray<string>, EgressError>

const dnsError = (cause: unknown) => new EgressError({ reason: "dns", cause })

/** Resolves as the system does, its hosts file included. */
export const systemResolver: Resolver = (hostname) =>
  Effect.tryPromise({
    try: () => lookup(hostname, { all: true, order: "verbatim" }),
    catch: dnsError,
  }).pipe(Effect.map((answers) => answers.map(({ address }) => address)))

/** `hostname` as it stands in a parsed URL. */
export const withoutBrackets = (hostname: string): string =>
  hostname.startsWith("[") ? hostname.slice(1, -1) : hostname

/** Whether the rule lets this address be called. */
export const mayCall = (rule: OutboundRule, address: string): boolean =>
  rule.allowPrivate || isPublicAddress(address)

/**
 * The addresses of a host, resolved once and all of them allowed; a literal is its own address. Fails
 * with `dns`, or with `blocked_address` when a single one may not be called: a name that leads to both
 * sides of the wall is no honest one.
 */
export const callableAddresses = (
  resolve: Resolver,
  rule: OutboundRule,
  host: string,
): Effect.Effect<ReadonlyArray<string>, EgressError> =>
  Effect.gen(function* () {
    const addresses = isIP(host) === 0 ? yield* resolve(host) : [host]
    if (addresses.length === 0) return yield* dnsError(`no address for ${host}`)
    const blocked = addresses.find((address) => isIP(address) === 0 || !mayCall(rule, address))
    return blocked === undefined
      ? addresses
      : yield* new EgressError({ reason: "blocked_address", cause: blocked })
  })
