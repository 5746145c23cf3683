/**
 * Connections of logins, which have their keys in memory: for a step, and to end what a login may have
 * left at the far side.
 */
import { patiently } from "@messaging-service/core/ports"
import type {
  KeyChange,
  NumberId,
  NumberProxies,
  SessionVault,
} from "@messaging-service/core/ports"
import { Effect, Redacted } from "effect"
import { makeClient } from "./Client.ts"
import { fromText } from "./credentials.ts"
import { endSession } from "./loginSteps.ts"
import type { TelegramSettings } from "./settings.ts"
import { keysInMemory, makeStorage } from "./storage.ts"

/** What the number has; null also where an older secrets key sealed it, which is gone. */
export const storedCredentials = (vault: typeof SessionVault.Service, numberId: NumberId) =>
  vault.credentials(numberId).pipe(
    Effect.map((text) => (text === null ? null : fromText(text))),
    Effect.catchTag("CannotOpen", () => Effect.succeed(null)),
  )

export const makeLoginClients = (
  settings: TelegramSettings,
  proxies: typeof NumberProxies.Service,
) => {
  const { application } = settings

  /** A client that is gone with its scope, and its keys; null without an application. */
  const open = Effect.fnUntraced(function* (numberId: NumberId, begun: ReadonlyArray<KeyChange>) {
    const keys = keysInMemory(begun)
    if (application === null) return null
    const proxy = yield* Effect.orDie(patiently(proxies.of(numberId)))
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
          opened === null ? Effect.succeed(false) : endSession(opened.client),
        ),
      ),
  }
}
