/**
 * Logging Telegram accounts in, as an operator does it (contract: Telegram login). What is judged here is
 * whether the number may be logged in at all; how a login goes is the far side's doing.
 */
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import { problem, refuse } from "../error/Refusal.ts"
import type { Failure, Problem, Refusal } from "../error/Refusal.ts"
import { dailyQuota } from "../message/Quota.ts"
import { parsePhone, phoneDescribed } from "../recipient/Phone.ts"
import { described } from "../request/Described.ts"
import { inputDecoder, textBetween } from "../request/Input.ts"
import { TelegramLogin } from "../transport/TelegramLogin.ts"
import type {
  AfterSecret,
  TelegramLoginRequest,
  TelegramLoginView,
} from "../transport/TelegramLogin.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { isShutOut } from "./Connection.ts"
import type { AddressedNumber } from "./NumberOperations.ts"
import { NumberStore } from "./NumberStore.ts"

export const TelegramLoginBody = Schema.Struct({
  method: described(
    Schema.Literals(["qr", "code"]),
    "`qr`: the account's own app scans a code. `code`: Telegram sends one to the phone.",
  ),
  // Unused with `qr`; with `code` it is held to its rules below.
  phone: described(
    Schema.optionalKey(Schema.String.annotate({ examples: phoneDescribed.examples })),
    "Required with `code`: E.164 with a leading +. Unused with `qr`.",
  ),
}).annotate({ identifier: "TelegramLoginRequest" })

export const TelegramCodeBody = Schema.Struct({ code: textBetween(1, 20) }).annotate({
  identifier: "TelegramCode",
})

export const TelegramPasswordBody = Schema.Struct({ password: textBetween(1, 1000) }).annotate({
  identifier: "TelegramPassword",
})

/** What an operator gives, in the words of its bodies. */
export type BeginTelegramLogin = typeof TelegramLoginBody.Encoded
export type GiveTelegramCode = typeof TelegramCodeBody.Encoded
export type GiveTelegramPassword = typeof TelegramPasswordBody.Encoded

type Raw = Readonly<Record<string, unknown>>

const phoneProblems = ({ method, phone }: Raw): ReadonlyArray<Problem> => {
  if (method !== "code") return []
  if (phone === undefined) return [problem("validation_failed", "phone", "is required")]
  return typeof phone !== "string" || parsePhone(phone) !== undefined
    ? []
    : [problem("invalid_phone", "phone")]
}

const decodeBegin = inputDecoder(TelegramLoginBody, { across: phoneProblems })
const decodeCode = inputDecoder(TelegramCodeBody)
const decodePassword = inputDecoder(TelegramPasswordBody)

const requestOf = (command: unknown): Result.Result<TelegramLoginRequest, Refusal> =>
  Result.map(decodeBegin(command), ({ method, phone = "" }): TelegramLoginRequest => {
    const parsed = method === "code" ? parsePhone(phone) : undefined
    return parsed === undefined ? { method: "qr" } : { method: "code", phone: parsed }
  })

export class TelegramLogins extends Context.Service<
  TelegramLogins,
  {
    /**
     * POST …/telegram-login. Fails with `connect_in_progress`, `already_connected` and
     * `telegram_not_configured`. Each fails with `number_not_found`, and all but this with
     * `login_not_found`.
     */
    begin(
      ...command: readonly [...AddressedNumber, BeginTelegramLogin]
    ): Effect.Effect<TelegramLoginView, Failure>
    /** GET …/telegram-login. */
    get(...number: AddressedNumber): Effect.Effect<TelegramLoginView, Failure>
    /** DELETE …/telegram-login: gives it up. */
    cancel(...number: AddressedNumber): Effect.Effect<void, Failure>
    /** POST …/telegram-login/code. Fails with `invalid_code`. */
    giveCode(
      ...command: readonly [...AddressedNumber, GiveTelegramCode]
    ): Effect.Effect<TelegramLoginView, Failure>
    /** POST …/telegram-login/password. Fails with `invalid_password`. */
    givePassword(
      ...command: readonly [...AddressedNumber, GiveTelegramPassword]
    ): Effect.Effect<TelegramLoginView, Failure>
  }
>()("core/TelegramLogins") {
  static readonly layer = Layer.effect(
    TelegramLogins,
    Effect.gen(function* () {
      const numbers = yield* NumberStore
      const workspaces = yield* Workspaces
      const login = yield* TelegramLogin
      const noLogin = refuse("login_not_found", { inPath: true })

      const accountOf = Effect.fnUntraced(function* (...[role, workspaceId, id]: AddressedNumber) {
        const workspace = yield* workspaces.within(role, workspaceId, "numbers")
        const number = id === undefined ? null : yield* numbers.get(workspace.id, id)
        return number ?? (yield* refuse("number_not_found", { inPath: true }))
      })

      const after = (view: AfterSecret, wrong: "invalid_code" | "invalid_password") => {
        if (view === "wrong") return Effect.fail(refuse(wrong))
        return view === null ? Effect.fail(noLogin) : Effect.succeed(view)
      }

      return TelegramLogins.of({
        begin: Effect.fn("TelegramLogins.begin")(function* (role, workspaceId, id, command) {
          const number = yield* accountOf(role, workspaceId, id)
          const request = yield* Effect.fromResult(requestOf(command))
          if (number.platform !== "telegram") {
            return yield* refuse("validation_failed", {
              message: "Only Telegram accounts are logged in here.",
            })
          }
          if (number.status === "connected") return yield* refuse("already_connected")
          // Behind a test number there is no account.
          if (!login.isConfigured || number.mode !== "live") {
            return yield* refuse("telegram_not_configured")
          }
          const now = yield* Clock.currentTimeMillis
          const facts = yield* numbers.connection(number.workspaceId, number.id, now, dailyQuota)
          const view = yield* login.begin(
            number.id,
            request,
            facts !== null && isShutOut(facts, now),
          )
          if (view !== null) return view
          return yield* refuse("connect_in_progress", { details: { number_id: number.id } })
        }),
        get: Effect.fn("TelegramLogins.get")(function* (...addressed) {
          const { id } = yield* accountOf(...addressed)
          return (yield* login.look(id)) ?? (yield* noLogin)
        }),
        cancel: Effect.fn("TelegramLogins.cancel")(function* (...addressed) {
          const { id } = yield* accountOf(...addressed)
          if (!(yield* login.cancel(id))) return yield* noLogin
        }),
        giveCode: Effect.fn("TelegramLogins.giveCode")(function* (role, workspaceId, id, command) {
          const number = yield* accountOf(role, workspaceId, id)
          const { code } = yield* Effect.fromResult(decodeCode(command))
          return yield* after(yield* login.giveCode(number.id, code), "invalid_code")
        }),
        givePassword: Effect.fn("TelegramLogins.givePassword")(
          function* (role, workspaceId, id, command) {
            const number = yield* accountOf(role, workspaceId, id)
            const { password } = yield* Effect.fromResult(decodePassword(command))
            return yield* after(yield* login.givePassword(number.id, password), "invalid_password")
          },
        ),
      })
    }),
  )
}
