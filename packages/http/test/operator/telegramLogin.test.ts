/** Logins of simulated Telegram accounts over HTTP, in each way that the emulator supports. */
import { assert, describe, layer } from "@effect/vitest"
import { layerLogin, layerStoredClock } from "@messaging-service/emulator"
import { Effect, Layer } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { aNumber, aWorkspace, expectBody, operate } from "../Records.ts"
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

const request = (method: string, path: string, json?: unknown) =>
  operate({ method, path, ...(json === undefined ? {} : { json }) })

const getRefusal = (answer: Effect.Success<ReturnType<typeof request>>, status: number) => {
  assert.strictEqual(answer.status, status)
  return errorBody(answer).code
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
  Effect.map(request("GET", path), (answer) => expectBody<Login>(answer, status))

const begin = (path: string, json: unknown) =>
  Effect.map(request("POST", path, json), (answer) => expectBody<Login>(answer, 202))

const byCode = { method: "code", phone: "+15550100002" }

const readNumber = ({ id, workspace }: { readonly id: number; readonly workspace: number }) =>
  Effect.map(request("GET", `/admin/v1/workspaces/${workspace}/numbers`), (answer) => {
    const { data } = expectBody<{
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
        const started = yield* begin(account.login, byCode)
        assert.deepInclude(started, { state: "code_sent", code_sent_to: "app", error: null })
        const again = yield* request("POST", account.login, byCode)
        assert.strictEqual(getRefusal(again, 409), "connect_in_progress")
        const wrong = yield* request("POST", `${account.login}/code`, { code: "99999" })
        assert.strictEqual(getRefusal(wrong, 422), "invalid_code")
        assert.strictEqual((yield* login(account.login)).state, "code_sent")
        yield* request("POST", `${account.login}/code`, { code: "12345" })
        assert.strictEqual((yield* login(account.login)).state, "connected")
        const connected = { status: "connected", phone: "15550100002" }
        assert.deepStrictEqual(yield* readNumber(account), connected)
        const late = yield* request("POST", account.login, byCode)
        assert.strictEqual(getRefusal(late, 409), "already_connected")
      }),
    )

    it.effect("needs the password after the code when the account has one", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        yield* begin(account.login, byCode)
        yield* request("POST", `${account.login}/code`, { code: "22222" })
        assert.strictEqual((yield* login(account.login)).state, "password_needed")
        assert.strictEqual((yield* readNumber(account)).status, "disconnected")
        const wrong = yield* request("POST", `${account.login}/password`, { password: "no" })
        assert.strictEqual(getRefusal(wrong, 422), "invalid_password")
        yield* request("POST", `${account.login}/password`, { password: "password" })
        assert.strictEqual((yield* readNumber(account)).status, "connected")
      }),
    )

    it.effect("logs in by a scan of the shown QR code, and by no other scan", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        const scan = `${simulator}/numbers/${account.id}/scan`
        assert.strictEqual(getRefusal(yield* request("POST", scan), 409), "not_connecting")
        const { qr_url: first } = yield* begin(account.login, { method: "qr" })
        assert.match(String(first), /^tg:\/\/login\?token=\w{32}$/)
        yield* request("POST", `${simulator}/clock/advance`, { seconds: 31 })
        const shown = yield* login(account.login)
        assert.notStrictEqual(shown.qr_url, first)
        const scanned = yield* request("POST", scan, { phone: "+15550100003" })
        assert.deepInclude(expectBody<object>(scanned, 200), { status: "connected" })
        assert.deepInclude(yield* login(account.login), { state: "connected", qr_url: null })
        assert.strictEqual((yield* readNumber(account)).phone, "15550100003")
      }),
    )

    it.effect("has ten minutes, may be given up, and can then start over", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        yield* begin(account.login, byCode)
        yield* request("POST", `${simulator}/clock/advance`, { seconds: 600 })
        assert.strictEqual((yield* login(account.login)).state, "expired")
        yield* begin(account.login, byCode)
        const input = yield* request("DELETE", account.login)
        assert.deepStrictEqual(expectBody(input, 200), { cancelled: true })
        for (const method of ["GET", "DELETE"]) {
          const none = yield* request(method, account.login)
          assert.strictEqual(getRefusal(none, 404), "login_not_found")
        }
        assert.strictEqual((yield* begin(account.login, byCode)).state, "code_sent")
      }),
    )

    it.effect("is refused where its phone is not registered, or is another number's", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        const stranger = { method: "code", phone: "+15550100000" }
        yield* request("PUT", `${simulator}/registered`, { phones: ["+15550100002"] })
        const refused = yield* begin(account.login, stranger)
        yield* request("PUT", `${simulator}/registered`, { phones: null })
        assert.deepInclude(refused, { state: "failed", error: "phone_not_registered" })
        yield* begin(account.login, byCode)
        yield* request("POST", `${account.login}/code`, { code: "12345" })
        const other = yield* anAccount(account.workspace)
        yield* begin(other.login, byCode)
        yield* request("POST", `${other.login}/code`, { code: "12345" })
        const { error, state } = yield* login(other.login)
        assert.deepStrictEqual([state, error], ["failed", "phone_of_another_number"])
        assert.strictEqual((yield* readNumber(other)).status, "disconnected")
      }),
    )
  },
)

describe("without an application", () => {
  layer(layerService())("a simulated Telegram account", (it) => {
    it.effect("cannot log in", () =>
      Effect.gen(function* () {
        const account = yield* anAccount()
        const refused = yield* request("POST", account.login, byCode)
        assert.strictEqual(getRefusal(refused, 409), "telegram_not_configured")
      }),
    )
  })
})
