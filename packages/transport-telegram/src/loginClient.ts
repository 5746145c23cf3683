/**
 * Connections of logins, which have their keys in memory: for a step, and to end what a login may have
 * left at the far side.
 */
import { retryUntilStoreAnswers } from "@messaging-service/core"
import type { KeyChange, NumberId, NumberProxies, SessionVault } from "@messaging-service/core"
import { Effect, Redacted } from "effect"
import { makeClient } from "./Client.ts"
import { endSession } from "./loginSteps.ts"
import type { TelegramSettings } from "./settings.ts"
import { keysInMemory, makeStorage } from "./storage.ts"

/** What the number has; null also where an older secrets key sealed it, which is gone. */
export const storedText = (vault: typeof SessionVault.Service, numberId: NumberId) =>
  Effect.catchTag(vault.credentials(numberId), "CannotOpen", () => Effect.succeed(null))

/** Why a login fails whose number has a proxy that an older secrets key sealed. */
export const proxyUnreadable = "proxy_unreadable" as const

export const makeLoginClients = (
  settings: TelegramSettings,
  proxies: typeof NumberProxies.Service,
) => {
  const { application } = settings

  /**
   * A client that is gone with its scope, and its keys; null without an application. A number whose proxy
   * an older secrets key sealed is not connected past that proxy.
   */
  const open = Effect.fnUntraced(function* (numberId: NumberId, begun: ReadonlyArray<KeyChange>) {
    const keys = keysInMemory(begun)
    if (application === null) return null
    const proxy = yield* retryUntilStoreAnswers(
      Effect.catchTag(proxies.of(numberId), "CannotOpen", () => Effect.succeed(proxyUnreadable)),
    )
    if (proxy === proxyUnreadable) return proxyUnreadable
    const client = yield* makeClient(settings, {
      application,
      storage: makeStorage(keys),
      proxy: proxy === null ? null : Redacted.value(proxy),
      drawn: 0,
    })
    return { client, keys }
  })

  return {
    open,
    /** Whether the far side is known to have no session with these keys any more. */
    end: (numberId: NumberId, keys: ReadonlyArray<KeyChange>): Effect.Effect<boolean> =>
      Effect.scoped(
        Effect.flatMap(open(numberId, keys), (opened) =>
          opened === null || opened === proxyUnreadable
            ? Effect.succeed(false)
            : endSession(opened.client),
        ),
      ),
  }
}
