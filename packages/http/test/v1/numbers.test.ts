/** Numbers of version 1: connected with a QR code or a pairing code, and reported to a callback. */
import { assert, layer } from "@effect/vitest"
import { sleepInRealTime } from "@messaging-service/core"
import { Effect } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aKey, aNumber, aPhone } from "../Records.ts"
import { connect as connectV2, listed, read, scan, scanned } from "../v2/Connecting.ts"
import { aClient, aLonelyClient, answered, request, kinds, assertRefusedV1 } from "./Asking.ts"
import type { Credentials, Fields } from "./Asking.ts"

interface NumberV1 {
  readonly whatsapp_client: number
  readonly whatsapp_number: string | null
  readonly label: string
  readonly connection: string
  readonly qr_code_url?: string | null
  readonly pairing_code?: string | null
}

interface Asker {
  readonly credentials: Credentials
}

const connect = ({ credentials }: Asker, fields: Fields = {}) =>
  Effect.map(
    request("whatsapp/connect/", { ...credentials, ...fields }),
    (answer) => answered<{ readonly whatsapp_client: number }>(answer).whatsapp_client,
  )

const status = ({ credentials }: Asker, whatsapp_client: number) =>
  Effect.map(
    request("whatsapp/status/", { ...credentials, whatsapp_client }),
    (answer) => answered<{ readonly data: NumberV1 }>(answer).data,
  )

const list = ({ credentials }: Asker) =>
  Effect.map(
    request("whatsapp/list/", { ...credentials }),
    (answer) => answered<{ readonly data: ReadonlyArray<NumberV1> }>(answer).data,
  )

/** Polls a number, as clients do, until there is a code. */
const withCode = (asker: Asker, id: number): Effect.Effect<NumberV1, never, HttpTestClients> =>
  Effect.gen(function* () {
    for (let check = 0; check < 40; check++) {
      const number = yield* status(asker, id)
      if ((number.qr_code_url ?? number.pairing_code) != null) return number
      yield* sleepInRealTime("25 millis")
    }
    return assert.fail("there is no code")
  })

layer(layerService())("whatsapp/connect/", (it) => {
  it.effect("adds a number, shows its QR code, and connects it once that is scanned", () =>
    Effect.gen(function* () {
      const client = yield* aLonelyClient()
      const answer = yield* request("whatsapp/connect/", { ...client.credentials })
      const body = answered<{ readonly whatsapp_client: number }>(answer)
      const { whatsapp_client: id } = body
      assert.deepStrictEqual<unknown>(body, {
        status: 1,
        message: "Connection started",
        whatsapp_client: id,
      })
      const { qr_code_url, ...shown } = yield* withCode(client, id)
      assert.deepStrictEqual(shown, {
        whatsapp_client: id,
        whatsapp_number: null,
        label: "",
        connection: "connecting",
        pairing_code: null,
      })
      assert.isString(yield* scanned(String(qr_code_url)))
      const phone = aPhone()
      yield* scan(id, { phone })
      assert.deepStrictEqual(yield* status(client, id), {
        whatsapp_client: id,
        whatsapp_number: phone.slice(1),
        label: "",
        connection: "connected",
        qr_code_url: null,
        pairing_code: null,
      })
      const { key } = yield* aKey(client.workspace)
      assert.strictEqual((yield* read(key, id)).status, "connected")
    }),
  )

  it.effect.each(kinds)("connects with a pairing code for a phone, given in %s", (kind) =>
    Effect.gen(function* () {
      const client = yield* aLonelyClient()
      const phone = aPhone().slice(1)
      const fields = { ...client.credentials, whatsapp_number: phone }
      const answer = yield* request("whatsapp/connect", fields, kind)
      const { whatsapp_client } = answered<{ readonly whatsapp_client: number }>(answer)
      const number = yield* withCode(client, whatsapp_client)
      assert.match(String(number.pairing_code), /^[0-9A-Z]{8}$/)
      assert.deepStrictEqual([number.whatsapp_number, number.qr_code_url], [phone, null])
      const { key } = yield* aKey(client.workspace)
      assert.strictEqual((yield* read(key, whatsapp_client)).login_method, "phone_code")
    }),
  )

  it.effect("reconnects a number under its id", () =>
    Effect.gen(function* () {
      const client = yield* aClient({ number: { status: "disconnected" } })
      const { id } = client.number
      assert.strictEqual(yield* connect(client, { whatsapp_client: String(id) }), id)
      assert.strictEqual((yield* status(client, id)).connection, "connecting")
      assert.lengthOf(yield* list(client), 1)
    }),
  )
})

layer(layerService())("whatsapp/list/ and whatsapp/status/", (it) => {
  it.effect("show the WhatsApp numbers of both versions, oldest first, and no test number", () =>
    Effect.gen(function* () {
      const client = yield* aClient({ number: { label: "Büro" } })
      const telegram = yield* aNumber(client.workspace, { platform: "telegram" })
      const { key } = yield* aKey(client.workspace)
      const added = yield* connectV2(key)
      yield* connectV2((yield* aKey(client.workspace, { mode: "test" })).key)
      const shown = yield* list(client)
      assert.deepStrictEqual(shown, [
        {
          whatsapp_client: client.number.id,
          whatsapp_number: client.number.phone,
          label: "Büro",
          connection: "connected",
        },
        {
          whatsapp_client: added.id,
          whatsapp_number: null,
          label: "",
          connection: "connecting",
        },
      ])
      assert.deepStrictEqual(
        (yield* listed(key)).map(({ id }) => id).filter((id) => id !== telegram.id),
        shown.map(({ whatsapp_client }) => whatsapp_client),
      )
      const requested = { ...client.credentials, whatsapp_client: telegram.id }
      assertRefusedV1(yield* request("whatsapp/status/", requested), 400, "Invalid whatsapp client")
    }),
  )

  it.effect("are empty for a workspace without numbers", () =>
    Effect.gen(function* () {
      const client = yield* aLonelyClient()
      const answer = yield* request("whatsapp/list", { ...client.credentials }, "form")
      assert.deepStrictEqual(answered(answer), { status: 1, data: [] })
    }),
  )
})
