#!/usr/bin/env node
/** The program `messaging`. */
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { run } from "./run.ts"

const ending = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  // A second one ends the process at once.
  process.once(signal, () => ending.abort())
}
// What reads the output may have seen enough, as `head` does: no fault, and nothing more to do.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error
  process.exit(0)
})

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  input: process.stdin.isTTY ? null : () => text(process.stdin),
  print: (output) => void process.stdout.write(output),
  remark: (remark) => void process.stderr.write(remark),
  isWatched: process.stderr.isTTY,
  signal: ending.signal,
  pause: (millis) => sleep(millis, undefined, { signal: ending.signal }),
  fetch,
  now: Date.now,
})
