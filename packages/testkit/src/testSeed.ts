/** The seed of tests that chance fills: one for a whole run. */

let drawn: number | undefined

const draw = (): number => {
  const text = process.env["TEST_SEED"] ?? String(Date.now() % 1_000_000)
  const seed = Number(text)
  if (!Number.isSafeInteger(seed)) throw new Error(`TEST_SEED must be a whole number, not ${text}`)
  console.log(`chance of this process: TEST_SEED=${seed} repeats it`)
  return seed
}

/**
 * Drawn and printed once in each process that asks for it. `TEST_SEED` says it instead, as CI does: a change then
 * meets the same chances in every run. Titles of tests hold it, so that a failure names it.
 */
export const testSeed = (): number => (drawn ??= draw())
