/** What an operation takes of a request, read as its entry says. */
import { refuseQuery } from "@messaging-service/core"
import type { JsonValue, Refusal, Upload } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Exchange } from "../answer/Exchange.ts"
import type { Takes } from "../route/Entry.ts"
import { readJson, readOptionalJson } from "./JsonBody.ts"
import { parseQuery } from "./Target.ts"

interface ReadBody {
  /** What must be the same for a repeat, beside method and path (contract: Idempotency). */
  readonly fingerprinted: JsonValue
  readonly parse: () => Result.Result<unknown, Refusal>
}

const nothing: Effect.Effect<ReadBody> = Effect.succeed({
  fingerprinted: null,
  parse: () => Result.succeed(undefined),
})

/** Content type, size and grammar, in that order. */
const readBody = <E, R>(
  takes: Takes<unknown> | undefined,
  { request }: Exchange,
  upload: () => Effect.Effect<Upload, E, R>,
): Effect.Effect<ReadBody, Refusal | E, R> => {
  switch (takes?.takes) {
    case "json":
    case "optional_json":
      return Effect.map(
        takes.takes === "json" ? readJson(request) : readOptionalJson(request),
        (json) => ({ fingerprinted: json, parse: () => takes.parse(json) }),
      )
    case "file":
      return Effect.map(upload(), (file) => ({
        fingerprinted: { file_name: file.fileName, sha256: file.content.sha256 },
        parse: () => takes.parse(file),
      }))
    default:
      return nothing
  }
}

/** The query, then the fields. */
const finish = (
  takes: Takes<unknown> | undefined,
  query: string,
  { fingerprinted, parse }: ReadBody,
) =>
  parseQuery(query).pipe(
    Result.flatMap((entries) =>
      takes?.takes === "query"
        ? takes.parse(entries)
        : Result.flatMap(refuseQuery(entries), () => parse()),
    ),
    Result.map((request) => ({ fingerprinted, request })),
  )

/** Reads and checks the body, then the query, then the fields; `upload` reads a file. */
export const readRequest = <E, R>(
  takes: Takes<unknown> | undefined,
  exchange: Exchange,
  upload: () => Effect.Effect<Upload, E, R>,
) =>
  Effect.flatMap(readBody(takes, exchange, upload), (body) =>
    Effect.fromResult(finish(takes, exchange.query, body)),
  )
