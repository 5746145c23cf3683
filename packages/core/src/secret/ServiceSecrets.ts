/**
 * The port that keeps what belongs to the service itself under a name: what the secrets key must match,
 * and what it seals (`Secrets`). Nothing in it is of use without that key.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"

export class ServiceSecrets
  extends /*#__PURE__*/ Context.Service<
    ServiceSecrets,
    {
      /** The stored value, or `candidate`, stored now; the same for every process that asks. */
      getOrCreate(name: string, candidate: string): Effect.Effect<string, StoreUnavailable>
      /** The stored value, null when there is none. */
      get(name: string): Effect.Effect<string | null, StoreUnavailable>
      /** Keeps `value` under `name` if `before` still stands there. */
      replace(name: string, before: string, value: string): Effect.Effect<void, StoreUnavailable>
    }
  >()("core/ServiceSecrets") {}
