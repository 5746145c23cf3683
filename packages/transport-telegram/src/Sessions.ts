/** The connections of accounts that are logged in, and what logins have left. */
import { NumberProxies, SessionVault, makeLiveNumbers } from "@messaging-service/core"
import type { LiveNumbers, NumberId } from "@messaging-service/core"
import { Context, Effect, Layer } from "effect"
import { asked } from "./Client.ts"
import { fromText, hasEnded } from "./credentials.ts"
import type { LoginCredentials } from "./credentials.ts"
import { makeConnect } from "./keepConnected.ts"
import { isHeld, makeHeldLogins } from "./heldLogins.ts"
import { makeLoginClients } from "./loginClient.ts"
import { heldMillis } from "./loginSteps.ts"
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
  const heldLogins = makeHeldLogins(vault)

  /** What a login may have left when its process died, or when it was given up, is logged out. */
  const endLogin = Effect.fnUntraced(function* (
    numberId: NumberId,
    text: string,
    login: LoginCredentials,
    now: number,
  ) {
    const stepUntil = now + heldMillis
    const held = yield* heldLogins.take(numberId, text, login, { ...login, stepUntil })
    if (held === null) return
    if (!(yield* heldLogins.whileHeld(held, logins.end(numberId, login.keys)))) {
      yield* heldLogins.goOn(held, { ...login, stepUntil: null })
    } else if (login.isCancelled) {
      yield* heldLogins.forget(numberId, held.text)
    } else {
      yield* heldLogins.goOn(held, { ...login, keys: [], mayBeIn: false, stepUntil: null })
    }
  })

  return yield* makeLiveNumbers({
    platform: "telegram",
    settings,
    keptKeys,
    connect: yield* makeConnect(settings),
    // Any process may log an account in.
    remembersWiped: false,
    meansLoggedOut: ["logged_out", "replaced", "banned"],
    // A word that is not known, by which an account is refused as if it were not logged in.
    refusesLogOut: ["restricted"],
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
        if (login.kind !== "login" || !login.mayBeIn || isHeld(login, now)) return null
        return hasEnded(login, now) ? endLogin(numberId, text, login, now) : null
      },
    },
  })
})
