/**
 * Version 1 in the document, made from its table of routes alone, which says of each operation what
 * it takes and answers (contract: Version 1).
 */
import { Schema } from "effect"
import { texts } from "../v1/FailureV1.ts"
import type { FieldV1 } from "../v1/FieldsV1.ts"
import type { PostRouteV1, RouteV1 } from "../v1/RouteV1.ts"
import { examples } from "./examples.ts"
import { clientRequestId, commonHeaders, retryAfter } from "./headers.ts"
import { jsonContent } from "./Operation.ts"
import type { Answer, Call, Content, DescribedSurface, JsonObject, Operation } from "./Operation.ts"
import { connectionCallbackCall, messageCallbackCall } from "./webhookCalls.ts"

/** Sending, which alone can meet the daily limit of a number. */
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

const segmentsOf = ({ path }: RouteV1): ReadonlyArray<string> =>
  path.split("/").filter((segment) => segment !== "" && !segment.startsWith("{"))

const tagOf = (route: RouteV1): string => {
  const [, , group = ""] = segmentsOf(route)
  return tags[isGroup(group) ? group : "messages"]
}

/** Such as `v1MessageStatus`, and `v1GetMessageStatus` for the same by GET. */
const idOf = (route: RouteV1): string => {
  const words = segmentsOf(route)
    .slice(2)
    .flatMap((segment) => segment.split("_"))
  const name = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("")
  return `v1${route.method === "GET" ? "Get" : ""}${name}`
}

const credentials: Readonly<Record<RouteV1["credentials"], Readonly<Record<string, JsonObject>>>> =
  {
    client: {
      client_id: { type: "integer", description: "The workspace's; the same for all its keys." },
      api_key: {
        type: "string",
        description: "A version 1 key; it may come as a bearer token instead.",
      },
    },
    bearer: {},
  }

/** What every example begins with. */
const exampleCredentials: Readonly<Record<RouteV1["credentials"], JsonObject>> = {
  client: {
    client_id: examples.workspace.client_id,
    api_key: "0123456789abcdef0123456789abcdef01234567",
  },
  bearer: {},
}

const requiredCredentials = (route: RouteV1) =>
  route.credentials === "client" ? ["client_id"] : []

/** Version 1 is lenient: in JSON a number may come as text, and a list as text with commas. */
const typeOf = ({ type }: FieldV1<unknown>, lenient: boolean): JsonObject => {
  switch (type) {
    case "integer":
      return { type: lenient ? ["integer", "string"] : "integer" }
    case "string":
      return { type: lenient ? ["string", "integer"] : "string" }
    case "strings":
      return { type: lenient ? ["array", "string"] : "array", items: { type: "string" } }
    case "file":
      return { type: "string", format: "binary" }
  }
}

const fieldsOf = (route: RouteV1, lenient: boolean, files: boolean) =>
  Object.entries(route.fields)
    .filter(([, { type }]) => files || type !== "file")
    .map(
      ([name, field]) =>
        [name, { ...typeOf(field, lenient), description: field.description }] as const,
    )

const bodySchema = (route: RouteV1, lenient: boolean, files: boolean): JsonObject => {
  const required = [
    ...requiredCredentials(route),
    ...Object.entries(route.fields).flatMap(([name, field]) => (field.required ? name : [])),
  ]
  return {
    type: "object",
    properties: {
      ...credentials[route.credentials],
      ...Object.fromEntries(fieldsOf(route, lenient, files)),
    },
    ...(required.length === 0 ? {} : { required }),
  }
}

/** The bodies that carry no file are left out where there is nothing to ask without one. */
const body = (route: PostRouteV1): Content => ({
  ...(route.example === null
    ? {}
    : {
        "application/json": {
          schema: { json: bodySchema(route, true, false) },
          examples: { example: { ...exampleCredentials[route.credentials], ...route.example } },
        },
        "application/x-www-form-urlencoded": { schema: { json: bodySchema(route, false, false) } },
      }),
  "multipart/form-data": { schema: { json: bodySchema(route, false, true) } },
})

/** The parameters of a GET's query, those apart that stand in its path. */
const query = (route: RouteV1): Schema.Top => {
  const required = new Set(requiredCredentials(route))
  const parameters = [
    ...Object.entries(credentials[route.credentials]),
    ...fieldsOf(route, false, false).filter(([name]) => !route.path.includes(`{${name}}`)),
  ]
  return Schema.Struct(
    Object.fromEntries(
      parameters.map(([name, { description, ...parameter }]) => {
        const text = Schema.String.annotate({ description: String(description), parameter })
        const isRequired = required.has(name) || route.fields[name]?.required === true
        return [name, isRequired ? text : Schema.optionalKey(text)]
      }),
    ),
  )
}

const Failure = Schema.Struct({
  status: Schema.Literal(0),
  message: Schema.String.annotate({
    description: "What is wrong. Other texts may come to be.",
    examples: [...new Set(Object.values(texts).map(({ message }) => message))],
  }),
}).annotate({ identifier: "FailureV1" })

const DailyLimit = Schema.Struct({
  status: Schema.Literal(0),
  msg_id: Schema.optionalKey(
    Schema.Int.annotate({ description: "A single send is stored, as failed." }),
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
  return isSending(route)
    ? {
        ...answer,
        description: "Too many requests, or the number has reached its daily limit.",
        content: jsonContent(Schema.Union([Failure, DailyLimit]), {
          status: 0,
          msg_id: 4711,
          code: "daily_limit_reached",
          message: texts.daily_limit.message,
        }),
      }
    : answer
}

const internalError = (route: RouteV1): Answer => {
  const answer = failed(500, "The service failed.", texts.internal_error.message)
  return route.path === "/api/v1/send_msg/group"
    ? {
        ...answer,
        description:
          "The service failed; or, as an HTML page, `group_name` is a JSON number or `msg_type` no whole number.",
        headers: [
          ...answer.headers,
          {
            name: "X-Content-Type-Options",
            description: "Always `nosniff`.",
            schema: { type: "string" },
          },
          {
            name: "Content-Security-Policy",
            description: "Of the HTML page.",
            schema: { type: "string" },
          },
        ],
        content: { ...answer.content, "text/html": { schema: { json: { type: "string" } } } },
      }
    : answer
}

/** By the fields that ask for them. */
const callbacksOf = ({ fields }: RouteV1): Readonly<Record<string, Call>> => ({
  ...("webhook" in fields ? { webhook: messageCallbackCall } : {}),
  ...("webhook_url" in fields ? { webhook_url: connectionCallbackCall } : {}),
})

const operation = (route: RouteV1): Operation => ({
  method: route.method,
  path: route.path,
  id: idOf(route),
  tag: tagOf(route),
  summary: route.summary,
  about: "",
  security: route.credentials === "bearer" ? ["apiKeyV1"] : ["apiKeyV1", null],
  parameters: {},
  query: route.method === "GET" ? query(route) : null,
  headers: [clientRequestId],
  body: route.method === "GET" ? null : { required: true, content: body(route) },
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
  ...(Object.keys(callbacksOf(route)).length === 0 ? {} : { callbacks: callbacksOf(route) }),
})

export const documentV1 = (routes: ReadonlyArray<RouteV1>): DescribedSurface => ({
  name: "Version 1",
  tags: [...new Set(routes.map(tagOf))].map((name) => ({
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
  operations: routes.map(operation),
})
