/** POST /numbers: from unknown input to a request, or the contract's errors with their fields. */
import { Result, Schema } from "effect"
import { problem } from "../error/Refusal.ts"
import type { Problem, Refusal } from "../error/Refusal.ts"
import type { NumberId } from "../id/Ids.ts"
import type { ApiKey } from "../key/ApiKey.ts"
import { parsePhone, phoneDescribed, phoneDigits } from "../recipient/Phone.ts"
import { described } from "../request/Described.ts"
import { IdInput, inputDecoder } from "../request/Input.ts"
import type { LoginMethod } from "./SendingNumber.ts"

export const ConnectBody = Schema.Struct({
  login_method: described(
    Schema.optionalKey(Schema.Literals(["qr", "phone_code"])),
    "How to link it.",
    {
      default: "qr",
    },
  ),
  // Unused with `qr`; with `phone_code` it is held to its rules below.
  phone: described(
    Schema.optionalKey(Schema.String.annotate({ examples: phoneDescribed.examples })),
    "Required with `phone_code`: E.164 with a leading +. Unused with `qr`.",
  ),
  number_id: described(
    Schema.optionalKey(IdInput),
    "Reconnects this number instead of adding one. Required for a key limited to some numbers.",
  ),
}).annotate({ identifier: "ConnectNumber" })

export interface ConnectRequest {
  readonly method: LoginMethod
  /** Digits with country code; null with a QR code, which reveals the phone itself. */
  readonly phone: string | null
  /** The number to reconnect; null for a new one. */
  readonly numberId: NumberId | null
}

const phoneProblems = (input: Readonly<Record<string, unknown>>): ReadonlyArray<Problem> => {
  const { login_method, phone } = input
  if (login_method !== "phone_code") return []
  if (phone === undefined) return [problem("validation_failed", "phone", "is required")]
  return typeof phone !== "string" || parsePhone(phone) !== undefined
    ? []
    : [problem("invalid_phone", "phone")]
}

const numberProblems = (input: Readonly<Record<string, unknown>>): ReadonlyArray<Problem> =>
  input["number_id"] === undefined
    ? [
        problem(
          "validation_failed",
          "number_id",
          "is required: the key is limited to some numbers, which it may reconnect",
        ),
      ]
    : []

const order = Object.keys(ConnectBody.fields)
const decodeAny = inputDecoder(ConnectBody, order, phoneProblems)
const decodeLimited = inputDecoder(ConnectBody, order, (input) => [
  ...phoneProblems(input),
  ...numberProblems(input),
])

/** Fails with `validation_failed` and `invalid_phone`. A limited key must name one of its numbers. */
export const parseConnectRequest = (
  body: unknown,
  key: Pick<ApiKey, "numberIds">,
): Result.Result<ConnectRequest, Refusal> =>
  Result.map((key.numberIds === null ? decodeAny : decodeLimited)(body), (input) => {
    const method = input.login_method ?? "qr"
    const phone = method === "qr" ? undefined : parsePhone(input.phone ?? "")
    return {
      method,
      phone: phone === undefined ? null : phoneDigits(phone),
      numberId: (input.number_id as NumberId | undefined) ?? null,
    }
  })
