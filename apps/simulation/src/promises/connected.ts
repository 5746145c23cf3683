/**
 * Two processes never have one number's connection at the same time. None hands over what another
 * one has, none undoes what its successor wrote, and in calm one process has it. A frozen process
 * has nothing until it resumes.
 */
import type { Entry, History } from "../History.ts"
import type { JudgedPromise } from "./Promise.ts"

interface Line {
  readonly number: number
  readonly process: string
  /** When it was opened, or since when its process resumed. */
  since: number
}

/** Tracks which process has which connection, and whether it runs. */
class Board {
  readonly lines = new Map<number, Line>()
  readonly frozen = new Set<string>()

  apply(entry: Entry): void {
    switch (entry._tag) {
      case "LineOpened":
        this.lines.set(entry.line, { ...entry, since: entry.at })
        return
      case "LineClosed":
        this.lines.delete(entry.line)
        return
      case "Frozen":
        this.frozen.add(entry.process)
        return
      case "Thawed":
        this.frozen.delete(entry.process)
        for (const line of this.lines.values()) {
          if (line.process === entry.process) line.since = entry.at
        }
        return
      case "Died":
        this.frozen.delete(entry.process)
        for (const [id, { process }] of this.lines) {
          if (process === entry.process) this.lines.delete(id)
        }
    }
  }

  /** Running processes that have the number's connection, and have had it for longer than a moment. */
  holders(number: number, at: number): ReadonlyArray<string> {
    const holding = Array.from(this.lines.values()).filter(
      (line) => line.number === number && line.since < at && !this.frozen.has(line.process),
    )
    return Array.from(new Set(holding.map(({ process }) => process)))
  }
}

const changes = new Set<Entry["_tag"]>(["LineOpened", "LineClosed", "Frozen", "Thawed"])

const check = ({ entries, final }: History): ReadonlyArray<string> => {
  const violations: Array<string> = []
  const board = new Board()
  for (const entry of entries) {
    // A state before a change lasted since the previous change.
    if (changes.has(entry._tag)) {
      for (const number of new Set(Array.from(board.lines.values(), (line) => line.number))) {
        const holders = board.holders(number, entry.at)
        if (holders.length > 1) {
          violations.push(`number ${number} is connected by ${holders.join(" and ")} at once`)
        }
      }
    }
    board.apply(entry)
    if (entry._tag !== "HandedOver" || board.lines.size === 0) continue
    const others = board.holders(entry.number, entry.at).filter((one) => one !== entry.process)
    if (others.length > 0) {
      violations.push(`${entry.process} hands over ${entry.name}, whose number ${others[0]} has`)
    }
  }
  const latest = new Map<number, number>()
  for (const entry of entries) {
    if (entry._tag === "LineOpened") latest.set(entry.number, entry.line)
  }
  for (const { lines, number, status, written } of final.lines) {
    // Removed meanwhile.
    if (status === null) continue
    if (written !== (latest.get(number) ?? null)) {
      violations.push(`number ${number} has kept what an earlier connection wrote`)
    }
    if (lines !== 1) violations.push(`number ${number} has ${lines} connections, all being well`)
    if (status !== "connected") violations.push(`number ${number} is ${status}, all being well`)
  }
  return violations
}

export const connected: JudgedPromise = { name: "one connection", check }

/** A worker that stopped for so long has lost its numbers, and retries them like a new one. */
const lostMillis = 7500

/** A rejected number is not retried in a loop, until an operator has repaired it. */
export const keptAway: JudgedPromise = {
  name: "kept away",
  check: ({ entries }) => {
    const violations: Array<string> = []
    const tries = new Map<number, { readonly process: string; count: number }>()
    const frozenAt = new Map<string, number>()
    for (const entry of entries) {
      if (entry._tag === "Frozen") frozenAt.set(entry.process, entry.at)
      if (
        entry._tag === "Thawed" &&
        entry.at - (frozenAt.get(entry.process) ?? entry.at) >= lostMillis
      ) {
        for (const [number, { process }] of tries) {
          if (process === entry.process) tries.delete(number)
        }
      }
      if (entry._tag === "Mended" || entry._tag === "LineOpened") tries.delete(entry.number)
      if (entry._tag === "Calm") tries.clear()
      // An operator who resumes the number permits a retry.
      if (entry._tag === "Asked" && entry.request._tag === "Control") {
        for (const number of entry.request.numbers) tries.delete(number)
      }
      if (entry._tag !== "TurnedAway") continue
      const before = tries.get(entry.number)
      const count = before?.process === entry.process ? before.count + 1 : 1
      tries.set(entry.number, { process: entry.process, count })
      if (count === 3) {
        violations.push(`${entry.process} tries number ${entry.number} again: ${entry.reason}`)
      }
    }
    return violations
  },
}
