/** Logging Telegram accounts in (contract: Telegram login). */
import {
  TelegramCodeBody,
  TelegramLoginBody,
  TelegramLogins,
  TelegramPasswordBody,
  TimeJson,
  codeWays,
  described,
  formatInstant,
  instantOrNull,
  telegramLoginStates,
} from "@messaging-service/core"
import type {
  BeginTelegramLogin,
  GiveTelegramCode,
  GiveTelegramPassword,
  TelegramLoginView,
} from "@messaging-service/core"
import { Effect, Schema } from "effect"
import type { Refused } from "../openapi/errors.ts"
import { asCommand, bodyOf, json } from "../route/Entry.ts"
import { missingNumber, numberPath, operatorRoute } from "./OperatorRoute.ts"

const route = operatorRoute("Workspace numbers")

/** How a login to a Telegram account stands. */
const LoginJson = Schema.Struct({
  state: Schema.Literals(telegramLoginStates),
  qr_url: described(
    Schema.NullOr(Schema.String),
    "What a QR code is to show to the account's own app: a `tg://` link.",
  ),
  qr_expires_at: described(Schema.NullOr(TimeJson), "Then there is another one."),
  code_sent_to: Schema.NullOr(Schema.Literals(codeWays)),
  expires_at: described(TimeJson, "When the login as a whole is over."),
  error: described(Schema.NullOr(Schema.String), "Why it failed."),
}).annotate({ identifier: "TelegramLogin" })

const loginJson = (login: TelegramLoginView): typeof LoginJson.Type => ({
  state: login.state,
  qr_url: login.qr?.url ?? null,
  qr_expires_at: instantOrNull(login.qr?.expiresAt ?? null),
  code_sent_to: login.codeSentTo,
  expires_at: formatInstant(login.expiresAt),
  error: login.error,
})

const codeSent = {
  state: "code_sent",
  qr_url: null,
  qr_expires_at: null,
  code_sent_to: "app",
  expires_at: "2030-01-31T07:10:00Z",
  error: null,
} as const

const loggedIn = { ...codeSent, state: "connected" } as const

const noLogin: Refused = { code: "login_not_found", inPath: true }

const loginPath = `${numberPath}/telegram-login` as const

export const telegramLoginRoutes = Effect.gen(function* () {
  const logins = yield* TelegramLogins

  return [
    route(`POST ${loginPath}`, {
      id: "beginTelegramLogin",
      summary: "Log a Telegram account in",
      about: "By a code that Telegram sends, or by a QR code; it takes ten minutes at most.",
      request: json(
        TelegramLoginBody,
        { method: "code", phone: "+15550001000" },
        asCommand<BeginTelegramLogin>,
      ),
      status: 202,
      success: "The login.",
      answer: bodyOf(LoginJson, codeSent),
      refused: [
        missingNumber,
        "invalid_phone",
        "already_connected",
        "connect_in_progress",
        "telegram_not_configured",
      ],
      handler: ({ id, request, role }) =>
        Effect.map(logins.begin(role, id("id"), id("number_id"), request), loginJson),
    }),
    route(`GET ${loginPath}`, {
      id: "getTelegramLogin",
      summary: "Look at a Telegram login",
      success: "The login.",
      answer: bodyOf(LoginJson, codeSent),
      refused: [missingNumber, noLogin],
      handler: ({ id, role }) => Effect.map(logins.get(role, id("id"), id("number_id")), loginJson),
    }),
    route(`DELETE ${loginPath}`, {
      id: "cancelTelegramLogin",
      summary: "Give a Telegram login up",
      success: "It is given up.",
      answer: bodyOf(Schema.Struct({ cancelled: Schema.Literal(true) }), { cancelled: true }),
      refused: [missingNumber, noLogin],
      handler: ({ id, role }) =>
        Effect.as(logins.cancel(role, id("id"), id("number_id")), { cancelled: true } as const),
    }),
    route(`POST ${loginPath}/code`, {
      id: "giveTelegramCode",
      summary: "Give the code that Telegram sent",
      about: "A wrong one may be given again. It is kept nowhere.",
      request: json(TelegramCodeBody, { code: "12345" }, asCommand<GiveTelegramCode>),
      success: "The login: `connected`, or `password_needed`.",
      answer: bodyOf(LoginJson, loggedIn),
      refused: [missingNumber, noLogin, "invalid_code"],
      handler: ({ id, request, role }) =>
        Effect.map(logins.giveCode(role, id("id"), id("number_id"), request), loginJson),
    }),
    route(`POST ${loginPath}/password`, {
      id: "giveTelegramPassword",
      summary: "Give the account's password",
      about: "A wrong one may be given again. It is kept nowhere.",
      request: json(
        TelegramPasswordBody,
        { password: "correct horse battery staple" },
        asCommand<GiveTelegramPassword>,
      ),
      success: "The login.",
      answer: bodyOf(LoginJson, loggedIn),
      refused: [missingNumber, noLogin, "invalid_password"],
      handler: ({ id, request, role }) =>
        Effect.map(logins.givePassword(role, id("id"), id("number_id"), request), loginJson),
    }),
  ]
})
