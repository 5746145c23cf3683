/**
 * The interface in golden files in this folder: a change of a path, a status, a code, a field, a
 * header or a metric shows in the diff of a file. They contain no wording, which may improve.
 * CONTRIBUTING, "Golden files", has the command that writes them.
 */
import { expect, layer } from "@effect/vitest"
import { NumberOwnership } from "@messaging-service/core"
import { isJson } from "@messaging-service/testkit/openapi"
import { Effect } from "effect"
import { join } from "node:path"
import { layerMeasured, scrape } from "../metrics/Scraping.ts"
import { served } from "../openapi/Document.ts"
import { aSender } from "../Records.ts"
import { layerService } from "../Service.ts"
import { send } from "../v2/Asking.ts"
import { anEndpoint, ask } from "../webhooks/Asking.ts"
import { aReceiver } from "../webhooks/Receiver.ts"

const golden = (file: string, text: string) =>
  Effect.promise(() => expect(text).toMatchFileSnapshot(join(import.meta.dirname, file)))

/** Keys of the document with wording as their values. */
const wording = new Set(["description", "summary", "title", "example", "examples", "tags", "info"])

/** Keys with values that map names of the interface to definitions: a field may be called `title`. */
const named = new Set(["properties", "patternProperties", "headers", "responses", "schemas"])

const byText = (a: unknown, b: unknown): number => {
  const [left = "", right = ""] = [JSON.stringify(a), JSON.stringify(b)]
  if (left === right) return 0
  return left < right ? -1 : 1
}

/** The document without its wording, in an order that does not depend on where a route is declared. */
const describeInterface = (value: unknown, isNamed = false): unknown => {
  if (Array.isArray(value)) return value.map((inner) => describeInterface(inner)).toSorted(byText)
  if (!isJson(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => isNamed || !wording.has(key))
      .map(([key, inner]) => [key, describeInterface(inner, !isNamed && named.has(key))] as const)
      .toSorted(([a], [b]) => byText(a, b)),
  )
}

const lineWidth = 110

/** JSON with every value on one line that fits there, so that a diff shows whole fields. */
const getText = (value: unknown, indent = ""): string => {
  const line = JSON.stringify(value)
  if (line.length + indent.length <= lineWidth || typeof value !== "object" || value === null) {
    return line
  }
  const deeper = `${indent} `
  if (Array.isArray(value)) {
    const entries = value.map((inner) => `${deeper}${getText(inner, deeper)}`)
    return `[\n${entries.join("\n")}\n${indent}]`
  }
  const entries = Object.entries(value).map(
    ([key, inner]) => `${deeper}${JSON.stringify(key)}: ${getText(inner, deeper)}`,
  )
  return `{\n${entries.join("\n")}\n${indent}}`
}

layer(layerService())("the golden files", (it) => {
  it.effect("hold every path, status, code, field and header of the OpenAPI document", () =>
    Effect.gen(function* () {
      const document = yield* served
      yield* golden("openapi.txt", `${getText(describeInterface(document))}\n`)
    }),
  )
})

layer(layerMeasured({ ports: NumberOwnership.layerShared(10) }))("the golden files", (it) => {
  it.effect("hold every metric with its type and its labels", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token } = yield* aSender()
      yield* anEndpoint(token, receiver)
      const { id } = yield* send(token)
      yield* ask({ method: "DELETE", path: `/api/v2/messages/${id}`, token })
      const { families } = yield* Effect.repeat(scrape, {
        until: ({ value }) => value("messaging_workers") !== undefined,
      })
      const lines = [...families].map(([name, { samples, type }]) =>
        [name, type, ...Object.keys(samples[0]?.labels ?? {}).toSorted()].join(" "),
      )
      yield* golden("metrics.txt", `${lines.toSorted().join("\n")}\n`)
    }),
  )
})
