/** Logins of simulated Telegram accounts over HTTP, in each way that the emulator supports. */
import { assert, describe, layer } from "@effect/vitest"
import { layerLogin, layerStoredClock } from "@messaging-service/emulator"
import { Effect, Layer } from "effect"
import { errorOf } from "../Doors.ts"
import { aNumber, aWorkspace, bodyOf, operate } from "../Records.ts"
import { layerService } from "../Service.ts"

interface Login {
  readonly state: string
  readonly qr_url: string | null
  readonly qr_expires_at: string | null
  readonly code_sent_to: string | null
  readonly expires_at: string
  readonly error: string | null
}

const simulator = "/admin/v1/simulator"

const ask = (method: string, path: string, json?: unknown) =>
  operate({ method, path, ...(json === undefined ? {} : { json }) })

const refusalOf = (answer: Effect.Success<ReturnType<typeof ask>>, status: number) => {
  assert.strictEqual(answer.status, status)
  return errorOf(answer).code
}

/** A Telegram account of a workspace that is not logged in. */
const anAccount = (workspace?: number) =>
  Effect.gen(function* () {
    const id = workspace ?? (yield* aWorkspace()).id
    const number = yield* aNumber({ id }, { platform: "telegram", status: "disconnected" })
    const login = `/admin/v1/workspaces/${id}/numbers/${number.id}/telegram-login`
    return { workspace: id, id: number.id, login }
  })

const login = (path: string, status = 200) =>
  Effect.map(ask("GET", path), (answer) => bodyOf<Login>(answer, status))

const begin = (path: string, json: unknown) =>
  Effect.map(ask("POST", path, json), (answer) => bodyOf<Login>(answer, 202))

const byCode = { method: "code", phone: "+15550100002" }

const numberOf = ({ id, workspace }: { readonly id: number; readonly workspace: number }) =>
  Effect.map(ask("GET", `/admin/v1/workspaces/${workspace}/numbers`), (answer) => {
    const { data } = bodyOf<{
      readonly data: ReadonlyArray<{
        readonly id: number
        readonly status: string
        readonly phone: string
      }>
    }>(answer, 200)
    const found = data.find((number) => number.id === id)
    return { status: found?.status, phone: found?.phone }
  })

layer(layerService({ ports: Layer.merge(layerStoredClock(), layerLogin) }))(
  "a simulated Telegram account",
  (it) => {
    it.effect("logs in with its code, and connects with the phone that received it", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        const begun = yield* begin(account.login, byCode)
        assert.deepInclude(begun, { state: "code_sent", code_sent_to: "app", error: null })
        const again = yield* ask("POST", account.login, byCode)
        assert.strictEqual(refusalOf(again, 409), "connect_in_progress")
        const wrong = yield* ask("POST", `${account.login}/code`, { code: "99999" })
        assert.strictEqual(refusalOf(wrong, 422), "invalid_code")
        assert.strictEqual((yield* login(account.login)).state, "code_sent")
        yield* ask("POST", `${account.login}/code`, { code: "12345" })
        assert.strictEqual((yield* login(account.login)).state, "connected")
        const connected = { status: "connected", phone: "15550100002" }
        assert.deepStrictEqual(yield* numberOf(account), connected)
        const late = yield* ask("POST", account.login, byCode)
        assert.strictEqual(refusalOf(late, 409), "already_connected")
      }),
    )

    it.effect("needs the password after the code when the account has one", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        yield* begin(account.login, byCode)
        yield* ask("POST", `${account.login}/code`, { code: "22222" })
        assert.strictEqual((yield* login(account.login)).state, "password_needed")
        assert.strictEqual((yield* numberOf(account)).status, "disconnected")
        const wrong = yield* ask("POST", `${account.login}/password`, { password: "no" })
        assert.strictEqual(refusalOf(wrong, 422), "invalid_password")
        yield* ask("POST", `${account.login}/password`, { password: "password" })
        assert.strictEqual((yield* numberOf(account)).status, "connected")
      }),
    )

    it.effect("logs in by a scan of the shown QR code, and by no other scan", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        const scan = `${simulator}/numbers/${account.id}/scan`
        assert.strictEqual(refusalOf(yield* ask("POST", scan), 409), "not_connecting")
        const { qr_url: first } = yield* begin(account.login, { method: "qr" })
        assert.match(String(first), /^tg:\/\/login\?token=\w{32}$/)
        yield* ask("POST", `${simulator}/clock/advance`, { seconds: 31 })
        const shown = yield* login(account.login)
        assert.notStrictEqual(shown.qr_url, first)
        const scanned = yield* ask("POST", scan, { phone: "+15550100003" })
        assert.deepInclude(bodyOf<object>(scanned, 200), { status: "connected" })
        assert.deepInclude(yield* login(account.login), { state: "connected", qr_url: null })
        assert.strictEqual((yield* numberOf(account)).phone, "15550100003")
      }),
    )

    it.effect("has ten minutes, may be given up, and can then start over", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        yield* begin(account.login, byCode)
        yield* ask("POST", `${simulator}/clock/advance`, { seconds: 600 })
        assert.strictEqual((yield* login(account.login)).state, "expired")
        yield* begin(account.login, byCode)
        const given = yield* ask("DELETE", account.login)
        assert.deepStrictEqual(bodyOf(given, 200), { cancelled: true })
        for (const method of ["GET", "DELETE"]) {
          const none = yield* ask(method, account.login)
          assert.strictEqual(refusalOf(none, 404), "login_not_found")
        }
        assert.strictEqual((yield* begin(account.login, byCode)).state, "code_sent")
      }),
    )

    it.effect("is refused where its phone is not registered, or is another number's", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        const stranger = { method: "code", phone: "+15550100000" }
        yield* ask("PUT", `${simulator}/registered`, { phones: ["+15550100002"] })
        const refused = yield* begin(account.login, stranger)
        yield* ask("PUT", `${simulator}/registered`, { phones: null })
        assert.deepInclude(refused, { state: "failed", error: "phone_not_registered" })
        yield* begin(account.login, byCode)
        yield* ask("POST", `${account.login}/code`, { code: "12345" })
        const other = yield* anAccount(account.workspace)
        yield* begin(other.login, byCode)
        yield* ask("POST", `${other.login}/code`, { code: "12345" })
        const { error, state } = yield* login(other.login)
        assert.deepStrictEqual([state, error], ["failed", "phone_of_another_number"])
        assert.strictEqual((yield* numberOf(other)).status, "disconnected")
      }),
    )
  },
)

describe("without an application", () => {
  layer(layerService())("a simulated Telegram account", (it) => {
    it.effect("cannot log in", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        const refused = yield* ask("POST", account.login, byCode)
        assert.strictEqual(refusalOf(refused, 409), "telegram_not_configured")
      }),
    )
  })
})
