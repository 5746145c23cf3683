/** The service's own OpenAPI document: every surface that it serves. */
import { Effect } from "effect"
import { HttpOptions } from "../HttpOptions.ts"
import { documentOpen } from "./documentOpen.ts"
import { documentOperator } from "./documentOperator.ts"
import { documentV1 } from "./documentV1.ts"
import { documentV2 } from "./documentV2.ts"
import { errorSchemas, refusals } from "./errors.ts"
import { openApi } from "./openApi.ts"
import type { DescribedSurface, JsonObject } from "./Operation.ts"
import { webhookCalls } from "./webhookCalls.ts"

const description = `Sends WhatsApp and Telegram messages from numbers that you own.

Sending is asynchronous: a success means that the message was accepted and queued. What became of it
tells its \`status\`, or a webhook.

- Send the key as \`Authorization: Bearer <key>\`.
- Times in requests are ISO 8601 with an offset; times in answers are UTC and end in \`Z\`.
- Unknown fields of a request are refused; answers may come to hold more than is described here.
- Every error has a real HTTP status and a body \`{"error": {"code", "message", "field", "docs",
  "request_id"}}\`. Branch on \`code\`; [the error catalogue](/docs/errors) explains each.
- Version 1 has other ways: see its operations.
- An unknown address answers 404 \`not_found\`; another method 405 \`method_not_allowed\`, with
  \`Allow\`. HEAD is answered as GET without a body.`

/**
 * Makes the document of what this service serves, given the origin it is reached at. Over the core's
 * services, as the tables of routes are.
 */
export const apiDocument = Effect.gen(function* () {
  const { customers = true, emulator, metrics = true, operatorToken } = yield* HttpOptions
  const surfaces: ReadonlyArray<DescribedSurface> = [
    ...(customers ? [yield* documentV2, yield* documentV1] : []),
    ...(operatorToken === null ? [] : [yield* documentOperator(emulator)]),
    documentOpen({ customers, metrics }),
  ]
  const [notFound, methodNotAllowed] = refusals(["not_found", "method_not_allowed"])
  return (publicUrl: string): JsonObject =>
    openApi({
      title: "Messaging Service",
      version: "2.0.0",
      description,
      publicUrl,
      surfaces,
      calls: customers ? webhookCalls : [],
      anywhere: {
        ...(notFound === undefined ? {} : { NotFound: notFound }),
        ...(methodNotAllowed === undefined ? {} : { MethodNotAllowed: methodNotAllowed }),
      },
      schemas: errorSchemas,
    })
})
