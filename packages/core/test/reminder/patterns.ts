/** Patterns of every kind, for the comparison with walked clocks. */
import type { Pattern } from "./WalkedClock.ts"

export const patterns: ReadonlyArray<Pattern> = [
  { cron: "*/15 * * * *", frequent: true, names: (w) => w.minute % 15 === 0 },
  { cron: "0 * * * *", frequent: true, names: (w) => w.minute === 0 },
  { cron: "45 0-23 * * sun", frequent: true, names: (w) => w.minute === 45 && w.weekday === 0 },
  {
    cron: "10 */1 30,31 * *",
    frequent: true,
    names: (w) => w.minute === 10 && (w.day === 30 || w.day === 31),
  },
  { cron: "30 2 * * *", names: (w) => w.minute === 30 && w.hour === 2 },
  { cron: "30 1 * * *", names: (w) => w.minute === 30 && w.hour === 1 },
  { cron: "0 0 * * *", names: (w) => w.minute === 0 && w.hour === 0 },
  { cron: "59 23 * * *", names: (w) => w.minute === 59 && w.hour === 23 },
  {
    cron: "0,20,40 0-3,23 * * *",
    names: (w) => w.minute % 20 === 0 && (w.hour <= 3 || w.hour === 23),
  },
  { cron: "0 */2 * * *", names: (w) => w.minute === 0 && w.hour % 2 === 0 },
  { cron: "30 2 * * 7", names: (w) => w.minute === 30 && w.hour === 2 && w.weekday === 0 },
  {
    cron: "15 8,20 * * Mon-fri",
    names: (w) =>
      w.minute === 15 && (w.hour === 8 || w.hour === 20) && w.weekday >= 1 && w.weekday <= 5,
  },
  { cron: "0 9 31 * *", names: (w) => w.minute === 0 && w.hour === 9 && w.day === 31 },
  {
    cron: "30 12 29 2 *",
    names: (w) => w.minute === 30 && w.hour === 12 && w.day === 29 && w.month === 2,
  },
  {
    cron: "5 3 * mar-MAY,Oct,12 Sun",
    names: (w) =>
      w.minute === 5 && w.hour === 3 && [3, 4, 5, 10, 12].includes(w.month) && w.weekday === 0,
  },
  {
    cron: "30 2 13 * fri",
    names: (w) => w.minute === 30 && w.hour === 2 && (w.day === 13 || w.weekday === 5),
  },
  {
    cron: "0 6 */10 4,10 0",
    names: (w) =>
      w.minute === 0 &&
      w.hour === 6 &&
      (w.month === 4 || w.month === 10) &&
      ([1, 11, 21, 31].includes(w.day) || w.weekday === 0),
  },
]
