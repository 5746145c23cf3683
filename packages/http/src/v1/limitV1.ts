/** `limit` and `offset` of version 1's lists. */
import { Result } from "effect"
import { failV1 } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import { integer, unreadable } from "./FieldsV1.ts"
import type { Lenient } from "./FieldsV1.ts"

export interface LimitV1 {
  readonly otherwise: number
  readonly most: number
}

export const limitField = ({ most, otherwise }: LimitV1) =>
  integer(`Records of a page; ${otherwise} when left out, at most ${most}.`)

export const offsetField = integer("Records to leave out at the front; 0 when left out.")

/** What is more than there may be is as much as there may be. Fails with `invalid_limit`. */
export const limitOf = (
  given: Lenient<number>,
  { most, otherwise }: LimitV1,
): Result.Result<number, FailureV1> => {
  if (given === null) return Result.succeed(otherwise)
  return given === unreadable || given < 1
    ? Result.fail(failV1("invalid_limit"))
    : Result.succeed(Math.min(given, most))
}

/** Fails with `invalid_offset`. */
export const offsetOf = (given: Lenient<number>): Result.Result<number, FailureV1> => {
  if (given === null) return Result.succeed(0)
  return given === unreadable || given < 0
    ? Result.fail(failV1("invalid_offset"))
    : Result.succeed(given)
}
