/** Number checks of version 2 (contract: Number checks). */
import {
  NumberCheckBody,
  NumberChecks,
  PageInput,
  ResultsQuery,
  checkResultStatuses,
  described,
  numberCheckStatuses,
} from "@messaging-service/core"
import type { CheckNumbers, ListCheckResults, ListPage } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import { jsonBody, json, pageBody, query, page, IdJson, Time } from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

const NumberCheckJson = Schema.Struct({
  id: IdJson,
  name: Schema.NullOr(Schema.String),
  status: Schema.Literals(numberCheckStatuses),
  total: described(Schema.Int, "Results; a repeated phone counts each time."),
  checked: described(Schema.Int, "Results that are no longer pending."),
  registered: Schema.Int,
  notRegistered: Schema.Int,
  createdAt: Time,
  completedAt: Schema.NullOr(Time),
}).annotate({ identifier: "NumberCheck" })

const CheckResultJson = Schema.Struct({
  id: IdJson,
  phone: described(Schema.String, "E.164 with a leading +."),
  status: described(Schema.Literals(checkResultStatuses), "`failed`: could not be determined."),
  checkedAt: Schema.NullOr(Time),
}).annotate({ identifier: "NumberCheckResult" })

const route = routeV2("Number checks")

export const numberCheckRoutes: ReadonlyArray<RouteV2> = [
  route("POST /api/v2/number-checks", {
    idempotent: true,
    id: "createNumberCheck",
    summary: "Check which phones are registered",
    request: json<CheckNumbers>()(NumberCheckBody, {
      phones: ["+15550001234", "+15550001235"],
      name: "January's guests",
    }),
    status: 202,
    success: "The check; its results follow.",
    answer: jsonBody(NumberCheckJson, {
      ...examples.numberCheck,
      status: "pending",
      checked: 0,
      registered: 0,
    }),
    refused: [
      "invalid_phone",
      "number_not_found",
      "number_not_allowed",
      "number_not_connected",
      "from_required",
    ],
    handler: Effect.fnUntraced(function* createNumberCheck({ caller, idempotency, request }) {
      const checks = yield* NumberChecks
      return yield* checks.create(caller, request, idempotency)
    }),
  }),
  route("GET /api/v2/number-checks", {
    id: "listNumberChecks",
    summary: "List number checks",
    about: "Newest first.",
    request: query<ListPage>()(PageInput),
    success: "A page of checks.",
    answer: pageBody(NumberCheckJson, examples.numberCheck),
    handler: Effect.fnUntraced(function* listNumberChecks({ caller, request }) {
      const checks = yield* NumberChecks
      return page(yield* checks.list(caller, request))
    }),
  }),
  route("GET /api/v2/number-checks/{id}", {
    id: "getNumberCheck",
    summary: "Read a number check",
    success: "The check.",
    answer: jsonBody(NumberCheckJson, examples.numberCheck),
    refused: ["number_check_not_found"],
    handler: Effect.fnUntraced(function* getNumberCheck({ caller, id }) {
      const checks = yield* NumberChecks
      return yield* checks.get(caller, id("id"))
    }),
  }),
  route("GET /api/v2/number-checks/{id}/results", {
    id: "listNumberCheckResults",
    summary: "List the results of a check",
    about: "By descending id.",
    request: query<ListCheckResults>()(ResultsQuery),
    success: "A page of results.",
    answer: pageBody(CheckResultJson, examples.checkResult),
    refused: ["number_check_not_found"],
    handler: Effect.fnUntraced(function* listNumberCheckResults({ caller, id, request }) {
      const checks = yield* NumberChecks
      return page(yield* checks.results(caller, id("id"), request))
    }),
  }),
]
