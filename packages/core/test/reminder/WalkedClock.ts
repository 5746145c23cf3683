/**
 * The runs of a pattern by definition, computed differently from the service. A zone's clock is walked minute
 * by minute as `Intl` shows it, and each wall time shown or skipped is matched against the pattern.
 */

/** A pattern, and its meaning in the tests' own terms. */
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
  /** Positions in `shown` at which it did not advance by one minute. */
  readonly changes: ReadonlyArray<number>
}

const minuteMillis = 60_000

/**
 * Walks a clock from `start` up to `end`. It is read every `stride` minutes; where it did not
 * advance by as much, each minute is read.
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
  const fill = (from: number, to: number, after: number): void => {
    const before = shown[from]!
    if (after - before === to - from) {
      for (let i = from + 1; i <= to; i++) shown[i] = before + i - from
    } else if (to - from === 1) {
      shown[to] = after
      changes.push(to)
    } else {
      const middle = (from + to) >> 1
      fill(from, middle, read(start + middle))
      fill(middle, to, after)
    }
  }
  shown[0] = read(start)
  for (let at = 0; at < shown.length - 1;) {
    const next = Math.min(at + stride, shown.length - 1)
    fill(at, next, read(start + next))
    at = next
  }
  return { start, shown, changes }
}

/** The wall minutes from `start` up to `end` that a pattern names. */
export const namedMinutes = (
  pattern: Pattern,
  start: number,
  end: number,
): ReadonlyArray<number> => {
  const named: Array<number> = []
  for (let midnight = Math.floor(start / 1440) * 1440; midnight < end; midnight += 1440) {
    const date = new Date(midnight * minuteMillis)
    const [day, month, weekday] = [date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCDay()]
    for (let wall = Math.max(midnight, start); wall < Math.min(midnight + 1440, end); wall++) {
      const [minute, hour] = [(wall - midnight) % 60, Math.floor((wall - midnight) / 60)]
      if (pattern.names({ minute, hour, day, month, weekday })) named.push(wall)
    }
  }
  return named
}

/**
 * The runs of a pattern in a walked clock, in epoch milliseconds. The first two days are left out:
 * their wall times may have appeared before.
 */
export const runsByDefinition = (
  clock: WalkedClock,
  pattern: Pattern,
  named: ReadonlyArray<number>,
): ReadonlyArray<number> => {
  const runs = new Set<number>()
  for (const wall of named) {
    const shown = positionsShowing(clock, wall)
    const [first = endOfGapOver(clock, wall)] = shown
    // A fixed time runs at the first minute that shows it, or at the end of the gap that skipped it.
    if (pattern.frequent) for (const at of shown) runs.add(at)
    else if (first !== undefined) runs.add(first)
  }
  return [...runs]
    .filter((at) => at >= 2 * 1440)
    .toSorted((a, b) => a - b)
    .map((at) => (clock.start + at) * minuteMillis)
}

/**
 * A clock advances by the minute between two changes, so a wall time is looked up at its expected position.
 */
const positionsShowing = ({ changes, shown }: WalkedClock, wall: number): ReadonlyArray<number> => {
  const positions: Array<number> = []
  for (let i = 0; i <= changes.length; i++) {
    const from = changes[i - 1] ?? 0
    const to = changes[i] ?? shown.length
    const at = from + wall - shown[from]!
    if (at >= from && at < to && shown[at] === wall) positions.push(at)
  }
  return positions
}

const endOfGapOver = ({ changes, shown }: WalkedClock, wall: number): number | undefined =>
  changes.find((change) => shown[change - 1]! < wall && wall < shown[change]!)
