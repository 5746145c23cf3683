/**
 * A proxy that one number's connection goes through, so that numbers of one machine need not share its
 * address. The URL holds a password: only the number's transport reads it.
 */
import { Context, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId } from "../id/Ids.ts"
import type { CannotOpen } from "../secret/Secrets.ts"

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
}
