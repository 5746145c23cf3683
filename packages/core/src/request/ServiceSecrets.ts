/** The port that keeps the service's own secrets, such as the key that signs cursors. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"

export class ServiceSecrets extends Context.Service<
  ServiceSecrets,
  {
    /** The stored value, or `candidate`, stored now; the same for every process that asks. */
    getOrCreate(name: string, candidate: string): Effect.Effect<string, StoreUnavailable>
  }
>()("core/ServiceSecrets") {}
