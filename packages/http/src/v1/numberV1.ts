/**
 * Fields that hold one phone with its country code: no username, and no `country_code` beside it.
 */
import { Result } from "effect"
import { failV1 } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import { personOf } from "./recipientV1.ts"

/** E.164 with its `+`, which may have been left out. Fails with `invalid_phone`. */
export const phoneOf = (given: string): Result.Result<string, FailureV1> =>
  Result.flatMap(personOf(given), (person) =>
    "phone" in person ? Result.succeed(person.phone) : Result.fail(failV1("invalid_phone")),
  )
