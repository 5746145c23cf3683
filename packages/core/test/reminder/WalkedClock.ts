/**
 * The runs of a pattern by definition, computed in another way than the service does: a zone's clock is walked from minute
 * to minute as `Intl` shows it, and each wall time that it showed or left out is held against the pattern.
 */

/** A pattern, and what it means in the tests' own words. */
export interface Pattern {
  readonly cron: string
  /** Whether it is hourly or more frequent. */
  readonly frequent?: true
  readonly names: (wall: WallTime) => boolean
}

export interface WallTime {
  readonly minute: number
  readonly hour: number
  readonly day: number
  readonly month: number
  /** 0 is Sunday. */
  readonly weekday: number
}

/** What a clock showed at each minute from `start` on, both in minutes since 1970. */
export interface WalkedClock {
  readonly start: number
  readonly shown: Int32Array
  /** Positions in `shown` at which it did not just go on by a minute. */
  readonly changes: ReadonlyArray<number>
}

const minuteMillis = 60_000

/**
 * Walks a clock through the minutes from `start` up to `end`. It is read every `stride` minutes, and where it did not go
 * on by as much in between, at every minute.
 */
export const walk = (zone: string, start: number, end: number, stride: number): WalkedClock => {
  const formatter = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  })
  const read = (minute: number): number => {
    const [month, day, year, hour, minuteOfHour] = formatter
      .format(minute * minuteMillis)
      .split(/\D+/)
      .map(Number)
    return Date.UTC(year!, month! - 1, day, hour, minuteOfHour) / minuteMillis
  }
  const shown = new Int32Array(end - start)
  const changes: Array<number> = []
  let before = read(start)
  shown[0] = before
  for (let at = 0; at < shown.length - 1;) {
    const next = Math.min(at + stride, shown.length - 1)
    const after = read(start + next)
    const steady = after - before === next - at
    for (let i = at + 1; i <= next; i++) {
      shown[i] = steady ? before + i - at : read(start + i)
      if (shown[i] !== shown[i - 1]! + 1) changes.push(i)
    }
    at = next
    before = after
  }
  return { start, shown, changes }
}

/** For each wall minute from `start` up to `end`, whether a pattern names it. */
export const namedMinutes = (pattern: Pattern, start: number, end: number): Uint8Array => {
  const named = new Uint8Array(end - start)
  for (let i = 0; i < named.length; i++) {
    const date = new Date((start + i) * minuteMillis)
    named[i] = Number(
      pattern.names({
        minute: date.getUTCMinutes(),
        hour: date.getUTCHours(),
        day: date.getUTCDate(),
        month: date.getUTCMonth() + 1,
        weekday: date.getUTCDay(),
      }),
    )
  }
  return named
}

/**
 * The runs of a pattern in a walked clock, in epoch milliseconds; the first two days are left out, as what is shown there may have
 * been shown before. `named` belongs to the wall minutes from `namedStart` on.
 */
export const runsByDefinition = (
  clock: WalkedClock,
  pattern: Pattern,
  named: Uint8Array,
  namedStart: number,
): ReadonlyArray<number> => {
  const { shown, start } = clock
  const runs = new Set<number>()
  if (pattern.frequent) {
    for (let i = 0; i < shown.length; i++) if (named[shown[i]! - namedStart] === 1) runs.add(i)
  } else {
    // Fixed times: each at the first minute that shows it …
    const seen = new Uint8Array(named.length)
    for (let i = 0; i < shown.length; i++) {
      const wall = shown[i]! - namedStart
      if (named[wall] === 1 && seen[wall] === 0) runs.add(i)
      seen[wall] = 1
    }
    // … and those that no minute shows at the end of the gap that they fell into.
    for (const change of clock.changes) {
      for (let wall = shown[change - 1]! + 1; wall < shown[change]!; wall++) {
        if (named[wall - namedStart] === 1 && seen[wall - namedStart] === 0) runs.add(change)
      }
    }
  }
  return [...runs]
    .filter((i) => i >= 2 * 1440)
    .toSorted((a, b) => a - b)
    .map((i) => (start + i) * minuteMillis)
}
