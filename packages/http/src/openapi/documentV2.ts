/** Version 2 in the document: its table of routes, and what all of it shares. */
import { operations } from "@messaging-service/core"
import type { OperationRule } from "@messaging-service/core"
import type { RouteV2 } from "../v2/RouteV2.ts"
import type { Refused } from "./errors.ts"
import { idempotencyKey, rateHeaders, replayed } from "./headers.ts"
import type { DescribedSurface, Operation } from "./Operation.ts"
import { routeOperation } from "./routeOperation.ts"

/** Key, workspace and rate limit. */
const refusedAdmission: ReadonlyArray<Refused> = [
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

const about = (text: string, { scope, unlimitedOnly }: OperationRule): string =>
  [
    text,
    scope === null ? "Needs no scope." : `Needs the scope \`${scope}\`.`,
    unlimitedOnly ? "A key limited to some numbers is refused with `number_not_allowed`." : "",
  ]
    .filter((each) => each !== "")
    .join("\n\n")

/** Who was not admitted is not counted. */
const ratesShown = (status: number) => (status === 401 ? [] : rateHeaders)

const operation = (route: RouteV2): Operation => {
  const rule: OperationRule = operations[route.id]
  return routeOperation(
    { ...route, about: about(route.about ?? "", rule) },
    {
      security: "apiKey",
      headers: route.idempotent === true ? [idempotencyKey] : [],
      refused: [
        ...refusedAdmission,
        ...(rule.scope === null ? [] : (["missing_scope"] as const)),
        ...(rule.unlimitedOnly ? (["number_not_allowed"] as const) : []),
        ...(route.idempotent === true ? refusedIdempotency : []),
      ],
      answerHeaders: [...rateHeaders, ...(route.idempotent === true ? [replayed] : [])],
      refusalHeaders: ratesShown,
    },
  )
}

const tags = [
  { name: "Account", description: "The key itself." },
  { name: "Messages", description: "Send, follow and cancel messages." },
  { name: "Reminders", description: "Messages that are sent again and again, on a cron schedule." },
  { name: "Numbers", description: "The numbers that messages are sent from." },
  { name: "Media", description: "Files that are uploaded once and sent by their id." },
  { name: "Number checks", description: "Which phones are registered." },
  { name: "Webhooks", description: "Endpoints that are told what became of messages." },
]

export const documentV2 = (routes: ReadonlyArray<RouteV2>): DescribedSurface => ({
  name: "Version 2",
  tags,
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
