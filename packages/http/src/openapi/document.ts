/**
 * The service's own OpenAPI document: every served part, generated from the tables of routes, and
 * the calls that the service itself makes.
 */
import {
  callbackContentType,
  connectionReasons,
  described,
  maximumFileBytes,
  gapEventType,
  gapReasons,
  numberEventTypes,
  numberStatuses,
  operations,
  platforms,
  receivedEventTypes,
  restrictionEventTypes,
  tickEvents,
  webhookEventTypes,
} from "@messaging-service/core"
import type {
  NumberEventType,
  OperationRule,
  ReceivedEventType,
  RestrictionEventType,
} from "@messaging-service/core"
import { Schema } from "effect"
import { documentOpen, IdJson, Time } from "../Entry.ts"
import type { Entry, OpenRoute, OperationInput } from "../Entry.ts"
import { workspacePath } from "../operator/pipeline.ts"
import type { OperatorRoute } from "../operator/pipeline.ts"
import { texts } from "../v1/failures.ts"
import type { FieldV1 } from "../v1/fields.ts"
import type { RouteV1 } from "../v1/pipeline.ts"
import type { RouteV2 } from "../v2/pipeline.ts"
import { examples } from "./examples.ts"
import { openApi } from "./openApi.ts"
import {
  actingRole,
  clientRequestId,
  commonHeaders,
  disposition,
  errorSchemas,
  header,
  idempotencyKey,
  jsonContent,
  noSniff,
  rateHeaders,
  refusals,
  replayed,
  retryAfter,
} from "./Operation.ts"
import { ReactionJson, ReceivedMessageJson } from "../v2/chats.ts"
import { RestrictionsJson } from "../v2/restrictions.ts"
import { MessageJson } from "../v2/messages.ts"
import type {
  Answer,
  Call,
  Content,
  DescribedPart,
  Header,
  Heading,
  JsonObject,
  Operation,
  Refused,
} from "./Operation.ts"

const introduction = (
  publicUrl: string,
): string => `Sends WhatsApp and Telegram messages from numbers that you own.

Sending is asynchronous: a success means that the message was accepted and queued. What became of it
tells its \`status\`, or a webhook.

- Send the key as \`Authorization: Bearer <key>\`.
- Times in requests are ISO 8601 with an offset; times in answers are UTC and end in \`Z\`.
- Unknown fields of a request are refused; answers may come to hold more than is described here.
- Every error has a real HTTP status and a body \`{"error": {"code", "message", "field", "docs",
  "request_id"}}\`. Branch on \`code\`; [the error catalogue](${publicUrl}/docs/errors) explains each.
- Version 1 has other ways: see its operations.
- An unknown address answers 404 \`not_found\`; another method 405 \`method_not_allowed\`, with
  \`Allow\`. HEAD is answered as GET without a body.`

/** The tables of routes, empty for parts that a service does not serve. */
interface Tables {
  readonly v2: ReadonlyArray<RouteV2>
  readonly v1: ReadonlyArray<RouteV1>
  readonly operator: ReadonlyArray<OperatorRoute>
  readonly open: ReadonlyArray<OpenRoute<unknown>>
}

/** The document of this service's interface, given its origin. */
export const apiDocument = ({ open, operator, v1, v2 }: Tables, publicUrl: string): JsonObject => {
  const [NotFound, MethodNotAllowed] = refusals(["not_found", "method_not_allowed"])
  const parts = [documentV2(v2), documentV1(v1), documentOperator(operator), documentOpen(open)]
  return openApi({
    title: "Messaging Service",
    version: "2.0.0",
    description: introduction(publicUrl),
    publicUrl,
    parts: parts.filter((part) => part.operations.length > 0),
    calls: v2.length === 0 ? [] : webhookCalls,
    anywhere: { NotFound, MethodNotAllowed },
    schemas: errorSchemas(operator.length > 0),
  })
}

// Version 2 and the operator API: their entries, and what the entries of a table share

const aFile = (fileBytes: number): Content => ({
  "multipart/form-data": {
    schema: {
      json: {
        type: "object",
        properties: {
          file: {
            type: "string",
            format: "binary",
            description: `At most ${fileBytes} bytes.`,
          },
        },
        required: ["file"],
        additionalProperties: false,
      },
    },
  },
})

const requestBody = (input: OperationInput<unknown> | undefined): Operation["body"] => {
  switch (input?.source) {
    case "json":
    case "optional_json":
      return {
        required: input.source === "json",
        content: jsonContent(input.schema, input.example),
      }
    case "file":
      return { required: true, content: aFile(maximumFileBytes) }
    case "json_or_file":
      return {
        required: true,
        content: { ...jsonContent(input.schema, input.example), ...aFile(input.fileBytes) },
      }
    default:
      return undefined
  }
}

const refusedBody: ReadonlyArray<Refused> = [
  "unsupported_content_type",
  "request_too_large",
  "validation_failed",
]

/** Possible answers before its own rules apply, by the parts of the request that it reads. */
const refusedReading = (input: OperationInput<unknown> | undefined): ReadonlyArray<Refused> => {
  switch (input?.source) {
    case "query":
      return "cursor" in input.schema.fields
        ? ["validation_failed", "invalid_cursor"]
        : ["validation_failed"]
    case "json":
    case "optional_json":
    case "json_or_file":
      return [...refusedBody, "invalid_json"]
    case "file":
      return refusedBody
    // An unknown parameter is refused, also by operations that take none.
    default:
      return ["validation_failed"]
  }
}

/** Properties common to the operations of a table. */
interface Common {
  /** Any one of these is enough. */
  readonly security: ReadonlyArray<string>
  /** Request headers. */
  readonly headers: ReadonlyArray<Header>
  /** Refusals before the request is read. */
  readonly refused: ReadonlyArray<Refused>
  /** Success headers. */
  readonly answerHeaders?: ReadonlyArray<Header>
  /** Refusal headers, besides those of the status. */
  readonly refusalHeaders?: (status: number) => ReadonlyArray<Header>
}

type Parameters = Schema.Top & { readonly fields: object }

/** What streams have besides: proxies pass events on as they come, and browsers store a table. */
const streamHeaders: Readonly<Record<NonNullable<Entry["contentType"]>, ReadonlyArray<Header>>> = {
  "text/event-stream": [header("X-Accel-Buffering", "Always `no`.")],
  "text/csv": [disposition, noSniff],
}

const answerContent = ({ answer, contentType }: Pick<Entry, "answer" | "contentType">): Content =>
  contentType === undefined
    ? jsonContent(answer.schema, answer.example)
    : {
        [contentType]: {
          schema: { json: { type: "string" } },
          examples: { example: answer.example },
        },
      }

/** The parameters of both. */
const findQuery = (
  request: Entry["request"],
  more: Parameters | undefined,
): Schema.Top | undefined => {
  const own = request?.source === "query" ? request.schema : undefined
  if (own === undefined || more === undefined) return own ?? more
  return Schema.Struct({ ...own.fields, ...more.fields } as Schema.Struct.Fields)
}

const successes = ({
  status,
  success,
  successAgain,
  ...route
}: Entry): ReadonlyArray<readonly [status: number, description: string, content: Content]> => [
  [status ?? 200, success, answerContent(route)],
  ...(successAgain === undefined ? [] : [[200, successAgain, answerContent(route)] as const]),
  ...(route.later === undefined
    ? []
    : [[202, route.later.success, answerContent(route.later)] as const]),
]

const routeOperation = (
  route: Heading &
    Entry & { readonly parameters?: Parameters; readonly pathTexts?: Operation["parameters"] },
  common: Common,
): Operation => ({
  ...route,
  // An operation's parameters are those of its path.
  parameters: route.pathTexts ?? {},
  security: common.security,
  query: findQuery(route.request, route.parameters),
  headers: [...common.headers, clientRequestId],
  body: requestBody(route.request),
  answers: [
    ...successes(route).map(([status, description, content]) => ({
      status,
      description,
      headers: [
        ...commonHeaders,
        ...(route.contentType === undefined ? [] : streamHeaders[route.contentType]),
        ...(common.answerHeaders ?? []),
      ],
      content,
    })),
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

const about = (
  text: string | undefined,
  { scope, scopeBesides, unlimitedOnly }: OperationRule,
): string =>
  [
    ...(text === undefined ? [] : [text]),
    scope === null ? "Needs no scope." : `Needs the scope \`${scope}\`.`,
    ...(scopeBesides === undefined ? [] : [`And the scope \`${scopeBesides}\`.`]),
    ...(unlimitedOnly
      ? ["A key limited to some numbers is refused with `number_not_allowed`."]
      : []),
  ].join("\n\n")

/** A request that was not admitted is not counted. */
const ratesShown = (status: number) => (status === 401 ? [] : rateHeaders)

const operationV2 = (route: RouteV2): Operation => {
  const rule: OperationRule = operations[route.id]
  return routeOperation(
    { ...route, about: about(route.about, rule) },
    {
      security: ["apiKey"],
      headers: route.idempotent === true ? [idempotencyKey] : [],
      refused: [
        ...refusedByV2,
        ...(route.ofConversations === true ? (["not_found"] as const) : []),
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
  { name: "Reminders", description: "Messages sent repeatedly, on a cron schedule." },
  { name: "Numbers", description: "The numbers that send messages." },
  { name: "Media", description: "Files to upload once and send by id." },
  { name: "Number checks", description: "Which phones are registered." },
  { name: "Webhooks", description: "Endpoints that receive events about messages." },
  { name: "Chats", description: "What people write, while conversations are on." },
]

const documentV2 = (routes: ReadonlyArray<RouteV2>): DescribedPart => ({
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
  operations: routes.map(operationV2),
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

/** What a cookie adds where there are browser sessions. */
const refusedSession = ({ method, right }: OperatorRoute): ReadonlyArray<Refused> => [
  "session_ended",
  "rate_limited",
  ...(method === "GET" ? [] : (["cross_site_request"] as const)),
  ...(right === "operator" ? (["operator_required"] as const) : []),
]

/** Everything in a workspace may be missing there, and needs a role in it. */
const refusedWithin = ({ path }: OperatorRoute): ReadonlyArray<Refused> =>
  path.startsWith(`${workspacePath}/`) ? ["workspace_not_found", "role_required"] : []

/** Signing in and out, for which no credentials are needed. */
const openOperation = (route: OperatorRoute): Operation =>
  routeOperation(route, {
    security: [],
    headers: [],
    answerHeaders: route.method === "GET" ? [] : [header("Set-Cookie", "The session, or its end.")],
    refused: [
      ...(route.method === "POST"
        ? (["invalid_operator_token", "too_many_auth_failures"] as const)
        : []),
      ...(route.method === "GET" ? (["rate_limited"] as const) : []),
      "internal_error",
      "service_unavailable",
    ],
  })

const operatorOperation = (route: OperatorRoute, hasSessions: boolean): Operation =>
  route.right === "open"
    ? openOperation(route)
    : routeOperation(route, {
        security: hasSessions ? ["operatorToken", "browserSession"] : ["operatorToken"],
        headers: [actingRole, ...(route.idempotent === true ? [idempotencyKey] : [])],
        refused: [
          ...refusedByOperator,
          ...(hasSessions ? refusedSession(route) : []),
          ...refusedWithin(route),
          ...(route.idempotent === true ? refusedIdempotency : []),
        ],
        answerHeaders: route.idempotent === true ? [replayed] : [],
      })

const operatorTags = [
  { name: "Browser sessions", description: "Signing the dashboard's users in and out." },
  { name: "Portal links", description: "Links that open a workspace's portal once." },
  { name: "Workspaces", description: "Owners of keys, numbers, contacts and messages." },
  { name: "Keys", description: "Keys of both versions." },
  { name: "Workspace numbers", description: "The numbers of a workspace." },
  { name: "Contacts", description: "The saved contacts of a workspace." },
  { name: "Deliveries", description: "Attempts to deliver events and callbacks." },
  { name: "Reminder runs", description: "Outcomes of the runs of reminders." },
  { name: "Workspace messages", description: "The messages of a workspace." },
  { name: "Workspace reminders", description: "The reminders of a workspace." },
  { name: "Workspace media", description: "The media directory of a workspace." },
  { name: "Workspace number checks", description: "The number checks of a workspace." },
  { name: "Workspace webhooks", description: "The webhook endpoints of a workspace." },
  { name: "Campaigns", description: "One message for each of many rows." },
  { name: "Conversations", description: "What a workspace hears of messages and numbers." },
  { name: "Workspace chats", description: "What people write to a workspace." },
  { name: "News", description: "What changes in a workspace, as it happens." },
  { name: "Figures", description: "How a workspace and the service do." },
  { name: "Restored stores", description: "Messages and reminders held since a restore." },
  {
    name: "Emulator",
    description: "Simulated phones and the clock; only with `TRANSPORT=simulated`.",
  },
]

/** With those tags alone that have routes. */
const documentOperator = (routes: ReadonlyArray<OperatorRoute>): DescribedPart => {
  const hasSessions = routes.some(({ right }) => right === "open")
  return {
    name: "Operator API",
    tags: operatorTags.filter(({ name }) => routes.some(({ tag }) => tag === name)),
    security: {
      operatorToken: {
        type: "http",
        scheme: "bearer",
        description: "The service's `OPERATOR_TOKEN`.",
      },
      ...(hasSessions
        ? {
            browserSession: {
              type: "apiKey",
              in: "cookie",
              name: "messaging-XXXXXX",
              description:
                "A browser session, by the cookie that signing in sets. Its name ends in six characters of the service's own, and begins with `__Host-` or `__Secure-` over https.",
            },
          }
        : {}),
    },
    operations: routes.map((route) => operatorOperation(route, hasSessions)),
  }
}

// Version 1, generated from its table of routes alone (contract: Version 1)

/** Sends: only they can reach a number's daily limit. */
const isSending = ({ path }: RouteV1): boolean => /^\/api\/v1\/(?:send_msg|schedule_msg)/.test(path)

const tags = {
  messages: "Messages (version 1)",
  media: "Media (version 1)",
  reminder: "Reminders (version 1)",
  verification: "Number verification (version 1)",
  whatsapp: "WhatsApp numbers (version 1)",
  me: "Account (version 1)",
} as const

const isGroup = (name: string): name is keyof typeof tags => name in tags

const getSegments = ({ path }: RouteV1): ReadonlyArray<string> =>
  path.split("/").filter((segment) => segment !== "" && !segment.startsWith("{"))

const toTag = (route: RouteV1): string => {
  const [, , group = ""] = getSegments(route)
  return tags[isGroup(group) ? group : "messages"]
}

/** Such as `v1MessageStatus`, and `v1GetMessageStatus` for the same by GET. */
const toOperationId = (route: RouteV1): string => {
  const words = getSegments(route)
    .slice(2)
    .flatMap((segment) => segment.split("_"))
  const name = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("")
  return `v1${route.method === "GET" ? "Get" : ""}${name}`
}

const credentials: Readonly<Record<string, JsonObject>> = {
  client_id: { description: "Of the workspace; the same for all its keys." },
  api_key: { description: "A version 1 key; it may come as a bearer token instead." },
}

const credentialTypes: Readonly<Record<string, Pick<FieldV1<unknown>, "type" | "nullable">>> = {
  client_id: { type: "integer", nullable: false },
  api_key: { type: "string", nullable: true },
}

const getCredentials = ({ bearerOnly }: RouteV1, lenient: boolean): JsonObject =>
  bearerOnly === true
    ? {}
    : Object.fromEntries(
        Object.entries(credentialTypes).map(([name, field]) => [
          name,
          { ...typeOf(field, lenient), ...credentials[name] },
        ]),
      )

/** The first fields of every example. */
const exampleCredentials = {
  client_id: examples.workspace.client_id,
  api_key: "0123456789abcdef0123456789abcdef01234567",
}

const getRequired = ({ bearerOnly, fields }: RouteV1): ReadonlyArray<string> => [
  ...(bearerOnly === true ? [] : ["client_id"]),
  ...Object.entries(fields).flatMap(([name, field]) => (field.required ? name : [])),
]

/**
 * Version 1 is lenient: in JSON a number may be text and text a number, a list may be text with
 * commas or its only member, and null means not given.
 */
const typeOf = (
  { nullable, type }: Pick<FieldV1<unknown>, "type" | "nullable">,
  lenient: boolean,
): JsonObject => {
  const orNull = nullable ? ["null"] : []
  switch (type) {
    case "integer":
      return { type: lenient ? ["integer", "string", ...orNull] : "integer" }
    case "string":
      return { type: lenient ? ["string", "number", ...orNull] : "string" }
    case "strings":
      return lenient
        ? { type: ["array", "string", "number"], items: { type: ["string", "number"] } }
        : { type: "array", items: { type: "string" } }
    case "file":
      return { type: "string", format: "binary" }
  }
}

const toFields = (route: RouteV1, lenient: boolean, files: boolean) =>
  Object.entries(route.fields)
    .filter(([, { type }]) => files || type !== "file")
    .map(
      ([name, field]) =>
        [name, { ...typeOf(field, lenient), description: field.description }] as const,
    )

const bodySchema = (route: RouteV1, lenient: boolean, files: boolean): JsonObject => {
  const required = getRequired(route)
  return {
    type: "object",
    properties: {
      ...getCredentials(route, lenient),
      ...Object.fromEntries(toFields(route, lenient, files)),
    },
    required: required.length === 0 ? undefined : required,
  }
}

/** Without a file there is nothing to request. */
const takesFilesAlone = ({ fields }: RouteV1): boolean => {
  const all = Object.values(fields)
  return all.length > 0 && all.every(({ type }) => type === "file")
}

const body = (route: RouteV1): Content => ({
  ...(takesFilesAlone(route)
    ? {}
    : {
        "application/json": {
          schema: { json: bodySchema(route, true, false) },
          examples: {
            example: { ...(route.bearerOnly === true ? {} : exampleCredentials), ...route.example },
          },
        },
        "application/x-www-form-urlencoded": { schema: { json: bodySchema(route, false, false) } },
      }),
  "multipart/form-data": { schema: { json: bodySchema(route, false, true) } },
})

/** The parameters of a GET's query, without those in its path. */
const query = (route: RouteV1): Schema.Top => {
  const required = getRequired(route)
  const parameters = [
    ...Object.entries(getCredentials(route, false) as Readonly<Record<string, JsonObject>>),
    ...toFields(route, false, false).filter(([name]) => !route.path.includes(`{${name}}`)),
  ]
  return Schema.Struct(
    Object.fromEntries(
      parameters.map(([name, { description, ...parameter }]) => {
        const text = Schema.String.annotate({ description: String(description), parameter })
        return [name, required.includes(name) ? text : Schema.optionalKey(text)]
      }),
    ),
  )
}

const Failure = Schema.Struct({
  status: Schema.Literal(0),
  message: Schema.String.annotate({
    description: "What is wrong. New texts may be added.",
    examples: [...new Set(Object.values(texts).map(({ message }) => message))],
  }),
}).annotate({ identifier: "FailureV1" })

const DailyLimit = Schema.Struct({
  status: Schema.Literal(0),
  msg_id: Schema.optionalKey(
    Schema.Int.annotate({ description: "A single send is stored as failed." }),
  ),
  code: Schema.Literal("daily_limit_reached"),
  message: Schema.String,
}).annotate({ identifier: "DailyLimitV1" })

const failed = (status: number, description: string, message: string): Answer => ({
  status,
  description,
  headers: [...commonHeaders, ...(status === 429 || status === 503 ? [retryAfter] : [])],
  content: jsonContent(Failure, { status: 0, message }),
})

const tooMany = (route: RouteV1): Answer => {
  const answer = failed(429, "Too many requests.", texts.too_many_requests.message)
  if (!isSending(route)) return answer
  return {
    ...answer,
    description: "Too many requests, or the number has reached its daily limit.",
    content: jsonContent(Schema.Union([Failure, DailyLimit]), {
      status: 0,
      msg_id: 4711,
      code: "daily_limit_reached",
      message: texts.daily_limit.message,
    }),
  }
}

const internalError = (route: RouteV1): Answer => {
  const answer = failed(500, "The service failed.", texts.internal_error.message)
  if (route.path !== "/api/v1/send_msg/group") return answer
  return {
    ...answer,
    description:
      "The service failed; or, as an HTML page, `group_name` is a JSON number or `msg_type` no whole number.",
    headers: [...answer.headers, noSniff, header("Content-Security-Policy", "Of the HTML page.")],
    content: { ...answer.content, "text/html": { schema: { json: { type: "string" } } } },
  }
}

/** By the request fields that cause them. */
const getCallbacks = ({ fields }: RouteV1): Operation["callbacks"] => {
  if ("webhook" in fields) return { webhook: messageCallbackCall }
  return "webhook_url" in fields ? { webhook_url: connectionCallbackCall } : undefined
}

const operationV1 = (route: RouteV1): Operation => ({
  ...route,
  id: toOperationId(route),
  tag: toTag(route),
  security: route.bearerOnly === true ? ["apiKeyV1"] : ["apiKeyV1", null],
  query: route.method === "GET" ? query(route) : undefined,
  headers: [clientRequestId],
  body: route.method === "GET" ? undefined : { required: true, content: body(route) },
  answers: [
    {
      status: 200,
      description: "Done.",
      headers: commonHeaders,
      content: jsonContent(route.answer),
    },
    failed(
      400,
      "`message` says what is wrong, another method than the operation's included.",
      texts.invalid_key.message,
    ),
    failed(413, "The body is too large.", texts.too_large.message),
    tooMany(route),
    internalError(route),
    failed(503, "The service is too busy.", texts.service_unavailable.message),
  ],
  callbacks: getCallbacks(route),
})

const documentV1 = (routes: ReadonlyArray<RouteV1>): DescribedPart => ({
  name: "Version 1",
  tags: [...new Set(routes.map(toTag))].map((name) => ({
    name,
    description:
      "Read `status` of the answer: 1 is success, 0 is failure. A slash may end the path; fields that are not described are ignored.",
  })),
  security: {
    apiKeyV1: {
      type: "http",
      scheme: "bearer",
      description:
        "A version 1 key: 40 characters, digits and a to f. Where `client_id` is asked for, the key may come as `api_key` in the body instead, which then wins.",
    },
  },
  operations: routes.map(operationV1),
})

// Calls that the service makes: to webhook endpoints (contract: Events), and to addresses in single
// requests of version 1

/** `secret`: which one signs. */
const callHeaders = (secret: string): ReadonlyArray<Header> => [
  header("Service-Event-Id", "The event's id, the same on every repeat: drop what you have had.", {
    type: "string",
    pattern: "^evt_[A-Za-z0-9]{24}$",
  }),
  header(
    "Service-Timestamp",
    "Unix seconds of this attempt; reject what is more than 5 minutes away.",
    { type: "string", pattern: "^[0-9]+$" },
  ),
  header(
    "Service-Signature",
    `\`v1=\` and the hexadecimal HMAC-SHA256 of \`<timestamp>.<raw body>\` with ${secret}. Compute it over the unparsed body and compare in constant time.`,
    { type: "string", pattern: "^v1=[0-9a-f]{64}$" },
  ),
  header("User-Agent", "Who calls.", { type: "string", const: "Service-Webhooks/2" }),
]

const eventHeaders = callHeaders("the endpoint's secret")

const eventId = described(Schema.String, "`evt_` and 24 characters, the same on every repeat.")

/** An event: when it occurs, and an example of its data. */
const eventCall = (type: string, occasion: string, data: Schema.Top, example: unknown): Call => ({
  name: type,
  id: `on${type.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
  tag: "Webhooks",
  summary: type,
  about: `${occasion}\n\nAn event can arrive more than once, and in any order. It is repeated for about 23 hours until it is answered with a 2xx within 15 seconds; redirects are not followed.`,
  headers: eventHeaders,
  content: jsonContent(
    Schema.Struct({ id: eventId, type: Schema.Literal(type), createdAt: Time, data }),
    { id: "evt_0123456789abcdefghijABCD", type, created_at: "2030-01-31T07:00:02Z", data: example },
  ),
})

const messageEvents = {
  "message.sent": { occasion: "A message left the number.", message: examples.sent },
  "message.failed": {
    occasion: "A message could not be sent; `error.message` says why.",
    message: examples.failed,
  },
  "message.cancelled": {
    occasion: "A waiting message was cancelled, by the API or because its number was removed.",
    message: examples.cancelled,
  },
  "message.expired": {
    occasion: "A message was not sent before its `expires_at`.",
    message: examples.expired,
  },
  "message.delivered": {
    occasion: "A message reached the phone. Needs conversations.",
    message: { ...examples.sent, status: "delivered" },
  },
  "message.read": {
    occasion: "A message was read; `message.delivered` may be missing. Needs conversations.",
    message: { ...examples.sent, status: "read" },
  },
} as const

const NumberEventJson = Schema.Struct({
  number: Schema.Struct({
    id: IdJson,
    phone: Schema.NullOr(Schema.String),
    platform: Schema.Literals(platforms),
    status: Schema.Literals(numberStatuses),
  }),
  reason: Schema.NullOr(Schema.Literals(connectionReasons)),
  since: Time,
})

const RestrictionEventJson = Schema.Struct({
  number: NumberEventJson.fields.number,
  restrictions: RestrictionsJson,
})

/** When those of its restrictions occur, where conversations are on. */
const restrictionEvents: Readonly<Record<RestrictionEventType, string>> = {
  "number.restricted": "WhatsApp lets a number open no new chats.",
  "number.unrestricted": "WhatsApp lets a number open new chats again.",
}

/** When the events of a number occur, where conversations are on. */
const numberEvents: Readonly<Record<NumberEventType, string>> = {
  "number.connected": "A number was connected.",
  "number.disconnected": "A number is connected no more.",
  "number.paused": "A pause of a number began.",
  "number.resumed": "A pause of a number ended.",
}

const ReceivedEventJson = Schema.Struct({ received_message: ReceivedMessageJson })

/** The events of received messages, where conversations are on: when they occur, and an example. */
const receivedEvents: Readonly<
  Record<
    ReceivedEventType,
    { readonly occasion: string; readonly data?: Schema.Top; readonly example: unknown }
  >
> = {
  "message.received": {
    occasion: "A person wrote to a number, or in a group of it.",
    example: { received_message: examples.received },
  },
  "message.echo": {
    occasion: "A number's owner wrote, on the phone or another device.",
    example: { received_message: { ...examples.received, from_me: true } },
  },
  "message.edited": {
    occasion: "The author of a received message changed it.",
    example: { received_message: examples.edited },
  },
  "message.revoked": {
    occasion: "The author of a received message took it back, or a group's administrator did.",
    example: { received_message: examples.revoked },
  },
  "message.reaction": {
    occasion:
      "A person reacted to a received message or to one of yours, changed the reaction or took it back.",
    data: Schema.Union([
      Schema.Struct({ reaction: ReactionJson, received_message: ReceivedMessageJson }),
      Schema.Struct({ reaction: ReactionJson, message: MessageJson }),
    ]),
    example: { reaction: examples.reaction, message: examples.sent },
  },
  "message.recovered": {
    occasion: "A received message of kind `unreadable` could be read after all.",
    example: { received_message: examples.received },
  },
}

const GapEventJson = Schema.Struct({
  gap: Schema.Struct({
    number_id: IdJson,
    from: described(Time, "Nothing is missing before it."),
    until: described(Time, "Nothing is missing after it."),
    reason: described(
      Schema.Literals(gapReasons),
      "`relinked`: the number was linked again. `skipped`: the platform said so.",
    ),
  }),
})

const eventNumber = { id: 1, phone: "15551234567", platform: "whatsapp", status: "connected" }

const webhookCalls: ReadonlyArray<Call> = [
  ...([...webhookEventTypes, ...Object.values(tickEvents)] as const).map((type) => {
    const { message, occasion } = messageEvents[type]
    return eventCall(type, occasion, Schema.Struct({ message: MessageJson }), { message })
  }),
  ...numberEventTypes.map((type) =>
    eventCall(type, `${numberEvents[type]} Needs conversations.`, NumberEventJson, {
      number: eventNumber,
      reason: null,
      since: "2030-01-31T07:00:02Z",
    }),
  ),
  eventCall(
    gapEventType,
    "Messages of a number may be missing, and nothing else tells of them. Needs conversations.",
    GapEventJson,
    { gap: examples.gap },
  ),
  ...restrictionEventTypes.map((type) =>
    eventCall(type, `${restrictionEvents[type]} Needs conversations.`, RestrictionEventJson, {
      number: eventNumber,
      restrictions: type === "number.restricted" ? examples.restrictions : examples.noRestrictions,
    }),
  ),
  ...receivedEventTypes.map((type) => {
    const { data = ReceivedEventJson, example, occasion } = receivedEvents[type]
    const needs = "Needs conversations, and a key with `chats:read`."
    return eventCall(type, `${occasion} ${needs}`, data, example)
  }),
  eventCall(
    "ping",
    "A test of the endpoint was asked for.",
    Schema.Struct({ webhook_id: Schema.Int }),
    { webhook_id: 3 },
  ),
]

const callbackHeaders = callHeaders("the workspace's callback secret")

/** A call of version 1, with a form as its body: when it occurs, and an example. */
const callbackCall = (
  call: Pick<Call, "name" | "id" | "tag" | "summary">,
  occasion: string,
  form: { readonly properties: JsonObject; readonly required: ReadonlyArray<string> },
  example: JsonObject,
): Call => ({
  ...call,
  about: `${occasion}\n\nA call can arrive more than once, and in any order. It is made four times over a few minutes until it is answered with a 2xx within 15 seconds; redirects are not followed.`,
  headers: callbackHeaders,
  content: {
    [callbackContentType]: {
      schema: { json: { type: "object", ...form } },
      examples: { example },
    },
  },
})

/** The end of a message that was sent with a `webhook`. */
const messageCallbackCall = callbackCall(
  {
    name: "message",
    id: "onMessageV1",
    tag: "Messages (version 1)",
    summary: "The outcome of a message",
  },
  "A message was sent, or will not be sent.",
  {
    properties: {
      msg_id: { type: "integer" },
      status: { type: "string", enum: ["SENT", "FAILED", "CANCELLED", "EXPIRED"] },
      error: { type: "string", description: "Why it failed; only with `FAILED`." },
    },
    required: ["msg_id", "status"],
  },
  { msg_id: 4711, status: "FAILED", error: "Group not found" },
)

/** The connection of a number that was requested with a `webhook_url`. */
const connectionCallbackCall = callbackCall(
  {
    name: "connection",
    id: "onConnectionV1",
    tag: "WhatsApp numbers (version 1)",
    summary: "The connection of a number",
  },
  "A QR code is ready, the number is connected, or it is disconnected.",
  {
    properties: {
      event: { type: "string", enum: ["qr-generated", "connected", "disconnected"] },
      whatsapp_client: { type: "integer" },
      whatsapp_number: { type: "string", description: "Empty while the phone is unknown." },
    },
    required: ["event", "whatsapp_client", "whatsapp_number"],
  },
  { event: "connected", whatsapp_client: 7, whatsapp_number: "15550100001" },
)
