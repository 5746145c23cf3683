/** Ids in version 1 requests. */
import type { Lenient } from "./FieldsV1.ts"

/** An id that is not a positive integer is treated as unknown. */
export const idOf = <Id extends number>(given: Lenient<number>): Id | undefined =>
  typeof given === "number" && given > 0 ? (given as Id) : undefined
