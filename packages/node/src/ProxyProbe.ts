/**
 * One connection through a proxy, which closes as soon as the proxy has answered. It speaks the protocols
 * itself: the libraries of the transports cannot give up a connection that hangs inside a proxy.
 */
import { ProxyProbe } from "@messaging-service/core"
import type { Platform, ProxyProblem } from "@messaging-service/core"
import { Effect, Layer, Redacted } from "effect"
import { connect as connectTcp, isIP, isIPv4 } from "node:net"
import { connect as connectTls } from "node:tls"

/** A remote server, as a transport connects to it. */
export interface ProxyTarget {
  readonly host: string
  readonly port: number
}

interface Turn {
  readonly send: Uint8Array
  /** The length of the complete answer at the beginning of these bytes; 0 while it is incomplete. */
  readonly complete: (bytes: Buffer) => number
}

/** What client and proxy say until the connection is open or refused. */
type Exchange = Generator<Turn, ProxyProblem | null, Buffer>

/** The longest accepted answer, in bytes. */
const longestAnswer = 8192

const defaultPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 }
const socksPort = 1080

const toCredentials = ({ password, username }: URL) =>
  [decodeURIComponent(username), decodeURIComponent(password)] as const

/** The head of the final answer, or its beginning: interim ones (RFC 9110, 15.2) come before it. */
const finalHead = (bytes: Buffer): string =>
  bytes.toString("latin1").replace(/^(?:HTTP\/1\.[01] 1\d\d\b[^]*?\r\n\r\n)+/, "")

const throughFirstLine = (bytes: Buffer): number => {
  const head = finalHead(bytes)
  return head.includes("\r\n") && !/^HTTP\/1\.[01] 1/.test(head) ? bytes.length : 0
}

function* httpExchange(proxy: URL, { host, port }: ProxyTarget): Exchange {
  const target = `${host.includes(":") ? `[${host}]` : host}:${port}`
  const basic = Buffer.from(toCredentials(proxy).join(":")).toString("base64")
  const lines = [
    `CONNECT ${target} HTTP/1.1`,
    `Host: ${target}`,
    ...(proxy.username === "" && proxy.password === ""
      ? []
      : [`Proxy-Authorization: Basic ${basic}`]),
  ]
  const send = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`)
  const answer = yield { send, complete: throughFirstLine }
  const [, status] = /^HTTP\/1\.[01] (\d{3})\b/.exec(finalHead(answer)) ?? []
  if (status === undefined) return "unexpected_answer"
  if (status === "407") return "credentials_refused"
  return status === "200" ? null : "target_refused"
}

const bytes =
  (length: number) =>
  (received: Buffer): number =>
    received.length < length ? 0 : length

/** RFC 1928. The proxy resolves a name. */
const socksRequest = ({ host, port }: ProxyTarget): Uint8Array => {
  const name = Buffer.from(host)
  const address = isIPv4(host) ? [1, ...host.split(".").map(Number)] : [3, name.length, ...name]
  return Uint8Array.of(5, 1, 0, ...address, Math.floor(port / 256), port % 256)
}

/** RFC 1929. */
const socksLogin = (proxy: URL): Uint8Array =>
  Uint8Array.of(
    1,
    ...toCredentials(proxy).flatMap((part) => {
      const encoded = Buffer.from(part)
      return [encoded.length, ...encoded]
    }),
  )

function* socksExchange(proxy: URL, target: ProxyTarget): Exchange {
  const complete = bytes(2)
  const hasCredentials = proxy.username !== ""
  const send = hasCredentials ? Uint8Array.of(5, 2, 0, 2) : Uint8Array.of(5, 1, 0)
  const [version, method] = yield { send, complete }
  if (version !== 5) return "unexpected_answer"
  if (method !== 0) {
    if (method !== 2 || !hasCredentials) return "credentials_refused"
    const [, refused] = yield { send: socksLogin(proxy), complete }
    if (refused !== 0) return "credentials_refused"
  }
  const [again, reply] = yield { send: socksRequest(target), complete }
  if (again !== 5) return "unexpected_answer"
  return reply === 0 ? null : "target_refused"
}

const toProblem = (error: NodeJS.ErrnoException): ProxyProblem => {
  const { code = "" } = error
  if (code === "ENOTFOUND" || code.startsWith("EAI_")) return "dns"
  return /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_|UNABLE_|EPROTO$)/.test(code) ? "tls" : "connection"
}

const openSocket = (proxy: URL) => {
  const host = proxy.hostname.replace(/^\[(.*)\]$/, "$1")
  const port = Number(proxy.port) || (defaultPorts[proxy.protocol] ?? socksPort)
  return proxy.protocol === "https:"
    ? connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}) })
    : connectTcp({ host, port })
}

/** Opens a connection to the target through the proxy, and closes it. */
const tryProxy = (proxy: URL, target: ProxyTarget): Effect.Effect<ProxyProblem | null> =>
  Effect.callback((resume) => {
    const exchange = (proxy.protocol === "socks5:" ? socksExchange : httpExchange)(proxy, target)
    const socket = openSocket(proxy)
    let received: Buffer = Buffer.alloc(0)
    let step = exchange.next()
    const end = (problem: ProxyProblem | null) => {
      socket.destroy()
      resume(Effect.succeed(problem))
    }
    const print = () => {
      if (step.done === true) end(step.value)
      else socket.write(step.value.send)
    }
    socket.on("error", (error) => end(toProblem(error)))
    socket.on("close", () => end("connection"))
    socket.once(proxy.protocol === "https:" ? "secureConnect" : "connect", print)
    socket.on("data", (piece: Buffer) => {
      received = Buffer.concat([received, piece])
      while (step.done !== true) {
        const length = step.value.complete(received)
        if (length === 0) {
          if (received.length > longestAnswer) end("unexpected_answer")
          return
        }
        const answer = received.subarray(0, length)
        received = received.subarray(length)
        step = exchange.next(answer)
        print()
      }
    })
    return Effect.sync(() => void socket.destroy())
  })

/** Tries proxies by connecting to these servers; null: the platform connects nowhere. */
export const layerProxyProbe = (
  targets: Readonly<Record<Platform, ProxyTarget | null>>,
): Layer.Layer<never> =>
  Layer.succeed(ProxyProbe, {
    connect: (platform, proxyUrl) => {
      const target = targets[platform]
      return target === null
        ? Effect.succeed("no_remote")
        : tryProxy(new URL(Redacted.value(proxyUrl)), target)
    },
  })
