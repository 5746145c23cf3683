import { Validator } from "@seriousme/openapi-schema-validator"
import { assert, describe, layer } from "@effect/vitest"
import { catalogue, allScopes, eventTypes } from "@messaging-service/core"
import { getCodes } from "@messaging-service/testkit/openapi"
import type { ResponseObject } from "@messaging-service/testkit/openapi"
import { Effect } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import { jsonName } from "../../src/JsonNames.ts"
import { layerService, publicUrl } from "../Service.ts"
import { checker, listOperations, served } from "./Document.ts"
import type { DocumentObject, Json, MediaObject } from "./Document.ts"

/** Milliseconds: building validators from a large document is slow on a busy machine. */
const patience = 120_000

/** Version 1 words these itself, and no others occur. */
const ofVersion1Alone: ReadonlyArray<string> = ["invalid_callback_url"]

/** Its answers are described by their schemas alone, without examples. */
const isV1 = (path: string): boolean => path.startsWith("/api/v1/")

const codesIn = (document: DocumentObject): ReadonlySet<string> =>
  new Set([
    ...listOperations(document).flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ codes }) => codes),
    ),
    ...["NotFound", "MethodNotAllowed"].flatMap((name) => {
      const response: ResponseObject | undefined = document.components["responses"]?.[name]
      return getCodes(response?.content)
    }),
  ])

describe("the OpenAPI document", () => {
  layer(layerService())("over real sockets", (it) => {
    it.effect(
      "is valid OpenAPI 3.1, by an independent validator",
      () =>
        Effect.gen(function* () {
          const document = yield* served
          const result = yield* Effect.promise(() =>
            new Validator().validate(document as unknown as Record<string, never>),
          )
          assert.deepStrictEqual(result.errors ?? [], [])
          assert.isTrue(result.valid)
          assert.match(document.openapi, /^3\.1\./)
        }),
      patience,
    )

    it.effect("is open to all and has no other method", () =>
      Effect.gen(function* () {
        const { socket, web } = yield* HttpTestClients
        for (const client of [socket, web]) {
          const got = yield* client.call({ path: "/openapi.json" })
          assert.strictEqual(got.status, 200)
          assert.strictEqual(got.headers["content-type"], "application/json")
          const head = yield* client.call({ method: "HEAD", path: "/openapi.json" })
          assert.deepStrictEqual([head.status, head.text], [200, ""])
          const posted = yield* client.call({ method: "POST", path: "/openapi.json" })
          assert.deepStrictEqual([posted.status, posted.headers["allow"]], [405, "GET, HEAD"])
          assert.strictEqual((yield* client.call({ path: "/openapi.json/x" })).status, 404)
        }
      }),
    )

    it.effect("names the public address as its server", () =>
      Effect.map(served, ({ servers }) => assert.deepStrictEqual(servers, [{ url: publicUrl }])),
    )

    it.effect("shows every code of the catalogue with its own status", () =>
      Effect.gen(function* () {
        const document = yield* served
        assert.deepStrictEqual(
          Object.keys(catalogue).filter((code) => !codesIn(document).has(code)),
          ofVersion1Alone,
        )
        for (const { responses } of listOperations(document)) {
          for (const [status, { codes }] of Object.entries(responses)) {
            for (const code of codes) {
              const entry = catalogue[code as keyof typeof catalogue]
              assert.include([entry.status, entry.pathStatus], Number(status), code)
            }
          }
        }
      }),
    )

    it.effect(
      "describes the extra fields of every error: `status` on `not_cancellable` and so on",
      () =>
        Effect.gen(function* () {
          const document = yield* served
          for (const { responses } of listOperations(document)) {
            for (const { codes, content } of Object.values(responses)) {
              const schema = content["application/json"]?.schema as never as {
                readonly properties?: { readonly error?: { readonly properties: Json } }
              }
              for (const code of codes) {
                const entry = catalogue[code as keyof typeof catalogue]
                const { details = [], optionalDetails = [] } = entry
                for (const detail of [...details, ...optionalDetails]) {
                  const shown = schema.properties?.error?.properties[jsonName(detail)]
                  assert.isDefined((shown as Json | undefined)?.["type"], `${code}: ${detail}`)
                }
              }
            }
          }
        }),
    )

    it.effect("gives every operation a unique name, a tag, a summary and its permissions", () =>
      Effect.gen(function* () {
        const document = yield* served
        const operations = listOperations(document)
        const ids = operations.map(({ operation }) => operation.operationId)
        assert.strictEqual(new Set(ids).size, ids.length)
        const tags = document.tags.map(({ name }) => name)
        assert.strictEqual(new Set(tags).size, tags.length)
        const schemes = Object.keys(document.components["securitySchemes"] ?? {})
        for (const { path, operation } of operations) {
          assert.notStrictEqual(operation.summary, "")
          for (const tag of operation.tags) assert.include(tags, tag)
          for (const scheme of operation.security.flatMap((each) => Object.keys(each))) {
            assert.include(schemes, scheme)
          }
          const isSession = path === "/admin/v1/session"
          const closed = path.startsWith("/api/") || (path.startsWith("/admin/") && !isSession)
          assert.strictEqual(operation.security.length > 0, closed, path)
        }
      }),
    )

    it.effect("gives the scope that an operation needs", () =>
      Effect.gen(function* () {
        const document = yield* served
        const received = listOperations(document)
          .filter(({ path }) => path.startsWith("/api/v2/"))
          .map(({ operation }) =>
            /Needs (?:no scope|the scope `(.*?)`)\./.exec(operation.description ?? ""),
          )
        assert.notInclude(received, null)
        assert.sameMembers(
          [...new Set(received.flatMap((match) => match?.[1] ?? []))],
          [...allScopes],
        )
      }),
    )

    it.effect("has no dangling reference", () =>
      Effect.gen(function* () {
        const document = yield* served
        const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/(.*?)"/g)]
        assert.isAbove(references.length, 100)
        for (const [, reference = ""] of references) {
          const found = reference
            .split("/")
            .reduce<unknown>((within, key) => (within as Json | undefined)?.[key], document)
          assert.isDefined(found, reference)
        }
      }),
    )

    it.effect(
      "has examples that match their schemas",
      () =>
        Effect.gen(function* () {
          const document = yield* served
          const check = checker(document)
          const examine = (
            content: Readonly<Record<string, MediaObject>> = {},
            ...at: Array<string>
          ) => {
            let count = 0
            for (const [type, { examples = {} }] of Object.entries(content)) {
              for (const [name, { value }] of Object.entries(examples)) {
                const wrong = check(...at, "content", type, "schema")(value)
                assert.isUndefined(wrong, `${at.join(" ")} ${name}: ${wrong}`)
                count++
              }
            }
            return count
          }
          for (const { method, path, operation } of listOperations(document)) {
            const at = ["paths", path, method.toLowerCase()]
            const bodies = examine(operation.requestBody?.content, ...at, "requestBody")
            const json = operation.requestBody?.content["application/json"] !== undefined
            assert.strictEqual(bodies > 0, json, path)
            for (const [status, response] of Object.entries(operation.responses)) {
              if ("$ref" in response) continue
              const shown = examine(response.content, ...at, "responses", status)
              const isSession = path === "/admin/v1/session"
              const closed = path.startsWith("/api/") || (path.startsWith("/admin/") && !isSession)
              if (closed && !isV1(path)) assert.isAbove(shown, 0, `${path} ${status}`)
            }
          }
          for (const [name, { post }] of Object.entries(document.webhooks)) {
            assert.isAbove(
              examine(post.requestBody?.content, "webhooks", name, "post", "requestBody"),
              0,
            )
          }
          const responses = document.components["responses"] ?? {}
          for (const [name, { content }] of Object.entries(responses)) {
            examine(content as never, "components", "responses", name)
          }
        }),
      patience,
    )

    it.effect("has every event as a webhook, signed", () =>
      Effect.gen(function* () {
        const { webhooks } = yield* served
        assert.sameMembers(Object.keys(webhooks), [...eventTypes, "ping"])
        for (const { post } of Object.values(webhooks)) {
          const names = post.parameters.map(({ name }) => name)
          assert.includeMembers(names, [
            "Service-Event-Id",
            "Service-Timestamp",
            "Service-Signature",
          ])
        }
      }),
    )

    it.effect("has an example of every request of version 1 that does not need a file", () =>
      Effect.gen(function* () {
        const document = yield* served
        const without = listOperations(document).filter(
          ({ method, operation, path }) =>
            isV1(path) &&
            method === "POST" &&
            operation.requestBody?.content["application/json"]?.examples === undefined,
        )
        assert.deepStrictEqual(
          without.map(({ operation, path }) => [
            path,
            Object.keys(operation.requestBody?.content ?? {}),
          ]),
          [["/api/v1/media/upload", ["multipart/form-data"]]],
        )
      }),
    )

    it.effect("allows null, numbers in lists and texts for numbers in version 1", () =>
      Effect.gen(function* () {
        const operations = listOperations(yield* served)
        const toFields = (of: string) => {
          const found = operations.find(({ path }) => path === `/api/v1/${of}`)
          const content = found?.operation.requestBody?.content["application/json"]
          const schema = content?.schema as { readonly properties: Json } | undefined
          return schema?.properties ?? null
        }
        assert.deepNestedInclude(toFields("send_msg") as object, {
          "client_id.type": ["integer", "string"],
          "api_key.type": ["string", "number", "null"],
          "msg.type": ["string", "number", "null"],
          "msg_type.type": ["integer", "string"],
        })
        assert.deepNestedInclude(toFields("send_msg/multi") as object, {
          "phones.type": ["array", "string", "number"],
          "phones.items.type": ["string", "number"],
        })
      }),
    )

    it.effect("tells which requests of version 1 cause callbacks, and to where", () =>
      Effect.gen(function* () {
        const document = yield* served
        const followed = listOperations(document).flatMap(({ operation, path }) =>
          Object.values(operation.callbacks ?? {}).flatMap((calls) =>
            Object.entries(calls).map(([to, { post }]) => {
              assert.deepStrictEqual(Object.keys(post.requestBody?.content ?? {}), [
                "application/x-www-form-urlencoded",
              ])
              return `${path.replace("/api/v1/", "")} ${to}`
            }),
          ),
        )
        assert.sameMembers(followed, [
          "send_msg {$request.body#/webhook}",
          "send_msg/group {$request.body#/webhook}",
          "send_msg/multi {$request.body#/webhook}",
          "schedule_msg {$request.body#/webhook}",
          "whatsapp/connect {$request.body#/webhook_url}",
        ])
      }),
    )

    it.effect("holds every refusal text of version 1", () =>
      Effect.gen(function* () {
        const { components } = yield* served
        const failure = components["schemas"]?.["FailureV1"] as {
          readonly properties: { readonly message: { readonly examples: ReadonlyArray<string> } }
        }
        assert.includeMembers(failure.properties.message.examples.slice(), [
          "Auth Error: invalid api key",
          "Msg cant be null",
          "Invalid file url, Can't download",
          "Not enough credits",
        ])
      }),
    )

    it.effect("lets every operation refuse an unknown parameter", () =>
      Effect.gen(function* () {
        const document = yield* served
        const refusing = listOperations(document).filter(({ path }) =>
          /^\/(?:api\/v2|admin\/v1)\//.test(path),
        )
        assert.isAbove(refusing.length, 50)
        for (const { method, path, responses } of refusing) {
          assert.include(responses["400"]?.codes ?? [], "validation_failed", `${method} ${path}`)
        }
      }),
    )

    it.effect("has `Idempotency-Key` where the contract requires it", () =>
      Effect.gen(function* () {
        const document = yield* served
        const taking = listOperations(document).filter(({ parameters }) =>
          parameters.some(({ name }) => name === "Idempotency-Key"),
        )
        const below = (prefix: string) =>
          taking.flatMap(({ method, path }) =>
            path.startsWith(prefix) ? `${method} ${path.replace(prefix, "")}` : [],
          )
        // In a workspace as with its key, where linking has a path of its own.
        assert.sameMembers(below("/admin/v1/workspaces/{id}"), [
          ...below("/api/v2").map((each) =>
            each.replace("/numbers", "/numbers/link").replace("/chats/{id}", "/chats/{chat_id}"),
          ),
          "POST /reminders/{reminder_id}/run",
          "POST /campaigns",
          "POST /campaigns/{campaign_id}/rows",
        ])
        assert.sameMembers(below("/api/v2"), [
          "POST /messages",
          "POST /messages/batch",
          "POST /numbers",
          "POST /reminders",
          "POST /media",
          "POST /number-checks",
          "POST /chats/{id}/read",
          "POST /webhooks",
        ])
      }),
    )
  })

  const pathsUnder = (document: DocumentObject, prefix: string) =>
    Object.keys(document.paths).filter((path) => path.startsWith(prefix))

  layer(layerService({ settings: { emulator: null } }))("without the emulator", (it) => {
    it.effect("has the emulator controls only when they are served", () =>
      Effect.gen(function* () {
        const document = yield* served
        assert.deepStrictEqual(pathsUnder(document, "/admin/v1/simulator"), [])
        assert.isAbove(pathsUnder(document, "/admin/v1/").length, 5)
        assert.notInclude(
          document.tags.map(({ name }) => name),
          "Emulator",
        )
      }),
    )
  })

  layer(layerService({ settings: { operatorToken: null } }))("without the operator API", (it) => {
    it.effect("has the operator API only when it is served", () =>
      Effect.gen(function* () {
        const document = yield* served
        assert.deepStrictEqual(pathsUnder(document, "/admin/v1"), [])
        assert.notProperty(document.components["securitySchemes"] ?? {}, "operatorToken")
        const { ErrorCode } = document.components["schemas"] as {
          readonly ErrorCode?: { readonly enum: ReadonlyArray<string> }
        }
        assert.include(ErrorCode?.enum ?? [], "message_not_found")
        assert.notInclude(ErrorCode?.enum ?? [], "campaign_not_found")
      }),
    )
  })
})
