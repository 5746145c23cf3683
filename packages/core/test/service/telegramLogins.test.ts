/** Which numbers an operator may log in as Telegram accounts, and how the port's failures are answered. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Numbers, TelegramLogin, TelegramLogins } from "../../src/index.ts"
import type { AfterSecret, TelegramLoginView } from "../../src/index.ts"
import { aNumber, aWorkspace, inAService, noon } from "./Service.ts"

const view: TelegramLoginView = {
  state: "code_sent",
  qr: null,
  codeSentTo: "sms",
  expiresAt: noon,
  error: null,
}

/** A port with scripted answers. */
const layerLogin = (answers: {
  readonly started?: TelegramLoginView | null
  /** The number has an account. */
  readonly startsOver?: boolean
  readonly after?: AfterSecret
  readonly isConfigured?: boolean
}) =>
  Layer.succeed(TelegramLogin, {
    isConfigured: answers.isConfigured ?? true,
    begin: (_number, _request, isShutOut = false) =>
      Effect.succeed(answers.startsOver === true && !isShutOut ? null : (answers.started ?? null)),
    look: () => Effect.succeed(answers.started ?? null),
    giveCode: () => Effect.succeed(answers.after ?? null),
    givePassword: () => Effect.succeed(answers.after ?? null),
    cancel: () => Effect.succeed(answers.started !== undefined),
  })

const anAccount = Effect.gen(function* () {
  const workspace = yield* aWorkspace()
  const id = yield* aNumber(workspace, { platform: "telegram", status: "disconnected" })
  return { workspace, id }
})

const inScene = (
  answers: Parameters<typeof layerLogin>[0],
  ...[work, ...rest]: Parameters<typeof inAService>
) => inAService(work, ...rest).pipe(Effect.provide(layerLogin(answers)))

const byCode = { method: "code", phone: "+15550100001" } as const

const begin = (
  { id, workspace }: Effect.Success<typeof anAccount>,
  command: unknown = byCode,
): Effect.Effect<unknown, unknown, TelegramLogins> =>
  TelegramLogins.use((all) => all.begin("owner", workspace, id, command as never))

const toCode = (refusal: unknown) => (refusal as { readonly code: string }).code

describe("a Telegram login", () => {
  it.effect("starts for a Telegram account that is not connected", () =>
    inScene(
      { started: view },
      Effect.gen(function* () {
        const account = yield* anAccount
        assert.deepStrictEqual(yield* begin(account), view)
        assert.deepStrictEqual(yield* begin(account, { method: "qr" }), view)
      }),
    ),
  )

  it.effect("does not start for others, twice, or without an application", () =>
    Effect.gen(function* () {
      const getRefusal = (
        answers: Parameters<typeof layerLogin>[0],
        prepare: (
          account: Effect.Success<typeof anAccount>,
        ) => Effect.Effect<unknown, unknown, Numbers>,
        command?: unknown,
      ) =>
        inScene(
          answers,
          Effect.gen(function* () {
            const account = yield* anAccount
            yield* prepare(account)
            const refusal = yield* Effect.flip(begin(account, command))
            assert.strictEqual(toCode(refusal), expected)
          }),
        )
      let expected = "connect_in_progress"
      yield* getRefusal({ started: null }, () => Effect.void)
      expected = "telegram_not_configured"
      yield* getRefusal({ started: view, isConfigured: false }, () => Effect.void)
      expected = "already_connected"
      yield* getRefusal({ started: view }, ({ id }) =>
        Numbers.use((all) => all.connectionChanged(id, "connected", "15550100001")),
      )
      expected = "validation_failed"
      yield* getRefusal({ started: view }, () => Effect.void, { method: "code" })
      expected = "invalid_phone"
      yield* getRefusal({ started: view }, () => Effect.void, { method: "code", phone: "12" })
    }),
  )

  it.effect("replaces only an account that Telegram has shut out", () =>
    inScene(
      { started: view, startsOver: true },
      Effect.gen(function* () {
        const account = yield* anAccount
        const numbers = yield* Numbers
        const dropOut = (reason: "connection_lost" | "banned") =>
          numbers.connectionChanged(account.id, "disconnected", null, reason)
        yield* dropOut("connection_lost")
        assert.strictEqual(toCode(yield* Effect.flip(begin(account))), "connect_in_progress")
        yield* dropOut("banned")
        assert.deepStrictEqual(yield* begin(account), view)
      }),
    ),
  )

  it.effect("reports a wrong code or password, and a missing login", () =>
    Effect.gen(function* () {
      const told = (after: AfterSecret) =>
        inScene(
          { after },
          Effect.gen(function* () {
            const { id, workspace } = yield* anAccount
            const logins = yield* TelegramLogins
            const all = [
              Effect.flip(logins.giveCode("owner", workspace, id, { code: "1" })),
              Effect.flip(logins.givePassword("owner", workspace, id, { password: "p" })),
              Effect.flip(logins.get("owner", workspace, id)),
              Effect.flip(logins.cancel("owner", workspace, id)),
            ]
            assert.deepStrictEqual((yield* Effect.all(all)).map(toCode), expected)
          }),
        )
      let expected = ["invalid_code", "invalid_password", "login_not_found", "login_not_found"]
      yield* told("wrong")
      expected = ["login_not_found", "login_not_found", "login_not_found", "login_not_found"]
      yield* told(null)
    }),
  )
})
