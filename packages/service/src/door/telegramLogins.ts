/** Logging Telegram accounts of a workspace in, as its operator. */
import { TelegramLogins } from "@messaging-service/core"
import type {
  BeginTelegramLogin,
  Failure,
  GiveTelegramCode,
  GiveTelegramPassword,
  NumberId,
  Role,
  TelegramLoginView,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { TelegramLoginsApi } from "../api/telegramLogins.ts"
import type { ComposedService } from "../compose/index.ts"
import { bodyOf } from "../names.ts"
import type { Run } from "./Calls.ts"
import { idOf } from "./asking.ts"
import { telegramLoginShown } from "./records.ts"

export const telegramLoginsApi = (
  run: Run,
  workspace: WorkspaceId | undefined,
  role: Role,
): TelegramLoginsApi => {
  const addressed = (number: number) => [role, workspace, idOf<NumberId>(number)] as const
  const shown = (
    asked: (logins: typeof TelegramLogins.Service) => Effect.Effect<TelegramLoginView, Failure>,
  ) => {
    const login: Effect.Effect<TelegramLoginView, Failure, ComposedService> =
      TelegramLogins.use(asked)
    return run(Effect.map(login, telegramLoginShown))
  }
  return {
    begin: (number, command) =>
      shown((logins) => logins.begin(...addressed(number), bodyOf<BeginTelegramLogin>(command))),
    get: (number) => shown((logins) => logins.get(...addressed(number))),
    giveCode: (number, code) =>
      shown((logins) => logins.giveCode(...addressed(number), bodyOf<GiveTelegramCode>({ code }))),
    givePassword: (number, password) =>
      shown((logins) =>
        logins.givePassword(...addressed(number), bodyOf<GiveTelegramPassword>({ password })),
      ),
    cancel: (number) => run(TelegramLogins.use((logins) => logins.cancel(...addressed(number)))),
  }
}
