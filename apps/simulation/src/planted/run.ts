/**
 * Runs the simulation once with each planted fault, and reports within how many seeds it was found. A
 * fault with which every seed is the run that it is without proves nothing: no caller came near it.
 */
import { spawn } from "node:child_process"
import { plantedFaults } from "./faults.ts"
import { unplantable } from "./PlantedFault.ts"
import type { PlantedFault } from "./PlantedFault.ts"

interface Output {
  readonly out: string
  readonly err: string
}

interface Found {
  readonly fault: PlantedFault
  /** Seeds until it was found; null when it was not. */
  readonly seeds: number | null
  /** The first violation, or the error. */
  readonly said: string
  /** Of each seed. */
  readonly digests: string
}

const main = new URL("../main.ts", import.meta.url).pathname
const plant = new URL("plant.ts", import.meta.url).pathname

const run = (args: ReadonlyArray<string>, fault: PlantedFault | null): Promise<Output> =>
  new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [...(fault === null ? [] : ["--import", plant]), main, "--digests", ...args],
      { env: { ...process.env, PLANTED: fault?.name }, stdio: ["ignore", "pipe", "pipe"] },
    )
    let out = ""
    let err = ""
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()))
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()))
    child.on("close", () => resolve({ out, err }))
  })

const getDigests = ({ out }: Output): string => out.match(/^\S+ [0-9a-f]{16}$/gm)?.join() ?? ""

const getArgs = ({ isLong }: PlantedFault, seeds: number): ReadonlyArray<string> => [
  "--seeds",
  String(seeds),
  ...(isLong === true ? ["--long"] : []),
]

const find = async (fault: PlantedFault, seeds: number): Promise<Found> => {
  const output = await run([...getArgs(fault, seeds), "--stop-at-first"], fault)
  const { err, out } = output
  const summary = /^(\d+) seeds, (\d+) failed/m.exec(out)
  const isFound = summary !== null && summary[2] !== "0"
  const said = /^ {2}(.+)$/m.exec(out)?.[1] ?? err.trim().split("\n").slice(0, 8).join(" ")
  return {
    fault,
    seeds: isFound ? Number(summary[1]) : null,
    said: said.slice(0, 110),
    digests: getDigests(output),
  }
}

const sound = new Map<string, Promise<string>>()

/** The digests of the same seeds without a fault. */
const soundDigests = (fault: PlantedFault, seeds: number): Promise<string> => {
  const args = getArgs(fault, seeds)
  const known = sound.get(args.join()) ?? run(args, null).then(getDigests)
  sound.set(args.join(), known)
  return known
}

export interface PlantedOptions {
  /** Part of the names of the faults to plant. Default: all. */
  readonly only: string | undefined
  /** The maximum of seeds for each. Default: those within which it must be found. */
  readonly seeds: number | undefined
  readonly processes: number
}

/** Whether each fault was found within its seeds. */
export const runPlanted = async ({
  only,
  processes,
  seeds: max,
}: PlantedOptions): Promise<boolean> => {
  const waiting = plantedFaults.filter(({ name }) => only === undefined || name.includes(only))
  const missed: Array<string> = []
  for (const fault of waiting) {
    const reason = unplantable(fault)
    if (reason === null) continue
    missed.push(fault.name)
    process.stdout.write(`${fault.name}: cannot be planted | ${reason}\n`)
  }
  const work = async () => {
    for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
      const limit = max ?? fault.within
      const { digests, said, seeds } = await find(fault, limit)
      const isSame = seeds === null && digests === (await soundDigests(fault, limit))
      const isMissed = seeds === null && (isSame || fault.unfound === undefined)
      if (isMissed && !missed.includes(fault.name)) missed.push(fault.name)
      const verdict =
        seeds !== null
          ? `within ${seeds}`
          : isSame
            ? `same run in all ${limit}, so no seed reaches it`
            : `not within ${limit}${fault.unfound === undefined ? "" : `: ${fault.unfound}`}`
      process.stdout.write(`${fault.name}: ${verdict} | ${said}\n`)
    }
  }
  await Promise.all(Array.from({ length: processes }, work))
  process.stdout.write(`${missed.length} planted faults were not found\n`)
  return missed.length === 0
}
