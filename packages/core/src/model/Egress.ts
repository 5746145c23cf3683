/**
 * The one way out to addresses that customers name: media links, webhooks and callbacks. The adapter
 * checks the literal, the resolved and the connected address, at every redirect hop.
 */
import { Context, Data, Effect, Layer, Result } from "effect"
import type { Scope, Stream } from "effect"
import ipaddr from "ipaddr.js"
import type { WorkspaceId } from "./Ids.ts"

/**
 * Why a call did not get an answer; the names are those of `last_delivery.error`. `coding`: the content of a file's
 * answer has a coding that cannot be undone.
 */
export class EgressError extends Data.TaggedError("EgressError")<{
  readonly reason:
    | "timeout"
    | "dns"
    | "tls"
    | "connection"
    | "blocked_address"
    | "redirects"
    | "too_large"
    | "coding"
  readonly cause?: unknown
}> {
  override get message() {
    return `outgoing call: ${this.reason}`
  }
}

export interface EgressAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** The address really answered from, after redirects. */
  readonly url: string
  /** Without the codings that `Content-Encoding` names; the limit counts its bytes. */
  readonly body: Stream.Stream<Uint8Array, EgressError>
}

export interface FetchLimits {
  readonly maximumBytes: number
  readonly timeoutMillis: number
  readonly redirects: number
}

export interface PostRequest {
  /** The workspace of the call: it counts in its share. */
  readonly workspaceId: WorkspaceId
  readonly headers: Readonly<Record<string, string>>
  /** Sent as UTF-8. */
  readonly body: string
  /** Whether plain `http` will do; `https` always does. */
  readonly allowHttp: boolean
}

export interface PostLimits {
  /** How much of the answer's content is read at most. */
  readonly maximumBytes: number
  /** How much of it is returned. Default: nothing. */
  readonly storedBytes?: number
  /** For all of the call, in real time. */
  readonly timeoutMillis: number
  /** For resolving, connecting and the TLS handshake. */
  readonly connectTimeoutMillis: number
}

/** An answer with content that does not matter to the call. */
export interface PostAnswer extends Pick<EgressAnswer, "status" | "headers"> {
  /** The beginning of its content, as far as the limits ask for it and it arrived. */
  readonly beginning?: Uint8Array
}

export class Egress extends Context.Service<
  Egress,
  {
    /**
     * Whether every address that the link's host resolves to now may be called; a name that does not
     * resolve is allowed here and fails later. The link's own syntax was checked before. The look-up
     * counts in that workspace's share.
     */
    allows(url: string, workspaceId: WorkspaceId): Effect.Effect<boolean>
    /** A GET for that workspace; the connection closes with the scope. */
    fetch(
      url: string,
      limits: FetchLimits,
      workspaceId: WorkspaceId,
    ): Effect.Effect<EgressAnswer, EgressError, Scope.Scope>
    /**
     * A POST that needs only the status of the answer: a redirect is an answer too, and so is one
     * with content that is too long or interrupted. Connections are kept for later calls.
     */
    post(
      url: string,
      request: PostRequest,
      limits: PostLimits,
    ): Effect.Effect<PostAnswer, EgressError>
  }
>()("core/Egress") {
  /** No way out: every link is taken as it is and none can be called. For tests and sealed hosts. */
  static readonly layerClosed = Layer.succeed(Egress, {
    allows: () => Effect.succeed(true),
    fetch: () => Effect.fail(new EgressError({ reason: "blocked_address" })),
    post: () => Effect.fail(new EgressError({ reason: "blocked_address" })),
  })
}

/**
 * What customers' addresses may be; wider with `ALLOW_PRIVATE_TARGETS` (contract: Configuration).
 */
export interface OutboundRule {
  readonly allowPrivate: boolean
}

export const OutboundRule = Context.Reference<OutboundRule>("core/OutboundRule", {
  defaultValue: () => ({ allowPrivate: false }),
})

// Where the service may be sent to by a customer: webhook endpoints, callbacks and media links lead
// to public addresses only, so that customers cannot reach the operator's own network through it.
// The same rule is asked three times: of the URL when it is given, of every address that its host
// resolves to, and of the address that a connection really has.

/**
 * Whether an address (dotted decimal or IPv6 text, as sockets and resolvers report it) is global
 * unicast: outside every special-purpose range, forms that wrap an IPv4 address (mapped,
 * compatible, NAT64, 6to4, Teredo) included, and outside what clouds keep for themselves. Any other
 * text, or an address with a zone, is not public.
 */
export const isPublicAddress = (ip: string): boolean => {
  if (ip.includes("%")) return false
  if (ipaddr.IPv4.isValidFourPartDecimal(ip)) {
    const address = ipaddr.IPv4.parse(ip)
    return address.range() === "unicast" && !cloudRanges.some((range) => address.match(range))
  }
  if (!ipaddr.IPv6.isValid(ip)) return false
  const address = ipaddr.IPv6.parse(ip)
  // Public IPv6 addresses are all in 2000::/3; the library says "unicast" of every range that it has no
  // name for.
  return address.match(globalUnicast) && address.range() === "unicast"
}

/** Whether the host of a URL is this machine. */
export const isLoopback = (hostname: string): boolean => {
  const host = hostname.replace(/^\[(.*)\]$/, "$1")
  return ipaddr.isValid(host) ? ipaddr.parse(host).range() === "loopback" : host === "localhost"
}

/** What a target may be. Webhooks: neither. Media links and version 1 callbacks: `allowHttp`. */
export interface TargetRule {
  readonly allowHttp: boolean
  /** For development and tests: lets every address and `http` through. It opens no bad port. */
  readonly allowPrivate: boolean
}

/** A checked target, in the normal form of the URL standard. */
export interface OutboundUrl {
  readonly href: string
  readonly protocol: "http:" | "https:"
  /** An IPv6 address has brackets. */
  readonly hostname: string
  /** Empty for the protocol's own port. */
  readonly port: string
  readonly pathname: string
  readonly search: string
}

export type OutboundUrlProblem = "not_a_url" | "scheme" | "userinfo" | "port" | "private_address"

/**
 * Reads the absolute URL of a target and holds it to the rule, as far as that is possible without resolving its host.
 * Fails with what is wrong with it.
 */
export const parseOutboundUrl = (
  text: string,
  rule: TargetRule,
): Result.Result<OutboundUrl, OutboundUrlProblem> => {
  // The URL standard drops white space and control characters, reads "\" as "/" and replaces lone surrogates and missing
  // slashes; programs that do not would see another host than the one checked here.
  if (stripped.test(text) || !text.isWellFormed()) return Result.fail("not_a_url")
  const url = URL.parse(text)
  if (url === null) return Result.fail("not_a_url")
  const { protocol, hostname } = url
  if (protocol !== "https:" && protocol !== "http:") return Result.fail("scheme")
  const authority = authorityForm.exec(text)?.[1]
  if (authority === undefined) return Result.fail("not_a_url")
  if (protocol === "http:" && !rule.allowHttp && !rule.allowPrivate) return Result.fail("scheme")
  // Asked of the text, because "https://@host" leaves no trace in the parsed URL.
  if (authority.includes("@")) return Result.fail("userinfo")
  if (hasEmptyLabel(hostname)) return Result.fail("not_a_url")
  const { href, port, pathname, search } = url
  if (port !== "" && badPorts.has(Number(port))) return Result.fail("port")
  if (!rule.allowPrivate && isPrivateHost(hostname)) return Result.fail("private_address")
  return Result.succeed({ href, protocol, hostname, port, pathname, search })
}

/** What a refusal says of that problem, where it can say more than its code does. */
export const outboundUrlMessage = (text: string, problem: OutboundUrlProblem): string | undefined =>
  problem === "port"
    ? `Port ${URL.parse(text)?.port} is not allowed: it belongs to another protocol than HTTP.`
    : undefined

const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3]

/**
 * Addresses that look public, but that lead to a cloud's own services from the machines inside it. The others of that
 * kind lie in special-purpose ranges: 169.254.0.0/16 (metadata of nearly all clouds), 100.100.100.200 (Alibaba),
 * 192.0.0.192 (Oracle), fd00:ec2::/32 (AWS), fd20:ce::254 (Google), fd00:c1::/32 (Oracle), fd00:42::42 (Scaleway).
 */
const cloudRanges: ReadonlyArray<[ipaddr.IPv4, number]> = [
  // Azure's platform: its agent, DNS, DHCP and health probes.
  "168.63.129.16/32",
  // IBM Cloud's services inside its network.
  "161.26.0.0/16",
  "166.8.0.0/14",
  // Google's interfaces for machines without a public address.
  "199.36.153.4/30",
  "199.36.153.8/30",
].map((range) => ipaddr.IPv4.parseCIDR(range))

const stripped = /[\p{Cc}\p{White_Space}\\]/u

const authorityForm = /^https?:\/\/([^/?#]+)/i

// Names that resolve within a machine or a site, by standard (RFC 6761, 6762, 8375) or reserved for that by ICANN.
const localDomains = ["localhost", "local", "internal", "home.arpa"]

const withoutTrailingDot = (hostname: string): string =>
  hostname.endsWith(".") ? hostname.slice(0, -1) : hostname

const hasEmptyLabel = (hostname: string): boolean =>
  withoutTrailingDot(hostname).split(".").includes("")

/** `hostname` is a parsed URL's: lower case, ASCII, and an IPv4 address in any spelling is dotted decimal already. */
const isPrivateHost = (hostname: string): boolean => {
  if (hostname.startsWith("[")) return !isPublicAddress(hostname.slice(1, -1))
  if (ipaddr.IPv4.isValidFourPartDecimal(hostname)) return !isPublicAddress(hostname)
  const name = withoutTrailingDot(hostname)
  if (!name.includes(".")) return true
  return localDomains.some((domain) => name === domain || name.endsWith(`.${domain}`))
}

/**
 * Ports that no link may name: those of the "bad port" list of the Fetch standard, which browsers do
 * not call either. Other protocols than HTTP live there (mail, remote login, names, printers), and
 * some of them would take a request of ours for commands.
 */
const badPorts: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
  6669, 6679, 6697, 10080,
])
