/**
 * A proxy that one number's connection goes through, so that numbers of one machine need not share its
 * address. The URL holds a password: it is kept sealed, and only the number's transport reads it.
 */
import { Context, Effect, Layer, Redacted, Result } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId } from "../Ids.ts"
import { Secrets } from "../secret/Secrets.ts"
import type { CannotOpen } from "../secret/Secrets.ts"
import { NumberStore } from "./NumberStore.ts"

/** The protocols, each with the port that it has by itself. */
const protocols: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "socks5:": 1080 }

const mostCharacters = 2000

/** SOCKS 5 gives the length of a user's name, and of a password, in one byte. */
const mostSocksBytes = 255

export interface ProxyUrl {
  readonly href: string
  readonly host: string
  readonly port: number
}

/** What a proxy's URL must be: the words after "must be" in a refusal. */
export const proxyUrlRule =
  "http://, https:// or socks5:// with a host and, where the proxy asks for them, credentials"

const encoder = new TextEncoder()

/** Whether the proxy can be given that part of the credentials. */
const canBeGiven = (escaped: string, protocol: string): boolean => {
  const text = Result.try(() => decodeURIComponent(escaped))
  return (
    Result.isSuccess(text) &&
    (protocol !== "socks5:" || encoder.encode(text.success).length <= mostSocksBytes)
  )
}

/** Reads a proxy's URL; undefined for any other text. Its host may be private: an operator names it. */
export const parseProxyUrl = (text: string): ProxyUrl | undefined => {
  // The URL standard drops or rewrites these without a word.
  if (text.length > mostCharacters || /[\p{Cc}\p{White_Space}\\]/u.test(text)) return undefined
  const url = URL.parse(text)
  const ownPort = url === null ? undefined : protocols[url.protocol]
  if (url === null || ownPort === undefined || url.hostname === "") return undefined
  if (!["", "/"].includes(url.pathname) || url.search !== "" || url.hash !== "") return undefined
  // Of hosts of SOCKS the URL standard leaves escapes as they are; no name has any.
  if (url.port === "0" || url.hostname.includes("%")) return undefined
  if (![url.username, url.password].every((part) => canBeGiven(part, url.protocol)))
    return undefined
  return {
    href: url.href,
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? ownPort : Number(url.port),
  }
}

/** What the sealed URL of a number's proxy is sealed for. */
export const proxyPlace = (numberId: NumberId): string => `proxy of number ${numberId}`

/** The proxies of numbers in the clear, for their transports alone. */
export class NumberProxies extends Context.Service<
  NumberProxies,
  {
    /** The URL with its credentials; null when the number has none, or is gone. */
    of(numberId: NumberId): Effect.Effect<Redacted.Redacted | null, StoreUnavailable | CannotOpen>
  }
>()("core/NumberProxies") {
  /** No number has a proxy. */
  static readonly layerNone = Layer.succeed(NumberProxies, { of: () => Effect.succeed(null) })

  static readonly layer = Layer.effect(
    NumberProxies,
    Effect.gen(function* () {
      const numbers = yield* NumberStore
      const secrets = yield* Secrets
      return NumberProxies.of({
        of: Effect.fnUntraced(function* (numberId) {
          const settings = (yield* numbers.settings([numberId])).get(numberId)
          if (settings === undefined || settings.proxy === null) return null
          const { url } = settings.proxy
          return Redacted.make(yield* Effect.fromResult(secrets.open(proxyPlace(numberId), url)))
        }),
      })
    }),
  )
}
