/**
 * Loaded before the program that is measured, which knows nothing of it: reports how much memory and
 * processor time its process takes. Needs `--expose-gc`.
 */
import type { Memory, MeasuredCommand, Processor } from "./commands.ts"

/** Gives back what can be given back, compiled code that was not used lately included. */
const collect = () => globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" })

const memory = (): Memory => {
  // What the first round frees lets the second free more.
  for (let round = 0; round < 3; round++) collect()
  const { external, heapUsed, rss } = process.memoryUsage()
  return { held: heapUsed + external, resident: rss }
}

const processor = (): Processor => {
  const { system, user } = process.cpuUsage()
  return { micros: system + user }
}

process.on("message", ({ kind }: MeasuredCommand) => {
  if (kind === "memory") process.send?.(memory())
  if (kind === "processor") process.send?.(processor())
})
// The program ends when it wants to.
process.channel?.unref()
