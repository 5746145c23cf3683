/** `page` of version 1's lists: 1 is the first. */
import { Result } from "effect"
import { failV1 } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import { integer, unreadable } from "./FieldsV1.ts"
import type { Lenient } from "./FieldsV1.ts"

export const pageField = integer("1 when left out.")

/** No workspace has so many records that it comes so far. */
const lastPage = 1_000_000_000

/** Fails with `invalid_page`. */
export const pageOf = (given: Lenient<number>): Result.Result<number, FailureV1> => {
  if (given === null) return Result.succeed(1)
  return given === unreadable || given < 1 || given > lastPage
    ? Result.fail(failV1("invalid_page"))
    : Result.succeed(given)
}
