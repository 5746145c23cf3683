/** The bodies and queries of number checks (contract: Number checks). */
import { Result, Schema } from "effect"
import type { Refusal } from "../error/Refusal.ts"
import type { NumberId } from "../id/Ids.ts"
import { parsePhone, phoneDescribed } from "../recipient/Phone.ts"
import type { Phone } from "../recipient/Phone.ts"
import { described } from "../request/Described.ts"
import { decoded, inputDecoder, parsed, refusedAs, textBetween } from "../request/Input.ts"
import { limitOf, pageFields, queryDecoder, textForNames } from "../request/PageInput.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { checkResultStatuses } from "./NumberCheck.ts"
import type { CheckResultStatus } from "./NumberCheck.ts"

export const maximumPhones = 1000

/** The body of POST /number-checks. */
export const NumberCheckBody = Schema.Struct({
  phones: Schema.Array(parsed("invalid_phone", parsePhone, phoneDescribed)).check(
    Schema.makeFilter(
      (phones) =>
        phones.length >= 1 && phones.length <= maximumPhones
          ? undefined
          : `must name 1 to ${maximumPhones} phones`,
      { toJsonSchema: () => ({ minItems: 1, maxItems: maximumPhones }) },
    ),
  ),
  name: described(Schema.optionalKey(Schema.NullOr(textBetween(0, 100))), "A note."),
  from: described(
    Schema.optionalKey(Schema.NullOr(Schema.Int)),
    "Id of the connected WhatsApp number that asks; without it the only connected one.",
  ),
}).annotate({ identifier: "CheckNumbers" })

const decodeBody = inputDecoder(NumberCheckBody, Object.keys(NumberCheckBody.fields), () => [], {
  phones: { most: maximumPhones },
})

export interface CheckRequest {
  readonly phones: ReadonlyArray<Phone>
  readonly name: string | null
  readonly from: NumberId | null
}

export const parseCheckRequest = (body: unknown): Result.Result<CheckRequest, Refusal> =>
  Result.map(decodeBody(body), (input) => ({
    phones: input.phones,
    name: input.name ?? null,
    from: (input.from as NumberId | null | undefined) ?? null,
  }))

const isStatus = (text: string): text is CheckResultStatus =>
  (checkResultStatuses as ReadonlyArray<string>).includes(text)

const StatusesInput = decoded(textForNames(checkResultStatuses), (text: string) => {
  const names = text.split(",")
  return names.every(isStatus) ? [...new Set(names)].toSorted() : refusedAs("validation_failed")
})

/** The query of GET /number-checks/{id}/results. */
export const ResultsQuery = Schema.Struct({
  status: Schema.optionalKey(StatusesInput),
  ...pageFields,
})

const decodeResults = queryDecoder(ResultsQuery)

export interface ResultsRequest {
  readonly statuses: ReadonlyArray<CheckResultStatus> | null
  readonly limit: number
  readonly cursor: string | null
}

export const parseResultsRequest = (
  entries: QueryEntries,
): Result.Result<ResultsRequest, Refusal> =>
  Result.map(decodeResults(entries), (query) => ({
    statuses: query.status ?? null,
    limit: limitOf(query),
    cursor: query.cursor ?? null,
  }))
