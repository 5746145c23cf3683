/** Number checks of version 2 (contract: Number checks). */
import {
  CheckResultJson,
  NumberCheckBody,
  NumberCheckJson,
  NumberChecks,
  PageInput,
  ResultsQuery,
  pageJson,
} from "@messaging-service/core"
import { Effect } from "effect"
import { examples, pageOf } from "../openapi/examples.ts"
import { asGiven, json, query } from "../route/Entry.ts"
import { routeV2 } from "./RouteV2.ts"

const common = { tag: "Number checks" } as const

export const numberCheckRoutes = Effect.gen(function* () {
  const checks = yield* NumberChecks

  return [
    routeV2({
      ...common,
      method: "POST",
      path: "/api/v2/number-checks",
      idempotent: true,
      id: "createNumberCheck",
      summary: "Check which phones are registered",
      request: json(
        NumberCheckBody,
        { phones: ["+15550001234", "+15550001235"], name: "January's guests" },
        asGiven,
      ),
      status: 202,
      success: "The check, whose results come in later.",
      answer: NumberCheckJson,
      example: { ...examples.numberCheck, status: "pending", checked: 0, registered: 0 },
      refused: [
        "invalid_phone",
        "number_not_found",
        "number_not_allowed",
        "number_not_connected",
        "from_required",
      ],
      handler: ({ caller, idempotency, request }) => checks.create(caller, request, idempotency),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/number-checks",
      id: "listNumberChecks",
      summary: "List number checks",
      about: "Newest first.",
      request: query(PageInput, asGiven),
      success: "A page of checks.",
      answer: pageJson(NumberCheckJson),
      example: pageOf(examples.numberCheck),
      handler: ({ caller, request }) => checks.list(caller, request),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/number-checks/{id}",
      id: "getNumberCheck",
      summary: "Read a number check",
      success: "The check.",
      answer: NumberCheckJson,
      example: examples.numberCheck,
      refused: ["number_check_not_found"],
      handler: ({ caller, id }) => checks.get(caller, id("id")),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/number-checks/{id}/results",
      id: "listNumberCheckResults",
      summary: "List the results of a check",
      about: "By descending id.",
      request: query(ResultsQuery, asGiven),
      success: "A page of results.",
      answer: pageJson(CheckResultJson),
      example: pageOf(examples.checkResult),
      refused: ["number_check_not_found"],
      handler: ({ caller, id, request }) => checks.results(caller, id("id"), request),
    }),
  ]
})
