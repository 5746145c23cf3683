/** Extracts a required value from a result, or fails the test. */
import { assert } from "@effect/vitest"

/** The only item, where there must be exactly one. */
export const only = <A>(items: ReadonlyArray<A>): A => {
  assert.lengthOf(items, 1)
  return items[0] as A
}

export const at = <A>(items: ReadonlyArray<A>, index: number): A => {
  assert.isBelow(index, items.length)
  return items[index] as A
}

/** A required value. */
export const present = <A>(value: A | null | undefined): A => {
  // Called for every message of large tests: an assertion costs far more than a check.
  if (value === undefined || value === null) assert.fail(`it is ${value}`)
  return value
}

export const ids = <Id>(records: Iterable<{ readonly id: Id }>): ReadonlyArray<Id> =>
  Array.from(records, (record) => record.id)
