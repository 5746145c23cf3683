/** Numbers and connecting them (contract: Numbers). */
import {
  ConnectBody,
  Connections,
  described,
  loginMethods,
  numberStatuses,
  platforms,
} from "@messaging-service/core"
import type { ConnectNumber, ConnectView, PublicNumber } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import { jsonBody, json, listOf, answerJson, IdJson, Time } from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

export const ConnectJson = Schema.Struct({
  qrCodeUrl: described(
    Schema.NullOr(Schema.String),
    "Link to a PNG of the QR code, valid for 10 minutes; each call makes a new one.",
  ),
  pairingCode: described(
    Schema.NullOr(Schema.String),
    "Code of 8 characters to type on the phone; null until it is ready.",
  ),
  pairingCodeExpiresAt: Schema.NullOr(Time),
  linking: described(Schema.Boolean, "True from the scan or code entry until linking finishes."),
  requestedAt: Schema.NullOr(Time),
}).annotate({ identifier: "Connect" })

export const NumberJson = Schema.Struct({
  id: described(IdJson, "The `from` of messages and reminders."),
  phone: described(
    Schema.NullOr(Schema.String),
    "Digits with country code, no +; null until a phone scans the QR code.",
  ),
  label: Schema.String,
  platform: Schema.Literals(platforms),
  status: Schema.Literals(numberStatuses),
  loginMethod: Schema.Literals(loginMethods),
  connect: described(
    Schema.NullOr(ConnectJson),
    "Set only while `status` is `connecting`, and only by GET of a single number.",
  ),
}).annotate({ identifier: "Number" })

/** A number; `connect` only where it was looked up. */
export const shownNumber = <Shown extends PublicNumber>({
  connect = null,
  ...number
}: Shown & { readonly connect?: ConnectView | null }) => ({
  ...number,
  connect: connect && {
    ...connect,
    pairingCode: connect.pairingCode?.code ?? null,
    pairingCodeExpiresAt: connect.pairingCode?.expiresAt ?? null,
  },
})

const route = routeV2("Numbers")

export const numberRoutes: ReadonlyArray<RouteV2> = [
  route("GET /api/v2/numbers", {
    id: "listNumbers",
    summary: "List numbers",
    about: "Every number that the key may use, oldest first, with `connect` null.",
    success: "The numbers.",
    answer: listOf(NumberJson, examples.number),
    handler: Effect.fnUntraced(function* listNumbers({ caller }) {
      const connections = yield* Connections
      const all = yield* connections.list(caller)
      return { data: all.map(shownNumber) }
    }),
  }),
  route("GET /api/v2/numbers/{id}", {
    id: "getNumber",
    summary: "Read a number",
    about:
      "While it is `connecting`, read it every 2 to 5 seconds: `connect` shows the newest QR link or pairing code.",
    success: "The number.",
    answer: jsonBody(NumberJson, examples.connecting),
    refused: [{ code: "number_not_found", inPath: true }],
    handler: Effect.fnUntraced(function* getNumber({ caller, id }) {
      const connections = yield* Connections
      return shownNumber(yield* connections.get(caller, id("id")))
    }),
  }),
  route("POST /api/v2/numbers", {
    idempotent: true,
    id: "connectNumber",
    summary: "Connect a WhatsApp number",
    about:
      "Starts linking a phone by QR code or pairing code, for 10 minutes. Needs a plan with the QR code API.",
    request: json<ConnectNumber>()(ConnectBody, { login_method: "qr" }),
    status: 202,
    success: "The number, `connecting`.",
    answer: jsonBody(NumberJson, { ...examples.connecting, connect: null }),
    refused: [
      "plan_required",
      "number_limit_reached",
      "number_not_allowed",
      "already_connected",
      "connect_in_progress",
      "invalid_phone",
      "number_not_found",
    ],
    handler: Effect.fnUntraced(function* connectNumber({ caller, idempotency, request }) {
      const connections = yield* Connections
      return answerJson(yield* connections.connect(caller, request, idempotency), shownNumber)
    }),
  }),
]
