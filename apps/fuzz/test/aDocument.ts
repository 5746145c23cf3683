/** A small document and an inventory with fixed ids, so that tests need no server. */
import { readDocument } from "@messaging-service/testkit/openapi"
import type { DocumentObject, Operation } from "@messaging-service/testkit/openapi"
import type { Shot } from "../src/request/Shot.ts"
import type { WireAnswer } from "../src/wire/AnswerReader.ts"
import type { Outcome } from "../src/wire/Connection.ts"
import { noIds } from "../src/world/Inventory.ts"
import type { Inventory } from "../src/world/Inventory.ts"

const common = { "X-Request-Id": {}, "X-Client-Request-Id": {}, "Cache-Control": {} }
const rates = {
  "RateLimit-Limit": {},
  "RateLimit-Remaining": {},
  "RateLimit-Reset": {},
  "RateLimit-Policy": {},
}

const json = (schema: object) => ({ "application/json": { schema } })

const error = (codes: ReadonlyArray<string>) =>
  json({
    type: "object",
    properties: {
      error: {
        type: "object",
        properties: {
          code: { type: "string", enum: codes },
          message: { type: "string" },
          field: { type: ["string", "null"] },
          docs: { type: "string" },
          request_id: { type: "string" },
          errors: { type: "array" },
        },
        required: ["code", "message", "field", "docs", "request_id"],
      },
    },
    required: ["error"],
  })

const refusal = (codes: ReadonlyArray<string>, more: object = {}) => ({
  headers: { ...common, ...rates, ...more },
  content: error(codes),
})

const message = {
  type: "object",
  properties: { id: { type: "integer" }, text: { type: "string" } },
  required: ["id", "text"],
}

const phone = { type: "string", examples: ["+15550001234"] }
const failure = {
  type: "object",
  properties: { status: { type: "integer", const: 0 }, message: { type: "string" } },
  required: ["status", "message"],
}

const send = {
  type: "object",
  properties: {
    to: { type: "object", properties: { phone }, minProperties: 1, maxProperties: 1 },
    from: { type: ["integer", "null"] },
    text: { type: "string", maxLength: 3000 },
    media: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
  },
  required: ["to"],
  additionalProperties: false,
}

const operationsV2 = {
  post: {
    operationId: "sendMessage",
    parameters: [
      { name: "Idempotency-Key", in: "header", schema: { type: "string" } },
      { name: "X-Request-Id", in: "header", schema: { type: "string" } },
    ],
    requestBody: { required: true, content: json(send) },
    responses: {
      "202": {
        headers: { ...common, ...rates, "Idempotent-Replayed": {} },
        content: json(message),
      },
      "400": refusal(["validation_failed", "invalid_json"]),
      "401": {
        headers: { ...common, "WWW-Authenticate": {} },
        content: error(["missing_api_key", "invalid_api_key"]),
      },
      "429": refusal(["rate_limited"], { "Retry-After": {} }),
      "500": refusal(["internal_error"]),
    },
  },
}

const callback = {
  type: "object",
  properties: { msg_id: { type: "integer" }, status: { type: "string", enum: ["SENT"] } },
  required: ["msg_id", "status"],
}

const groupV1 = {
  post: {
    operationId: "v1SendMsgGroup",
    parameters: [],
    requestBody: {
      required: true,
      content: {
        ...json({
          type: "object",
          properties: {
            client_id: { type: "integer" },
            api_key: { type: "string" },
            group_name: { type: "string" },
            img_url: { type: "string" },
            webhook: { type: "string" },
          },
        }),
        "application/x-www-form-urlencoded": {
          schema: { type: "object", properties: { img_url: { type: "string" } } },
        },
        "multipart/form-data": {
          schema: { type: "object", properties: { file: { type: "string", format: "binary" } } },
        },
      },
    },
    callbacks: {
      message: {
        "{$request.body#/webhook}": {
          post: {
            requestBody: { content: { "application/x-www-form-urlencoded": { schema: callback } } },
          },
        },
      },
    },
    responses: {
      "200": { headers: common, content: json({ type: "object" }) },
      "400": { headers: common, content: json(failure) },
      "500": {
        headers: common,
        content: { ...json(failure), "text/html": { schema: { type: "string" } } },
      },
    },
  },
}

const ping = {
  type: "object",
  properties: { type: { type: "string", const: "ping" }, id: { type: "string" } },
  required: ["type", "id"],
}

const getMe = {
  get: {
    operationId: "getKeyInfo",
    parameters: [],
    responses: { "200": { headers: { ...common, ...rates }, content: json({ type: "object" }) } },
  },
}

const workspace = {
  patch: {
    operationId: "updateWorkspace",
    parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
    requestBody: {
      required: true,
      content: json({ type: "object", properties: { name: { type: "string" } } }),
    },
    responses: { "200": { headers: common, content: json({ type: "object" }) } },
  },
}

const simulator = {
  get: {
    operationId: "getClock",
    parameters: [],
    responses: { "200": { headers: common, content: json({ type: "object" }) } },
  },
}

const health = {
  get: {
    operationId: "isLive",
    parameters: [],
    responses: { "200": { headers: common, content: json({ type: "object" }) } },
  },
}

const source = {
  paths: {
    "/api/v2/messages": operationsV2,
    "/api/v2/me": getMe,
    "/api/v1/send_msg": groupV1,
    "/api/v1/send_msg/group": groupV1,
    "/admin/v1/workspaces/{id}": workspace,
    "/admin/v1/simulator/clock": simulator,
    "/health/live": health,
  },
  webhooks: { ping: { post: { requestBody: { content: json(ping) } } } },
  components: {
    schemas: {
      FailureV1: { properties: { message: { examples: ["Invalid request method"] } } },
    },
    responses: {
      NotFound: { headers: common, content: error(["not_found"]) },
      MethodNotAllowed: {
        headers: { ...common, Allow: {} },
        content: error(["method_not_allowed"]),
      },
    },
  },
} as unknown as DocumentObject

export const document = readDocument(source)

export const operation = (id: string): Operation => {
  const found = document.operations.find((each) => each.id === id)
  if (found === undefined) throw new Error(`no operation ${id}`)
  return found
}

const key = (mode: string) => `svc_${mode}_${"A".repeat(38)}`

/** A new inventory each time: a run adds to it. */
export const anInventory = (): Inventory => ({
  host: "127.0.0.1:8080",
  operatorToken: "operator-token-operator-token-0123",
  clientId: 7,
  keys: {
    live: key("live"),
    other: key("live"),
    test: key("test"),
    limited: key("live"),
    sender: key("live"),
    reader: key("live"),
    revoked: key("live"),
    v1: "0123456789abcdef0123456789abcdef01234567",
  },
  ids: { ...noIds(), number: [1, 2], message: [1, 2, 3], contact: [1] },
  victim: { ...noIds(), workspace: [2] },
  whatsapp: 1,
  telegram: 2,
  now: Date.parse("2030-01-31T09:00:00Z"),
  links: [],
  cursors: new Map(),
  events: [],
  receiver: "http://127.0.0.1:9999",
})

export const aShot = (more: Partial<Shot> = {}): Shot => ({
  about: "plain",
  aim: operation("sendMessage"),
  method: "POST",
  target: "/api/v2/messages",
  headers: [
    ["Authorization", `Bearer ${key("live")}`],
    ["Content-Type", "application/json"],
  ],
  body: Buffer.from('{"to":{"phone":"+15550001234"},"text":"Hello"}'),
  framing: "length",
  credentials: "live",
  expectation: "answer",
  repeated: false,
  ...more,
})

const requestId = "req_0123456789abcdefghijABCD"

const goodHeaders: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "x-request-id": requestId,
  "cache-control": "no-store",
  "ratelimit-limit": "60",
  "ratelimit-remaining": "59",
  "ratelimit-reset": "30",
  "ratelimit-policy": "60;w=60, 10000;w=86400",
}

/** An answer with those headers changed; undefined removes one. */
export const anAnswer = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string | undefined>> = {},
): WireAnswer & { readonly outcome: Outcome } => {
  const answer: WireAnswer = {
    status,
    headers: Object.entries({ ...goodHeaders, ...headers }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
    body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    keepsAlive: true,
  }
  return { ...answer, outcome: { kind: "answer", answer } }
}

export const withoutRates = {
  "ratelimit-limit": undefined,
  "ratelimit-remaining": undefined,
  "ratelimit-reset": undefined,
  "ratelimit-policy": undefined,
}

export const anError = (code: string, more: object = {}) => ({
  error: {
    code,
    message: "No.",
    field: null,
    docs: `http://127.0.0.1/docs/errors#${code}`,
    request_id: requestId,
    ...more,
  },
})
