/** Connecting a number: by QR code, by pairing code, again, and when time runs out. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { layerService, publicUrl } from "../Service.ts"
import { aKey, aNumber, aPhone, aSender, aWorkspace, operate } from "../Records.ts"
import {
  request,
  code,
  connect,
  follow,
  listed,
  qrLink,
  read,
  scan,
  scanPath,
  scanned,
  aToken,
} from "./Connecting.ts"

layer(layerService())("connecting by QR code", (it) => {
  it.effect("POST answers 202 with a connecting number, whose code is then scanned", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const numberBody = yield* connect(token)
      assert.deepStrictEqual(numberBody, {
        id: numberBody.id,
        phone: null,
        label: "",
        platform: "whatsapp",
        status: "connecting",
        login_method: "qr",
        connect: null,
      })
      const shown = yield* code(token, numberBody.id)
      assert.match(String(shown.qr_code_url), /^https:\/\/messages\.test\/qr\/[\w-]+\.png$/)
      assert.deepStrictEqual(shown, {
        qr_code_url: shown.qr_code_url,
        pairing_code: null,
        pairing_code_expires_at: null,
        linking: false,
        requested_at: "1970-01-01T00:00:00Z",
      })
      const linked = yield* scan(numberBody.id, { phone: "+1 555 987-0001" })
      assert.deepStrictEqual(linked, { ...numberBody, status: "connected", phone: "15559870001" })
      assert.deepStrictEqual(yield* read(token, numberBody.id), linked)
    }),
  )

  it.effect("each call gets a fresh link to a PNG of the newest code, without a key", () =>
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

  it.effect("an invented link is 404, and so is one of an attempt that is over", () =>
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

  it.effect("a scan without a phone invents one, and needs no body", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const { id } = yield* connect(token)
      const { phone, status } = yield* scan(id)
      assert.strictEqual(status, "connected")
      assert.match(String(phone), /^1555\d{7}$/)
      const again = yield* operate({ method: "POST", path: scanPath(id), json: {} })
      assert.strictEqual(again.status, 409)
      assert.strictEqual(errorBody(again).code, "not_connecting")
    }),
  )

  it.effect("a phone that another number has disconnects the new one", () =>
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
})

layer(layerService())("connecting by pairing code", (it) => {
  it.effect("shows the phone at once, and a code of 8 characters with an end", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      const phone = aPhone()
      const numberBody = yield* connect(token, { login_method: "phone_code", phone })
      assert.deepInclude(numberBody, {
        phone: phone.slice(1),
        status: "connecting",
        login_method: "phone_code",
        connect: null,
      })
      const shown = yield* code(token, numberBody.id)
      assert.match(String(shown.pairing_code), /^[0-9A-Z]{8}$/)
      assert.deepInclude(shown, {
        qr_code_url: null,
        pairing_code_expires_at: "1970-01-01T00:03:00Z",
      })
      assert.deepInclude(yield* scan(numberBody.id), { status: "connected", phone: phone.slice(1) })
    }),
  )

  it.effect("needs a phone", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      for (const phone of [undefined, null]) {
        const answer = yield* request(token, { login_method: "phone_code", phone })
        assert.deepInclude(errorBody(answer), { code: "validation_failed", field: "phone" })
      }
      assert.deepStrictEqual(yield* listed(token), [])
    }),
  )

  it.effect("ignores phone with qr", () =>
    Effect.gen(function* () {
      const { token } = yield* aToken()
      assert.strictEqual((yield* connect(token, { phone: "0171" })).phone, null)
    }),
  )
})

layer(layerService())("reconnecting", (it) => {
  it.effect("of two requests at once for one number, one is connect_in_progress", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aToken()
      const number = yield* aNumber(workspace, { status: "disconnected" })
      const answers = yield* Effect.all(
        [request(token, { number_id: number.id }), request(token, { number_id: number.id })],
        { concurrency: 2 },
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [202, 409])
    }),
  )

  it.effect("a Telegram account is validation_failed on number_id", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aToken()
      const account = yield* aNumber(workspace, { platform: "telegram" })
      const answer = yield* request(token, { number_id: account.id })
      assert.deepInclude(errorBody(answer), { code: "validation_failed", field: "number_id" })
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
        const answer = yield* request(key, json)
        assert.strictEqual(answer.status, status, answer.text)
        assert.deepInclude(errorBody(answer), { code: code_, field: "number_id" })
      }
      assert.strictEqual((yield* connect(key, { number_id: mine.id })).id, mine.id)
    }),
  )
})
