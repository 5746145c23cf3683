/** The connections of accounts that are logged in, and what logins have left. */
import {
  NumberProxies,
  SessionVault,
  makeLiveNumbers,
  patiently,
} from "@messaging-service/core/ports"
import type { LiveNumbers, NumberId } from "@messaging-service/core/ports"
import { Context, Effect, Layer } from "effect"
import { asked } from "./Client.ts"
import { fromText, hasEnded, toText } from "./credentials.ts"
import type { LoginCredentials } from "./credentials.ts"
import { makeConnect } from "./keepConnected.ts"
import { makeLoginClients, storedCredentials } from "./loginClient.ts"
import type { OpenAccount } from "./OpenAccount.ts"
import type { TelegramSettings } from "./settings.ts"
import { keptKeys } from "./storage.ts"

export class Sessions extends Context.Service<Sessions, LiveNumbers<OpenAccount>>()(
  "transport-telegram/Sessions",
) {
  static readonly layer = (settings: TelegramSettings) => Layer.effect(Sessions, make(settings))
}

const make = Effect.fnUntraced(function* (settings: TelegramSettings) {
  const vault = yield* SessionVault
  const logins = makeLoginClients(settings, yield* NumberProxies)

  /** What a login may have left when its process died, or when it was given up, is logged out. */
  const endLogin = Effect.fnUntraced(function* (numberId: NumberId, login: LoginCredentials) {
    if (!(yield* logins.end(numberId, login.keys))) return
    const kept = yield* patiently(storedCredentials(vault, numberId))
    if (kept?.kind !== "login" || kept.id !== login.id) return
    const ended = toText({ ...kept, keys: [], mayBeIn: false })
    yield* patiently(kept.isCancelled ? vault.wipe(numberId) : vault.replace(numberId, ended, []))
  })

  return yield* makeLiveNumbers({
    platform: "telegram",
    settings,
    keptKeys,
    connect: yield* makeConnect(settings),
    // Any process may log an account in.
    remembersWiped: false,
    saysGoodbye: ["logged_out", "replaced", "banned"],
    logOut: ({ client }: OpenAccount) =>
      asked(() => client.call({ _: "auth.logOut" })).pipe(
        Effect.as(true),
        Effect.orElseSucceed(() => false),
      ),
    logins: {
      isLogin: (text) => fromText(text).kind === "login",
      end: (numberId, text) => {
        const login = fromText(text)
        return login.kind === "login" && login.mayBeIn
          ? logins.end(numberId, login.keys)
          : Effect.succeed(true)
      },
      settle: (numberId, text, now) => {
        const login = fromText(text)
        const isLeft = login.kind === "login" && login.mayBeIn && hasEnded(login, now)
        return isLeft ? endLogin(numberId, login) : null
      },
    },
  })
})
