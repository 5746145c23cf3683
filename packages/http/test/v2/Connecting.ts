/** Requests about numbers, for the suites of version 2, and a reader of QR codes. */
import { assert } from "@effect/vitest"
import { sleepInRealTime } from "@messaging-service/core"
import { Effect } from "effect"
import jsQR from "jsqr"
import { PNG } from "pngjs"
import { HttpTestClients } from "../HttpTestClients.ts"
import { publicUrl } from "../Service.ts"
import { expectBody, operate, aKey, aWorkspace } from "../Records.ts"
import { get, post } from "./Asking.ts"

export const numbersPath = "/api/v2/numbers"

export interface ConnectBody {
  readonly qr_code_url: string | null
  readonly pairing_code: string | null
  readonly pairing_code_expires_at: string | null
  readonly linking: boolean
  readonly requested_at: string | null
}

/** A Number in an answer. */
export interface NumberBody {
  readonly id: number
  readonly phone: string | null
  readonly label: string
  readonly platform: string
  readonly status: string
  readonly login_method: string
  readonly connect: ConnectBody | null
}

export const request = (token: string, json: unknown = {}) => post(token, json, numbersPath)

export const connect = (token: string, json: unknown = {}) =>
  Effect.map(request(token, json), (answer) => expectBody<NumberBody>(answer, 202))

export const read = (token: string, id: number) =>
  Effect.map(get(token, `${numbersPath}/${id}`), (answer) => expectBody<NumberBody>(answer, 200))

export const listed = (token: string) =>
  Effect.map(
    get(token, numbersPath),
    (answer) => expectBody<{ readonly data: ReadonlyArray<NumberBody> }>(answer, 200).data,
  )

/** Polls a number, as clients do, until it matches. */
export const until = (
  token: string,
  id: number,
  isReached: (number: NumberBody) => boolean,
): Effect.Effect<NumberBody, never, HttpTestClients> =>
  Effect.gen(function* () {
    for (let check = 0; check < 200; check++) {
      const number = yield* read(token, id)
      if (isReached(number)) return number
      yield* sleepInRealTime("10 millis")
    }
    return assert.fail("the number did not reach that state")
  })

const hasCode = ({ connect }: NumberBody) =>
  connect !== null && (connect.qr_code_url !== null || connect.pairing_code !== null)

export const code = (token: string, id: number) =>
  Effect.map(until(token, id, hasCode), ({ connect }) => connect as ConnectBody)

export const qrLink = (token: string, id: number) =>
  Effect.map(code(token, id), ({ qr_code_url }) => String(qr_code_url))

export const scanPath = (id: number) => `/admin/v1/simulator/numbers/${id}/scan`

export const scan = (id: number, json?: unknown) =>
  Effect.map(
    operate({ method: "POST", path: scanPath(id), ...(json === undefined ? {} : { json }) }),
    (answer) => expectBody<NumberBody>(answer, 200),
  )

/** Follows a QR link without any key. */
export const follow = (link: string, method = "GET") =>
  Effect.gen(function* () {
    const { port } = yield* HttpTestClients
    const url = link.replace(publicUrl, `http://127.0.0.1:${port}`)
    return yield* Effect.promise(async () => {
      const response = await fetch(url, { method })
      const bytes = new Uint8Array(await response.arrayBuffer())
      return { status: response.status, headers: response.headers, bytes }
    })
  })

/** The content of the QR code behind a link. */
export const scanned = (link: string) =>
  Effect.map(follow(link), ({ bytes, status }) => {
    assert.strictEqual(status, 200)
    const { data, height, width } = PNG.sync.read(Buffer.from(bytes))
    return jsQR.default(new Uint8ClampedArray(data), width, height)?.data
  })

export const aToken = (fields: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const workspace = yield* aWorkspace(fields)
    const { key: token } = yield* aKey(workspace)
    return { workspace, token }
  })
