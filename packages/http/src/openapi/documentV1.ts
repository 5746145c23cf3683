/**
 * Version 1 in the document, made from its table of routes alone, which says of each operation what
 * it takes and answers (contract: Version 1).
 */
import { Schema } from "effect"
import { texts } from "../v1/FailureV1.ts"
import type { FieldV1 } from "../v1/FieldsV1.ts"
import type { RouteV1 } from "../v1/RouteV1.ts"
import { examples } from "./examples.ts"
import { clientRequestId, commonHeaders, header, noSniff, retryAfter } from "./headers.ts"
import { jsonContent } from "./Operation.ts"
import type { Answer, Content, DescribedPart, JsonObject, Operation } from "./Operation.ts"
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

const credentials: Readonly<Record<string, JsonObject>> = {
  client_id: { description: "The workspace's; the same for all its keys." },
  api_key: { description: "A version 1 key; it may come as a bearer token instead." },
}

const credentialTypes: Readonly<Record<string, Pick<FieldV1<unknown>, "type" | "nullable">>> = {
  client_id: { type: "integer", nullable: false },
  api_key: { type: "string", nullable: true },
}

const credentialsOf = ({ bearerOnly }: RouteV1, lenient: boolean): JsonObject =>
  bearerOnly === true
    ? {}
    : Object.fromEntries(
        Object.entries(credentialTypes).map(([name, field]) => [
          name,
          { ...typeOf(field, lenient), ...credentials[name] },
        ]),
      )

/** What every example begins with. */
const exampleCredentials = {
  client_id: examples.workspace.client_id,
  api_key: "0123456789abcdef0123456789abcdef01234567",
}

const requiredOf = ({ bearerOnly, fields }: RouteV1): ReadonlyArray<string> => [
  ...(bearerOnly === true ? [] : ["client_id"]),
  ...Object.entries(fields).flatMap(([name, field]) => (field.required ? name : [])),
]

/**
 * Version 1 is lenient: in JSON a number may come as text and text as a number, a list as text with
 * commas or as its one member, and null for what is not given.
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

const fieldsOf = (route: RouteV1, lenient: boolean, files: boolean) =>
  Object.entries(route.fields)
    .filter(([, { type }]) => files || type !== "file")
    .map(
      ([name, field]) =>
        [name, { ...typeOf(field, lenient), description: field.description }] as const,
    )

const bodySchema = (route: RouteV1, lenient: boolean, files: boolean): JsonObject => {
  const required = requiredOf(route)
  return {
    type: "object",
    properties: {
      ...credentialsOf(route, lenient),
      ...Object.fromEntries(fieldsOf(route, lenient, files)),
    },
    required: required.length === 0 ? undefined : required,
  }
}

/** There is nothing to ask without a file. */
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

/** The parameters of a GET's query, those apart that stand in its path. */
const query = (route: RouteV1): Schema.Top => {
  const required = requiredOf(route)
  const parameters = [
    ...Object.entries(credentialsOf(route, false) as Readonly<Record<string, JsonObject>>),
    ...fieldsOf(route, false, false).filter(([name]) => !route.path.includes(`{${name}}`)),
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

/** By the fields that ask for them. */
const callbacksOf = ({ fields }: RouteV1): Operation["callbacks"] => {
  if ("webhook" in fields) return { webhook: messageCallbackCall }
  return "webhook_url" in fields ? { webhook_url: connectionCallbackCall } : undefined
}

const operation = (route: RouteV1): Operation => ({
  ...route,
  id: idOf(route),
  tag: tagOf(route),
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
  callbacks: callbacksOf(route),
})

export const documentV1 = (routes: ReadonlyArray<RouteV1>): DescribedPart => ({
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
