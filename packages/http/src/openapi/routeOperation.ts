/** An entry of a table of routes as the document shows it. */
import { maximumFileBytes } from "@messaging-service/core"
import type { Entry, Takes } from "../route/Entry.ts"
import { refusals } from "./errors.ts"
import type { Refused } from "./errors.ts"
import { clientRequestId, commonHeaders } from "./headers.ts"
import { jsonContent } from "./Operation.ts"
import type { Content, Header, Operation } from "./Operation.ts"

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

const bodyOf = (takes: Takes<unknown> | undefined): Operation["body"] => {
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
      return null
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
      return "fields" in takes.schema &&
        typeof takes.schema.fields === "object" &&
        takes.schema.fields !== null &&
        "cursor" in takes.schema.fields
        ? ["validation_failed", "invalid_cursor"]
        : ["validation_failed"]
    case "json":
    case "optional_json":
      return [...refusedBody, "invalid_json"]
    case "file":
      return refusedBody
    // A parameter that is not known is refused, where none is known too.
    default:
      return ["validation_failed"]
  }
}

/** What the operations of a table have in common. */
export interface Common {
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

export const routeOperation = (entry: Entry, common: Common): Operation => ({
  method: entry.method,
  path: entry.path,
  id: entry.id,
  tag: entry.tag,
  summary: entry.summary,
  about: entry.about ?? "",
  security: [common.security],
  parameters: {},
  query: entry.request?.takes === "query" ? entry.request.schema : null,
  headers: [...common.headers, clientRequestId],
  body: bodyOf(entry.request),
  answers: [
    {
      status: entry.status ?? 200,
      description: entry.success,
      headers: [...commonHeaders, ...(common.answerHeaders ?? [])],
      content: jsonContent(entry.answer, entry.example),
    },
    ...refusals(
      [...common.refused, ...refusedReading(entry.request), ...(entry.refused ?? [])],
      common.refusalHeaders,
    ),
  ],
})
