/** The document's request schemas allow what the parsers accept. */
import { assert, layer } from "@effect/vitest"
import {
  BatchBody,
  ConnectBody,
  ContactBody,
  EndpointBody,
  KeyBody,
  ListQuery,
  NumberCheckBody,
  ReminderBody,
  SendBody,
  WorkspaceBody,
  parseInstant,
  parsePhone,
} from "@messaging-service/core"
import { AdvanceBody } from "@messaging-service/emulator"
import { Effect, Result, Schema } from "effect"
import { layerService } from "../Service.ts"
import { camelizeKeys } from "../../src/JsonNames.ts"
import type { JsonValue } from "../../src/StrictJson.ts"
import { checker, listOperations, served } from "./Document.ts"

const to = { phone: "+15550001234" }
const schedule = { cron: "0 9 * * 1" }

interface Case {
  readonly operation: string
  readonly schema: Schema.Top & { readonly DecodingServices: never }
  readonly accepted: ReadonlyArray<unknown>
  /** Checked for their format only, which the document can express. */
  readonly refused: ReadonlyArray<unknown>
}

const cases: ReadonlyArray<Case> = [
  {
    operation: "sendMessage",
    schema: SendBody,
    accepted: [
      { to, text: "Hello" },
      { to: { group: "Team" }, from: null, media: null, send_at: null, expires_at: null },
      { to: { contact_id: 1 }, from: 3, text: "x".repeat(3000) },
      { to, text: "😀".repeat(3000) },
      { to: { username: "tg:77" }, media: { media_id: 4 } },
      { to, media: { url: "https://example.com/a.png", type: "image", file_name: "a.png" } },
      { to, send_at: "2030-01-31T09:00+02:00", expires_at: "2030-01-31T09:00:00.123456Z" },
      { to: { phone: "+1 555-000 1234" } },
    ],
    refused: [
      {},
      { to: {} },
      { to: { ...to, group: "Team" } },
      { to, colour: "red" },
      { to, from: "3" },
      { to, text: "x".repeat(3001) },
      { to, text: "😀".repeat(3001) },
      { to, text: null },
      { to: { group: "" } },
      { to: { group: "x".repeat(101) } },
      { to: { phone: "15550001234" } },
      { to, send_at: "2030-01-31" },
      { to, send_at: "2030-01-31T09:00:00" },
      { to, media: {} },
      { to, media: { url: "https://example.com", media_id: 1 } },
      { to, media: { media_id: 1, type: "video" } },
      { to, media: { media_id: 1, file_name: "" } },
      { to: [to] },
    ],
  },
  {
    operation: "sendBatch",
    schema: BatchBody,
    accepted: [{ to: [to], text: "Hello" }],
    refused: [
      { to: [], text: "Hello" },
      { to, text: "Hello" },
    ],
  },
  {
    operation: "createReminder",
    schema: ReminderBody,
    accepted: [{ name: "Rent", to, text: "Hello", schedule }],
    refused: [
      { to, text: "Hello", schedule },
      { name: "x".repeat(101), to, text: "Hello", schedule },
      { name: "x", to, text: "Hello", schedule: {} },
      { name: "x", to, text: "Hello", schedule, active: "yes" },
    ],
  },
  {
    operation: "connectNumber",
    schema: ConnectBody,
    accepted: [{}, { login_method: "phone_code", phone: "+1 5550001234" }, { number_id: 4 }],
    refused: [{ login_method: "sms" }, { number_id: null }, { phone: 5 }],
  },
  {
    operation: "createWebhook",
    schema: EndpointBody,
    accepted: [{ url: "https://example.com", events: ["message.sent"], description: "" }],
    refused: [
      {},
      { url: "https://example.com", events: [] },
      { url: "https://example.com", events: ["ping"] },
      { url: `https://example.com/${"x".repeat(500)}` },
    ],
  },
  {
    operation: "createNumberCheck",
    schema: NumberCheckBody,
    accepted: [{ phones: ["+15550001234"], name: null, from: null }],
    refused: [{ phones: [] }, { phones: Array.from({ length: 1001 }, () => "+15550001234") }],
  },
  {
    operation: "createContact",
    schema: ContactBody,
    accepted: [
      { name: "Ada", phone: "+15550001234" },
      { name: "Ada", username: "@ada_l" },
    ],
    refused: [
      { name: "Ada" },
      { name: "Ada", phone: null },
      { name: "Ada", phone: "+15550001234", username: "@ada_l" },
      { name: "Ada", phone: null, username: "@ada_l" },
      { name: "", phone: "+15550001234" },
    ],
  },
  {
    operation: "createKey",
    schema: KeyBody,
    accepted: [{ version: 1 }, { version: 2, name: "Key", scopes: ["media"], expires_in: null }],
    refused: [
      {},
      { version: 3 },
      { version: 2 },
      { version: 2, name: "Key", scopes: [] },
      { version: 2, name: "Key", number_ids: [] },
    ],
  },
  {
    operation: "createWorkspace",
    schema: WorkspaceBody,
    accepted: [{ name: "x", plan: null }],
    refused: [{}, { name: "" }, { name: "x", plan: { name: "y" } }],
  },
  {
    operation: "advanceClock",
    schema: AdvanceBody,
    accepted: [{ seconds: 0.5 }],
    refused: [{ seconds: 0 }, { seconds: "5" }, {}],
  },
]

layer(layerService())("the document's request schemas", (it) => {
  for (const { operation, refused, schema, accepted } of cases) {
    it.effect(
      `match the parser: ${operation}`,
      () =>
        Effect.gen(function* () {
          const document = yield* served
          const placed = listOperations(document).find(({ id }) => id === operation)
          const check = checker(document)(
            "paths",
            placed?.path ?? "",
            (placed?.method ?? "").toLowerCase(),
            "requestBody",
            "content",
            "application/json",
            "schema",
          )
          const decode = Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })
          for (const body of accepted) {
            assert.isTrue(
              Result.isSuccess(decode(camelizeKeys(body as JsonValue))),
              JSON.stringify(body).slice(0, 200),
            )
            assert.isUndefined(check(body), JSON.stringify(body).slice(0, 200))
          }
          for (const body of refused) {
            assert.isTrue(
              Result.isFailure(decode(camelizeKeys(body as JsonValue))),
              JSON.stringify(body).slice(0, 200),
            )
            assert.isDefined(check(body), JSON.stringify(body).slice(0, 200))
          }
        }),
      // Validators are built from a large document.
    )
  }

  it.effect("have patterns for phones and times that allow everything their parsers accept", () =>
    Effect.gen(function* () {
      const document = yield* served
      const schemas = document.components["schemas"] as Readonly<
        Record<
          string,
          { readonly properties: Readonly<Record<string, { readonly pattern: string }>> }
        >
      >
      const phone = new RegExp(schemas["Recipient"]?.properties["phone"]?.pattern ?? "$^", "u")
      const time = new RegExp(schemas["SendMessage"]?.properties["send_at"]?.pattern ?? "$^", "u")
      const phones = [
        "+15550001234",
        " +1-5 5 5-0001234 ",
        "--+4915112345678",
        "+1555000",
        "+441234567890",
      ]
      for (const text of phones) {
        assert.isDefined(parsePhone(text), text)
        assert.match(text, phone)
      }
      for (const text of [
        "2030-01-31T09:00Z",
        "2030-01-31T09:00:59.123456789-11:30",
        "2030-01-31T09:00-1130",
        "0001-01-01T00:00:00+00:00",
      ]) {
        assert.isDefined(parseInstant(text), text)
        assert.match(text, time)
      }
      for (const text of ["15550001234", "+0123456", "+1555", "+1 (555) 0001234"]) {
        assert.notMatch(text, phone)
      }
    }),
  )

  it.effect("have every parameter of a query, with its values", () =>
    Effect.gen(function* () {
      const document = yield* served
      const placed = listOperations(document).find(
        ({ path, method }) => method === "GET" && path === "/api/v2/messages",
      )
      const parameters = (placed?.parameters ?? []).filter((each) => each.in === "query")
      assert.deepStrictEqual(
        parameters.map(({ name }) => name),
        Object.keys(ListQuery.fields),
      )
      for (const { name, description } of parameters) assert.isString(description, name)
      const limit = parameters.find(({ name }) => name === "limit")
      assert.deepStrictEqual(limit?.schema, {
        type: "integer",
        minimum: 1,
        maximum: 100,
        default: 25,
      })
    }),
  )
})
