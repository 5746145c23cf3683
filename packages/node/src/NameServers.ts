/**
 * Names resolved over sockets of our own. The system's way (`getaddrinfo`) holds one of a handful of
 * threads for each name that it waits for, so that a few names whose servers are silent stop every
 * other look-up and all file work; it cannot be given up either. Here each look-up has its own
 * sockets and its own end, and goes when its caller does.
 *
 * Kept of the system's way: the hosts file, which comes first and is read again when it changes; the
 * name servers of `/etc/resolv.conf`; addresses of both families, in the order in which the answers
 * name them, those of version 4 before those of version 6. `localhost` and what ends in `.localhost`
 * are this machine without asking (RFC 6761).
 *
 * Not kept: search domains and `ndots` (a link names its host in full, so a name is asked for as it
 * stands), other sources of `nsswitch.conf`, and `.local` names over multicast.
 */
import { EgressError } from "@messaging-service/core"
import { Effect } from "effect"
import { Resolver as NodeResolver } from "node:dns/promises"
import { readFileSync, statSync } from "node:fs"
import { isIP } from "node:net"
import type { Resolver } from "./GuardedConnection.ts"

export interface NameServerOptions {
  /** `address` or `address:port` of each name server; the system's by default. */
  readonly servers?: ReadonlyArray<string>
  /** `/etc/hosts` by default. */
  readonly hostsFile?: string
  /** For all of a look-up; 4,000 by default, less than a call has to connect. */
  readonly timeoutMillis?: number
}

/** Until a name server is asked again; it doubles with each try. */
const tryMillis = 1000

const tries = 3

/**
 * What one family of addresses may take longer than the other: some servers answer for version 4 and
 * never for version 6.
 */
const laggardMillis = 500

export const nameServerResolver = ({
  hostsFile = "/etc/hosts",
  servers,
  timeoutMillis = 4000,
}: NameServerOptions = {}): Resolver => {
  const hosts = hostsOf(hostsFile)
  return (hostname) =>
    Effect.gen(function* () {
      const name = hostname.toLowerCase().replace(/\.$/, "")
      const listed = (yield* hosts).get(name)
      if (listed !== undefined) return listed
      if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1", "::1"]
      return yield* ask(name, servers, timeoutMillis)
    })
}

/** One look-up with sockets of its own, which interruption closes. */
const ask = (
  name: string,
  servers: ReadonlyArray<string> | undefined,
  timeoutMillis: number,
): Effect.Effect<ReadonlyArray<string>, EgressError> =>
  Effect.tryPromise({
    try: async (interrupted) => {
      const resolver = new NodeResolver({ timeout: tryMillis, tries })
      if (servers !== undefined) resolver.setServers(servers)
      const cancel = () => resolver.cancel()
      interrupted.addEventListener("abort", cancel)
      const timers = [setTimeout(cancel, timeoutMillis)]
      const family = async (addresses: Promise<ReadonlyArray<string>>) => {
        const found = await addresses
        if (found.length > 0) timers.push(setTimeout(cancel, laggardMillis))
        return found
      }
      const answers = await Promise.allSettled([
        family(resolver.resolve4(name)),
        family(resolver.resolve6(name)),
      ])
      for (const timer of timers) clearTimeout(timer)
      const addresses = answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []))
      if (addresses.length > 0) return addresses
      throw new Error(`no address for ${name}`, {
        cause: answers.find((each) => each.status === "rejected")?.reason,
      })
    },
    catch: (cause) => new EgressError({ reason: "dns", cause }),
  })

type Hosts = ReadonlyMap<string, ReadonlyArray<string>>

/** The names of a hosts file, read when they are asked for and it is another file than before. */
const hostsOf = (path: string): Effect.Effect<Hosts, EgressError> => {
  let known: Hosts = new Map()
  let version = ""
  const read = () => {
    // At once: file work that is waited for is done by the very threads that this file is to spare.
    const stat = statSync(path, { throwIfNoEntry: false })
    const present = stat === undefined ? "" : `${stat.ino} ${stat.mtimeMs} ${stat.size}`
    if (present !== version) {
      known = stat === undefined ? new Map() : readHosts(readFileSync(path, "utf8"))
      version = present
    }
    return known
  }
  return Effect.try({
    try: read,
    catch: (cause) => new EgressError({ reason: "dns", cause }),
  })
}

const readHosts = (text: string): Hosts => {
  const hosts = new Map<string, Array<string>>()
  for (const line of text.split("\n")) {
    const [address, ...names] = line.replace(/#.*/, "").trim().split(/\s+/)
    if (address === undefined || isIP(address) === 0) continue
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, "")
      hosts.set(key, [...(hosts.get(key) ?? []), address])
    }
  }
  return hosts
}
