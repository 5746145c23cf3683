/** Numbers and connecting them (contract: Numbers). */
import { ConnectBody, Connections, NumberJson, listJson } from "@messaging-service/core"
import { Effect } from "effect"
import { examples, listOf } from "../openapi/examples.ts"
import { asGiven, json } from "../route/Entry.ts"
import { routeV2 } from "./RouteV2.ts"

const numbers = { tag: "Numbers" } as const

export const numberRoutes = Effect.gen(function* () {
  const connections = yield* Connections

  return [
    routeV2({
      ...numbers,
      method: "GET",
      path: "/api/v2/numbers",
      id: "listNumbers",
      summary: "List numbers",
      about: "Every number that the key may use, oldest first, with `connect` null.",
      success: "The numbers.",
      answer: listJson(NumberJson),
      example: listOf(examples.number),
      handler: ({ caller }) => connections.list(caller),
    }),
    routeV2({
      ...numbers,
      method: "GET",
      path: "/api/v2/numbers/{id}",
      id: "getNumber",
      summary: "Read a number",
      about:
        "While it is `connecting`, read it every 2 to 5 seconds: `connect` shows the newest QR link or pairing code.",
      success: "The number.",
      answer: NumberJson,
      example: examples.connecting,
      refused: [{ code: "number_not_found", inPath: true }],
      handler: ({ caller, id }) => connections.get(caller, id("id")),
    }),
    routeV2({
      ...numbers,
      method: "POST",
      path: "/api/v2/numbers",
      idempotent: true,
      id: "connectNumber",
      summary: "Connect a WhatsApp number",
      about:
        "Starts linking a phone by QR code or pairing code. It ends after 10 minutes. Needs a plan with the QR code API.",
      request: json(ConnectBody, { login_method: "qr" }, asGiven),
      status: 202,
      success: "The number, `connecting`.",
      answer: NumberJson,
      example: { ...examples.connecting, connect: null },
      refused: [
        "plan_required",
        "number_limit_reached",
        "number_not_allowed",
        "already_connected",
        "connect_in_progress",
        "invalid_phone",
        "number_not_found",
      ],
      handler: ({ caller, idempotency, request }) =>
        connections.connect(caller, request, idempotency),
    }),
  ]
})
