import { assert, describe, layer } from "@effect/vitest"
import { layerStoredClock } from "@messaging-service/emulator"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Doors, errorOf } from "../Doors.ts"
import { layerService, publicUrl } from "../Service.ts"
import { aKey, aNumber, aPhone, aSender, aWorkspace, bodyOf, operate, settle } from "../Records.ts"
import type { MessageBody } from "../Records.ts"
import { get, path as messagesPath, post, send } from "./Asking.ts"
import {
  ask,
  code,
  connect,
  follow,
  listed,
  numbersPath,
  qrLink,
  read,
  scan,
  scanPath,
  scanned,
  until,
} from "./Connecting.ts"

const plan = (fields: Readonly<Record<string, unknown>> = {}) => ({
  name: "Plan",
  messages_remaining: null,
  reminders: true,
  qr_code_api: true,
  max_numbers: null,
  media_storage_bytes: 0,
  ...fields,
})

const aToken = (fields: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const workspace = yield* aWorkspace(fields)
    const { key: token } = yield* aKey(workspace)
    return { workspace, token }
  })

layer(layerService())("the numbers", (it) => {
  it.effect("GET returns every number, oldest first, in data, with connect null", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aToken()
      const first = yield* aNumber(workspace, { label: "Shop", platform: "telegram" })
      const second = yield* connect(token)
      assert.deepStrictEqual(yield* listed(token), [
        {
          id: first.id,
          phone: first.phone,
          label: "Shop",
          platform: "telegram",
          status: "connected",
          login_method: "qr",
          connect: null,
        },
        second,
      ])
    }),
  )

  it.effect("a number that does not exist or is another workspace's is 404 number_not_found", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const { number } = yield* aSender()
      for (const id of ["999999", "x", "0", String(number.id)]) {
        const answer = yield* get(token, `${numbersPath}/${id}`)
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(errorOf(answer).code, "number_not_found")
      }
    }),
  )

  it.effect("a limited key sees only its numbers", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender()
      const other = yield* aNumber(workspace)
      const { key } = yield* aKey(workspace, { number_ids: [other.id] })
      assert.deepStrictEqual(
        (yield* listed(key)).map(({ id }) => id),
        [other.id],
      )
      assert.strictEqual((yield* get(key, `${numbersPath}/${number.id}`)).status, 404)
    }),
  )

  it.effect("the scope numbers is needed", () =>
    Effect.gen(function* () {
      const { key } = yield* aKey(yield* aWorkspace(), { scopes: ["messages:send"] })
      for (const answer of [yield* get(key, numbersPath), yield* ask(key)]) {
        assert.deepInclude(errorOf(answer), {
          code: "missing_scope",
          required_scope: "numbers",
        })
      }
    }),
  )
})

layer(layerService())("connecting by QR code", (it) => {
  it.effect("POST answers 202 with a connecting number, whose code is then scanned", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const made = yield* connect(token)
      assert.deepStrictEqual(made, {
        id: made.id,
        phone: null,
        label: "",
        platform: "whatsapp",
        status: "connecting",
        login_method: "qr",
        connect: null,
      })
      const shown = yield* code(token, made.id)
      assert.match(String(shown.qr_code_url), /^https:\/\/messages\.test\/qr\/[\w-]+\.png$/)
      assert.deepStrictEqual(shown, {
        qr_code_url: shown.qr_code_url,
        pairing_code: null,
        pairing_code_expires_at: null,
        linking: false,
        requested_at: "1970-01-01T00:00:00Z",
      })
      const linked = yield* scan(made.id, { phone: "+1 555 987-0001" })
      assert.deepStrictEqual(linked, { ...made, status: "connected", phone: "15559870001" })
      assert.deepStrictEqual(yield* read(token, made.id), linked)
    }),
  )

  it.effect("a fresh link per call; each is a PNG of the newest code, without a key", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const { id } = yield* connect(token)
      const [first, second] = [yield* qrLink(token, id), yield* qrLink(token, id)]
      assert.notStrictEqual(first, second)
      const { headers, status } = yield* follow(first)
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "image/png")
      assert.strictEqual(headers.get("cache-control"), "no-store")
      const text = yield* scanned(first)
      assert.match(String(text), /^2@\w{100}(,\w{44}){3}$/)
      assert.strictEqual(yield* scanned(second), text)
    }),
  )

  it.effect(
    "a link that was never given out is 404, and so is one of an attempt that is over",
    () =>
      Effect.gen(function* () {
        const { token } = yield* aToken()
        const { id } = yield* connect(token)
        const link = yield* qrLink(token, id)
        const token_ = link.slice(`${publicUrl}/qr/`.length, -4)
        for (const forged of [
          `${publicUrl}/qr/${token_}`,
          `${publicUrl}/qr/${token_}.jpg`,
          `${publicUrl}/qr/${token_.slice(0, -1)}${token_.endsWith("0") ? "1" : "0"}.png`,
          `${publicUrl}/qr/z${token_}.png`,
          `${publicUrl}/qr/x.png`,
          `${publicUrl}/qr`,
        ]) {
          assert.strictEqual((yield* follow(forged)).status, 404, forged)
        }
        assert.strictEqual((yield* follow(link, "POST")).status, 405)
        yield* scan(id)
        assert.strictEqual((yield* follow(link)).status, 404)
      }),
  )

  it.effect("a scan without a phone makes one up, and needs no body", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const { id } = yield* connect(token)
      const { phone, status } = yield* scan(id)
      assert.strictEqual(status, "connected")
      assert.match(String(phone), /^1555\d{7}$/)
      const again = yield* operate({ method: "POST", path: scanPath(id), json: {} })
      assert.strictEqual(again.status, 409)
      assert.strictEqual(errorOf(again).code, "not_connecting")
    }),
  )

  it.effect("a phone that another number holds is not duplicated: disconnected again", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender()
      const { id } = yield* connect(token)
      const back = yield* scan(id, { phone: number.phone.replace(/^/, "+") })
      assert.deepInclude(back, { status: "disconnected", phone: null, connect: null })
      const phones = (yield* listed(token)).map(({ phone }) => phone)
      assert.deepStrictEqual(phones, [number.phone, null])
      assert.strictEqual((yield* connect(token, { number_id: id })).status, "connecting")
    }),
  )

  it.effect("several numbers may be connecting at once", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const [first, second] = [yield* connect(token), yield* connect(token)]
      assert.notStrictEqual(
        yield* scanned(yield* qrLink(token, first.id)),
        yield* scanned(yield* qrLink(token, second.id)),
      )
      yield* scan(second.id)
      assert.strictEqual((yield* read(token, first.id)).status, "connecting")
    }),
  )
})

layer(layerService())("connecting by pairing code", (it) => {
  it.effect("the phone is shown at once, the code has 8 characters and an end", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const phone = aPhone()
      const made = yield* connect(token, { login_method: "phone_code", phone })
      assert.deepInclude(made, {
        phone: phone.slice(1),
        status: "connecting",
        login_method: "phone_code",
        connect: null,
      })
      const shown = yield* code(token, made.id)
      assert.match(String(shown.pairing_code), /^[0-9A-Z]{8}$/)
      assert.deepInclude(shown, {
        qr_code_url: null,
        pairing_code_expires_at: "1970-01-01T00:03:00Z",
      })
      assert.deepInclude(yield* scan(made.id), { status: "connected", phone: phone.slice(1) })
    }),
  )

  for (const [json, status, code_, field] of [
    [{ login_method: "phone_code" }, 400, "validation_failed", "phone"],
    [{ login_method: "phone_code", phone: "0171" }, 422, "invalid_phone", "phone"],
    [{ login_method: "phone_code", phone: "" }, 422, "invalid_phone", "phone"],
    [{ login_method: "phone_code", phone: null }, 400, "validation_failed", "phone"],
    [{ login_method: "sms" }, 400, "validation_failed", "login_method"],
    [{ number_id: "1" }, 400, "validation_failed", "number_id"],
    [{ number_id: 999_999 }, 422, "number_not_found", "number_id"],
    [{ number_id: -1 }, 422, "number_not_found", "number_id"],
    [{ label: "Shop" }, 400, "validation_failed", "label"],
  ] as const) {
    it.effect(`${JSON.stringify(json)} is ${code_} on ${field}`, () =>
      Effect.gen(function* () {
        const { token } = yield* aToken()
        const answer = yield* ask(token, json)
        assert.strictEqual(answer.status, status, answer.text)
        assert.deepInclude(errorOf(answer), { code: code_, field })
        assert.deepStrictEqual(yield* listed(token), [])
      }),
    )
  }

  it.effect("phone is unused with qr", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      assert.strictEqual((yield* connect(token, { phone: "0171" })).phone, null)
    }),
  )
})

layer(layerService())("reconnecting", (it) => {
  it.effect("keeps the id, and what waited for the number then leaves in order", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender()
      yield* operate({
        method: "POST",
        path: `/admin/v1/simulator/numbers/${number.id}/logout`,
      })
      assert.strictEqual((yield* read(token, number.id)).status, "disconnected")
      const waiting: Array<MessageBody> = []
      for (const text of ["one", "two", "three"]) {
        waiting.push(yield* send(token, { from: number.id, text }))
      }
      yield* settle
      const again = yield* connect(token, { number_id: number.id })
      assert.deepInclude(again, { id: number.id, status: "connecting", phone: number.phone })
      assert.deepInclude(yield* scan(number.id), { status: "connected", phone: number.phone })
      yield* settle
      for (const { id } of waiting) {
        const answer = yield* get(token, `${messagesPath}/${id}`)
        assert.strictEqual(bodyOf<MessageBody>(answer, 200).status, "sent")
      }
      const sent = yield* operate({
        path: `/admin/v1/simulator/sent?number_id=${number.id}`,
      })
      const { data } = bodyOf<{ readonly data: ReadonlyArray<{ readonly text: string }> }>(
        sent,
        200,
      )
      assert.deepStrictEqual(
        data.map(({ text }) => text),
        ["three", "two", "one"],
      )
    }),
  )

  it.effect("a connected number is already_connected, a connecting one connect_in_progress", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender()
      const connected = yield* ask(token, { number_id: number.id })
      assert.strictEqual(connected.status, 409)
      assert.strictEqual(errorOf(connected).code, "already_connected")
      const { id } = yield* connect(token)
      const connecting = yield* ask(token, { number_id: id })
      assert.strictEqual(connecting.status, 409)
      assert.deepInclude(errorOf(connecting), { code: "connect_in_progress", number_id: id })
    }),
  )

  it.effect("of two requests at once for one number, one is connect_in_progress", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aToken()
      const number = yield* aNumber(workspace, { status: "disconnected" })
      const answers = yield* Effect.all(
        [ask(token, { number_id: number.id }), ask(token, { number_id: number.id })],
        { concurrency: 2 },
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [202, 409])
    }),
  )

  it.effect("a Telegram account is validation_failed on number_id", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aToken()
      const account = yield* aNumber(workspace, { platform: "telegram" })
      const answer = yield* ask(token, { number_id: account.id })
      assert.deepInclude(errorOf(answer), { code: "validation_failed", field: "number_id" })
    }),
  )

  it.effect("a limited key names one of its numbers, and cannot add one", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aToken()
      const mine = yield* aNumber(workspace, { status: "disconnected" })
      const other = yield* aNumber(workspace, { status: "disconnected" })
      const foreign = yield* aNumber(yield* aWorkspace())
      const { key } = yield* aKey(workspace, { number_ids: [mine.id] })
      for (const [json, status, code_] of [
        [{}, 400, "validation_failed"],
        [{ number_id: other.id }, 403, "number_not_allowed"],
        [{ number_id: foreign.id }, 422, "number_not_found"],
      ] as const) {
        const answer = yield* ask(key, json)
        assert.strictEqual(answer.status, status, answer.text)
        assert.deepInclude(errorOf(answer), { code: code_, field: "number_id" })
      }
      assert.strictEqual((yield* connect(key, { number_id: mine.id })).id, mine.id)
    }),
  )

  it.effect("removing a connecting number ends its attempt", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aToken()
      const { id } = yield* connect(token)
      const link = yield* qrLink(token, id)
      yield* operate({
        method: "DELETE",
        path: `/admin/v1/workspaces/${workspace.id}/numbers/${id}`,
      })
      assert.strictEqual((yield* follow(link)).status, 404)
      assert.strictEqual((yield* operate({ method: "POST", path: scanPath(id) })).status, 404)
    }),
  )
})

layer(layerService())("the plan", (it) => {
  it.effect("without the QR code API is plan_required, whatever the number", () =>
    Effect.gen(function* () {
      for (const lacking of [null, plan({ qr_code_api: false })]) {
        const { token } = yield* aToken({ plan: lacking })
        for (const json of [{}, { number_id: 999_999 }]) {
          const answer = yield* ask(token, json)
          assert.strictEqual(answer.status, 403)
          assert.strictEqual(errorOf(answer).code, "plan_required")
        }
      }
    }),
  )

  it.effect("its numbers are counted: connected, disconnected and connecting ones", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aToken({ plan: plan({ max_numbers: 3 }) })
      yield* aNumber(workspace)
      const idle = yield* aNumber(workspace, { status: "disconnected" })
      yield* connect(token)
      const full = yield* ask(token)
      assert.strictEqual(full.status, 403)
      assert.strictEqual(errorOf(full).code, "number_limit_reached")
      // Reconnecting adds none.
      yield* connect(token, { number_id: idle.id })
      yield* operate({
        method: "DELETE",
        path: `/admin/v1/workspaces/${workspace.id}/numbers/${idle.id}`,
      })
      yield* connect(token)
    }),
  )

  it.effect("requests at once do not get past the limit", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken({ plan: plan({ max_numbers: 2 }) })
      const answers = yield* Effect.all(
        Array.from({ length: 6 }, () => ask(token)),
        { concurrency: "unbounded" },
      )
      const made = answers.filter(({ status }) => status === 202)
      assert.lengthOf(made, 2)
      assert.lengthOf(yield* listed(token), 2)
    }),
  )
})

layer(layerService())("idempotency", (it) => {
  const keyed = (token: string, key: string, json: unknown) =>
    Effect.flatMap(Doors, ({ socket }) =>
      socket.call({
        method: "POST",
        path: numbersPath,
        token,
        json,
        headers: [["idempotency-key", key]],
      }),
    )

  it.effect("a repeat answers as the first request and adds no second number", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const first = yield* keyed(token, "one", {})
      const made = bodyOf<{ readonly id: number }>(first, 202)
      yield* scan(made.id)
      const again = yield* keyed(token, "one", {})
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      assert.deepStrictEqual(bodyOf(again, 202), made)
      assert.lengthOf(yield* listed(token), 1)
      const other = yield* keyed(token, "one", { login_method: "qr" })
      assert.strictEqual(errorOf(other).code, "idempotency_key_reused")
    }),
  )

  it.effect("a refusal leaves the key free", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender()
      const refused = yield* keyed(token, "two", { number_id: number.id })
      assert.strictEqual(errorOf(refused).code, "already_connected")
      assert.strictEqual((yield* keyed(token, "two", {})).status, 202)
    }),
  )
})

layer(layerService())("a test key", (it) => {
  it.effect("adds a number that links itself after 5 s and is seen by test keys only", () =>
    Effect.gen(function* () {
      const { token: live, workspace } = yield* aToken()
      const shared = yield* aNumber(workspace)
      const { key: test } = yield* aKey(workspace, { mode: "test" })
      const made = yield* connect(test)
      assert.deepInclude(made, { phone: null, status: "connecting", connect: null })
      assert.isNotNull(yield* scanned(yield* qrLink(test, made.id)))
      assert.deepStrictEqual(
        (yield* listed(test)).map(({ id }) => id),
        [shared.id, made.id],
      )
      assert.deepStrictEqual(
        (yield* listed(live)).map(({ id }) => id),
        [shared.id],
      )
      assert.strictEqual((yield* get(live, `${numbersPath}/${made.id}`)).status, 404)
      assert.strictEqual(errorOf(yield* ask(live, { number_id: made.id })).code, "number_not_found")

      yield* TestClock.adjust("4 seconds")
      assert.strictEqual((yield* read(test, made.id)).status, "connecting")
      yield* TestClock.adjust("1 second")
      const linked = yield* until(test, made.id, ({ status }) => status === "connected")
      assert.match(String(linked.phone), /^\d+$/)

      const from = { from: made.id }
      assert.strictEqual((yield* send(test, from)).from.id, made.id)
      const refused = yield* post(live, { to: { phone: "+15550001234" }, text: "Hello", ...from })
      assert.strictEqual(errorOf(refused).code, "number_not_found")
      // For a live key there is still exactly one connected number.
      assert.strictEqual((yield* send(live)).from.id, shared.id)
    }),
  )

  it.effect("is held to every rule, but leaves live numbers alone", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const { key } = yield* aKey(workspace, { mode: "test" })
      const connected = yield* aNumber(workspace)
      const idle = yield* aNumber(workspace, { status: "disconnected" })
      const already = yield* ask(key, { number_id: connected.id })
      assert.strictEqual(errorOf(already).code, "already_connected")
      const refused = yield* ask(key, { number_id: idle.id })
      assert.strictEqual(errorOf(refused).code, "number_not_found")
      assert.strictEqual((yield* read(key, idle.id)).status, "disconnected")
    }),
  )
})

describe("an attempt in time", () => {
  const adjustable = layerService({ ports: layerStoredClock() })
  const advance = (seconds: number) =>
    Effect.map(
      operate({
        method: "POST",
        path: "/admin/v1/simulator/clock/advance",
        json: { seconds },
      }),
      (answer) => bodyOf(answer, 200),
    )

  layer(adjustable, { excludeTestServices: true })("with a clock that can be moved", (it) => {
    it.effect("ends after 10 minutes; then it can be asked for again", () =>
      Effect.gen(function* () {
        const { token } = yield* aToken()
        const { id } = yield* connect(token)
        const link = yield* qrLink(token, id)
        yield* advance(590)
        assert.strictEqual((yield* read(token, id)).status, "connecting")
        const late = yield* qrLink(token, id)
        yield* advance(11)
        assert.deepInclude(yield* read(token, id), { status: "disconnected", connect: null })
        for (const gone of [link, late]) assert.strictEqual((yield* follow(gone)).status, 404)
        const scanned_ = yield* operate({ method: "POST", path: scanPath(id) })
        assert.strictEqual(errorOf(scanned_).code, "not_connecting")
        yield* connect(token, { number_id: id })
        assert.strictEqual((yield* follow(link)).status, 404)
        assert.strictEqual((yield* scan(id)).status, "connected")
      }),
    )

    it.effect("the QR code is refreshed, also beyond the codes of one connection", () =>
      Effect.gen(function* () {
        const { token } = yield* aToken()
        const { id } = yield* connect(token)
        const link = yield* qrLink(token, id)
        const texts = new Set([yield* scanned(link)])
        for (const [seconds, changes] of [
          [50, false],
          [15, true],
          [20, true],
          [100, true],
          [60, true],
        ] as const) {
          const before = texts.size
          yield* advance(seconds)
          texts.add(yield* scanned(link))
          assert.strictEqual(texts.size, changes ? before + 1 : before, `after ${seconds} s`)
        }
      }),
    )

    it.effect("an expired pairing code is followed by another", () =>
      Effect.gen(function* () {
        const { token } = yield* aToken()
        const { id } = yield* connect(token, { login_method: "phone_code", phone: aPhone() })
        const first = yield* code(token, id)
        yield* advance(170)
        assert.strictEqual((yield* code(token, id)).pairing_code, first.pairing_code)
        yield* advance(15)
        const second = yield* code(token, id)
        assert.notStrictEqual(second.pairing_code, first.pairing_code)
        assert.isAbove(
          Date.parse(String(second.pairing_code_expires_at)),
          Date.parse(String(first.pairing_code_expires_at)),
        )
      }),
    )
  })
})
