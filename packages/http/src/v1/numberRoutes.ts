/** Numbers as version 1 connects and shows them (contract: Version 1: numbers). */
import { Connections, described, numberStatuses, refuse } from "@messaging-service/core"
import type { ConnectNumber, NumberId, Refusal, SendingNumber } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { failV1 } from "./FailureV1.ts"
import { idOf, integer, string, unreadable } from "./FieldsV1.ts"
import { phoneOf } from "./recipientV1.ts"
import { routeV1, succeeded, successV1 } from "./RouteV1.ts"

const numberFields = {
  whatsapp_client: described(Schema.Int, "The number's id."),
  whatsapp_number: described(
    Schema.NullOr(Schema.String),
    "Digits with country code; null until the QR code is scanned.",
  ),
  label: Schema.String,
  connection: Schema.Literals(numberStatuses),
}

const shown = ({ id, label, phone, status }: SendingNumber) => ({
  whatsapp_client: id,
  whatsapp_number: phone,
  label,
  connection: status,
})

/** Version 1 neither shows nor connects Telegram accounts, which are numbers too. */
const isShown = ({ platform }: SendingNumber): boolean => platform === "whatsapp"

/** A Telegram account is refused as a number that the workspace does not have. */
const ofNumber = (refusal: Refusal): Refusal =>
  refusal.code === "validation_failed" && refusal.field === "number_id"
    ? refuse("number_not_found", { field: "number_id" })
    : refusal

export const numberRoutes = Effect.gen(function* () {
  const connections = yield* Connections

  return [
    routeV1("POST /api/v1/whatsapp/connect", {
      summary: "Connect a WhatsApp number, or connect one again",
      fields: {
        whatsapp_client: integer("Connects this number again instead of adding one."),
        whatsapp_number: string("Connects with a pairing code that is typed on this phone."),
        webhook_url: string("Where QR codes, the connection and its end are reported."),
      },
      example: { webhook_url: "https://shop.example.com/numbers" },
      answer: successV1({
        message: Schema.String,
        whatsapp_client: numberFields.whatsapp_client,
      }),
      handler: Effect.fnUntraced(function* ({ caller, fields }) {
        const { webhook_url, whatsapp_client, whatsapp_number } = fields
        if (whatsapp_client === unreadable) return yield* failV1("invalid_number")
        const phone =
          whatsapp_number === null ? null : yield* Effect.fromResult(phoneOf(whatsapp_number))
        const command: ConnectNumber = {
          ...(phone === null ? {} : { login_method: "phone_code", phone }),
          ...(whatsapp_client === null ? {} : { number_id: whatsapp_client }),
        }
        const { answer } = yield* connections
          .connect(caller, command, null, webhook_url)
          .pipe(Effect.catchTag("Refusal", (refusal) => Effect.fail(ofNumber(refusal))))
        return { status: succeeded, message: "Connection started", whatsapp_client: answer.id }
      }),
    }),
    routeV1("POST /api/v1/whatsapp/list", {
      summary: "The workspace's WhatsApp numbers",
      fields: {},
      answer: successV1({
        data: described(Schema.Array(Schema.Struct(numberFields)), "Oldest first."),
      }),
      handler: ({ caller }) =>
        Effect.map(connections.list(caller), (all) => ({
          status: succeeded,
          data: all.filter(isShown).map(shown),
        })),
    }),
    routeV1("POST /api/v1/whatsapp/status", {
      summary: "A number, and what there is to scan or to type",
      fields: { whatsapp_client: integer("The number's id.", { required: true }) },
      example: { whatsapp_client: 12 },
      answer: successV1({
        data: Schema.Struct({
          ...numberFields,
          qr_code_url: described(
            Schema.NullOr(Schema.String),
            "Of the image to scan, while connecting; valid 10 minutes.",
          ),
          pairing_code: described(
            Schema.NullOr(Schema.String),
            "To type on the phone, while connecting.",
          ),
        }),
      }),
      handler: Effect.fnUntraced(function* ({ caller, fields: { whatsapp_client } }) {
        if (whatsapp_client === null) return yield* failV1("no_number")
        const number = yield* connections.get(caller, idOf<NumberId>(whatsapp_client))
        if (!isShown(number)) return yield* failV1("invalid_number")
        return {
          status: succeeded,
          data: {
            ...shown(number),
            qr_code_url: number.connect?.qrCodeUrl ?? null,
            pairing_code: number.connect?.pairingCode?.code ?? null,
          },
        }
      }),
    }),
  ]
})
