/** One connection through a number's proxy, for operators (contract: Workspace numbers). */
import { Context, Effect } from "effect"
import type { Redacted, Scope } from "effect"
import { refuse } from "../model/Refusal.ts"
import type { Refusal, StoreUnavailable } from "../model/Refusal.ts"
import type { NumberId, WorkspaceId } from "../model/Ids.ts"
import { makeScopedBulkhead, sharedLimits } from "../model/Bulkhead.ts"
import type { CannotOpen } from "../model/Secrets.ts"
import { RealTime, sleep } from "../model/Time.ts"
import type { Platform, SendingNumber } from "../model/SendingNumber.ts"

/** Why a proxy carried no connection. None contains words of the proxy, its URL or its credentials. */
export const proxyProblems = [
  "timeout",
  "dns",
  "tls",
  "connection",
  "credentials_refused",
  "target_refused",
  "unexpected_answer",
  "proxy_unreadable",
  "no_remote",
] as const

export type ProxyProblem = (typeof proxyProblems)[number]

export interface ProxyProbePort {
  /**
   * Opens one connection through the proxy to the platform's remote server and closes it; null when it
   * opened. Never fails: errors are problems. An interruption closes the connection.
   */
  connect(platform: Platform, proxyUrl: Redacted.Redacted): Effect.Effect<ProxyProblem | null>
}

/** By default numbers are simulated phones: no remote server exists, and nothing connects. */
export const ProxyProbe = Context.Reference<ProxyProbePort>("core/ProxyProbe", {
  defaultValue: () => ({ connect: () => Effect.succeed("no_remote") }),
})

export interface ProxyCheck {
  /** Null: the connection opened. */
  readonly error: ProxyProblem | null
  readonly durationMillis: number
}

/** How long a check lasts at most, in real time. */
export const proxyCheckMillis = 10_000

const { proxyChecks } = sharedLimits

const tooMany = refuse("rate_limited", {
  message: `A workspace has at most ${proxyChecks.share.most} proxy checks at once.`,
  retryAfter: 5,
})

const noRoom = refuse("service_unavailable", { retryAfter: 5 })

/** Checks the proxy of a number. `readProxy` is `NumberProxies.of`. */
export const makeProxyCheck = Effect.fnUntraced(function* makeProxyCheck(
  readProxy: (
    id: NumberId,
  ) => Effect.Effect<Redacted.Redacted | null, StoreUnavailable | CannotOpen>,
) {
  const probe = yield* ProxyProbe
  const enter = makeScopedBulkhead<WorkspaceId, typeof tooMany, typeof noRoom>(proxyChecks, {
    shareUsed: tooMany,
    full: noRoom,
  })

  return Effect.fnUntraced(function* checkProxy({
    id,
    mode,
    platform,
    workspaceId,
  }: SendingNumber): Effect.fn.Return<
    ProxyCheck,
    Refusal<"validation_failed" | "rate_limited" | "service_unavailable"> | StoreUnavailable,
    Scope.Scope
  > {
    const url = yield* Effect.catchTag(readProxy(id), "CannotOpen", () =>
      Effect.succeed("proxy_unreadable" as const),
    )
    if (url === null) {
      return yield* refuse("validation_failed", { message: "The number has no proxy to check." })
    }
    if (url === "proxy_unreadable") return { error: url, durationMillis: 0 }
    // A test number has no remote server.
    if (mode !== "live") return { error: "no_remote", durationMillis: 0 }
    yield* enter(workspaceId)
    const elapsed = yield* (yield* RealTime).stopwatch
    const error = yield* Effect.raceFirst(
      probe.connect(platform, url),
      Effect.as(sleep(proxyCheckMillis), "timeout" as const),
    )
    // Nothing was connected, so nothing took time.
    return { error, durationMillis: error === "no_remote" ? 0 : Math.round(elapsed()) }
  }, Effect.scoped)
})
