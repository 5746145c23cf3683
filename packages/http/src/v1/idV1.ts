/** Ids in version 1 requests. */
import type { Lenient } from "./FieldsV1.ts"

/** What is no positive whole number is an id that nobody has. */
export const idOf = <Id extends number>(given: Lenient<number>): Id | undefined =>
  typeof given === "number" && given > 0 ? (given as Id) : undefined
