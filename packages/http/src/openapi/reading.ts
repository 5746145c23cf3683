/** What any operation can answer before its own rules are asked, by what it reads of the request. */
import type { Schema } from "effect"
import type { Refused } from "./errors.ts"

const refusedBody: ReadonlyArray<Refused> = [
  "unsupported_content_type",
  "request_too_large",
  "validation_failed",
]

/** `query`: the struct of the query's parameters, when the operation takes a query. */
export const refusedReading = (
  takes: "nothing" | "query" | "json" | "optional_json" | "file",
  query: Schema.Top | undefined,
): ReadonlyArray<Refused> => {
  switch (takes) {
    // A parameter that is not known is refused, where none is known too.
    case "nothing":
      return ["validation_failed"]
    case "query":
      return isPaged(query) ? ["validation_failed", "invalid_cursor"] : ["validation_failed"]
    case "json":
    case "optional_json":
      return [...refusedBody, "invalid_json"]
    case "file":
      return refusedBody
  }
}

const isPaged = (query: Schema.Top | undefined): boolean =>
  query !== undefined &&
  "fields" in query &&
  typeof query.fields === "object" &&
  query.fields !== null &&
  "cursor" in query.fields
