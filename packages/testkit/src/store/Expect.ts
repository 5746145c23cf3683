/** Taking from a result what must be there, or failing the test. */
import { assert } from "@effect/vitest"

/** The only item, where there must be exactly one. */
export const only = <A>(items: ReadonlyArray<A>): A => {
  assert.lengthOf(items, 1)
  return items[0] as A
}

/** The item at an index that must be there. */
export const at = <A>(items: ReadonlyArray<A>, index: number): A => {
  assert.isBelow(index, items.length)
  return items[index] as A
}

/** A value that must be there. */
export const present = <A>(value: A | null | undefined): A => {
  // Asked of every message of tests with many: an assertion costs far more than a look.
  if (value === undefined || value === null) assert.fail(`it is ${value}`)
  return value
}

export const ids = <Id>(records: Iterable<{ readonly id: Id }>): ReadonlyArray<Id> =>
  Array.from(records, (record) => record.id)
