/** A machine for commands that read nothing, wait for nothing and write where the test says. */
import type { Machine } from "../src/Machine.ts"

export const aMachine = (own: Partial<Machine>): Machine => ({
  env: {},
  input: null,
  askSecret: null,
  width: null,
  timeZone: "UTC",
  print: () => undefined,
  written: () => Promise.resolve(null),
  remark: () => undefined,
  isWatched: false,
  signal: new AbortController().signal,
  pause: () => Promise.resolve(),
  pauseForReader: () => Promise.resolve(true),
  fetch,
  now: Date.now,
  ...own,
})
