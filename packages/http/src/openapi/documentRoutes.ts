/** Version 2 and the operator API in the document: their entries, and what the entries of a table share. */
import { maximumFileBytes, operations } from "@messaging-service/core"
import type { OperationRule } from "@messaging-service/core"
import { workspacePath } from "../operator/OperatorRoute.ts"
import type { OperatorRoute } from "../operator/OperatorRoute.ts"
import type { Entry, Takes } from "../route/Entry.ts"
import type { RouteV2 } from "../v2/RouteV2.ts"
import { refusals } from "./errors.ts"
import type { Refused } from "./errors.ts"
import {
  actingRole,
  clientRequestId,
  commonHeaders,
  idempotencyKey,
  rateHeaders,
  replayed,
} from "./headers.ts"
import { jsonContent } from "./Operation.ts"
import type { Content, DescribedPart, Header, Heading, Operation } from "./Operation.ts"

const aFile: Content = {
  "multipart/form-data": {
    schema: {
      json: {
        type: "object",
        properties: {
          file: {
            type: "string",
            format: "binary",
            description: `At most ${maximumFileBytes} bytes.`,
          },
        },
        required: ["file"],
        additionalProperties: false,
      },
    },
  },
}

const requestBody = (takes: Takes<unknown> | undefined): Operation["body"] => {
  switch (takes?.takes) {
    case "json":
    case "optional_json":
      return {
        required: takes.takes === "json",
        content: jsonContent(takes.schema, takes.example),
      }
    case "file":
      return { required: true, content: aFile }
    default:
      return undefined
  }
}

const refusedBody: ReadonlyArray<Refused> = [
  "unsupported_content_type",
  "request_too_large",
  "validation_failed",
]

/** What it can answer before its own rules are asked, by what it reads of the request. */
const refusedReading = (takes: Takes<unknown> | undefined): ReadonlyArray<Refused> => {
  switch (takes?.takes) {
    case "query":
      return "cursor" in takes.schema.fields
        ? ["validation_failed", "invalid_cursor"]
        : ["validation_failed"]
    case "json":
    case "optional_json":
      return [...refusedBody, "invalid_json"]
    case "file":
      return refusedBody
    // An unknown parameter is refused, also by operations that take none.
    default:
      return ["validation_failed"]
  }
}

/** What the operations of a table have in common. */
interface Common {
  readonly security: string
  /** Of the request. */
  readonly headers: ReadonlyArray<Header>
  /** What can be refused before the request is read. */
  readonly refused: ReadonlyArray<Refused>
  /** Of success. */
  readonly answerHeaders?: ReadonlyArray<Header>
  /** Of refusals, beside those that belong to the status. */
  readonly refusalHeaders?: (status: number) => ReadonlyArray<Header>
}

const routeOperation = (route: Heading & Entry, common: Common): Operation => ({
  ...route,
  security: [common.security],
  query: route.request?.takes === "query" ? route.request.schema : undefined,
  headers: [...common.headers, clientRequestId],
  body: requestBody(route.request),
  answers: [
    {
      status: route.status ?? 200,
      description: route.success,
      headers: [...commonHeaders, ...(common.answerHeaders ?? [])],
      content: jsonContent(route.answer.schema, route.answer.example),
    },
    ...refusals(
      [...common.refused, ...refusedReading(route.request), ...(route.refused ?? [])],
      common.refusalHeaders,
    ),
  ],
})

/** Key, workspace and rate limit. */
const refusedByV2: ReadonlyArray<Refused> = [
  "missing_api_key",
  "invalid_api_key",
  "v1_key_on_v2",
  "api_key_revoked",
  "api_key_expired",
  "too_many_auth_failures",
  "account_disabled",
  "demo_account",
  "api_v2_not_enabled",
  "rate_limited",
  "internal_error",
  "service_unavailable",
]

const refusedIdempotency: ReadonlyArray<Refused> = [
  "invalid_idempotency_key",
  "idempotency_key_reused",
  "idempotency_in_progress",
]

const about = (text: string | undefined, { scope, unlimitedOnly }: OperationRule): string =>
  [
    ...(text === undefined ? [] : [text]),
    scope === null ? "Needs no scope." : `Needs the scope \`${scope}\`.`,
    ...(unlimitedOnly
      ? ["A key limited to some numbers is refused with `number_not_allowed`."]
      : []),
  ].join("\n\n")

/** A request that was not admitted is not counted. */
const ratesShown = (status: number) => (status === 401 ? [] : rateHeaders)

const operation = (route: RouteV2): Operation => {
  const rule: OperationRule = operations[route.id]
  return routeOperation(
    { ...route, about: about(route.about, rule) },
    {
      security: "apiKey",
      headers: route.idempotent === true ? [idempotencyKey] : [],
      refused: [
        ...refusedByV2,
        ...(rule.scope === null ? [] : (["missing_scope"] as const)),
        ...(rule.unlimitedOnly ? (["number_not_allowed"] as const) : []),
        ...(route.idempotent === true ? refusedIdempotency : []),
      ],
      answerHeaders: [...rateHeaders, ...(route.idempotent === true ? [replayed] : [])],
      refusalHeaders: ratesShown,
    },
  )
}

const tagsV2 = [
  { name: "Account", description: "The key itself." },
  { name: "Messages", description: "Send, follow and cancel messages." },
  { name: "Reminders", description: "Messages that are sent again and again, on a cron schedule." },
  { name: "Numbers", description: "The numbers that messages are sent from." },
  { name: "Media", description: "Files that are uploaded once and sent by their id." },
  { name: "Number checks", description: "Which phones are registered." },
  { name: "Webhooks", description: "Endpoints that are told what became of messages." },
]

export const documentV2 = (routes: ReadonlyArray<RouteV2>): DescribedPart => ({
  name: "Version 2",
  tags: tagsV2,
  security: {
    apiKey: {
      type: "http",
      scheme: "bearer",
      description:
        "A version 2 key: `svc_live_` or `svc_test_` and 38 letters and digits. A test key validates everything and sends nothing.",
    },
  },
  operations: routes.map(operation),
})

/** Token and `Acting-Role`. */
const refusedByOperator: ReadonlyArray<Refused> = [
  "missing_operator_token",
  "invalid_operator_token",
  "too_many_auth_failures",
  "validation_failed",
  "internal_error",
  "service_unavailable",
]

/** Whatever is in a workspace may be missing there, and asks for a role in it. */
const refusedWithin = ({ path }: OperatorRoute): ReadonlyArray<Refused> =>
  path.startsWith(`${workspacePath}/`) ? ["workspace_not_found", "role_required"] : []

const operatorOperation = (route: OperatorRoute): Operation =>
  routeOperation(route, {
    security: "operatorToken",
    headers: [actingRole],
    refused: [...refusedByOperator, ...refusedWithin(route)],
  })

const operatorTags = [
  { name: "Workspaces", description: "What owns keys, numbers, contacts and messages." },
  { name: "Keys", description: "Keys of both versions." },
  { name: "Workspace numbers", description: "The numbers of a workspace." },
  { name: "Contacts", description: "The saved contacts of a workspace." },
  { name: "Deliveries", description: "What was sent to webhook endpoints." },
  { name: "Reminder runs", description: "What became of the runs of reminders." },
  { name: "Workspace messages", description: "The messages of a workspace." },
  { name: "Restored stores", description: "What is held since the store went back in time." },
  {
    name: "Emulator",
    description:
      "The other side of the simulated wire, and the clock; only with `TRANSPORT=simulated`.",
  },
]

/** With the emulator's tag where its controls are among the routes. */
export const documentOperator = (routes: ReadonlyArray<OperatorRoute>): DescribedPart => ({
  name: "Operator API",
  tags: operatorTags.filter(({ name }) => routes.some(({ tag }) => tag === name)),
  security: {
    operatorToken: {
      type: "http",
      scheme: "bearer",
      description: "The service's `OPERATOR_TOKEN`.",
    },
  },
  operations: routes.map(operatorOperation),
})
