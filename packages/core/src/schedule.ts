/** When a reminder will run, without the service: to show the next runs while one is written. */
export { parseCron } from "./reminder/Cron.ts"
export type { Cron, CronProblem } from "./reminder/Cron.ts"
export { nextRunAfter } from "./reminder/Schedule.ts"
export type { ReminderSchedule } from "./reminder/Schedule.ts"
export { parseTimeZone } from "./reminder/TimeZone.ts"
export type { TimeZone } from "./reminder/TimeZone.ts"
