/**
 * Number checks as version 1 knows them: verification campaigns (contract: Version 1:
 * verification).
 */
import {
  NumberChecks,
  Version1Lists,
  checkResultStatuses,
  described,
  instantOrNull,
  isBlank,
  maximumPhones,
  numberCheckStatuses,
} from "@messaging-service/core"
import type { NumberCheckId, Refusal } from "@messaging-service/core"
import { Effect, Result, Schema } from "effect"
import { failV1, textsOfLists } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import {
  idOf,
  integer,
  limitField,
  limitOf,
  offsetField,
  offsetOf,
  oneOf,
  string,
  strings,
} from "./FieldsV1.ts"
import { phoneOf } from "./recipientV1.ts"
import { DateTime, routeV1, succeeded, successV1 } from "./RouteV1.ts"

/** A whole check fits on a page. */
const limits = { otherwise: 100, most: maximumPhones }

const campaignId = integer("The campaign's id.", { required: true })

const phonesOf = (
  numbers: ReadonlyArray<string | null>,
): Result.Result<ReadonlyArray<string>, FailureV1> => {
  if (numbers.length === 0) return Result.fail(failV1("no_numbers"))
  if (numbers.length > maximumPhones) return Result.fail(failV1("too_many_numbers"))
  return Result.all(numbers.map((number) => phoneOf(number ?? "")))
}

const ofName = (refusal: Refusal): Refusal | FailureV1 =>
  refusal.field === "name" ? failV1("campaign_name_too_long") : refusal

export const verificationRoutes = Effect.gen(function* () {
  const checks = yield* NumberChecks
  const lists = yield* Version1Lists

  return [
    routeV1("POST /api/v1/verification/create", {
      summary: "Find out which phones are registered",
      bearerOnly: true,
      fields: {
        numbers: strings(maximumPhones, "1 to 1,000 phones with their country codes."),
        campaign_name: string("A note, up to 100 characters."),
      },
      example: { numbers: ["+15550001234", "+15550001235"], campaign_name: "January's guests" },
      texts: textsOfLists,
      answer: successV1({
        message: Schema.String,
        campaign_id: described(Schema.Int, "Id of the number check."),
        numbers_count: Schema.Int,
      }),
      handler: Effect.fnUntraced(function* ({ caller, fields }) {
        const phones = yield* Effect.fromResult(phonesOf(fields.numbers))
        const { campaign_name: campaign } = fields
        // Version 1 is lenient: a blank note is none.
        const name = campaign === null || isBlank(campaign) ? null : campaign
        const command = { phones, name }
        const { answer } = yield* checks
          .create(caller, command, null)
          .pipe(Effect.catchTag("Refusal", (refusal) => Effect.fail(ofName(refusal))))
        return {
          status: succeeded,
          message: "Verification started",
          campaign_id: answer.id,
          numbers_count: answer.total,
        }
      }),
    }),
    routeV1("GET /api/v1/verification/status", {
      summary: "How far a verification has come",
      bearerOnly: true,
      fields: { campaign_id: campaignId },
      answer: successV1({
        overall_status: Schema.Literals(numberCheckStatuses),
        total: Schema.Int,
        checked: Schema.Int,
        registered: Schema.Int,
        not_registered: Schema.Int,
      }),
      handler: Effect.fnUntraced(function* ({ caller, fields }) {
        const check = yield* checks.get(caller, idOf<NumberCheckId>(fields.campaign_id))
        return {
          status: succeeded,
          overall_status: check.status,
          total: check.total,
          checked: check.checked,
          registered: check.registered,
          not_registered: check.notRegistered,
        }
      }),
    }),
    routeV1("GET /api/v1/verification/results", {
      summary: "What a verification has found out",
      bearerOnly: true,
      fields: {
        campaign_id: campaignId,
        status: string("`pending`, `registered`, `not_registered` or `failed`; all when left out."),
        limit: limitField(limits),
        offset: offsetField,
      },
      answer: successV1({
        total: described(Schema.Int, "Of all pages."),
        results: Schema.Array(
          Schema.Struct({
            phone: Schema.String,
            status: Schema.Literals(checkResultStatuses),
            checked_at: Schema.NullOr(DateTime),
          }),
        ),
      }),
      handler: Effect.fnUntraced(function* ({ caller, fields }) {
        const id = idOf<NumberCheckId>(fields.campaign_id)
        const status = yield* Effect.fromResult(
          oneOf(fields.status, checkResultStatuses, "invalid_status"),
        )
        const limit = yield* Effect.fromResult(limitOf(fields.limit, limits))
        const offset = yield* Effect.fromResult(offsetOf(fields.offset))
        const { items, total } = yield* lists.checkResults(caller, id, status, { offset, limit })
        return {
          status: succeeded,
          total,
          results: items.map((result) => ({
            phone: result.phone,
            status: result.status,
            checked_at: instantOrNull(result.checkedAt),
          })),
        }
      }),
    }),
  ]
})
