/**
 * The way out of one account's connections: its proxy, for its messages and its files alike, or the
 * network itself. A proxy that does not answer is never gone around.
 */
import { HttpProxyTcpTransport, SocksProxyTcpTransport, TcpTransport } from "@mtcute/node"
import type { TelegramTransport } from "@mtcute/node"

/** Ports that need not stand in a URL. */
const usualPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "socks5:": 1080 }

export const wayOut = (proxyUrl: string | null): TelegramTransport => {
  if (proxyUrl === null) return new TcpTransport()
  const { hostname, password, port, protocol, username } = new URL(proxyUrl)
  const settings = {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (usualPorts[protocol] ?? 80) : Number(port),
    ...(username === ""
      ? {}
      : { user: decodeURIComponent(username), password: decodeURIComponent(password) }),
  }
  return protocol === "socks5:"
    ? new SocksProxyTcpTransport({ ...settings, version: 5 })
    : new HttpProxyTcpTransport({ ...settings, tls: protocol === "https:" })
}
