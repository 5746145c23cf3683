/**
 * How much a test does if its finds depend on chance or on size: seeds, kills, power cuts, rows, requests.
 * `TEST_SIZE` says it once for a whole run: `change` (the default) for the answer that one waits for, `all` for
 * what a change must pass, `night` for what takes an hour.
 */
const sizes = ["change", "all", "night"] as const

export type TestSize = (typeof sizes)[number]

const chosen = (): TestSize => {
  const text = process.env["TEST_SIZE"] ?? "change"
  const size = sizes.find((each) => each === text)
  if (size === undefined) throw new Error(`TEST_SIZE must be ${sizes.join(", ")}, not ${text}`)
  return size
}

/** The value of this run's size. Throws when `TEST_SIZE` names none. */
export const bySize = <A>(values: Readonly<Record<TestSize, A>>): A => values[chosen()]
