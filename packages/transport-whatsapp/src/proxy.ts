/**
 * The way out of one number's connection: its proxy, for its messages and its media alike, or the
 * network itself. A proxy that does not answer is never gone around. Names are resolved by the proxy.
 *
 * The agents are libraries: CONNECT and SOCKS with their ways to authenticate are no business of ours,
 * and Node has neither.
 */
import { HttpsProxyAgent } from "https-proxy-agent"
import { Agent } from "node:https"
import type { AgentOptions } from "node:https"
import { SocksProxyAgent } from "socks-proxy-agent"
import type { WhatsAppSettings } from "./settings.ts"

/** For the connection, and for uploads; absent where Node's own agent is meant. */
interface Ways {
  readonly agent?: Agent
  readonly fetchAgent?: Agent
}

export const waysOut = (
  { trusted }: Pick<WhatsAppSettings, "trusted">,
  proxyUrl: string | null,
): Ways => {
  const certificates: AgentOptions = trusted === undefined ? {} : { ca: [...trusted] }
  if (proxyUrl === null) {
    return trusted === undefined ? {} : { fetchAgent: new Agent(certificates) }
  }
  const url = new URL(proxyUrl)
  const own =
    url.protocol === "socks5:"
      ? new SocksProxyAgent(proxyUrl.replace(/^socks5:/, "socks5h:"), certificates)
      : new HttpsProxyAgent(url, certificates)
  // One of them takes its own options for the proxy alone.
  Object.assign(own.options, certificates)
  // The library asks for an agent of HTTPS; it hands it to Node, which takes either.
  const agent = own as unknown as Agent
  return { agent, fetchAgent: agent }
}
