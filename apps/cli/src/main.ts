#!/usr/bin/env node
/** The program `messaging`. */
import { createInterface } from "node:readline/promises"
import { Writable, addAbortSignal } from "node:stream"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { endedBySignal } from "./ending.ts"
import { outputWatch } from "./outputReader.ts"
import { run } from "./run.ts"

const ending = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  // A second one ends the process at once.
  process.once(signal, () => ending.abort(endedBySignal(signal)))
}

let unwritten: NodeJS.ErrnoException | null = null
let written = Promise.resolve()
const print = (output: string) => {
  if (unwritten !== null) return
  written = new Promise((done) => {
    process.stdout.write(output, (error) => {
      unwritten ??= error ?? null
      done()
    })
  })
}
// Without a listener these errors would end the process. `print` reports those of standard output;
// without standard error no report is possible.
process.stdout.on("error", () => undefined)
process.stderr.on("error", () => undefined)

const pause = (millis: number) => sleep(millis, undefined, { signal: ending.signal })

/** Asks on standard error, and shows nothing of the answer. */
const askSecret = async (question: string): Promise<string> => {
  // It ends the terminal's echo, so it comes before the question.
  const lines = createInterface({
    input: process.stdin,
    output: new Writable({ write: (_, __, done) => done() }),
    terminal: true,
  })
  process.stderr.write(question)
  try {
    return await lines.question("", { signal: ending.signal })
  } finally {
    lines.close()
    process.stderr.write("\n")
  }
}

/** Interval between checks of the output's reader. */
const checkMillis = 250
const isReaderMissing = outputWatch()
const pauseForReader = async (millis: number): Promise<boolean> => {
  for (let left = millis; !isReaderMissing(); left -= checkMillis) {
    if (left <= 0) return true
    await pause(Math.min(left, checkMillis))
  }
  return false
}

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  input: process.stdin.isTTY ? null : () => text(addAbortSignal(ending.signal, process.stdin)),
  askSecret: process.stdin.isTTY ? askSecret : null,
  width: process.stdout.isTTY ? process.stdout.columns : null,
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  print,
  written: () => written.then(() => unwritten),
  remark: (remark) => void process.stderr.write(remark),
  isWatched: process.stderr.isTTY,
  signal: ending.signal,
  pause,
  pauseForReader,
  fetch,
  now: Date.now,
})
